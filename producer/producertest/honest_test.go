package producertest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/throttle"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// honest is a client that keeps the rules: one partition, run by the project's
// own Window, over connections that break in every way the cluster knows.
type honest struct {
	t       *testing.T
	c       *Cluster
	w       *throttle.Window
	rng     *rand.Rand
	records []int32 // of each batch
	conns   map[int32]*line
	at      *line    // nil: not bound
	out     []uint64 // batches without an answer
	unsent  int      // of them, the last so many, because writing failed
}

// line is a connection with what comes back on it.
type line struct {
	broker int32
	raw    *client
	window int32
	in     chan *kmsg.ProduceResponse // closed at the end
}

const honestTimeout = 300 * time.Millisecond

// connect returns the connection to a broker, a new one if need be.
func (h *honest) connect(broker int32) *line {
	if l := h.conns[broker]; l != nil {
		return l
	}
	for {
		l, err := h.dial(broker)
		if err == nil {
			h.conns[broker] = l
			return l
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (h *honest) dial(broker int32) (*line, error) {
	conn, err := h.c.Dial(h.t.Context(), "tcp", h.c.Addrs()[broker])
	if err != nil {
		return nil, err
	}
	l := &line{broker: broker, in: make(chan *kmsg.ProduceResponse, 1000), raw: &client{
		t: h.t, conn: conn, fmt: kmsg.NewRequestFormatter(kmsg.FormatterClientID("honest")),
	}}
	var m kmsg.ApiVersionsResponse
	m.Version = 3
	conn.Write(l.raw.fmt.AppendRequest(nil, apiVersionsRequest(3), 0))
	b, err := l.raw.frame()
	if err == nil {
		err = m.ReadFrom(b[4:])
	}
	if err != nil {
		return nil, err
	}
	l.window = namedWindow(&m)
	go l.read()
	return l, nil
}

func (l *line) read() {
	defer close(l.in)
	for {
		b, err := l.raw.frame()
		m := kmsg.NewPtrProduceResponse()
		m.Version = 12
		if err != nil || m.ReadFrom(b[5:]) != nil {
			return
		}
		l.in <- m
	}
}

// run gets all batches through.
func (h *honest) run() {
	h.w.SetProducer(7, 0)
	for _, n := range h.records {
		h.w.Admit(n)
	}
	for int(h.w.State().Una) < len(h.records) {
		if h.at == nil {
			leader, _, _ := h.c.Leader("t", 0)
			h.at = h.connect(leader)
			h.w.Bind(throttle.Limits{Sequences: h.at.window})
		}
		h.write()
		select {
		case m, ok := <-h.at.in:
			if !ok {
				h.lost()
				break
			}
			h.settle(m)
		case <-time.After(honestTimeout):
			h.lost()
		}
	}
	for _, l := range h.conns {
		l.raw.conn.Close()
	}
}

// write sends what the window lets out, now and then several batches at once.
func (h *honest) write() {
	var b []byte
	held := 0 // batches in b
	for s, hold := h.w.Peek(); hold == throttle.Ready && h.unsent == 0; s, hold = h.w.Peek() {
		q := seq{s.ProducerID, s.Epoch, int32(s.Base), h.records[s.Batch], fmt.Sprint(s.Batch)}.on("t", 0)
		b = append(b, h.at.raw.fmt.AppendRequest(nil, q, h.at.raw.next)...)
		h.at.raw.next++
		h.out = append(h.out, s.Batch)
		h.w.Commit()
		held++
		if h.rng.IntN(3) == 0 {
			h.flush(b, held)
			b, held = nil, 0
		}
	}
	h.flush(b, held)
}

// flush writes. Of what fails as a whole nothing was sent.
func (h *honest) flush(b []byte, batches int) {
	if n, err := h.at.raw.conn.Write(b); err != nil && n == 0 {
		h.unsent += batches
	}
}

// lost abandons the connection.
func (h *honest) lost() {
	h.at.raw.abandon()
	delete(h.conns, h.at.broker)
	for i, batch := range h.out {
		answer := throttle.Uncertain
		if i >= len(h.out)-h.unsent {
			answer = throttle.NotAppended
		}
		h.w.Settle(batch, answer, -1)
	}
	h.w.Unbind()
	h.at, h.out, h.unsent = nil, nil, 0
	time.Sleep(time.Duration(h.rng.IntN(20)) * time.Millisecond)
}

func (h *honest) settle(m *kmsg.ProduceResponse) {
	batch := h.out[0]
	h.out = h.out[1:]
	code, base := int16(-1), int64(-1) // left out: uncertain
	if ps := m.Topics[0].Partitions; len(ps) > 0 {
		code, base = ps[0].ErrorCode, ps[0].BaseOffset
	}
	answer := throttle.Uncertain
	switch {
	case code == 0:
		answer = throttle.Success
	case code == 46:
		answer = throttle.Duplicate
	case code == 45:
		answer = throttle.OutOfOrder
	case (code == 6 || code == 19) && base < 0:
		answer = throttle.NotAppended
	}
	r := h.w.Settle(batch, answer, base)
	if !r.Drained {
		return
	}
	time.Sleep(time.Duration(h.rng.IntN(20)) * time.Millisecond)
	if leader, _, _ := h.c.Leader("t", 0); leader != h.at.broker {
		h.w.Unbind()
		h.at = nil // its connection stays open
	}
}

// misbehave makes a cluster fail in every way, until stop is closed.
func misbehave(c *Cluster, rng *rand.Rand, stop <-chan struct{}) {
	later := func() <-chan struct{} {
		until := make(chan struct{})
		time.AfterFunc(time.Duration(rng.IntN(2000))*time.Millisecond, func() { close(until) })
		return until
	}
	c.OnProduce(func(ProduceAttempt) Fault {
		switch rng.IntN(100) {
		case 0:
			return Refuse(19)
		case 1, 2:
			return Refuse(6)
		case 3:
			return AppendThen(7)
		case 4, 5:
			return AppendThen(46).NoOffset()
		case 6:
			return Refuse(46)
		case 7:
			return Drop()
		case 8:
			return Cut()
		case 9:
			return Straggle(later())
		case 10:
			return Hold(later())
		case 11:
			return Fault{}.Omit()
		case 12:
			return Fault{}.NoOffset()
		case 13:
			return Fault{}.Double(6)
		}
		return Fault{}
	})
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(i*7919%300) * time.Millisecond):
		}
		switch broker := int32(i * 31 % 3); i % 7 {
		case 0, 1, 2, 3:
			c.MoveLeader("t", 0, broker)
		case 4:
			c.CutConnections(broker)
		case 5:
			c.Restart(broker)
		}
	}
}

