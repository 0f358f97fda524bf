package producertest

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A cluster in memory runs on virtual time: an hour of waiting is over at once,
// and every wait is one that synctest sees through.
func TestInMemoryInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Brokers: 2, Topics: map[string]int32{"t": 2}, SequenceWindow: 100, InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		release := make(chan struct{})
		c.OnProduce(func(a ProduceAttempt) Fault {
			if a.BaseSequence == 1 && a.FirstTime() {
				return Hold(release)
			}
			return Fault{}
		})
		begun := time.Now()
		r := connect(t, c, 0)
		want(t, "first", r.produce(seq{7, 0, 0, 1, "v"}), answer{0, 0})
		r.send(seq{7, 0, 1, 1, "v"}.on("t", 0))
		time.AfterFunc(time.Hour, func() { close(release) })
		want(t, "held", r.produced(), answer{0, 1})
		want(t, "after", time.Since(begun), time.Hour)
		m := connect(t, c, 1).ask(fetchRequest(0, 0, 0)).(*kmsg.FetchResponse)
		want(t, "not leader", fetched(m).ErrorCode, 6)
		want(t, "violations", len(c.Violations()), 0)
	})
}

func TestDialInMemory(t *testing.T) {
	c := start(t, Config{InMemory: true})
	for _, addr := range []string{"127.0.0.1:9092", ""} {
		if _, err := c.Dial(t.Context(), "tcp", addr); err == nil {
			t.Errorf("%q: no error", addr)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Dial(ctx, "tcp", c.Addrs()[0]); err == nil {
		t.Error("cancelled: no error")
	}
	c.Close()
	if _, err := c.Dial(t.Context(), "tcp", c.Addrs()[0]); err == nil {
		t.Error("closed: no error")
	}
}

func TestCloseTwiceFreesThePort(t *testing.T) {
	c := start(t, Config{})
	r := connect(t, c, 0)
	c.Close()
	c.Close()
	if r.end() == nil {
		t.Error("the connection lives")
	}
	if conn, err := net.Dial("tcp", c.Addrs()[0]); err == nil {
		conn.Close()
		t.Error("the port is open")
	}
}
