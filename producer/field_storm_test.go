package producer_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// All at once: K01 to K08, K15, K22, K23, K25, K31, K38, K45 and K49 in random
// mixtures, on brokers with different windows, at virtual speed. What was said
// of every record must be what the log shows, on the wire no rule may be broken,
// and when the faults end everything must flow again. The seed fixes the choices,
// not the order of goroutines, so that every run sees other mixtures.
func TestFaultStorm(t *testing.T) {
	const seeds = 25
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newStorm(t, seed).run() })
		})
	}
}

// storm is one mixture.
type storm struct {
	*tapped
	rng     *rand.Rand
	brokers int32
	parts   int32
	level   int // per cent of the batches that meet a fault
	over    atomic.Bool
}

// lockedSource lets the cluster's goroutines share the choices.
type lockedSource struct {
	mu  sync.Mutex
	src rand.Source
}

func (l *lockedSource) Uint64() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.src.Uint64()
}

func newStorm(t *testing.T, seed uint64) *storm {
	rng := rand.New(&lockedSource{src: rand.NewPCG(seed, 0)})
	w := &storm{rng: rng, brokers: 1 + rng.Int32N(3), parts: 1 + rng.Int32N(4), level: 1 + rng.IntN(60)}
	cc := topics(w.parts)
	cc.Brokers, cc.BrokerWindows = int(w.brokers), map[int32]int32{}
	for b := range w.brokers {
		cc.BrokerWindows[b] = []int32{0, 0, 1, 7, 35, 100, 1000}[rng.IntN(7)]
	}
	cc.FirstMustBeZero = rng.IntN(2) == 0
	cc.MaxVersions = map[int16]int16{produceKey: []int16{3, 7, 9, 10, 12, 13, 13, 13}[rng.IntN(8)]}
	w.tapped = newTapped(t, cc, w.configure)
	if rng.IntN(3) == 0 {
		producer.SetCompressor(w.p, stormCodec{rng})
	}
	return w
}

func (w *storm) configure(c *config.Config) {
	c.RequestTimeout = time.Duration(1+w.rng.IntN(5)) * time.Second
	c.DeliveryTimeout = c.RequestTimeout + time.Duration(5+w.rng.IntN(60))*time.Second
	c.Linger = time.Duration(w.rng.IntN(3)*5) * time.Millisecond
	c.MetadataMaxAge = time.Duration(1+w.rng.IntN(100)) * time.Second
	c.ConnectionsPerBroker = 1 + w.rng.IntN(3)
	if w.rng.IntN(3) == 0 {
		c.MaxInFlightBatches = 1 + w.rng.IntN(6)
	}
	if w.rng.IntN(3) == 0 {
		c.BufferBytes, c.MaxBlock = 4000, config.Unbounded
	}
}

// stormCodec takes some time, and finds nothing to save.
type stormCodec struct{ rng *rand.Rand }

func (stormCodec) ID() int16 { return 1 }

func (c stormCodec) Compress(dst, src []byte) ([]byte, error) {
	time.Sleep(time.Duration(c.rng.ExpFloat64() * float64(20*time.Millisecond)))
	return append(dst, src...), nil
}

// run produces in the storm, and after it.
func (w *storm) run() {
	w.c.OnProduce(w.batchFault)
	w.c.OnResponse(w.answerFault)
	var shaking sync.WaitGroup
	shaking.Go(w.shakeBrokers)
	for range 200 + w.rng.IntN(1000) {
		w.produce(w.t.Context(), producer.Record{Partition: producer.On(w.rng.Int32N(w.parts))}, recordSize)
		if w.rng.IntN(30) == 0 {
			time.Sleep(time.Duration(w.rng.IntN(200)) * time.Millisecond)
		}
	}
	w.over.Store(true)
	shaking.Wait()
	w.flush(time.Hour)
	time.Sleep(15 * time.Second)
	first := len(w.entries)
	for p := range w.parts {
		w.tens(p, 3)
	}
	w.flush(time.Minute)
	w.wantOutcomes(first, len(w.entries)-first, producer.Written, nil)
	w.judge()
	if st := w.p.Stats(); st.Alarms != 0 {
		w.t.Errorf("%d alarms", st.Alarms)
	}
}

// later is closed after a while, which is often longer than a request may take.
func (w *storm) later() <-chan struct{} {
	ch := make(chan struct{})
	time.AfterFunc(time.Duration(w.rng.ExpFloat64()*float64(2*time.Second)), func() { close(ch) })
	return ch
}

func (w *storm) code(of ...int16) int16 { return of[w.rng.IntN(len(of))] }

func (w *storm) batchFault(a producertest.ProduceAttempt) producertest.Fault {
	if w.over.Load() || w.rng.IntN(100) >= w.level {
		return producertest.Fault{}
	}
	switch w.rng.IntN(14) {
	case 0:
		return producertest.Refuse(w.code(6, 6, 19, 3, 2, 14, 87, 32, 45, 10))
	case 1:
		return producertest.AppendThen(w.code(6, 3, 56, 7, 20, -1, 46))
	case 2:
		return producertest.Drop()
	case 3:
		return producertest.Cut()
	case 4, 5:
		return producertest.Straggle(w.later())
	case 6:
		return producertest.Hold(w.later())
	case 7:
		return producertest.Fault{}.Omit()
	case 8:
		return producertest.Fault{}.Double(6)
	case 9:
		return producertest.Fault{}.Foreign()
	case 10:
		return producertest.Refuse(6).Hint(w.rng.Int32N(3), w.rng.Int32N(10))
	case 11:
		return producertest.AppendThen(46).NoOffset()
	case 12:
		w.c.CutConnections(a.Broker)
	case 13:
		w.c.MoveLeader("t", a.Partition, w.rng.Int32N(w.brokers))
	}
	return producertest.Fault{}
}

func (w *storm) answerFault(r *producertest.Response) {
	if w.over.Load() || w.rng.IntN(400) >= w.level {
		return
	}
	switch w.rng.IntN(6) {
	case 0:
		r.CutAfter, r.Orderly = w.rng.IntN(80), w.rng.IntN(2) == 0
	case 1:
		r.Delay = time.Duration(w.rng.IntN(3000)) * time.Millisecond
	case 2:
		r.Throttle = time.Duration(w.rng.IntN(3000)) * time.Millisecond
	case 3:
		r.Repeat = 1
	case 4:
		r.CorrelationID++
	case 5:
		r.Withhold = true
	}
}

// shakeBrokers does what happens to brokers by itself.
func (w *storm) shakeBrokers() {
	for !w.over.Load() {
		time.Sleep(time.Duration(w.rng.ExpFloat64() * float64(3*time.Second)))
		b := w.rng.Int32N(w.brokers)
		switch w.rng.IntN(4) {
		case 0:
			w.c.CutConnections(b)
		case 1:
			w.c.MoveLeader("t", w.rng.Int32N(w.parts), b)
		case 2:
			w.c.Restart(b)
		case 3:
			w.c.Stop(b)
			time.Sleep(time.Duration(w.rng.IntN(2000)) * time.Millisecond)
			w.c.Start(b)
		}
	}
}
