package flight

import (
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// An answer is judged by all that came back: a code, an offset, nothing at all.
func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		a       Answer
		tries   uint8
		attempt throttle.Answer
		may     bool // be written
		pauses  bool
	}{
		"success":               {Answer{Code: retry.None, BaseOffset: 7}, 0, throttle.Success, false, false},
		"duplicate":             {Answer{Code: retry.DuplicateSequenceNumber, BaseOffset: -1}, 0, throttle.Duplicate, true, false},
		"refused":               {Answer{Code: retry.MessageTooLarge, BaseOffset: -1}, 0, throttle.Refused, false, false},
		"refused with offset":   {Answer{Code: retry.MessageTooLarge, BaseOffset: 3}, 0, throttle.Uncertain, true, true},
		"left out":              {Answer{Code: retry.None, BaseOffset: 7, Missing: true}, 0, throttle.Uncertain, true, true},
		"no byte left":          {Answer{BaseOffset: -1, Unsent: true}, 0, throttle.NotAppended, false, true},
		"corrupt":               {Answer{Code: retry.CorruptMessage, BaseOffset: -1}, 0, throttle.NotAppended, false, true},
		"corrupt to the last":   {Answer{Code: retry.CorruptMessage, BaseOffset: -1}, 3, throttle.Refused, false, true},
		"nameless":              {Answer{Code: 999, BaseOffset: -1}, 3, throttle.Uncertain, true, true},
		"the broker forgot us":  {Answer{Code: retry.UnknownProducerID, BaseOffset: -1}, 0, throttle.NotAppended, false, true},
		"somebody else owns it": {Answer{Code: retry.InvalidProducerEpoch, BaseOffset: -1}, 0, throttle.NotAppended, false, false},
	} {
		v := Judge(tc.a, tc.tries)
		var h History
		h.Answered(v)
		if v.Attempt != tc.attempt || h.MayBe != tc.may || v.Pauses(throttle.Resolution{}, false) != tc.pauses {
			t.Errorf("%s: %+v", name, v)
		}
		if v.Pauses(throttle.Resolution{Stalled: true}, true) {
			t.Errorf("%s: the new leader waits for what the old one says", name)
		}
	}
}

// What is only worth a few tries is given up with the last one, and only while it
// is the oldest.
func TestGivesUp(t *testing.T) {
	a := Answer{Code: 999, BaseOffset: -1}
	tries := uint8(0)
	for n := 1; n <= 4; n++ {
		v := Judge(a, tries)
		tries = v.Tries
		if v.GivesUp(true) != (n == 4) || v.GivesUp(false) {
			t.Errorf("try %d: %+v", n, v)
		}
	}
	if v := Judge(Answer{Code: retry.NotLeaderOrFollower, BaseOffset: -1}, 3); v.Tries != 0 || v.GivesUp(true) {
		t.Errorf("another answer in between: %+v", v)
	}
}

func TestPause(t *testing.T) {
	now := time.Unix(1000, 0)
	p := NewPause(100*time.Millisecond, time.Second)
	p.Extend(now, 0.5)
	first, on := p.Until(now)
	p.Extend(now.Add(50*time.Millisecond), 0.5) // the next answer to what was pipelined
	if again, _ := p.Until(now); !on || again != first || first != now.Add(100*time.Millisecond) {
		t.Errorf("paused until %v, then %v", first, again)
	}
	p.Extend(first, 0.5)
	if second, _ := p.Until(first); second != first.Add(200*time.Millisecond) {
		t.Errorf("the second pause ends at %v", second)
	}
	p.Cut()
	if _, on := p.Until(now); on {
		t.Error("still paused after news")
	}
	p.Succeeded()
	p.Extend(now, 0.5)
	if end, _ := p.Until(now); end != first {
		t.Errorf("after a success a pause ends at %v", end)
	}
}
