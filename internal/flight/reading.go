package flight

import (
	"time"

	"github.com/sluice-kafka/sluice/throttle"
)

// Reading is a part of the log that is to be read, or what a leader is to be asked
// about it.
type Reading struct {
	Kind       ReadKind
	Number     uint64
	ProducerID int64
	From       int64     // offset
	Leader     Leader    // whose log it is
	Asked      time.Time // what is read shows all that was written before
}

// ReadKind is what is to be found out.
type ReadKind uint8

const (
	NoRead ReadKind = iota
	// ReadBatches: which batches in doubt are in the log. The broker forgot a
	// producer that is no lane.
	ReadBatches
	// ReadChain: how far a lane is in the log, for a broker that may have
	// forgotten it.
	ReadChain
	// ProveEntry: that all is replicated that the broker counts for the producer ID.
	ProveEntry
)

func (k ReadKind) String() string { return [...]string{"none", "batches", "chain", "entry"}[k] }

// Findings are what reading brought.
type Findings struct {
	Result  ReadResult
	Batches []LogBatch // ReadBatches: those of the producer ID, in the order of the log

	// ReadChain and ProveEntry: the latest epoch and sequence, if any was seen.
	Known bool
	Epoch int32
	Last  int32
	Next  int64 // ReadChain: it was read up to there
}

// LogBatch is a batch that was seen below the high watermark.
type LogBatch struct {
	Epoch  int16
	Base   throttle.Sequence
	Offset int64
}

// ReadResult is how a reading ended.
type ReadResult uint8

const (
	ReadAll       ReadResult = iota
	ReadFailed               // it may succeed another time
	ReadClosed               // reading the topic is not allowed
	ReadDeleted              // retention took what was to be read, or the broker cannot
	ReadTruncated            // the log ends before
)

func (o *Owner) read(k ReadKind, from int64, fx *Effects) {
	o.number++
	o.state = reading
	o.inquiry.reading = Reading{
		Kind: k, Number: o.number, ProducerID: o.Window.State().ProducerID, From: from,
		Leader: o.shell.Leader(), Asked: o.put.Add(-o.options.ZombieSpan),
	}
	fx.Read = o.inquiry.reading
}

// Read takes what was found. It reports whether that was waited for.
func (o *Owner) Read(number uint64, f Findings, now time.Time, fx *Effects) bool {
	if o.state != reading || o.number != number {
		return false
	}
	o.state = idle
	switch x := o.inquiry.reading; x.Kind {
	case ProveEntry:
		o.proved(x, f, now, fx)
	case ReadChain:
		o.chainRead(x, f, now, fx)
	default:
		o.batchesRead(f, fx)
	}
	return true
}

// batchesRead takes what was seen in the log: the batches from the oldest on, each
// of which must be there itself. A broker that has forgotten the producer takes any
// batch as its first, so one that is there proves nothing of those before it. What
// was not seen, and all behind it, stays unknown: a request may still be under way.
func (o *Owner) batchesRead(f Findings, fx *Effects) {
	for _, b := range f.Batches {
		if i, ok := o.Window.Find(b.Epoch, b.Base); ok && i == o.Window.State().Una {
			o.shell.Resolve(o.Window.Seen(i, b.Offset), Seen)
		}
	}
	o.StateGone(StateLost, fx)
}

// proved takes what is proved to be replicated of what a former process wrote.
func (o *Owner) proved(x Reading, f Findings, now time.Time, fx *Effects) {
	switch {
	case o.shell.Encoding():
		o.want()
		o.encoders = true
	case f.Result == ReadAll && f.Known && f.Epoch == o.epoch():
		o.Memory.AnsweredBy(x.Leader)
		o.shell.Resolve(o.Window.ReadUpTo(throttle.Sequence(f.Last)), Seen)
	default:
		o.notRead(f, now, fx)
	}
}

// chainRead takes how far the lane is in the log, where the leader does not know
// it. After that the leader's ignorance proves that there is nothing more.
func (o *Owner) chainRead(x Reading, f Findings, now time.Time, fx *Effects) {
	switch {
	case f.Result == ReadDeleted:
		o.stop(StateLost)
		return
	case f.Result == ReadTruncated:
		if !o.lookAgain(now, fx) {
			o.stop(DataLoss)
		}
		return
	case f.Result == ReadAll && f.Known && f.Epoch > o.epoch():
		o.stop(SecondOwner)
		fx.Fenced = true
		return
	}
	if f.Known && f.Epoch == o.epoch() {
		o.Memory.Saw(throttle.Sequence(f.Last))
	}
	o.Memory.ReadTo(f.Next)
	o.want()
	if f.Result != ReadAll {
		o.notRead(f, now, fx)
		return
	}
	o.Memory.ReadToEnd(x.Leader, x.Asked)
}

// notRead is for a reading that brought nothing: it is tried again.
func (o *Owner) notRead(f Findings, now time.Time, fx *Effects) {
	if f.Result != ReadClosed {
		fx.Refresh = true
		o.Wait(now)
	}
}
