package producer_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/atomic"
)

// A record that never left the process is Unknown in a lane: the former process
// may have written it. That holds wherever it waited, and also if Produce itself
// refused it.
func TestLaneNeverSaysNotWritten(t *testing.T) {
	tooLarge := func(l *producer.Lane, _ *producer.Producer) {
		l.Produce(context.Background(), producer.Record{Topic: "t", Partition: producer.On(0), Value: make([]byte, 20<<20)}, nil)
	}
	for name, stop := range map[string]func(*producer.Lane, *producer.Producer){
		"the lane is aborted":     func(l *producer.Lane, _ *producer.Producer) { l.Abort() },
		"the producer is aborted": func(_ *producer.Lane, p *producer.Producer) { p.Abort() },
		"a deadline":              func(*producer.Lane, *producer.Producer) { time.Sleep(5 * time.Minute) },
		"the one before is bad":   tooLarge,
	} {
		for where, known := range map[string]bool{"before its topic is known": false, "in its partition": true} {
			t.Run(name+"/"+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(t, topics(1))
					p := newProducer(t, c, nil)
					l := p.Lane()
					if known {
						l = p.Lane("t")
					}
					cp := mustCheckpoint(t, l)
					produceAll(t, l, 0, 1, numbered)
					end(t, p)
					p = newProducer(t, c, nil)
					l, err := p.Resume(t.Context(), cp)
					if err != nil {
						t.Fatal(err)
					}
					if err := c.Stop(0); err != nil {
						t.Fatal(err)
					}
					var all []producer.Result
					done := func(r producer.Result) { all = append(all, r) }
					l.Produce(context.Background(), numbered(0), done)
					time.Sleep(time.Second)
					stop(l, p)
					time.Sleep(time.Second)
					l.Produce(context.Background(), numbered(0), done) // refused: it has stopped
					if err := l.TryProduce(numbered(0), nil); producer.SafeToResend(err) {
						t.Errorf("TryProduce: safe to resend: %v", err)
					}
					time.Sleep(time.Second)
					synctest.Wait()
					if len(all) != 2 {
						t.Fatalf("%d outcomes", len(all))
					}
					for _, r := range all {
						if r.Outcome != producer.Unknown || producer.SafeToResend(r.Err) {
							t.Errorf("%v: %v", r.Outcome, r.Err)
						}
					}
				})
			})
		}
	}
}

// Nor does it before it has its producer ID, when nobody else can have written the
// record: one rule is easier to rely on.
func TestLaneWithoutProducerIDNeverSaysNotWritten(t *testing.T) {
	for name, stop := range map[string]func(*producer.Lane, *producer.Producer){
		"the lane is aborted":     func(l *producer.Lane, _ *producer.Producer) { l.Abort() },
		"the producer is aborted": func(_ *producer.Lane, p *producer.Producer) { p.Abort() },
		"a deadline":              func(*producer.Lane, *producer.Producer) { time.Sleep(5 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, topics(1))
				p := newProducer(t, c, nil)
				if _, err := p.ProduceSync(t.Context(), numbered(0)); err != nil {
					t.Fatal(err)
				}
				c.OnResponse(func(r *producertest.Response) {
					if m, ok := r.Message.(*kmsg.InitProducerIDResponse); ok {
						m.ErrorCode = 14 // COORDINATOR_LOAD_IN_PROGRESS
					}
				})
				l := p.Lane("t")
				time.Sleep(time.Second) // its topic is known, and it has no ID
				var all []producer.Result
				for i := range 3 {
					l.Produce(t.Context(), numbered(i), func(r producer.Result) { all = append(all, r) })
				}
				time.Sleep(time.Second)
				stop(l, p)
				time.Sleep(time.Second)
				synctest.Wait()
				if len(all) != 3 {
					t.Fatalf("%d outcomes", len(all))
				}
				for _, r := range all {
					if r.Outcome != producer.Unknown || producer.SafeToResend(r.Err) {
						t.Errorf("%v: %v", r.Outcome, r.Err)
					}
				}
			})
		})
	}
}

