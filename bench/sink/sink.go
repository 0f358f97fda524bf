// Package sink is a broker that costs little: it answers what a producer asks
// (ApiVersions, Metadata, InitProducerId, Produce), checks the checksum and the
// sequence of every batch, and keeps nothing. It never loses what it was sent,
// so it asks nothing of a client's retries: it is for measuring, not for proving.
package sink

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Topic is what a client is told that asks which topics there are. In truth
// every name is one.
const Topic = "sink"

// Config says what broker it is. The zero value, with Partitions set, answers
// at once.
type Config struct {
	Brokers    int   // listeners, 1 if zero; partition i is led by broker i mod Brokers
	Partitions int32 // of every topic: any name exists

	// RTT is the round trip of a line in front of every broker, without a limit
	// to its bandwidth. Opening a connection is not delayed.
	RTT time.Duration
	// Service is how long a Produce request is in work, as waiting for replicas
	// is. Serial says that a connection's next request waits for it, as with a
	// real broker; otherwise they overlap.
	Service time.Duration
	Serial  bool
	// Jitter is added to Service, from nothing to so much, anew for each request.
	// Answers stay in order. With Tick requests are taken up only so often, as by a
	// broker that collects them for an object store, and the jitter is the tick's.
	Jitter time.Duration
	Tick   time.Duration

	// Window is told to the client as KIP-758's, 0 is a stock broker.
	Window int32
	// Unchecked leaves out checksums; sequences are always looked at.
	Unchecked bool
}

// Stats is what came in.
type Stats struct {
	Connections int64
	Requests    int64 // of Produce
	Batches     int64
	Records     int64 // accepted
	Bytes       int64 // of batches, as they came
	Duplicates  int64 // batches that were here before
	OutOfOrder  int64 // batches refused, for a gap or as a start not at 0
	Corrupt     int64 // batches refused, for their checksum or form
}

// Broker is a running sink.
type Broker struct {
	cfg         Config
	listeners   []net.Listener
	log         *log
	producerIDs atomic.Int64

	mu     sync.Mutex
	conns  map[net.Conn]bool // nil when closed
	opened int64
	wg     sync.WaitGroup
}

// Listen starts a sink on free ports of the loopback interface.
func Listen(cfg Config) (*Broker, error) {
	if cfg.Brokers == 0 {
		cfg.Brokers = 1
	}
	if cfg.Partitions < 1 || cfg.Brokers < 0 || cfg.RTT < 0 || cfg.Service < 0 || cfg.Window < 0 ||
		cfg.Jitter < 0 || cfg.Tick < 0 || cfg.Serial && cfg.Jitter+cfg.Tick > 0 {
		return nil, fmt.Errorf("sink: cannot be: %+v", cfg)
	}
	b := &Broker{cfg: cfg, log: newLog(cfg.Partitions, !cfg.Unchecked), conns: map[net.Conn]bool{}}
	for range cfg.Brokers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, b.Close())
		}
		b.listeners = append(b.listeners, l)
	}
	for node, l := range b.listeners {
		b.wg.Go(func() { b.accept(int32(node), l) })
	}
	return b, nil
}

// Addrs returns the addresses of the brokers.
func (b *Broker) Addrs() []string {
	var addrs []string
	for _, l := range b.listeners {
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

// Stats returns what came in so far. It may be called at any time.
func (b *Broker) Stats() Stats {
	s := b.log.stats()
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Connections = b.opened
	return s
}

// Close cuts all connections and returns when nothing runs any more.
func (b *Broker) Close() error {
	var errs []error
	for _, l := range b.listeners {
		errs = append(errs, l.Close())
	}
	b.mu.Lock()
	for c := range b.conns {
		_ = c.Close()
	}
	b.conns = nil
	b.mu.Unlock()
	b.wg.Wait()
	return errors.Join(errs...)
}

func (b *Broker) accept(node int32, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if !b.keep(c) {
			_ = c.Close()
			return
		}
		b.wg.Go(func() {
			defer b.drop(c)
			serve(b, node, c)
		})
	}
}

func (b *Broker) keep(c net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conns == nil {
		return false
	}
	b.conns[c] = true
	b.opened++
	return true
}

func (b *Broker) drop(c net.Conn) {
	_ = c.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.conns, c)
}
