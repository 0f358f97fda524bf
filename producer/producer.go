// Package producer is the client: it batches records, numbers them, keeps many
// batches of each partition in flight, and reports one honest outcome for every
// record.
//
// A Producer is idempotent and writes with acks=all; there is no other mode.
// How deep it may go it learns from each broker (KIP-758); every broker since
// Kafka 0.11 can be pipelined deeply, see docs/design.md.
//
//	cfg := config.Default()
//	cfg.BootstrapServers = []string{"127.0.0.1:9092"}
//	p, err := producer.New(cfg)
//	...
//	p.Produce(ctx, producer.Record{Topic: "orders", Value: v}, func(r producer.Result) { ... })
//	...
//	err = p.Close(ctx)
package producer

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	stdatomic "sync/atomic"

	"github.com/sluice-kafka/sluice/batcher"
	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/compress"
	"github.com/twmb/franz-go/pkg/sasl"
	"go.uber.org/atomic"
)

// Producer writes records to Kafka. All methods may be called by any number of
// goroutines at once. Records of one partition are written in the order in
// which Produce was called for them; calls that overlap have no order.
type Producer struct {
	cfg       config.Config
	log       *slog.Logger
	codec     batcher.Compressor // nil: none
	tls       *tls.Config
	sasl      sasl.Mechanism
	budget    budget
	unled     share // of the budget: records whose partition never had a leader
	delivery  deliverer
	control   control
	auditor   auditor
	verifier  verifier
	encoders  encoders
	stats     counters
	clusterID atomic.String            // "" if not known
	latest    atomic.Pointer[identity] // that any lane was given
	modern    atomic.Bool              // a broker has answered in a form that can name a window
	hurry     stdatomic.Int64          // flushes, and callers without room: linger does not count

	closing atomic.Bool
	ending  sync.Once
	closed  chan struct{} // everything has ended
	cancel  context.CancelFunc
	loops   sync.WaitGroup // all but delivery

	beat    atomic.Uint32             // counts tenths of a second
	senders atomic.Pointer[[]*broker] // replaced as a whole, by control

	main    *Lane // of the records produced without one
	lanesMu sync.Mutex
	lanes   map[*Lane]struct{} // the others
	// lanesMade counts them, those that were closed included.
	lanesMade int64
	laned     atomic.Bool // there have been others
}

// New makes a producer. It checks the configuration and reports every fault of
// it, and does not wait for a broker: Ping does. The configuration is copied.
// Close ends the producer.
func New(cfg config.Config) (*Producer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	pr := &Producer{cfg: cfg.Clone(), log: cfg.Logger, closed: make(chan struct{})}
	if pr.log == nil {
		pr.log = slog.New(slog.DiscardHandler)
	}
	for _, w := range cfg.Warnings {
		pr.log.Warn("configuration", "warning", w.String())
	}
	if err := pr.secure(); err != nil {
		return nil, err
	}
	codec, err := compress.Parse(cfg.Compression.String())
	if err != nil {
		return nil, fmt.Errorf("producer: %w", err)
	}
	if codec != compress.None {
		pr.codec = codec
	}
	pr.encoders.pr = pr
	pr.budget.limit = min(cfg.BufferBytes, mostLimit)
	pr.budget.onCrowd = pr.crowd
	pr.delivery = newDeliverer(pr)
	pr.main, pr.lanes = newLane(pr, false), map[*Lane]struct{}{}
	pr.senders.Store(&[]*broker{})
	pr.start()
	return pr, nil
}

func (pr *Producer) secure() (err error) {
	if pr.tls, err = pr.cfg.BuildTLS(); err != nil {
		return err
	}
	pr.sasl, err = pr.cfg.BuildSASL()
	return err
}

func (pr *Producer) start() {
	ctx, cancel := context.WithCancel(context.Background())
	pr.cancel = cancel
	pr.control = newControl(pr, ctx)
	go pr.delivery.run()
	pr.loops.Go(func() { pr.control.run(ctx) })
	pr.verifier.pr, pr.verifier.ctx = pr, ctx
	pr.auditor = newAuditor(pr, ctx)
	pr.loops.Go(func() { pr.deadlines(ctx) })
}

var softwareVersion = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == "github.com/sluice-kafka/sluice" && m.Version != "" && m.Version != "(devel)" {
				return m.Version
			}
		}
	}
	return "devel"
})

// eachLane calls do for every lane there is, that of the producer itself first.
func (pr *Producer) eachLane(do func(*Lane)) {
	do(pr.main)
	pr.lanesMu.Lock()
	lanes := slices.Collect(maps.Keys(pr.lanes))
	pr.lanesMu.Unlock()
	for _, l := range lanes {
		do(l)
	}
}

// each calls do for every partition there is.
func (pr *Producer) each(do func(*partition)) {
	pr.eachLane(func(l *Lane) { l.each(do) })
}

// crowd is told when callers begin to wait for room, and when none does any
// more: meanwhile nothing lingers.
func (pr *Producer) crowd(waiting bool) {
	if !waiting {
		pr.hurry.Add(-1)
		return
	}
	pr.hurry.Add(1)
	pr.each((*partition).nudge)
}
