package flight

import (
	"time"

	"github.com/sluice-kafka/sluice/throttle"
)

// Word is what came back for a question.
type Word struct {
	Answered bool // the broker says what it has of the producer ID
	Closed   bool // questions about the topic are not allowed
	Known    bool // it has an entry
	Epoch    int32
	Last     int32
}

// Heard takes the answer to a question, which came on the connection that the
// partition is bound to, or on another one.
func (o *Owner) Heard(number uint64, here bool, w Word, offered bool, now time.Time, fx *Effects) (heard bool) {
	if o.state != asked || o.number != number || !here {
		return false // nothing of one that went elsewhere counts: it is put again
	}
	o.state = idle
	switch {
	case w.Answered:
		o.failed = 0
		o.hear(w, now, fx)
	case w.Closed: // it was worth a try; replay and freshness do without (R7)
	default:
		o.failed++
		if o.mayAsk(offered) {
			o.want()
		}
		fx.Refresh = true
		o.Wait(now)
	}
	o.SettleDown(now, fx)
	return true
}

// hear acts on the broker's entry for our producer ID.
func (o *Owner) hear(w Word, now time.Time, fx *Effects) {
	o.assured, o.clear = false, false
	report := throttle.Report{Known: w.Known, Epoch: w.Epoch, Last: w.Last, Current: o.Memory.Current(o.shell.Leader())}
	if o.lane {
		o.hearOfOthers(report, now, fx)
		return
	}
	found := o.Window.Hear(report)
	fx.Found = found
	o.assured = report.Known && report.Epoch == o.epoch()
	if o.suspects(found, now, fx) {
		return
	}
	switch from := o.Window.LogEnd(); {
	case found == throttle.FoundLoss:
		fx.Loss = true
		o.StateGone(DataLoss, fx)
	case found == throttle.FoundOther:
		o.stop(SecondOwner)
		fx.Fenced = true
	case found == throttle.FoundGone && o.Window.InDoubt() && from >= 0:
		o.read(ReadBatches, from, fx)
	case found == throttle.FoundGone, !o.assured && !o.Remembered(now):
		o.StateGone(StateLost, fx)
	}
}

func (o *Owner) epoch() int32 { return int32(o.Window.State().Epoch) }

// hearOfOthers acts on the broker's entry where other processes may have written
// the same records, or still write.
func (o *Owner) hearOfOthers(report throttle.Report, now time.Time, fx *Effects) {
	epoch, last := report.Epoch, throttle.Sequence(report.Last)
	if o.position.Next == 0 && epoch < o.epoch() {
		report.Known = false // of this lane it knows nothing
	}
	read := o.Memory.JustRead(o.shell.Leader())
	report.Remembers = !report.Known && (read || o.ShowsAll(now))
	found := o.Window.Hear(report)
	fx.Found = found
	_, ahead := o.Ahead()
	passes := ahead || found != throttle.FoundNothing && found != throttle.FoundGone
	if passes && o.shell.Encoding() {
		// What is passed over is resolved without being sent; not while someone
		// compresses it.
		o.want()
		o.encoders = true
		return
	}
	if ahead && !report.Known {
		o.passKnown()
		return // the batches behind are looked at next
	}
	if found == throttle.FoundInside {
		o.Recut(o.Window.Inside(last))
		found = o.Window.Hear(report)
	}
	if found != throttle.FoundGone && o.suspects(found, now, fx) {
		return
	}
	switch found {
	case throttle.FoundNothing, throttle.FoundPlace:
		o.clear = found == throttle.FoundNothing
		o.assured = report.Remembers || report.Known && epoch == o.epoch()
		if !o.assured {
			fx.Refresh = true // who says so is no leader
			o.Wait(now)
		}
	case throttle.FoundGone:
		o.read(ReadChain, max(o.Memory.End(), o.position.Offset+1), fx)
	case throttle.FoundAhead:
		o.read(ProveEntry, 0, fx)
	case throttle.FoundLoss:
		o.stop(DataLoss)
	default:
		o.stop(SecondOwner)
		fx.Fenced = true
	}
}

// passKnown resolves what the log is known to hold.
func (o *Owner) passKnown() {
	o.shell.Close() // it is compressed if some of it has to be sent
	last, _ := o.Ahead()
	o.shell.Resolve(o.Window.ReadUpTo(last), Seen)
	if left := o.Window.Inside(last); left > 0 {
		o.Recut(left)
		o.shell.Resolve(o.Window.ReadUpTo(last), Seen)
	}
}

// Recut cuts the oldest batch of a lane in two, in the same epoch.
func (o *Owner) Recut(left int32) {
	o.Window.Recut(left)
	o.shell.Cut(left)
}

// suspects reports whether a finding has to be looked into once more. A broker
// that gave no success yet may be a deposed leader, for metadata and our memory
// of leader epochs are both behind; it knows less and has lost nothing. The
// checker has the case (throttle, "metadata's epoch is taken for a success's").
func (o *Owner) suspects(found throttle.Finding, now time.Time, fx *Effects) bool {
	serious := found == throttle.FoundLoss || found == throttle.FoundGone && o.Window.InDoubt()
	if !serious || o.Memory.Answered(o.shell.Leader()) {
		o.suspect = time.Time{}
		return false
	}
	return o.lookAgain(now, fx)
}

// lookAgain has the broker asked once more, and reports true, until it has said
// the same for longer than a deposed leader goes on.
func (o *Owner) lookAgain(now time.Time, fx *Effects) bool {
	if o.suspect.IsZero() || now.Sub(o.suspect) > 3*o.options.ZombieSpan { // another matter by then
		o.suspect = now
	}
	left := o.options.ZombieSpan - now.Sub(o.suspect)
	if left > 0 {
		o.want()
		fx.Refresh = true
		o.Pause.Hold(now.Add(min(left, o.options.RetryBackoffMax)))
	}
	return left > 0
}
