package depth

import (
	"math/rand/v2"
	"time"
)

// line is a broker at the end of a line, in virtual time. Without more it serves one
// request at a time, in the order in which requests come.
type line struct {
	rtt, service time.Duration
	jitter       time.Duration    // of each answer, 0..jitter, as if replicas took it: others do not wait for it
	tick         time.Duration    // answers are made only then, all together, and the jitter is the tick's
	stall        time.Duration    // the mean time between two
	stalls       [2]time.Duration // the shortest and the longest; by default 0.2 s and 1 s, as TCP waits after a loss
	quota        time.Duration    // for each request; a broker that got more is silent meanwhile (KIP-219)

	rand       *rand.Rand
	free       time.Time // when the broker is idle
	owed       time.Time // when what came is paid for by the quota
	flush      time.Time // the tick that the jitter is for
	late       time.Duration
	stallBegin time.Time
	stallEnd   time.Time
}

var epoch = time.Unix(0, 0)

func newLine(l line) *line {
	l.rand = rand.New(rand.NewPCG(1, 2))
	l.free, l.owed, l.flush = epoch, epoch, epoch
	if l.stalls[1] == 0 {
		l.stalls = [2]time.Duration{200 * time.Millisecond, time.Second}
	}
	if l.stall > 0 {
		l.nextStall(epoch)
	}
	return &l
}

func (l *line) nextStall(now time.Time) {
	l.stallBegin = now.Add(time.Duration(l.rand.ExpFloat64() * float64(l.stall)))
	l.stallEnd = l.stallBegin.Add(l.stalls[0] + l.upTo(l.stalls[1]-l.stalls[0]))
}

func (l *line) upTo(d time.Duration) time.Duration { return time.Duration(l.rand.Int64N(int64(d) + 1)) }

// ride is what becomes of one request.
type ride struct {
	written, answered time.Time
	waited            time.Duration // at the broker
	silence           time.Duration // that the answer asks for
}

// serve takes requests in the order in which they are written.
func (l *line) serve(now time.Time) ride {
	came := now.Add(l.rtt / 2)
	if l.stall > 0 {
		for came.After(l.stallEnd) {
			l.nextStall(l.stallEnd)
		}
		if came.After(l.stallBegin) {
			came = l.stallEnd
		}
	}
	begin := came
	if l.free.After(begin) {
		begin = l.free
	}
	l.free = begin.Add(l.service)
	r := ride{written: now, waited: begin.Sub(came), answered: l.free.Add(l.rtt / 2)}
	switch {
	case l.tick > 0:
		at := l.free.Truncate(l.tick).Add(l.tick)
		if at != l.flush {
			l.flush, l.late = at, l.upTo(l.jitter)
		}
		r.answered = at.Add(l.late + l.rtt/2)
	case l.jitter > 0:
		r.answered = r.answered.Add(l.upTo(l.jitter))
	case l.quota > 0:
		if l.owed.Before(begin) {
			l.owed = begin
		}
		l.owed = l.owed.Add(l.quota)
		if r.silence = l.owed.Sub(begin) - l.quota; r.silence > 0 {
			l.free = begin.Add(max(r.silence, l.service))
		}
	}
	return r
}

// flow is a producer that has always something to send, but no more than buffer
// requests, and none in the last part of each period.
type flow struct {
	line      *line
	rule      Depth
	buffer    int
	period    time.Duration
	busy      time.Duration // of each period
	sized     func() int64  // of a request, nil for 1,000 bytes
	now       time.Time
	muted     time.Time
	choked    bool
	rides     []ride // in flight, oldest first
	wakes     time.Time
	delivered int
	sum       struct{ took, waited time.Duration }
	seen      func(r ride)
}

func newFlow(l *line, fixed int) *flow {
	return &flow{line: l, rule: New(fixed, epoch), buffer: 5000, now: epoch}
}

// idle reports whether the producer has nothing, and until when.
func (f *flow) idle() (bool, time.Time) {
	if f.period == 0 {
		return false, time.Time{}
	}
	begin := epoch.Add(f.now.Sub(epoch).Truncate(f.period))
	return f.now.Sub(begin) >= f.busy, begin.Add(f.period)
}

// send writes what may be written, as the sender of a connection does: once the
// limit is reached it sleeps until a quarter of it is free.
func (f *flow) send() {
	f.wakes = time.Time{}
	if f.muted.After(f.now) {
		f.wakes = f.muted
		return
	}
	idle, until := f.idle()
	for {
		wants := !idle && len(f.rides) < f.buffer
		full := len(f.rides) >= f.rule.Limit() || f.choked && len(f.rides) > f.rule.Limit()-f.rule.Room()
		switch {
		case full && wants:
			f.choked = true
			f.rule.Held()
			return
		case full:
			f.choked = true
			return
		case !wants:
			f.rule.Starved()
			f.wakes = until
			return
		}
		f.choked = false
		for len(f.rides) < min(f.rule.Limit(), f.buffer) {
			r := f.line.serve(f.now)
			if n := len(f.rides); n > 0 && r.answered.Before(f.rides[n-1].answered) {
				r.answered = f.rides[n-1].answered
			}
			f.rides = append(f.rides, r)
		}
	}
}

// next is when something happens to the flow.
func (f *flow) next() time.Time {
	if len(f.rides) > 0 && (f.wakes.IsZero() || f.rides[0].answered.Before(f.wakes)) {
		return f.rides[0].answered
	}
	return f.wakes
}

// step lets it happen.
func (f *flow) step() {
	f.now = f.next()
	if len(f.rides) > 0 && f.rides[0].answered.Equal(f.now) {
		r := f.rides[0]
		f.rides = f.rides[1:]
		size := int64(1000)
		if f.sized != nil {
			size = f.sized()
		}
		f.rule.Answered(r.written, f.now, size)
		if r.silence > 0 {
			if until := f.now.Add(r.silence); until.After(f.muted) {
				f.muted = until
			}
			f.rule.Throttled(f.muted)
		}
		f.delivered++
		f.sum.took += f.now.Sub(r.written)
		f.sum.waited += r.waited
		if f.seen != nil {
			f.seen(r)
		}
	}
	f.send()
}

// usual is the limit while no other one is looked at.
func (f *flow) usual() int {
	if f.rule.phase != holding {
		return f.rule.standing
	}
	return f.rule.limit
}

// run lets all flows go on for so long.
func run(span time.Duration, flows ...*flow) {
	end := flows[0].now.Add(span)
	for _, f := range flows {
		f.send()
	}
	for {
		first := flows[0]
		for _, f := range flows[1:] {
			if f.next().Before(first.next()) {
				first = f
			}
		}
		if first.next().After(end) {
			break
		}
		first.step()
	}
	for _, f := range flows {
		f.now = end
	}
}

// figures is what a flow did in a span.
type figures struct {
	rate         float64 // requests a second
	took, waited time.Duration
}

func measure(span time.Duration, flows ...*flow) []figures {
	for _, f := range flows {
		f.delivered, f.sum.took, f.sum.waited = 0, 0, 0
	}
	run(span, flows...)
	var all []figures
	for _, f := range flows {
		n := max(f.delivered, 1)
		all = append(all, figures{float64(f.delivered) / span.Seconds(), f.sum.took / time.Duration(n), f.sum.waited / time.Duration(n)})
	}
	return all
}
