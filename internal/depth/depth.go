// Package depth decides how many requests a connection carries at once.
package depth

import "time"

const (
	first = 64 // requests
	least = 4
	most  = 1 << 14
	// Twice the limit takes as long an answer where nothing waits, and one twice as
	// long where half of it waits. Three quarters are half way, in rates as in times.
	pays = 0.75
	// Answers that take less than a ninth longer than the base wait for nothing: the
	// room that settle leaves makes it an eighth.
	unqueued = 0.9
	// A look at half the limit, and then an eighth, has half the rate on average, and
	// comes after so many times the time of the last one: it costs a hundredth.
	rest = 48
	// The base grows so much a look at most. What waits there of other producers
	// must not add up; a line that got longer is looked at again at once.
	slower = 1.5
)

// Depth is the limit of one connection: as many requests as bring something. A
// broker serves one request of a connection at a time, so what goes beyond only
// waits there. Here it does more good: batches of more partitions join the next
// request, and a replay has less to send again.
//
// The rule compares windows with different limits. By Little's law the rate rises with
// the limit as long as the mean answer time does not. The base is that time at a lower
// limit, where little waits: as many requests pay as the rate brings in one base. Where
// answers take no longer than the base, the limit climbs. Now and then, and when less
// is delivered than before, the limit falls for a look, which gives a new base.
//
// No answer time is ever compared with the shortest one. Where times vary, answers in
// order take about the longest of late, at a low limit too, and all of that pays. A
// window counts only where the limit held something back and nobody else did: neither
// the application nor, by throttling, the broker.
type Depth struct {
	limit   int
	fixed   bool      // by the user
	changed time.Time // the limit
	window  window
	longest time.Duration // answer time in the window before
	muted   time.Time     // the broker asked for silence until then
	pacer

	phase    phase
	standing int           // the limit before this look at others
	rate     float64       // bytes a second with it, 0: not known
	cost     float64       // with it, see window.cost; 0: not known
	base     float64       // cost where little waits, 0: not known
	unproven bool          // that little did
	doubted  bool          // the window before was not believed
	began    time.Time     // this look
	looked   time.Time     // the end of the last one
	took     time.Duration // that one
}

type phase uint8

const (
	holding phase = iota
	climbing
	falling
)

// New returns the depth of a new connection; fixed is the user's limit, or 0.
func New(fixed int, now time.Time) Depth {
	d := Depth{limit: first, changed: now, looked: now, pacer: pacer{since: now}}
	if fixed > 0 {
		d.limit, d.fixed = fixed, true
	}
	return d
}

// Limit is how many requests may be in flight.
func (d *Depth) Limit() int { return d.limit }

// Held notes that the limit keeps something back.
func (d *Depth) Held() { d.window.held = true }

// Starved notes that there is room and nothing to send: what is delivered now is
// what the application makes.
func (d *Depth) Starved() {
	d.window.starved = true
	if d.phase == falling { // what comes next must not wait for a look
		d.limit, d.phase = d.standing, holding
	}
}

// Throttled notes that the broker wants no request until then (KIP-219).
func (d *Depth) Throttled(until time.Time) {
	if until.After(d.muted) {
		d.muted = until
	}
}

// Answered takes the answer to a request of so many bytes.
func (d *Depth) Answered(written, now time.Time, bytes int64) {
	took := max(now.Sub(written), 1)
	d.remember(took, now)
	if d.fixed || written.Before(d.changed) {
		return
	}
	w := &d.window
	if !w.add(written, now, took, bytes) || now.Sub(w.began) < max(d.longest, w.longest)*3/4 {
		return
	}
	before := d.limit
	d.judge(now)
	d.longest = w.longest
	if d.limit == before {
		d.window = window{began: now, round: now}
	} else {
		d.window, d.changed = window{}, now
	}
}

