package producer_test

import (
	"bytes"
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// slowWriter is a connection whose Write of something large returns when the test
// says so, long after the other end has everything.
type slowWriter struct {
	net.Conn
	large   int
	wrote   chan []byte   // what was written
	release chan struct{} // lets Write return
}

func (s *slowWriter) SetLinger(sec int) error {
	return s.Conn.(interface{ SetLinger(int) error }).SetLinger(sec)
}

func (s *slowWriter) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	if len(p) >= s.large {
		s.wrote <- p
		<-s.release
	}
	return n, err
}

// A broker may answer before the write of the request has returned, and until then
// the kernel, or TLS, may still read the bytes (KAFKA-19012). So the record has no
// outcome, and its buffer no other use, before.
func TestAnswerBeforeTheWriteReturns(t *testing.T) {
	for name, second := range map[string]bool{"the only request": false, "behind another one": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { earlyAnswer(t, second) })
		})
	}
}

func earlyAnswer(t *testing.T, second bool) {
	const large = 40 << 10
	cc := topics(2)
	cc.MaxVersions = map[int16]int16{produceKey: 8} // whose requests end with the batch
	c := newCluster(t, cc)
	slow := &slowWriter{large: large, wrote: make(chan []byte), release: make(chan struct{})}
	p := newProducer(t, c, func(cfg *config.Config) {
		cfg.Linger = 0
		cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := c.Dial(ctx, network, addr)
			return &slowWriter{conn, slow.large, slow.wrote, slow.release}, err
		}
	})
	if _, err := p.ProduceSync(t.Context(), numberedOn(0, 1)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if second {
		release := make(chan struct{})
		c.OnProduce(refuseOnce(1, producertest.Hold(release)))
		p.Produce(t.Context(), numberedOn(1, 1), nil)
		time.AfterFunc(time.Second, func() { close(release) })
	}
	var res *producer.Result
	rec := producer.Record{Topic: "t", Partition: producer.On(0), Value: bytes.Repeat([]byte{'a'}, large)}
	p.Produce(t.Context(), rec, func(r producer.Result) { res = &r })
	written := <-slow.wrote
	before := bytes.Clone(written)
	time.Sleep(2 * time.Second)
	if n := len(c.Log("t", 0)); n != 1 {
		t.Fatalf("%d batches in the log", n)
	}
	p.Produce(t.Context(), numberedOn(2, 1), nil) // wants a buffer
	synctest.Wait()
	if res != nil || !bytes.Equal(before, written) {
		t.Errorf("while the write is not over: %v, bytes unchanged: %v", res, bytes.Equal(before, written))
	}
	slow.release <- struct{}{}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res == nil || res.Outcome != producer.Written {
		t.Errorf("%v", res)
	}
}
