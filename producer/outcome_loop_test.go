package producer_test

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// outcomeCase is one line of the table in docs/outcomes.md.
type outcomeCase struct {
	name    string
	change  func(*config.Config)
	spoil   func(*rig)
	rec     producer.Record
	ctx     time.Duration // 0: an hour, negative: over before
	calls   int           // how often the loop produces, at most
	outcome producer.Outcome
	is      error
	again   bool // it is worth trying
}

// answers makes the broker answer so to the first attempts.
func answers(n int, f producertest.Fault) func(*rig) {
	return func(r *rig) {
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			if n--; n < 0 {
				return producertest.Fault{}
			}
			return f
		})
	}
}

// silence makes the broker answer nothing.
func silence(r *rig) {
	never := make(chan struct{}) // of the bubble
	r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(never) })
	r.t.Cleanup(func() { close(never) })
}

const always = math.MaxInt

// fill takes all of the buffer for a while.
func fill(d time.Duration) func(*rig) {
	return func(r *rig) {
		hold := make(chan struct{})
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(hold) })
		for r.p.TryProduce(producer.Record{Topic: "t", Value: make([]byte, 1000)}, nil) == nil {
		}
		time.AfterFunc(d, func() { close(hold) })
	}
}

func smallBuffer(c *config.Config) {
	c.BufferBytes, c.BatchBytes, c.MaxBlock = 20_000, 4000, time.Second
}

var outcomeCases = []outcomeCase{
	{name: "written", calls: 1, outcome: producer.Written},
	{
		name: "no room for a while", change: smallBuffer, spoil: fill(20 * time.Second), rec: producer.Record{Value: make([]byte, 2000)},
		calls: 20, outcome: producer.Written,
	},
	{
		name: "no right for a while", spoil: answers(3, producertest.Refuse(29)),
		calls: 4, outcome: producer.Written,
	},
	{
		name: "no right", spoil: answers(always, producertest.Refuse(31)), ctx: time.Minute,
		calls: 20, outcome: producer.NotWritten, is: producer.Code(31), again: true,
	},
	{
		name: "no leader for a while", calls: 3, outcome: producer.Written,
		change: func(c *config.Config) { c.DeliveryTimeout = 31 * time.Second },
		spoil: func(r *rig) {
			until := time.Now().Add(time.Minute)
			r.c.OnResponse(func(resp *producertest.Response) {
				if m, ok := resp.Message.(*kmsg.MetadataResponse); ok && time.Now().Before(until) {
					for i := range m.Topics {
						for j := range m.Topics[i].Partitions {
							m.Topics[i].Partitions[j].Leader, m.Topics[i].Partitions[j].ErrorCode = -1, 5
						}
					}
				}
			})
		},
	},
	{
		name: "no topic for a while", rec: producer.Record{Topic: "late"},
		spoil: func(r *rig) { time.AfterFunc(30*time.Second, func() { _ = r.c.CreateTopic("late", 1) }) },
		calls: 20, outcome: producer.Written,
	},
	{
		name: "no such partition for a while", rec: producer.Record{Partition: producer.On(1)},
		spoil: func(r *rig) { time.AfterFunc(30*time.Second, func() { _ = r.c.AddPartitions("t", 1) }) },
		calls: 20, outcome: producer.Written,
	},
	{
		name: "too large", rec: producer.Record{Value: make([]byte, 9<<20)},
		calls: 1, outcome: producer.NotWritten, is: producer.ErrRecordTooLarge,
	},
	{
		name: "too large for the broker", rec: producer.Record{Value: make([]byte, 2<<20)},
		calls: 1, outcome: producer.NotWritten, is: producer.ErrRecordTooLarge,
	},
	{
		name: "a topic name that is none", rec: producer.Record{Topic: strings.Repeat("x", 250)},
		calls: 1, outcome: producer.NotWritten, is: producer.ErrInvalidRecord,
	},
	{
		name: "a negative partition", rec: producer.Record{Partition: producer.On(-1)},
		calls: 1, outcome: producer.NotWritten, is: producer.ErrUnknownPartition,
	},
	{
		name: "an invalid record", spoil: answers(always, producertest.Refuse(87)),
		calls: 1, outcome: producer.NotWritten, is: producer.Code(87),
	},
	{
		name: "a policy", spoil: answers(always, producertest.Refuse(44)),
		calls: 1, outcome: producer.NotWritten, is: producer.Code(44),
	},
	{
		name: "closed", spoil: func(r *rig) { _ = r.p.Close(r.within(time.Minute)) },
		calls: 1, outcome: producer.NotWritten, is: producer.ErrClosed,
	},
	{
		name: "aborted in doubt", calls: 1, outcome: producer.Unknown, is: producer.ErrClosed,
		spoil: func(r *rig) {
			silence(r)
			time.AfterFunc(5*time.Second, r.p.Abort)
		},
	},
	{
		name: "in doubt", spoil: answers(always, producertest.Cut()),
		calls: 1, outcome: producer.Unknown, is: producer.ErrDeliveryTimeout, again: true,
	},
	{
		name: "a second owner", spoil: answers(always, producertest.Refuse(47)),
		calls: 1, outcome: producer.NotWritten, is: producer.ErrSecondOwner,
	},
	{
		name: "nobody wants it", ctx: -1,
		calls: 1, outcome: producer.NotWritten, is: context.Canceled,
	},
	{
		name: "a wait for room that ends", change: func(c *config.Config) { smallBuffer(c); c.MaxBlock = time.Hour },
		spoil: fill(time.Minute), ctx: 10 * time.Second, rec: producer.Record{Value: make([]byte, 2000)},
		calls: 1, outcome: producer.NotWritten, is: context.DeadlineExceeded,
	},
	{
		name: "a wait for the outcome that ends", spoil: silence, ctx: 10 * time.Second,
		calls: 1, outcome: producer.Unknown, is: context.DeadlineExceeded,
	},
}

