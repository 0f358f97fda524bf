// Package throttle decides how much of a partition may be in flight, and what
// is sent again after a fault. It is pure: no clock, no I/O, no lock. Whoever
// owns a Window calls it under a lock of its own.
package throttle

import "math"

// renewEpoch is the epoch from which on a Window wants a new producer ID.
// Epochs are 16 bits wide, and a new ID needs a calm moment.
const renewEpoch = 30_000

// Window is the state machine of one partition of an idempotent producer. It
// gives batches their sequences, says which one may be written next, and after
// a fault brings the partition back by a replay that any broker understands.
//
// The cursors count batches, in the words of TCP:
//
//	          una            nxt              max             end
//	resolved   |  on the wire |  to be resent  |  never sent    |
//
// una <= nxt <= max <= end, but for Admit, which moves end, and for a first
// write, which moves nxt and max together. A batch gets its sequence when
// nxt == max, and never another while it may be in the log or get there.
//
// What makes depth safe on a broker that recognises few batches, or only one,
// is the replay: after a fault everything outstanding is waited for, una is
// sent alone, and if it is refused the other batches in doubt follow in order.
// Refusals are passed over. The first success proves everything before it,
// because the log is one chain and a success waits for replication.
// docs/window.md says why each rule is there; check_test.go and lanes_test.go
// explore them.
//
// The zero Window is not usable, see New. A Window is not safe for concurrent
// use.
type Window struct {
	producerID int64 // -1: none yet
	epoch      int16
	next       Sequence // of the first record of batch max
	anchored   bool     // there are records of this epoch right before una, replicated
	acked      bool     // and whoever comes to lead knows the epoch: there was a success
	unsettled  bool     // something became Unknown since the last success
	resumed    bool     // a former process may have written, or write, any batch

	bound    bool // there is a connection to write to
	fenced   bool
	cautious bool // back to the gate after every success
	limits   Limits

	phase       phase
	outstanding int32 // attempts without an answer
	sweepEnd    uint64
	resumeAt    uint64 // a replay that was cut short goes on here
	lastRefusal Answer // of the newest batch passed over in this replay
	deaf        bool   // a hint misled, and there was no success since: see Hear

	lastEnd int64 // offset behind the last success, -1: not known

	una, nxt, max, end uint64
	ring               []entry // batch i is at i & (len-1)
}

// entry is what a Window knows of one batch.
type entry struct {
	records int32
	base    Sequence
	out     bool // an attempt has no answer yet
	doubt   bool // an attempt may be in the log, or may still get there
	refused bool // the latest attempt was refused for good, before the append

	// stray: an attempt in an earlier epoch may still be under way. A broker
	// that knows the producer refuses it, one that forgot us does not.
	stray bool
}

// atLarge reports whether an attempt may still reach a broker.
func (e *entry) atLarge() bool { return e.doubt || e.stray }

// phase is how a Window sends.
type phase uint8

const (
	// gate: una alone, or the batch that Hear named, until the first success.
	// Two batches in flight to a broker that does not know the producer can
	// swap places (KAFKA-15591).
	gate phase = iota
	// open: pipelined, as far as the limits allow.
	open
	// drain: something failed; nothing is sent until nothing is outstanding.
	drain
	// sweep: una was refused; what is in doubt behind it follows, pipelined,
	// and refusals are passed over.
	sweep
	// vouch: even the latest in doubt was refused as known, so the batch
	// behind it goes alone, and its success proves them all.
	vouch
)

func (p phase) String() string {
	return [...]string{"gate", "open", "drain", "sweep", "vouch"}[p]
}

// New returns an empty Window without a producer ID and without a connection.
func New() *Window {
	return &Window{producerID: -1, lastEnd: -1, ring: make([]entry, 4)}
}

func (w *Window) at(i uint64) *entry { return &w.ring[i&uint64(len(w.ring)-1)] }

// Admit appends a batch of the given number of records and returns its number:
// batches are numbered from 0 in the order of Admit, splits apart.
func (w *Window) Admit(records int32) uint64 {
	if w.end-w.una == uint64(len(w.ring)) {
		w.grow()
	}
	*w.at(w.end) = entry{records: records}
	w.end++
	return w.end - 1
}

func (w *Window) grow() {
	old := *w
	w.ring = make([]entry, 2*len(old.ring))
	for i := old.una; i < old.end; i++ {
		*w.at(i) = *old.at(i)
	}
}

