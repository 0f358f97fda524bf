package flight

import (
	"time"

	"github.com/sluice-kafka/sluice/throttle"
)

// rest is what waits until nothing is outstanding, and no batch is with the
// encoders.
type rest struct {
	newLog   bool  // the topic was recreated
	gone     bool  // the broker says that it does not know the producer
	giveUp   bool  // the oldest batch has had its tries
	recut    bool  // the oldest batch of a lane is too large
	encoders bool  // the broker is asked, once no batch is with the encoders
	stopped  Cause // no more is sent, ever
	resting  bool  // something waits
}

// Settle takes the verdict on the attempt of batch i. offset is its base offset;
// appendTime and newest are as in Memory.Succeeded.
func (o *Owner) Settle(i uint64, h *History, v Verdict, offset, appendTime, newest int64, now time.Time, fx *Effects) {
	head := o.shell.History(0) == h
	h.Answered(v)
	o.gone = o.gone || v.Gone
	o.giveUp = o.giveUp || v.GivesUp(head)
	r := o.Window.Settle(i, v.Attempt, offset)
	if r.Written.Len() > 0 {
		o.succeeded(h, appendTime, newest, now)
	}
	o.shell.Resolve(r, Answered)
	o.Doubtful(r)
	if v.Fenced && o.stopped == NoCause {
		o.stop(SecondOwner)
		fx.Fenced = true
	}
	if o.lane && head && v.Attempt == throttle.Refused {
		o.refusedForGood(h)
	}
	if v.Pauses(r, o.shell.Moving()) {
		o.Wait(now)
	}
	fx.Stalled, fx.Refresh = r.Stalled, v.Refreshes(r)
	if r.HeadRefused {
		o.headRefused()
	}
	o.SettleDown(now, fx)
}

// Lost is for a connection that died: every attempt without an answer may be
// executed, now or later.
func (o *Owner) Lost(now time.Time, fx *Effects) {
	for i := range o.shell.Sealed() {
		o.shell.History(i).Lost()
	}
	r := o.Window.Lost()
	o.shell.Unbind()
	o.shell.Resolve(r, Answered)
	if r.HeadRefused {
		o.headRefused()
	}
	o.shell.Blame(ConnectionLost)
	o.Doubtful(r)
	o.SettleDown(now, fx)
}

// headRefused splits the oldest batch or gives it up; its neighbours go on.
func (o *Owner) headRefused() {
	n := o.shell.Records()
	if left, ok := Halve(n); ok && o.shell.History(0).Large {
		o.Window.Split(left, n-left)
		o.shell.Cut(left)
		return
	}
	o.shell.Resolve(o.Window.Drop(), Refused)
}

// refusedForGood is headRefused for a lane: where it ends, or goes on in the same
// epoch.
func (o *Owner) refusedForGood(h *History) {
	if _, ok := Halve(o.shell.Records()); h.Large && ok {
		o.recut = true
	} else {
		o.stop(Refused)
	}
}

// Recreated says that the topic is a new log.
func (o *Owner) Recreated(now time.Time, fx *Effects) {
	o.newLog = true
	o.Memory.NewLog()
	o.Window.Regate()
	o.SettleDown(now, fx)
}

// Stop gives up everything as soon as nothing is outstanding, and sends no more.
func (o *Owner) Stop(why Cause) {
	if o.stopped == NoCause {
		o.stopped = why
	}
}

// Stopped reports whether no more is sent, ever.
func (o *Owner) Stopped() bool { return o.stopped != NoCause }

// Resting reports whether something waits until nothing is outstanding.
func (o *Owner) Resting() bool { return o.resting }

// AwaitsEncoders reports whether nothing is sent before the encoders are through.
func (o *Owner) AwaitsEncoders() bool { return o.encoders }

func (o *Owner) stop(why Cause) {
	o.Stop(why)
	o.shell.Stop(why)
}

// Due reports whether the oldest batch is older than the delivery timeout.
func (o *Owner) Due(now time.Time) bool {
	created, ok := o.shell.Oldest()
	return ok && now.Sub(created) >= o.options.DeliveryTimeout
}

// Overdue reports whether it has been due for one request timeout. The partition
// drains for that, no longer: a broker may answer each of many requests only just in
// time.
func (o *Owner) Overdue(now time.Time) bool {
	return o.Due(now.Add(-o.options.RequestTimeout))
}

// NeedsCalm reports whether something is to be done once nothing is outstanding.
func (o *Owner) NeedsCalm(now time.Time) bool {
	return o.newLog || o.gone || o.giveUp || o.recut || o.encoders || o.stopped != NoCause || o.Due(now) || o.shell.Moving()
}

// SettleDown does what had to wait until nothing is outstanding, and no batch is
// with the encoders. It may be called at any time.
func (o *Owner) SettleDown(now time.Time, fx *Effects) {
	o.resting = o.NeedsCalm(now)
	if o.resting && !o.Window.Regate() {
		return
	}
	if o.Window.Outstanding() > 0 || o.shell.Encoding() {
		return
	}
	switch {
	case o.stopped != NoCause:
		o.giveUpAll()
	case o.newLog:
		o.shell.Resolve(o.Window.NewLog(), TopicRecreated)
		if o.lane {
			o.stop(TopicRecreated)
		}
	case o.gone:
		o.StateGone(StateLost, fx)
	case o.recut:
		o.recutHead()
	case o.giveUp:
		o.giveUpHead(GivenUp)
	}
	o.rest = rest{stopped: o.stopped}
	for o.Due(now) {
		o.Abandon()
		o.giveUpHead(Deadline)
	}
	if o.shell.Moving() {
		o.Window.Unbind()
		o.left()
		o.shell.Unbind()
	}
}

// recutHead cuts the oldest batch of a lane, unless it is in the log meanwhile.
func (o *Owner) recutHead() {
	if o.shell.Sealed() == 0 || !o.shell.History(0).Large {
		return
	}
	if left, ok := Halve(o.shell.Records()); ok {
		o.Recut(left)
	}
}

// giveUpHead resolves the oldest batch, and with it everything in doubt.
func (o *Owner) giveUpHead(why Cause) {
	if o.shell.Sealed() == 0 {
		o.shell.Close()
	}
	if o.shell.Sealed() > 0 {
		o.shell.Resolve(o.Window.Expire(), why)
	}
}

func (o *Owner) giveUpAll() {
	o.shell.Close()
	if o.stopped == SecondOwner {
		o.shell.Resolve(o.Window.Fence(), Stopped)
	} else {
		o.shell.Resolve(o.Window.Abort(), Stopped)
	}
}

// Fail gives up everything that was never sent, because nothing can be.
func (o *Owner) Fail() {
	if o.Window.Outstanding() > 0 || o.Window.InDoubt() || o.shell.Encoding() {
		return
	}
	for _, ok := o.shell.Oldest(); ok; _, ok = o.shell.Oldest() {
		o.giveUpHead(Impossible)
	}
}