func TestLoopAgainstEveryOutcome(t *testing.T) {
	for _, tc := range outcomeCases {
		t.Run(tc.name, func(t *testing.T) { synctest.Test(t, tc.run) })
	}
}

func (tc *outcomeCase) run(t *testing.T) {
	r := newRig(t, topics(1), func(c *config.Config) {
		if tc.change != nil {
			tc.change(c)
		}
	})
	if tc.spoil != nil {
		tc.spoil(r)
	}
	ctx, cancel := contextFor(t, max(time.Second, tc.ctx))
	if tc.ctx == 0 {
		ctx, cancel = contextFor(t, time.Hour)
	}
	defer cancel()
	if tc.ctx < 0 {
		cancel()
	}
	rec := tc.rec
	if rec.Topic == "" {
		rec.Topic = "t"
	}
	if rec.Value == nil {
		rec.Value = []byte("value")
	}
	before := allOutcomes(r.p)
	res, err := send(ctx, r.p, rec)
	calls := tc.calls
	if strings.Contains(tc.name, "room") {
		calls += 25 // the records that fill the buffer
	}
	if n := allOutcomes(r.p) - before; n > calls {
		t.Errorf("produced %d times", n)
	}
	if res.Outcome != tc.outcome || !errors.Is(err, tc.is) || err == nil && tc.is != nil {
		t.Fatalf("%v: %v", res.Outcome, err)
	}
	if safe := tc.outcome == producer.NotWritten; producer.SafeToResend(err) != safe || producer.Retriable(err) != tc.again {
		t.Errorf("safe to resend %v, retriable %v: %v", producer.SafeToResend(err), producer.Retriable(err), err)
	}
	if err != nil {
		wantLine(t, err)
	}
}

func allOutcomes(p *producer.Producer) int {
	s := p.Stats()
	return int(s.Written + s.NotWritten + s.Unknown)
}

// What is no outcome of a record is not worth trying again, whatever it is.
func TestRetriableIsForRecords(t *testing.T) {
	for _, err := range []error{nil, errors.New("x"), context.Canceled, producer.ErrBufferFull, producer.Code(6)} {
		if producer.Retriable(err) || producer.SafeToResend(err) {
			t.Errorf("%v", err)
		}
	}
	for err, want := range map[error]bool{
		producer.ErrDeliveryTimeout: true, producer.ErrBufferFull: true, producer.ErrStateLost: true,
		producer.Code(33): true, producer.Code(49): true, producer.Code(58): true,
		producer.ErrOtherCluster: false, producer.ErrLaneFailed: false, producer.Code(17): false, producer.Code(35): false,
	} {
		if got := producer.Retriable(&producer.RecordError{Err: err}); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// A record whose caller no longer waits may still be written: its error says so, and
// what it waits for.
func TestErrorOfWhoNoLongerWaits(t *testing.T) {
	const words = "unknown: context deadline exceeded: the record has its place and may still be written"
	for name, spoil := range map[string]func(*rig){
		"an answer":  silence,
		"its broker": func(r *rig) { _ = r.c.Stop(0) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, topics(1), nil)
				spoil(r)
				ctx, cancel := contextFor(t, 5*time.Second)
				defer cancel()
				res, err := r.p.ProduceSync(ctx, producer.Record{Topic: "t", Value: []byte("v")})
				if res.Outcome != producer.Unknown || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%+v", res)
				}
				wantLine(t, err, words)
				if name == "its broker" {
					wantLine(t, err, "connection refused")
				}
			})
		})
	}
}

// The page shows the loop that is tested.
func TestPageShowsTheLoop(t *testing.T) {
	page, err := os.ReadFile("../docs/outcomes.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_outcomes_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, loop, _ := strings.Cut(string(source), "// send produces")
	loop, _, _ = strings.Cut("// send produces"+loop, "\n}\n")
	if len(loop) < 200 || !strings.Contains(string(page), loop+"\n}\n") {
		t.Errorf("docs/outcomes.md shows another loop than\n%s", loop)
	}
}
