package retry

import "testing"

func TestCountEndsWhatIsWorthAFewTries(t *testing.T) {
	for _, fate := range []Fate{NotAppended, Uncertain} {
		d := Decision{Fate: fate, Tries: 3}
		tries := uint8(0)
		for i := 1; i <= 3; i++ {
			now, got, enough := d.Count(tries)
			want := fate
			if i == 3 && fate == NotAppended {
				want = Refused
			}
			if int(now) != i || got != want || enough != (i == 3) {
				t.Errorf("%v, try %d: %d, %v, %v", fate, i, now, got, enough)
			}
			tries = now
		}
	}
	if now, fate, enough := (Decision{Fate: NotAppended}).Count(2); now != 0 || fate != NotAppended || enough {
		t.Errorf("an answer that is worth any number of tries: %d, %v, %v", now, fate, enough)
	}
}
