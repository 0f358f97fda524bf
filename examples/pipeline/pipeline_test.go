package main

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/sluice-kafka/sluice/producer"
)

// patience is for what comes at once unless it never comes.
func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx
}

func newTestStage(t *testing.T, args ...string) *stage {
	t.Helper()
	o, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStage(patience(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// runUntil runs the pipeline until everything fed so far is saved, or it ends.
func (s *stage) runUntil(t *testing.T, store Store) error {
	t.Helper()
	ends, err := offsets(patience(t), s.addrs, s.input, latest)
	if err != nil {
		t.Fatal(err)
	}
	return s.runWhile(t, store, func(running context.Context) { s.progress.waitSaved(running, ends) })
}

// runWhile runs the pipeline while something else goes on, or until it ends.
func (s *stage) runWhile(t *testing.T, store Store, wait func(running context.Context)) error {
	t.Helper()
	p, err := newPipeline(s.options, s.addrs, s.input, s.output, s.state)
	if err != nil {
		t.Fatal(err)
	}
	if store != nil { // nil: its own
		p.store = store
	}
	p.saved = s.progress.note
	running, stop := context.WithCancelCause(patience(t))
	ended := make(chan error, 1)
	go func() {
		ended <- p.run(running)
		stop(errEnded)
	}()
	wait(running)
	stop(nil)
	return <-ended
}

func (s *stage) files(t *testing.T) *FileStore {
	t.Helper()
	files, err := OpenFileStore(s.state, s.input)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func (s *stage) mustFeed(t *testing.T, each int) {
	t.Helper()
	if err := s.feed(patience(t), each); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) mustBeRight(t *testing.T) verdict {
	t.Helper()
	v, err := judge(patience(t), s.addrs, s.input, s.output, s.rules())
	if err != nil {
		t.Fatal(err)
	}
	if v.faults() > 0 {
		t.Error(v.String())
	}
	return v
}

func TestPipelineStopsAndCarriesOn(t *testing.T) {
	s := newTestStage(t, "-every", "10ms")
	for range 3 {
		s.mustFeed(t, 500)
		if err := s.runUntil(t, nil); err != nil {
			t.Fatal(err)
		}
	}
	if v := s.mustBeRight(t); v.In != 6000 {
		t.Errorf("only %d sentences", v.In)
	}
}

// failing is a store that fails after so many calls of Save.
type failing struct {
	Store
	mu   sync.Mutex
	left int
}

var errFull = errors.New("the disk is full")

func (f *failing) Save(partition int32, s State) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left < 0 {
		return errFull
	}
	return f.Store.Save(partition, s)
}

// A pipeline that cannot save ends, whatever it has written by then; the next
// one carries on from what was saved.
func TestPipelineSurvivesItsStore(t *testing.T) {
	s := newTestStage(t, "-every", "1ms")
	for saves := range 8 {
		s.mustFeed(t, 300)
		err := s.runUntil(t, &failing{Store: s.files(t), left: saves})
		if !errors.Is(err, errFull) && (err != nil || saves < s.partitions) {
			t.Fatalf("after %d saves: %v", saves, err)
		}
	}
	if err := s.runUntil(t, nil); err != nil {
		t.Fatal(err)
	}
	s.mustBeRight(t)
}

// Nothing is written before the first checkpoint is saved: it could not be
// carried on.
func TestPipelineSavesBeforeItWrites(t *testing.T) {
	s := newTestStage(t)
	s.mustFeed(t, 100)
	if err := s.runUntil(t, &failing{Store: s.files(t)}); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	for partition := range s.partitions {
		if log := s.embedded.Log(s.output, int32(partition)); len(log) > 0 {
			t.Errorf("partition %d has %d batches", partition, len(log))
		}
	}
}

// A state that goes with another cluster is refused, and nothing is written.
func TestPipelineRefusesAForeignState(t *testing.T) {
	s := newTestStage(t)
	s.mustFeed(t, 100)
	if err := s.runUntil(t, nil); err != nil {
		t.Fatal(err)
	}
	files := s.files(t)
	state, _, err := files.Load(0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range state.Checkpoint.Partitions {
		state.Checkpoint.Partitions[i].TopicID = [16]byte{1}
	}
	state.Offset = 0
	if err := files.Save(0, state); err != nil {
		t.Fatal(err)
	}
	s.mustFeed(t, 1)
	if err := s.runUntil(t, nil); !errors.Is(err, producer.ErrTopicRecreated) {
		t.Errorf("%v", err)
	}
}

func TestDemo(t *testing.T) {
	s := newTestStage(t, "-records", "2000")
	if err := s.demo(patience(t)); err != nil {
		t.Error(err)
	}
}

// mustSurvive runs chaos, and makes sure that what was asked for took place.
func (s *stage) mustSurvive(t *testing.T) {
	t.Helper()
	if err := s.chaos(patience(t)); err != nil {
		t.Error(err)
	}
	if s.grow && s.grown == 0 {
		t.Error("no partition was added")
	}
}

func TestChaos(t *testing.T) {
	pauses := "0"
	if canPause {
		pauses = "2"
	}
	for kind, window := range map[string]string{"stock": "0", "KIP-758": "1000"} {
		for mode, args := range map[string][]string{
			"plain":                  {"-pauses", pauses},
			"event time":             {"-event-time"},
			"event time, and pauses": {"-event-time", "-pauses", pauses},
			"growing":                {"-grow", "-pauses", pauses},
		} {
			t.Run(kind+"/"+mode, func(t *testing.T) {
				args = append([]string{"-chaos", "-kills", "4", "-every", "10ms", "-window", window}, args...)
				newTestStage(t, args...).mustSurvive(t)
			})
		}
	}
}
