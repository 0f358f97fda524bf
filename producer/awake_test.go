package producer

import (
	"testing"
	"time"
)

// A process that stood still for longer than brokers surely remember it does not
// trust what it knew before, whether its own beat or an answer comes first.
func TestAProcessNoticesThatItStoodStill(t *testing.T) {
	pr := &Producer{}
	pr.cfg.ProducerIDExpiration = 24 * time.Hour
	now := time.Now()
	pr.noteAwake(now)
	for _, gap := range []time.Duration{time.Minute, 11 * time.Hour} {
		if pr.sleptSince(now, now.Add(gap)) {
			t.Errorf("%v are no sleep", gap)
		}
	}
	woke := now.Add(13 * time.Hour)
	if !pr.sleptSince(now, woke) {
		t.Error("not noticed before the first beat")
	}
	pr.noteAwake(woke)
	if !pr.sleptSince(now, woke.Add(time.Second)) {
		t.Error("not noticed after the first beat")
	}
	if pr.sleptSince(woke.Add(time.Second), woke.Add(time.Minute)) {
		t.Error("what was known later counts")
	}
}
