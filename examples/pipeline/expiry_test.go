package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/internal/realkafka"
	"github.com/sluice-kafka/sluice/producer"
)

const (
	expiration = 6 * time.Second
	looksEvery = time.Second // how often a broker looks whom to forget
)

// Until the brokers forget a producer its pipeline goes on exactly. When they
// have, an old state is refused and nothing is written.
func TestExpiryOnRealKafka(t *testing.T) {
	t.Parallel()
	kafka := realkafka.Start(t, realkafka.Config{Properties: map[string]string{
		"producer.id.expiration.ms":                strconv.FormatInt(expiration.Milliseconds(), 10),
		"producer.id.expiration.check.interval.ms": strconv.FormatInt(looksEvery.Milliseconds(), 10),
	}})
	for name, test := range map[string]func(*testing.T, *stage, *realkafka.Cluster){
		"within": resumeWithin, "after": resumeAfter, "quiet": resumeQuiet,
		"older state": resumeOlder, "two at once": resumeTwice,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRealStage(t, kafka, "-every", "1ms", "-expiration", expiration.String())
			test(t, s, kafka)
		})
	}
}

func resumeWithin(t *testing.T, s *stage, _ *realkafka.Cluster) {
	saved := s.crash(t)
	time.Sleep(expiration / 3) // this is what is tested
	s.carriesOn(t, saved)
}

func resumeAfter(t *testing.T, s *stage, kafka *realkafka.Cluster) {
	s.crash(t)
	s.waitForgotten(t, kafka)
	before := s.ends(t)
	if err := s.runUntil(t, nil); !errors.Is(err, producer.ErrStateLost) {
		t.Error(err)
	}
	if after := s.ends(t); !maps.Equal(before, after) {
		t.Errorf("it wrote: from %v to %v", before, after)
	}
}

// Nothing is written for so long that the producer is forgotten, but there are
// checkpoints.
func resumeQuiet(t *testing.T, s *stage, kafka *realkafka.Cluster) {
	s.mustFeed(t, 300)
	if err := s.runUntil(t, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.runWhile(t, nil, func(context.Context) { s.waitForgotten(t, kafka) }); err != nil {
		t.Fatal(err)
	}
	saved := time.Now()
	s.mustFeed(t, 300)
	s.carriesOn(t, saved)
}

func resumeOlder(t *testing.T, s *stage, _ *realkafka.Cluster) {
	saved := s.crash(t)
	backup := t.TempDir()
	if err := os.CopyFS(backup, os.DirFS(s.state)); err != nil {
		t.Fatal(err)
	}
	s.mustFeed(t, 300)
	s.carriesOn(t, saved)
	if err := os.RemoveAll(s.state); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(s.state, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	s.mustFeed(t, 300)
	s.carriesOn(t, saved)
}

func resumeTwice(t *testing.T, s *stage, _ *realkafka.Cluster) {
	saved := s.crash(t)
	s.mustFeed(t, 3000)
	var both sync.WaitGroup
	errs := make(chan error, 2)
	for range 2 {
		both.Go(func() {
			if err := s.runUntil(t, nil); err != nil {
				errs <- err
			}
		})
	}
	both.Wait()
	close(errs)
	for err := range errs {
		failed(t, err, saved)
	}
	s.mustFeed(t, 300)
	s.carriesOn(t, time.Now())
}

// crash runs the pipeline until it cannot save any more: what it has written by
// then is more than its states say, which are not older than what is returned.
func (s *stage) crash(t *testing.T) (saved time.Time) {
	t.Helper()
	saved = time.Now()
	s.mustFeed(t, 100)
	if err := s.runUntil(t, nil); err != nil {
		t.Fatal(err)
	}
	s.mustFeed(t, 1000)
	if err := s.runUntil(t, &failing{Store: s.files(t)}); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	return saved
}

// carriesOn runs the pipeline to the end of its input, and judges.
func (s *stage) carriesOn(t *testing.T, saved time.Time) {
	t.Helper()
	if err := s.runUntil(t, nil); err != nil {
		failed(t, err, saved)
	}
	s.mustBeRight(t)
}

// failed is for a pipeline that ended. A machine may be so slow that its state
// was too old by then.
func failed(t *testing.T, err error, saved time.Time) {
	t.Helper()
	if age := time.Since(saved); errors.Is(err, producer.ErrStateLost) && age > expiration/2 {
		t.Skipf("the state was %v old: %v", age, err)
	}
	t.Fatal(err)
}

func (s *stage) ends(t *testing.T) map[int32]int64 {
	t.Helper()
	ends, err := offsets(patience(t), s.addrs, s.output, latest)
	if err != nil {
		t.Fatal(err)
	}
	return ends
}

// waitForgotten waits until the brokers know no producer of the output.
func (s *stage) waitForgotten(t *testing.T, kafka *realkafka.Cluster) {
	t.Helper()
	for partition := range s.partitions {
		for tick := time.NewTicker(100 * time.Millisecond); ; <-tick.C {
			n, err := kafka.Producers(s.output, int32(partition))
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				tick.Stop()
				break
			}
		}
	}
}
