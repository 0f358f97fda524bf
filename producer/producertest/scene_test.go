package producertest

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// scene is a cluster in a bubble and clients written by hand. Batches are of
// ten records of producer 7, epoch 0, unless the test says otherwise.
type scene struct {
	t    *testing.T
	c    *Cluster
	held map[int32]chan struct{} // by base sequence
}

// play runs a scene in a bubble and compares the violations with what each must
// contain.
func play(t *testing.T, cfg Config, act func(s *scene), want ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.InMemory, cfg.Topics = true, map[string]int32{"t": 1}
		s := &scene{t: t, c: start(t, cfg), held: make(map[int32]chan struct{})}
		act(s)
		synctest.Wait()
		got := s.c.Violations()
		for i, v := range got {
			if i >= len(want) || !strings.Contains(v, want[i]) {
				t.Errorf("violation %q", v)
			}
		}
		if len(got) < len(want) {
			t.Errorf("%d violations, want %q", len(got), want)
		}
		s.c.Close()
	})
}

// fault sets faults by base sequence, for the first attempt of each batch.
func (s *scene) fault(faults map[int32]Fault) {
	s.c.OnProduce(func(a ProduceAttempt) Fault {
		if !a.FirstTime() {
			return Fault{}
		}
		return faults[a.BaseSequence]
	})
}

// hold holds the first attempt of a batch, until release.
func (s *scene) hold(base int32) (release func()) {
	until := make(chan struct{})
	s.fault(map[int32]Fault{base: Hold(until)})
	return func() { close(until) }
}

func b10(base int32) seq { return seq{7, 0, base, 10, "v"} }

// post sends batches of ten and lets everything happen.
func (r *client) post(bases ...int32) {
	r.t.Helper()
	for _, base := range bases {
		r.send(b10(base).on("t", 0))
		synctest.Wait()
	}
}

// got reads answers and compares their codes.
func (r *client) got(codes ...int16) {
	r.t.Helper()
	for i, code := range codes {
		if a := r.produced(); a.code != code {
			r.t.Errorf("answer %d: code %d, want %d", i, a.code, code)
		}
	}
}

// open connects and gets the first batch through.
func (s *scene) open(broker int, base int32) *client {
	s.t.Helper()
	r := connect(s.t, s.c, broker)
	r.post(base)
	r.got(0)
	return r
}

func (s *scene) must(errs ...error) {
	s.t.Helper()
	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
}
