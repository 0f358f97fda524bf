package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// stage is all that the pipeline needs around it when it is only shown: a
// cluster, two topics, sentences, and a directory.
type stage struct {
	options
	what     string
	addrs    []string
	embedded *producertest.Cluster // nil: a real one
	source   *producer.Producer
	progress *progress
	grown    int // partitions added to the output
	readings
}

// looksEvery is how often embedded brokers look for producers to forget, whose
// timestamps are older than the expiration. With -pauses they do not while it
// matters: of two processes at once one would write what brokers forgot of the other
// (docs/exactly-once.md).
func (o options) looksEvery() time.Duration {
	if o.pauses > 0 {
		return 10 * time.Minute // Kafka's default
	}
	return 50 * time.Millisecond
}

func newStage(ctx context.Context, o options) (s *stage, err error) {
	s = &stage{options: o, progress: newProgress()}
	run := fmt.Sprint(time.Now().UnixNano())
	s.input, s.output = pick(o.input, "sentences-"+run), pick(o.output, "words-"+run)
	if s.state, err = os.MkdirTemp("", "sluice-pipeline-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if o.brokers != "" {
		s.what, s.addrs = "cluster at "+o.brokers, strings.Split(o.brokers, ",")
	} else {
		s.embedded, err = producertest.New(producertest.Config{
			Brokers: 3, SequenceWindow: int32(s.window),
			ProducerIDExpiration: s.expiration, ProducerIDExpirationCheck: s.looksEvery(),
		})
		if err != nil {
			return nil, err
		}
		s.what, s.addrs = "embedded cluster of 3 stock brokers", s.embedded.Addrs()
		if s.window > 0 {
			s.what = fmt.Sprintf("embedded cluster of 3 brokers with KIP-758, %d sequences", s.window)
		}
	}
	for _, topic := range []string{s.input, s.output} {
		if err = createTopic(ctx, s.addrs, topic, s.partitions); err != nil {
			return nil, err
		}
	}
	cfg := config.Default()
	cfg.BootstrapServers = s.addrs
	cfg.ProducerIDExpiration = s.expiration
	s.source, err = producer.New(cfg)
	return s, err
}

// list is the cluster as a flag takes it.
func (s *stage) list() string { return strings.Join(s.addrs, ",") }

func pick(given, otherwise string) string {
	if given != "" {
		return given
	}
	return otherwise
}

func (s *stage) close() {
	if s.source != nil {
		s.source.Abort()
	}
	if s.embedded != nil {
		s.embedded.Close()
	}
	os.RemoveAll(s.state)
}

var vocabulary = strings.Fields("the quick brown fox jumps over a lazy dog and nobody knows why it does so every single morning")

// feed writes so many sentences to each input partition, of no word up to eight.
func (s *stage) feed(ctx context.Context, each int) error {
	var recs []producer.Record
	for partition := range s.partitions {
		at := s.sentenceTime()
		for range each {
			var words []string
			for range rand.IntN(9) {
				words = append(words, vocabulary[rand.IntN(len(vocabulary))])
			}
			recs = append(recs, producer.Record{
				Topic: s.input, Partition: producer.On(int32(partition)), Value: []byte(strings.Join(words, " ")),
				Timestamp: at,
			})
		}
	}
	return s.source.ProduceAll(ctx, recs...).Err()
}

// sentenceTime is when sentences come into being. For one feed of three that is
// now, also with -event-time, so that brokers remember some and forget others; else
// it is some days ago, within the retention of a Kafka with its defaults.
func (s *stage) sentenceTime() time.Time {
	if !s.eventTime || rand.IntN(3) == 0 {
		return time.Time{}
	}
	const day = 24 * time.Hour
	return time.Now().Add(-2*day - rand.N(2*day))
}

// demo lets the pipeline run, in this process, until all sentences are done.
func (s *stage) demo(ctx context.Context) error {
	fmt.Printf("%s\n%d sentences in %s, their words to %s\n", s.what, s.records, s.input, s.output)
	for left := s.records / s.partitions; left > 0; left -= 1000 {
		if err := s.feed(ctx, min(left, 1000)); err != nil {
			return err
		}
	}
	ends, err := offsets(ctx, s.addrs, s.input, latest)
	if err != nil {
		return err
	}
	p, err := newPipeline(s.options, s.addrs, s.input, s.output, s.state)
	if err != nil {
		return err
	}
	p.saved = s.progress.note
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan error, 1)
	began := time.Now()
	go func() {
		err := p.run(running)
		stop(errors.Join(errEnded, err))
		ended <- err
	}()
	err = s.progress.waitSaved(running, ends)
	took := time.Since(began)
	stop(nil)
	if err := errors.Join(err, <-ended); err != nil {
		return err
	}
	return s.judge(ctx, fmt.Sprintf("done in %.1fs: ", took.Seconds()))
}

var errEnded = errors.New("the pipeline ended by itself")

func (s *stage) rules() rules { return rules{s.transform(), s.partitions} }

// judge says in one line what was done, and what came of it.
func (s *stage) judge(ctx context.Context, did string) error {
	v, err := judge(ctx, s.addrs, s.input, s.output, s.rules())
	if err != nil {
		return err
	}
	fmt.Println(did + v.String())
	if n := v.faults(); n > 0 {
		return fmt.Errorf("%d records are not as they should be", n)
	}
	return nil
}
