package producer

import (
	"testing"
	"time"
)

// serial is a broker at the end of a line: it serves one request at a time.
type serial struct {
	rtt, service time.Duration
	now          time.Time
	free         time.Time   // when the broker is idle
	written      []time.Time // of what has no answer, oldest first
	answers      []time.Time // when those come
	depth        depth
	served       int
}

func newSerial(rtt, service time.Duration) *serial {
	return &serial{rtt: rtt, service: service, now: time.Unix(0, 0), depth: newDepth(0, time.Unix(0, 0))}
}

// run keeps as much in flight as the depth allows, for so long.
func (s *serial) run(span time.Duration) {
	for end := s.now.Add(span); s.now.Before(end); {
		for len(s.written) < s.depth.limit {
			s.write()
		}
		s.depth.held = true
		s.now = s.answers[0]
		s.depth.answered(s.written[0], s.now)
		s.written, s.answers = s.written[1:], s.answers[1:]
		s.served++
	}
}

func (s *serial) write() {
	begin := s.now.Add(s.rtt / 2)
	if begin.Before(s.free) {
		begin = s.free
	}
	s.free = begin.Add(s.service)
	s.written = append(s.written, s.now)
	s.answers = append(s.answers, s.free.Add(s.rtt/2))
}

// usual is the limit while nothing is measured.
func (s *serial) usual() int {
	if s.depth.measuring != notMeasuring {
		return s.depth.before
	}
	return s.depth.limit
}

// share is how much of its time the broker was busy over the span.
func (s *serial) share(span time.Duration) float64 {
	s.served = 0
	s.run(span)
	return float64(s.served) * s.service.Seconds() / span.Seconds()
}

func TestDepthIsWhatKeepsTheBrokerBusy(t *testing.T) {
	for _, c := range []struct {
		name         string
		rtt, service time.Duration
	}{
		{"far and fast", 50 * time.Millisecond, 100 * time.Microsecond},
		{"far and slow", 50 * time.Millisecond, 5 * time.Millisecond},
		{"farther", 300 * time.Millisecond, time.Millisecond},
		{"near", 200 * time.Microsecond, 100 * time.Microsecond},
		{"near and slow", 200 * time.Microsecond, 10 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSerial(c.rtt, c.service)
			s.run(time.Minute)
			useful := int(c.rtt/c.service) + 1
			if got := s.usual(); got < useful || got > 2*useful+40 {
				t.Errorf("depth %d where %d requests fill the line", got, useful)
			}
			if busy := s.share(2 * time.Minute); busy < 0.97 {
				t.Errorf("the broker was busy for %.3f of the time", busy)
			}
		})
	}
}

func TestDepthFollowsChange(t *testing.T) {
	s := newSerial(50*time.Millisecond, time.Millisecond)
	s.run(10 * time.Second)
	before := s.usual()

	s.service = 100 * time.Microsecond
	s.run(10 * time.Second)
	if busy := s.share(10 * time.Second); busy < 0.97 {
		t.Errorf("a broker that got faster was busy for %.3f of the time", busy)
	}
	s.service = time.Millisecond
	s.run(10 * time.Second)
	if got := s.usual(); got > 2*before {
		t.Errorf("depth %d at a broker that got slow again, %d before", got, before)
	}
	s.rtt = 200 * time.Millisecond // another route, which must not look like a queue for ever
	s.run(2 * mostMemory)
	if busy := s.share(2 * time.Minute); busy < 0.9 {
		t.Errorf("behind a longer route the broker was busy for %.3f of the time", busy)
	}
}

func TestDepthStaysWhereNothingWasHeldBack(t *testing.T) {
	d := newDepth(0, time.Unix(0, 0))
	now := time.Unix(0, 0)
	for range 1000 {
		d.answered(now, now.Add(time.Millisecond))
		now = now.Add(2 * time.Millisecond)
	}
	if d.limit != firstDepth {
		t.Errorf("depth %d after answers to one request at a time, want %d", d.limit, firstDepth)
	}
}

func TestDepthFixedByTheUser(t *testing.T) {
	s := newSerial(50*time.Millisecond, time.Millisecond)
	s.depth = newDepth(7, s.now)
	s.run(time.Minute)
	if s.depth.limit != 7 || len(s.written) > 7 {
		t.Errorf("depth %d, %d in flight, want 7", s.depth.limit, len(s.written))
	}
}

// A broker that stands still while the shortest answer time is measured anew
// makes every request after that wait, though the line is 1 ms long.
func TestPaceAfterAStallWhileMeasuring(t *testing.T) {
	s := newSerial(time.Millisecond, 10*time.Microsecond)
	for s.depth.measuring != measuring { // draining is over
		s.run(s.rtt)
	}
	const still = 25 * time.Second // below request.timeout.ms
	s.free = s.free.Add(still)
	for i := range s.answers {
		s.answers[i] = s.answers[i].Add(still)
	}
	for s.depth.measuring == measuring {
		s.run(time.Millisecond)
	}
	if p := s.depth.pace(); p > 10*time.Millisecond {
		// what three more paced requests see
		var sum time.Duration
		for range 3 {
			p := s.depth.pace()
			sum += p
			w := s.now.Add(p)
			s.now = w.Add(s.rtt)
			s.depth.answered(w, s.now)
		}
		t.Errorf("pace %v on a line of %v; the next three requests wait %v, then %v", p, s.rtt, sum, s.depth.pace())
	}
}

// Where nothing waits the limit doubles, and the line is never emptied to measure
// what is seen anyway.
func TestDepthOnAClearLine(t *testing.T) {
	s := newSerial(50*time.Millisecond, time.Microsecond)
	for range 500 {
		s.run(s.rtt)
		if s.depth.measuring != notMeasuring {
			t.Fatal("a line without a queue was emptied")
		}
	}
	if s.depth.limit != mostDepth {
		t.Errorf("a limit of %d, nothing waits with %d", s.depth.limit, mostDepth)
	}
	s = newSerial(50*time.Millisecond, time.Microsecond)
	s.run(20 * s.rtt)
	if want := 64 << 6; s.depth.limit < want {
		t.Errorf("a limit of %d after 20 round trips, want %d at least", s.depth.limit, want)
	}
}