// judge decides what the window speaks for.
func (d *Depth) judge(now time.Time) {
	w := &d.window
	rate := float64(w.bytes) / now.Sub(w.began).Seconds()
	throttled := w.began.Before(d.muted)
	counts := w.held && !w.starved && !throttled
	if counts && !d.doubted && rate < pays*d.floor() {
		d.doubted = true // perhaps a stall, so it is measured again
		return
	}
	d.doubted = false
	switch {
	case d.phase == climbing && throttled, d.phase == falling && !counts:
		d.limit = d.standing
		d.rest(now)
	case d.phase == climbing:
		d.climb(rate, counts, now)
	case d.phase == falling:
		d.fall(rate, now)
	case w.held && !throttled:
		d.hold(rate, counts, now)
	}
}

// floor is the least rate that the limit may be the reason of.
func (d *Depth) floor() float64 {
	if d.phase == falling {
		return d.rate * float64(d.limit) / float64(d.standing)
	}
	return d.rate
}

// hold looks for a reason to try another limit. To try a higher one it is enough that
// something was held back and nothing waits. For lower ones the rate has to count.
func (d *Depth) hold(rate float64, counts bool, now time.Time) {
	cost, dropped := d.window.cost(), counts && rate < pays*d.rate // twice: the line is not what it was
	switch {
	case counts && (d.rate == 0 || dropped):
		d.rate, d.cost = rate, cost
	case counts:
		d.rate += (rate - d.rate) / 4
	case d.cost == 0:
		d.cost = cost
	}
	d.cost += (cost - d.cost) / 4
	clear := d.base == 0 || d.base > unqueued*d.cost
	switch {
	case !dropped && clear && d.limit < most:
		d.base = d.cost
		d.try(climbing, 2*d.limit, now)
	case counts && (dropped || d.unproven || now.Sub(d.looked) > rest*d.took):
		d.try(falling, d.limit/2, now)
	}
}

// try begins a look at another limit.
func (d *Depth) try(p phase, limit int, now time.Time) {
	d.phase, d.standing, d.began = p, d.limit, now
	d.limit = min(max(limit, least), most)
}

// climb judges a higher limit: where answers take little longer with it, a yet higher
// one follows. Without success the limit is what brings the rate in one base.
func (d *Depth) climb(rate float64, counts bool, now time.Time) {
	if counts && d.base > pays*d.window.cost() && d.limit < most {
		d.base, d.rate, d.standing = d.window.cost(), rate, d.limit
		if d.limit *= 2; d.took == 0 {
			d.limit *= 2 // a new connection has far to go
		}
		d.limit = min(d.limit, most)
		return
	}
	d.unproven = counts && unqueued*rate < d.rate
	d.settle(d.base*max(rate, d.rate), now)
	d.limit = max(d.limit, d.standing)
}

// fall judges half the limit and, if answers came sooner with it, an eighth: something
// waited, of this producer or of others at the broker.
func (d *Depth) fall(rate float64, now time.Time) {
	cost, half := d.window.cost(), d.limit > d.standing/4
	waited := !half || cost < unqueued*d.cost
	d.rate = max(d.rate, rate) // what was before may have been a stall
	if half && waited && d.limit > least {
		d.limit = max(d.standing/8, least)
		return
	}
	d.unproven = d.base > 0 && cost > slower*d.base
	if d.unproven {
		cost = slower * d.base
	}
	if d.base = cost; !waited {
		d.limit = d.standing
		d.rest(now)
		return
	}
	d.settle(min(d.base*d.rate, float64(d.standing)), now)
}

// settle ends a look, with room for answers that take longer now and then, for the sender
// to sleep, and for some time's work at the broker: so it is not idle when the next
// request is late.
func (d *Depth) settle(useful float64, now time.Time) {
	const queue = 2 * time.Millisecond
	service := max(now.Sub(d.window.began)/time.Duration(d.window.answers), 1)
	limit := int(useful*9/8) + 2 + min(int(queue/service), 30)
	d.limit = min(limit+room(limit), most)
	d.rest(now)
}

// Room is how many requests have to be answered, once the limit is reached, before the
// sender goes on: to wake it for each answer costs more than the request.
func (d *Depth) Room() int { return room(d.limit) }

func room(limit int) int { return min(limit/4, 16) }

func (d *Depth) rest(now time.Time) {
	d.phase, d.rate, d.cost = holding, 0, 0
	d.looked, d.took = now, now.Sub(d.began)
}
