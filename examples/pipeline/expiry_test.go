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
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	expiration  = 6 * time.Second
	looksOnReal = time.Second // how often a broker looks whom to forget
)

// A pipeline goes on exactly whether the brokers still know its producer or not. Only
// if they have forgotten it, and the log behind its state is deleted, the state is
// refused and nothing is written.
func TestExpiryOnRealKafka(t *testing.T) {
	t.Parallel()
	kafka := realkafka.Start(t, realkafka.Config{Properties: map[string]string{
		"producer.id.expiration.ms":                strconv.FormatInt(expiration.Milliseconds(), 10),
		"producer.id.expiration.check.interval.ms": strconv.FormatInt(looksOnReal.Milliseconds(), 10),
	}})
	for name, test := range map[string]func(*testing.T, *stage, *realkafka.Cluster){
		"within": resumeWithin, "after": resumeAfter, "after, long behind": resumeBehind, "after, deleted": resumeDeleted,
		"quiet": resumeQuiet, "older state": resumeOlder, "two at once": resumeTwice,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRealStage(t, kafka, "-every", "1ms", "-expiration", expiration.String())
			test(t, s, kafka)
		})
	}
	t.Run("chaos with event time", func(t *testing.T) {
		t.Parallel()
		args := append(killArgs(*realKills), "-event-time", "-expiration", expiration.String())
		newRealStage(t, kafka, args...).mustSurvive(t)
	})
}

func resumeWithin(t *testing.T, s *stage, _ *realkafka.Cluster) {
	s.crash(t)
	time.Sleep(expiration / 3) // this is what is tested
	s.carriesOn(t)
}

// Some of what was written behind the state may be there, or nothing.
func resumeAfter(t *testing.T, s *stage, kafka *realkafka.Cluster) {
	s.crash(t)
	s.waitForgotten(t, kafka)
	s.carriesOn(t)
}

// Much was written behind the state.
func resumeBehind(t *testing.T, s *stage, kafka *realkafka.Cluster) {
	s.crash(t)
	s.outrun(t)
	s.waitForgotten(t, kafka)
	s.mustFeed(t, 300)
	s.carriesOn(t)
}

func resumeDeleted(t *testing.T, s *stage, kafka *realkafka.Cluster) {
	s.crash(t)
	s.outrun(t)
	s.waitForgotten(t, kafka)
	s.mustFeed(t, 300)
	before := s.ends(t)
	if err := deleteAll(patience(t), s.addrs, s.output, before); err != nil {
		t.Fatal(err)
	}
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
	s.mustFeed(t, 300)
	s.carriesOn(t)
}

func resumeOlder(t *testing.T, s *stage, _ *realkafka.Cluster) {
	s.crash(t)
	backup := t.TempDir()
	if err := os.CopyFS(backup, os.DirFS(s.state)); err != nil {
		t.Fatal(err)
	}
	s.mustFeed(t, 300)
	s.carriesOn(t)
	if err := os.RemoveAll(s.state); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(s.state, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	s.mustFeed(t, 300)
	s.carriesOn(t)
}

func resumeTwice(t *testing.T, s *stage, _ *realkafka.Cluster) {
	s.crash(t)
	s.mustFeed(t, 3000)
	var both sync.WaitGroup
	errs := make(chan error, 2)
	for range 2 {
		both.Go(func() { errs <- s.runUntil(t, nil) })
	}
	both.Wait()
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Fatal(err)
	}
	s.mustFeed(t, 300)
	s.carriesOn(t)
}

// crash runs the pipeline until it cannot save any more: what it has written by
// then may be more than its states say.
func (s *stage) crash(t *testing.T) {
	t.Helper()
	s.mustFeed(t, 100)
	if err := s.runUntil(t, nil); err != nil {
		t.Fatal(err)
	}
	s.mustFeed(t, 1000)
	if err := s.runUntil(t, &failing{Store: s.files(t)}); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
}

// forgetful is a store that keeps nothing new.
type forgetful struct{ Store }

func (forgetful) Save(int32, State) error { return nil }

// outrun runs the pipeline to the end of its input, and leaves its states behind.
func (s *stage) outrun(t *testing.T) {
	t.Helper()
	if err := s.runUntil(t, forgetful{s.files(t)}); err != nil {
		t.Fatal(err)
	}
}

// carriesOn runs the pipeline to the end of its input, and judges.
func (s *stage) carriesOn(t *testing.T) {
	t.Helper()
	if err := s.runUntil(t, nil); err != nil {
		t.Fatal(err)
	}
	s.mustBeRight(t)
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

// deleteAll deletes all records of a topic.
func deleteAll(ctx context.Context, brokers []string, topic string, ends map[int32]int64) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = topic
	for partition, end := range ends {
		rp := kmsg.NewDeleteRecordsRequestTopicPartition()
		rp.Partition, rp.Offset = partition, end
		rt.Partitions = append(rt.Partitions, rp)
	}
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), int32(grace.Milliseconds())
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for _, p := range resp.Topics[0].Partitions {
		err = errors.Join(err, kerr.ErrorForCode(p.ErrorCode))
	}
	return err
}
