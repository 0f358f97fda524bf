package producertest

import (
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// lying starts a cluster whose Produce responses a hook may change.
func lying(t *testing.T, cfg Config, lie func(*Response)) (*Cluster, *client) {
	t.Helper()
	cfg.Topics = map[string]int32{"t": 1}
	c := start(t, cfg)
	r := connect(t, c, 0)
	c.OnResponse(func(a *Response) {
		if _, ok := a.Message.(*kmsg.ProduceResponse); ok {
			lie(a)
		}
	})
	return c, r
}

func TestResponseCorrelationID(t *testing.T) {
	_, r := lying(t, Config{}, func(a *Response) { a.CorrelationID += 5 })
	r.send(seq{7, 0, 0, 1, "v"}.on("t", 0))
	b, err := r.frame()
	if err != nil {
		t.Fatal(err)
	}
	want(t, "correlation ID", binary.BigEndian.Uint32(b), 6)
}

func TestResponseCutAnywhere(t *testing.T) {
	for _, memory := range []bool{false, true} {
		for n := range 30 {
			for _, orderly := range []bool{true, false} {
				_, r := lying(t, Config{InMemory: memory}, func(a *Response) { a.CutAfter, a.Orderly = n, orderly })
				r.send(seq{7, 0, 0, 1, "v"}.on("t", 0))
				b, err := io.ReadAll(r.conn)
				if orderly && (err != nil || len(b) != n) {
					t.Errorf("FIN after %d bytes: got %d, %v", n, len(b), err)
				}
				if !orderly && err == nil {
					t.Errorf("reset after %d bytes: no error", n)
				}
			}
		}
	}
}

// A client that does not close its end does not keep the cluster from closing.
func TestCloseAfterOrderlyEnd(t *testing.T) {
	for _, memory := range []bool{false, true} {
		c, r := lying(t, Config{InMemory: memory}, func(a *Response) { a.CutAfter, a.Orderly = 0, true })
		r.send(seq{7, 0, 0, 1, "v"}.on("t", 0))
		want(t, "end", r.end(), io.EOF)
		c.Close()
	}
}

func TestResponseRawRepeatWithhold(t *testing.T) {
	n := 0
	_, r := lying(t, Config{}, func(a *Response) {
		switch n++; n {
		case 1:
			a.Raw = []byte("HTTP")
		case 2:
			a.Withhold = true
		case 3:
			a.Repeat = 1
		}
	})
	one := seq{7, 0, 0, 1, "v"}
	r.send(one.on("t", 0))
	var raw [4]byte
	if _, err := io.ReadFull(r.conn, raw[:]); err != nil {
		t.Fatal(err)
	}
	want(t, "raw", string(raw[:]), "HTTP")
	r.send(one.on("t", 0)) // withheld
	r.sent = nil
	want(t, "third", r.produce(one), answer{0, 0})
	b, err := r.frame()
	want(t, "repeated", binary.BigEndian.Uint32(b), 3)
	want(t, "error", err, nil)
}

func TestResponseMessage(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 2}})
	c.OnResponse(func(a *Response) {
		switch m := a.Message.(type) {
		case *kmsg.MetadataResponse:
			m.Topics[0].Partitions = m.Topics[0].Partitions[:1]
			m.Topics[0].Partitions[0].Leader = -1
		case *kmsg.InitProducerIDResponse:
			m.ErrorCode = 14
		}
	})
	r := connect(t, c, 0)
	q := kmsg.NewPtrMetadataRequest()
	q.Version = 9
	m := r.ask(q).(*kmsg.MetadataResponse)
	want(t, "partitions", len(m.Topics[0].Partitions), 1)
	want(t, "leader", m.Topics[0].Partitions[0].Leader, -1)
	id := kmsg.NewPtrInitProducerIDRequest()
	want(t, "code", r.ask(id).(*kmsg.InitProducerIDResponse).ErrorCode, 14)
	c.OnResponse(nil)
	want(t, "removed", r.ask(id).(*kmsg.InitProducerIDResponse).ErrorCode, 0)
}

// A throttled response comes at once; then the connection is mute (KIP-219).
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := lying(t, Config{InMemory: true}, func(a *Response) {
			if a.Nth == 2 {
				a.Throttle = 10 * time.Second
			} else {
				a.Delay = time.Second
			}
		})
		begun := time.Now()
		m := r.ask(seq{7, 0, 0, 1, "v"}.on("t", 0)).(*kmsg.ProduceResponse)
		want(t, "throttle time", m.ThrottleMillis, 10_000)
		want(t, "after", time.Since(begun), 0)
		r.produce(seq{7, 0, 1, 1, "v"})
		want(t, "muted and delayed", time.Since(begun), 11*time.Second)
		c.Close()
	})
}

func TestHooksMayUseTheCluster(t *testing.T) {
	c := start(t, Config{Brokers: 2, Topics: map[string]int32{"t": 1}})
	moved := false
	c.OnProduce(func(a ProduceAttempt) Fault {
		if !moved {
			moved = true
			if err := errors.Join(c.MoveLeader("t", 0, 1), c.CutConnections(1)); err != nil {
				t.Error(err)
			}
		}
		return Fault{}
	})
	want(t, "moved under the request", connect(t, c, 0).produce(seq{7, 0, 0, 1, "v"}), answer{6, -1})
	want(t, "at the new leader", connect(t, c, 1).produce(seq{7, 0, 0, 1, "v"}), answer{0, 0})
}
