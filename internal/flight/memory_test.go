package flight

import (
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/throttle"
)

const day = 24 * time.Hour

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func ms(t time.Time) int64 { return t.UnixMilli() }

// queue is a Queue of histories.
type queue []*History

func (q queue) Sealed() int            { return len(q) }
func (q queue) History(i int) *History { return q[i] }

func TestMemoryHolds(t *testing.T) {
	success := func(m *Memory, stamp time.Time, appendTime int64, at time.Time) {
		h := History{Attempts: 1}
		m.Note(&h, ms(stamp), ms(stamp), at)
		m.Succeeded(&h, appendTime, ms(stamp), Leader{1, 1}, at)
		m.Resolved(&h)
	}
	for name, tc := range map[string]struct {
		before          func(m *Memory)
		written         time.Duration // ago, of the oldest
		stamp           time.Duration // ago
		doubt           bool
		holds, cautious bool
	}{
		"nothing yet":              {holds: true},
		"in doubt, young":          {written: time.Minute, doubt: true, holds: true},
		"in doubt, long ago":       {written: 13 * time.Hour, stamp: 13 * time.Hour, doubt: true, cautious: true},
		"old, not yet sent":        {stamp: 13 * time.Hour, holds: true, cautious: true},
		"old, in doubt":            {written: time.Minute, stamp: 13 * time.Hour, doubt: true, cautious: true},
		"a success long ago":       {before: func(m *Memory) { success(m, noon, -1, noon.Add(-13*time.Hour)) }},
		"a success, old timestamp": {before: func(m *Memory) { success(m, noon.Add(-day), -1, noon) }, holds: true, cautious: true},
		"the broker's timestamps":  {before: func(m *Memory) { success(m, noon.Add(-day), ms(noon), noon) }, stamp: day, holds: true},
		"its timestamps, in doubt for long": {before: func(m *Memory) {
			success(m, noon, ms(noon), noon)
			m.Forget()
		}, written: 13 * time.Hour, stamp: 13 * time.Hour, doubt: true},
	} {
		m := NewMemory(day, false)
		if tc.before != nil {
			tc.before(&m)
		}
		h := History{Attempts: 1, First: noon.Add(-tc.written)}
		m.Note(&h, ms(noon.Add(-tc.stamp)), ms(noon.Add(-tc.stamp)), noon)
		if holds, cautious := m.Holds(queue{&h}, tc.doubt, Sharing{}, noon); holds != tc.holds || cautious != tc.cautious {
			t.Errorf("%s: holds %v, cautious %v", name, holds, cautious)
		}
	}
}

// A batch that was young when it was sealed may have become old in the queue.
func TestMemoryAgesInTheQueue(t *testing.T) {
	m := NewMemory(day, false)
	var h History
	m.Note(&h, ms(noon), ms(noon), noon)
	later := noon.Add(13 * time.Hour)
	h.Sent(later)
	if holds, cautious := m.Holds(queue{&h}, true, Sharing{}, later); holds || !cautious {
		t.Errorf("holds %v, cautious %v", holds, cautious)
	}
}

// An answer to a duplicate carries a timestamp whatever the topic does.
func TestMemoryWhoseTimestamps(t *testing.T) {
	for name, tc := range map[string]struct {
		attempts int
		lane     bool
		old      bool
		append   time.Duration // ago
		theirs   bool
	}{
		"first attempt":                  {1, false, false, 0, true},
		"perhaps a duplicate":            {2, false, false, 0, false},
		"lane, a young batch":            {1, true, false, 0, false},
		"lane, an old batch now":         {1, true, true, 0, true},
		"lane, another owner's, as old":  {1, true, true, day, false},
		"a resend of an old one, itself": {2, false, true, 0, false},
	} {
		m := NewMemory(day, tc.lane)
		h := History{Attempts: tc.attempts, Old: tc.old}
		m.Succeeded(&h, ms(noon.Add(-tc.append)), ms(noon), NoLeader, noon)
		if m.brokersTime != tc.theirs {
			t.Errorf("%s: the broker's timestamps: %v", name, m.brokersTime)
		}
	}
}

func TestMemoryShowsAll(t *testing.T) {
	young, doubt := &History{First: noon}, &History{First: noon, MayBe: true}
	old := &History{First: noon, Old: true}
	long := &History{First: noon.Add(-13 * time.Hour), MayBe: true}
	for name, tc := range map[string]struct {
		q     queue
		s     Sharing
		begun bool
		all   bool
	}{
		"verified a moment ago":          {queue{young}, Sharing{Since: noon}, true, true},
		"verified long ago":              {queue{young}, Sharing{Since: noon.Add(-13 * time.Hour)}, true, false},
		"old, and others":                {queue{young, old}, Sharing{Since: noon}, true, false},
		"old, and alone":                 {queue{young, old}, Sharing{Alone: true}, true, true},
		"in doubt behind what was there": {queue{doubt}, Sharing{Since: noon}, true, false},
		"in doubt as the first":          {queue{doubt}, Sharing{Since: noon}, false, true},
		"in doubt for long":              {queue{long}, Sharing{Since: noon}, false, false},
	} {
		m := NewMemory(day, true)
		if got := m.ShowsAll(tc.q, tc.s, tc.begun, noon); got != tc.all {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestMemoryAhead(t *testing.T) {
	m := NewMemory(day, true)
	if _, ahead := m.Ahead(5); ahead {
		t.Error("ahead, and nothing was seen")
	}
	for una, want := range map[throttle.Sequence]bool{9: true, 10: false, 11: false} {
		m := NewMemory(day, true)
		m.Saw(9, 0)
		if last, ahead := m.Ahead(una); ahead != want || ahead && last != 9 {
			t.Errorf("una %d: %v up to %d", una, ahead, last)
		}
	}
}

func TestMemoryLeader(t *testing.T) {
	m := NewMemory(day, false)
	m.AnsweredBy(Leader{1, 5})
	for l, want := range map[Leader]bool{{1, 5}: true, {1, 4}: true, {2, 5}: false, {2, 6}: true} {
		if m.Current(l) != want {
			t.Errorf("%v: current %v", l, !want)
		}
	}
	m.ReadToEnd(Leader{2, 6}, noon, noon)
	if m.JustRead(Leader{3, 6}, noon) || m.JustRead(Leader{2, 6}, noon) {
		t.Error("another leader's answer leaves the reading in place")
	}
	for age, want := range map[time.Duration]bool{time.Second: true, readingHolds: false} {
		m.ReadToEnd(Leader{2, 6}, noon, noon)
		if m.JustRead(Leader{2, 6}, noon.Add(age)) != want {
			t.Errorf("a reading %v ago: %v", age, !want)
		}
	}
}