// seeds is how many histories of the honest client are tried.
var seeds = flag.Uint64("seeds", 12, "histories of the honest client")

// A client that keeps the rules is never blamed, and its log is right.
func TestHonestClientIsNeverBlamed(t *testing.T) {
	for seed := range *seeds {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			windows := []int32{0, 12, 40, 1000}
			cfg := Config{Brokers: 3, Topics: map[string]int32{"t": 1}, InMemory: true, SequenceWindow: windows[rng.IntN(4)]}
			if rng.IntN(2) == 0 {
				cfg.BrokerWindows = map[int32]int32{0: windows[rng.IntN(4)], 1: windows[rng.IntN(4)]}
			}
			c := start(t, cfg)
			h := &honest{t: t, c: c, w: throttle.New(), rng: rng, conns: map[int32]*line{}}
			for range 400 {
				h.records = append(h.records, 1+rng.Int32N(10))
			}
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				misbehave(c, rand.New(rand.NewPCG(seed, 2)), stop)
			}()
			h.run()
			close(stop)
			<-stopped
			for _, v := range c.Violations() {
				t.Errorf("seed %d: %s", seed, v)
			}
			h.check(c, seed)
			c.Close()
			time.Sleep(time.Minute) // virtual: what was still to be released is
		})
	}
}

// check compares the log with what was to be written.
func (h *honest) check(c *Cluster, seed uint64) {
	records, err := c.Records("t", 0)
	if err != nil {
		h.t.Fatal(err)
	}
	for batch, n := range h.records {
		for range n {
			if len(records) == 0 || string(records[0].Value) != fmt.Sprint(batch) {
				h.t.Fatalf("seed %d: batch %d is not where it belongs", seed, batch)
			}
			records = records[1:]
		}
	}
	want(h.t, "records too many", len(records), 0)
}
