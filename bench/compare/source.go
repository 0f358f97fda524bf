package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-kafka/sluice/bench/peer"
)

// publishEvery is how many records go by between two updates of a counter that
// is read from outside; an atomic operation for every record would be a good
// part of what is to be measured.
const publishEvery = 64

// meter counts what comes back.
type meter struct {
	base   time.Time
	acked  int64
	failed int64
	reason error   // of the first that failed
	stamps []int64 // of records with a rate: minus the time of Produce, then what it took
	faults []error // of callers
	late   []int64

	published atomic.Int64 // acked, nearly
}

func newMeter(rate int, span time.Duration) *meter {
	m := &meter{base: time.Now()}
	if rate > 0 {
		n := int(float64(rate)*span.Seconds()*1.1) + 1000
		m.stamps, m.late = make([]int64, n), make([]int64, n)
	}
	return m
}

func (m *meter) now() int64 { return int64(time.Since(m.base)) }

// done is the callback of every record. Clients call it one at a time.
func (m *meter) done(stamp *int64, err error) {
	if err != nil {
		m.failed++
		if m.reason == nil {
			m.reason = err
		}
		return
	}
	if stamp != nil {
		*stamp += m.now()
	}
	m.acked++
	if m.acked%publishEvery == 0 || stamp != nil {
		m.published.Store(m.acked)
	}
}

func sorted(ns []int64) []time.Duration {
	ds := make([]time.Duration, len(ns))
	for i, n := range ns {
		ds[i] = time.Duration(n)
	}
	slices.Sort(ds)
	return ds
}

// source makes the records.
type source struct {
	client     peer.Client
	meter      *meter
	values     [][]byte
	partitions int32

	produced int64
	next     int32 // partition, for clients that are told
	stamped  atomic.Int64
}

const warmUpTimeout = 30 * time.Second

// warmUp brings up connections and whatever a client makes once a partition.
func (s *source) warmUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), warmUpTimeout)
	defer cancel()
	for range max(1000, int(s.partitions)) {
		s.one(nil)
	}
	if err := s.client.Flush(ctx); err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	if n := s.meter.failed; n > 0 {
		return fmt.Errorf("warming up: %d records failed: %w", n, s.meter.reason)
	}
	return nil
}

func (s *source) one(stamp *int64) {
	s.client.Produce(context.Background(), s.values[s.produced%int64(len(s.values))], s.next, stamp)
	s.produced++
	if s.next++; s.next == s.partitions {
		s.next = 0
	}
}

// call has callers wait for their records, each for its own, until it stops.
func (s *source) call(callers int, stop <-chan struct{}) error {
	caller, ok := s.client.(peer.Caller)
	if !ok {
		return errors.New("the client has no call that waits")
	}
	s.meter.published.Store(s.meter.acked) // by warmUp
	var wg sync.WaitGroup
	took := make([][]int64, callers)
	s.meter.faults = make([]error, callers)
	for i := range callers {
		wg.Go(func() {
			value := s.values[i%len(s.values)]
			for {
				select {
				case <-stop:
					return
				default:
				}
				began := s.meter.now()
				if err := caller.Call(context.Background(), value); err != nil {
					s.meter.faults[i] = err
					return
				}
				took[i] = append(took[i], s.meter.now()-began)
				s.meter.published.Add(1)
			}
		})
	}
	wg.Wait()
	s.meter.stamps = slices.Concat(took...)
	s.meter.acked = s.meter.published.Load()
	s.produced = s.meter.acked
	return errors.Join(s.meter.faults...)
}

func (s *source) produce(began time.Time, rate int, stop <-chan struct{}) {
	if rate > 0 {
		s.paced(began, rate, stop)
		return
	}
	for {
		select {
		case <-stop:
			return
		default:
		}
		for range publishEvery {
			s.one(nil)
		}
	}
}

// tick is how often records with a rate are made; those due since the last one
// come together.
const tick = 50 * time.Microsecond

func (s *source) paced(began time.Time, rate int, stop <-chan struct{}) {
	pacer := newPacer()
	defer pacer.close()
	m := s.meter
	interval := float64(time.Second) / float64(rate)
	start := int64(began.Sub(m.base))
	for i := 0; ; {
		select {
		case <-stop:
			return
		default:
		}
		now := m.now()
		for i < len(m.stamps) {
			due := start + int64(float64(i)*interval)
			if due > now {
				break
			}
			m.stamps[i], m.late[i] = -now, now-due
			s.one(&m.stamps[i])
			i++
			if i%publishEvery == 0 {
				now = m.now()
			}
		}
		s.stamped.Store(int64(i))
		pacer.sleep(tick)
	}
}