// Whoever is told that a record is not written finds the lane stopped, however
// the goroutines run: here the one that found out is held up in the log.
func TestLaneHasStoppedBeforeAnybodyIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		busy, first, told := make(chan struct{}), make(chan struct{}), make(chan struct{})
		p := newProducer(t, c, func(c *config.Config) {
			c.Logger = slog.New(onMessage{"another producer", func() {
				close(first)
				<-told
			}})
		})
		l := p.Lane()
		l.Produce(t.Context(), numbered(0), func(producer.Result) { // keeps the callbacks busy
			close(busy)
			<-first
		})
		<-busy
		c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			return producertest.Refuse(47) // INVALID_PRODUCER_EPOCH
		})
		l.Produce(t.Context(), numbered(1), func(r producer.Result) {
			if r.Outcome == producer.Written || l.Err() == nil {
				t.Errorf("%v, and the lane says %v", r.Outcome, l.Err())
			}
			close(told)
		})
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// onMessage is a handler that does something when a message is logged.
type onMessage struct {
	text string
	do   func()
}

func (h onMessage) Enabled(context.Context, slog.Level) bool { return true }
func (h onMessage) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h onMessage) WithGroup(string) slog.Handler            { return h }
func (h onMessage) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, h.text) {
		h.do()
	}
	return nil
}

// A record that could go to another partition the second time is refused.
func TestLaneRefusesRecordsWithoutAFixedPlace(t *testing.T) {
	keyed := producer.Record{Topic: "t", Key: []byte("k")}
	ignore := func(c *config.Config) { c.PartitionerIgnoreKeys = true }
	for name, test := range map[string]struct {
		rec    producer.Record
		change func(*config.Config)
		good   bool
	}{
		"no key":                  {producer.Record{Topic: "t"}, nil, false},
		"a key that is ignored":   {keyed, ignore, false},
		"a key":                   {keyed, nil, true},
		"an empty key":            {producer.Record{Topic: "t", Key: []byte{}}, nil, true},
		"a pin":                   {numbered(0), nil, true},
		"a pin, keys are ignored": {numbered(0), ignore, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newProducer(t, newCluster(t, topics(3)), test.change).Lane()
				_, err := l.ProduceSync(t.Context(), test.rec)
				if test.good && err != nil || !test.good && !errors.Is(err, producer.ErrInvalidRecord) {
					t.Errorf("%v", err)
				}
				if !test.good && l.Err() == nil {
					t.Error("the lane goes on behind it")
				}
			})
		})
	}
}

// lanesFrom is how many lanes a test goes through; the environment says more.
func lanesFrom(n int) int {
	if s := os.Getenv("LANES"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	return n
}

// The first record of a lane is refused for good, while others wait behind it.
// A broker without state takes any first sequence (KAFKA-15591); what it takes
// must not vouch for the one that was refused.
func TestFreshLanesWhoseFirstRecordIsRefused(t *testing.T) {
	const parts = 32
	c := newCluster(t, producertest.Config{InMemory: true, Topics: map[string]int32{"t": parts}})
	c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
		if a.BaseSequence == 0 {
			return producertest.Refuse(87) // INVALID_RECORD
		}
		return producertest.Fault{}
	})
	p := newProducer(t, c, func(c *config.Config) { c.Linger, c.BatchBytes = 0, 1 })
	var written atomic.Int32
	lanes := lanesFrom(1000)
	var wg sync.WaitGroup
	for g := range int32(parts) {
		wg.Go(func() {
			for range lanes / parts {
				l := p.Lane()
				if _, err := l.Mark(t.Context()); err != nil {
					t.Error(err)
					return
				}
				for i := range 3 {
					l.Produce(t.Context(), numberedOn(i, g), func(r producer.Result) {
						if r.Outcome != producer.Unknown {
							written.Inc()
						}
					})
				}
				if err := l.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := written.Load(); n > 0 {
		t.Errorf("%d records of %d lanes had another outcome than Unknown", n, lanes)
	}
	for g := range int32(parts) {
		if got := values(t, c, g); len(got) > 0 {
			t.Errorf("partition %d: behind refused records are %.100v", g, got)
		}
	}
}
