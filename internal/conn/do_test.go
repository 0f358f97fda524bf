package conn

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) {
			p.hello()
			for r := p.read(); r != nil; r = p.read() {
				resp := r.ResponseKind()
				switch resp := resp.(type) {
				case *kmsg.MetadataResponse:
					resp.ClusterID = kmsg.StringPtr("cluster")
				case *kmsg.InitProducerIDResponse:
					resp.ProducerID = 77
				}
				p.answer(r, resp)
			}
		}).connect()
		defer c.Close()
		for range 3 {
			resp, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest())
			if err != nil || *resp.(*kmsg.MetadataResponse).ClusterID != "cluster" || resp.GetVersion() != 13 {
				t.Fatal(err)
			}
			resp, err = c.Do(context.Background(), kmsg.NewPtrInitProducerIDRequest())
			if err != nil || resp.(*kmsg.InitProducerIDResponse).ProducerID != 77 {
				t.Fatal(err)
			}
		}
		_, err := c.Do(context.Background(), kmsg.NewPtrDescribeProducersRequest())
		if !errors.Is(err, ErrNotOffered) {
			t.Error(err)
		}
		if _, err = c.Do(context.Background(), kmsg.NewPtrMetadataRequest()); err != nil {
			t.Errorf("the connection did not survive a request that was never sent: %v", err)
		}
	})
}

// K19 goes on after the set-up.
func TestSilentBrokerLater(t *testing.T) {
	for _, req := range []kmsg.Request{kmsg.NewPtrMetadataRequest(), kmsg.NewPtrInitProducerIDRequest()} {
		synctest.Test(t, func(t *testing.T) {
			c := newBroker(t, func(p *peer) { p.hello(); p.gone() }).connect()
			_, err := c.Do(context.Background(), req) // no deadline: Options.Timeout
			wantTimeout(t, err, kmsg.NameForKey(req.Key()))
			_, err = c.Do(context.Background(), req)
			if err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a connection on which a deadline passed was used again: %v", err)
			}
		})
	}
}

func TestDoHonoursItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) { p.hello(); p.gone() }).connect()
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := c.Do(ctx, kmsg.NewPtrMetadataRequest())
		if !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// A port that wants a login hangs up on whoever comes without; that is all it
// says, and only the first request can mean it.
func TestLoginWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) { p.hello(); p.want(metadataKey) }).connect()
		_, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest())
		if !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "Metadata: the broker hung up; perhaps the port wants a login") {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) {
			p.hello()
			r := p.want(metadataKey)
			p.answer(r, r.ResponseKind())
			p.want(metadataKey)
		}).connect()
		for range 2 {
			if _, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest()); err != nil && strings.Contains(err.Error(), "login") {
				t.Error(err)
			}
		}
	})
}

// K25: an answer to another request is given to nobody, and the connection is
// at its end.
func TestWrongCorrelationID(t *testing.T) {
	for _, shift := range []int32{-1, 1, 1 << 30} {
		synctest.Test(t, func(t *testing.T) {
			closed := false
			c := newBroker(t, func(p *peer) {
				p.hello()
				r := p.want(metadataKey)
				r.correlationID += shift
				p.answer(r, r.ResponseKind())
				p.gone()
				closed = true
			}).connect()
			_, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest())
			if !errors.Is(err, ErrProtocol) {
				t.Errorf("shifted by %d: %v", shift, err)
			}
			synctest.Wait()
			if !closed {
				t.Error("the connection was kept")
			}
		})
	}
}

// An answer that lies about what it holds ends the connection.
func TestDoUndecodable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) {
			p.hello()
			r := p.want(metadataKey)
			p.send([]byte{0, 0, 0, 8, 0, 0, 0, byte(r.correlationID), 0, 1, 2, 3})
			p.gone()
		}).connect()
		_, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest())
		if !errors.Is(err, ErrProtocol) {
			t.Error(err)
		}
		if _, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest()); err == nil {
			t.Error("the connection was used again")
		}
	})
}

// The limit of an API holds for the claim already: nothing is waited for, or
// kept, that would be refused afterwards.
func TestDoRefusesOversizedClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) {
			p.hello()
			r := p.want(initProducerIDKey)
			p.send([]byte{0, 0x20, 0, 0, 0, 0, 0, byte(r.correlationID)}) // 2 MiB to come
			p.gone()
		}).connect()
		_, err := c.Do(context.Background(), kmsg.NewPtrInitProducerIDRequest())
		if !errors.Is(err, ErrProtocol) {
			t.Error(err)
		}
	})
}

func TestCorrelationIDsDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) { p.hello(); p.gone() }).connect()
		defer c.Close()
		seen := map[int32]bool{}
		for range 100 {
			id := c.NextCorrelationID()
			if seen[id] {
				t.Fatalf("%d twice", id)
			}
			seen[id] = true
		}
	})
}