// SetProducer gives the Window a producer ID. A new ID in the place of another
// is only safe at a calm moment: nothing in doubt, and nothing became Unknown
// since the last success, because a straggler of the old ID is not fenced by
// the new one. SetProducer reports whether it was taken.
func (w *Window) SetProducer(id int64, epoch int16) bool {
	if w.outstanding > 0 || !w.Calm() {
		return false
	}
	w.producerID, w.fenced = id, false
	w.begin(epoch)
	return true
}

// Unmapped says that brokers refuse whatever is written under the producer ID,
// since they do not know it any more (INVALID_PRODUCER_ID_MAPPING). So a straggler of
// it needs no fence, and another ID may be taken although something became Unknown.
// Nothing may be in doubt, see Disown.
func (w *Window) Unmapped() {
	w.mustBeDrained("Unmapped")
	w.unsettled = false
}

// Calm reports whether another producer ID may be taken once nothing is
// outstanding. A resumed Window never takes one.
func (w *Window) Calm() bool { return !w.unsettled && !w.resumed && !w.InDoubt() }

// Outstanding is the number of attempts without an answer.
func (w *Window) Outstanding() int { return int(w.outstanding) }

// Bind says that a connection is there, and what its broker allows. It must
// not be called while anything is outstanding on another one.
func (w *Window) Bind(l Limits) {
	w.mustBeDrained("Bind")
	w.bound, w.limits = true, l.normal()
	w.rewind()
}

// Regate is for a new leader epoch on the same connection, and for a broker
// that is about to change: nothing more is sent until nothing is outstanding,
// and then una goes alone. It reports whether nothing is outstanding now.
func (w *Window) Regate() (drained bool) {
	if w.outstanding > 0 {
		w.phase = drain
		return false
	}
	w.rewind()
	return true
}

// Caution keeps one batch in flight for as long as it is on. It is for records
// with old timestamps: a broker judges by them how long ago it heard of the
// producer, and may forget it at any moment (KIP-854).
func (w *Window) Caution(on bool) {
	if on && !w.cautious && w.phase == open {
		w.Regate()
	}
	w.cautious = on
	w.acked = w.acked && !w.forgettable()
}

// forgettable reports whether a success says nothing of what brokers will know.
// Only a resumed Window can go on then: its owner asks before each replay.
func (w *Window) forgettable() bool { return w.resumed && w.cautious }

// StateMayBeGone is for a broker that may have forgotten the producer
// (producer.id.expiration.ms, KIP-854). With nothing in doubt the partition
// goes on in a new epoch, which every broker accepts, known or not; otherwise,
// and on a resumed Window, only the gate is armed again. On a resumed Window
// everything goes from una until the next success.
func (w *Window) StateMayBeGone() {
	if w.producerID >= 0 && w.outstanding == 0 && w.anchored && !w.resumed && !w.InDoubt() {
		w.bump()
		return
	}
	w.acked = w.acked && !w.resumed
	w.Regate()
}

// Unbind says that the connection is gone and nothing is outstanding on it.
func (w *Window) Unbind() {
	w.mustBeDrained("Unbind")
	w.bound = false
	w.rewind()
}

// rewind goes back to una, which goes alone.
func (w *Window) rewind() { w.phase, w.nxt = gate, w.una }

// begin starts an epoch: sequence 0, nothing numbered.
func (w *Window) begin(epoch int16) {
	for i := w.una; i < w.max; i++ {
		e := w.at(i)
		*e = entry{records: e.records, stray: e.stray || e.doubt}
	}
	w.epoch, w.next, w.anchored, w.acked = epoch, 0, false, false
	w.max, w.resumeAt, w.deaf = w.una, 0, false
	w.rewind()
}

// bump begins the next epoch of the same producer ID: a straggler of this one
// lands before it, or is fenced. Nothing may be in doubt.
func (w *Window) bump() {
	w.mustBeDrained("bump")
	// No epoch is left, and no calm moment came for a new ID; or a former
	// process may still write what would be sent in the next epoch.
	if w.epoch == math.MaxInt16 || w.resumed {
		w.fenced = true
		w.begin(w.epoch)
		return
	}
	w.begin(w.epoch + 1)
}

// mustBeDrained is the assertion behind rule 2: a partition uses one
// connection at a time.
func (w *Window) mustBeDrained(op string) {
	if w.outstanding > 0 {
		panic("throttle: " + op + " with attempts outstanding")
	}
}
