package flight

import (
	"time"

	"github.com/sluice-kafka/sluice/throttle"
)

// Owner decides for one partition. It is not safe for use by several goroutines
// at once.
type Owner struct {
	Window *throttle.Window
	Memory Memory
	Pause  Pause

	shell    Shell
	lane     bool
	options  Options
	position Position
	inquiry
	rest
}

// Options are what an Owner goes by.
type Options struct {
	ProducerIDExpiration          time.Duration
	RetryBackoff, RetryBackoffMax time.Duration
	ZombieSpan                    time.Duration // longer than a deposed leader goes on without knowing it
	DeliveryTimeout               time.Duration // of a batch
	RequestTimeout                time.Duration
	Lane                          bool // other processes may write the same records
}

// Shell keeps the batches of an Owner and does at once what it is told to do with
// them. What can wait until the lock is free goes out as Effects.
type Shell interface {
	Queue
	// Resolve takes the resolved batches off the queue.
	Resolve(r throttle.Resolution, why Cause)
	// Blame notes why with everything that was sent and has no outcome.
	Blame(why Cause)
	// Records is the number of records in the oldest batch.
	Records() int32
	// Cut puts two batches in the place of the oldest. The first has that many
	// records.
	Cut(left int32)
	// Oldest is when the oldest batch was made, sealed or not.
	Oldest() (created time.Time, ok bool)
	// Close seals the open batch, if there is one: it may not have to be sent.
	Close()
	// Encoding reports whether batches are with the encoders.
	Encoding() bool
	// Moving reports whether the connection is not the leader's.
	Moving() bool
	// Unbind leaves the connection.
	Unbind()
	// Stop notes why no more is sent, ever.
	Stop(why Cause)
	// Leader is who answers on the connection, as far as metadata says.
	Leader() Leader
	// Sharing is what is known of others with the producer ID.
	Sharing() Sharing
	// Jitter is a random number in [0,1).
	Jitter() float64
}

// Cause is why batches are resolved without an answer, or why no more is sent.
type Cause uint8

const (
	NoCause        Cause = iota
	Answered             // the answer to an attempt
	Seen                 // the log was read
	StateLost            // the broker does not know the producer any more
	DataLoss             // the broker lost what it acknowledged
	SecondOwner          // somebody else uses the producer ID
	CannotAsk            // the broker cannot be asked, and the lane cannot do without
	TopicRecreated       // the log is another one
	Refused              // for good, by the broker
	GivenUp              // after a few tries
	Deadline             // the delivery timeout is over
	ConnectionLost
	Impossible // nothing can be sent
	LaneFailed // in another partition
	Stopped    // whatever it was
)

// Effects is what has to be done elsewhere.
type Effects struct {
	Refresh bool    // metadata is needed
	Fenced  bool    // to be reported: somebody else uses the producer ID
	Gone    bool    // the broker has forgotten the producer, or may have
	Loss    bool    // to be reported: the broker lost what it had acknowledged
	Stalled bool    // the next replay may need a new batch that proves the others
	Read    Reading // of the log
	Found   throttle.Finding
}

// NewOwner returns the Owner of a partition in which nothing was written yet.
func NewOwner(s Shell, o Options) Owner {
	return Owner{
		Window: throttle.New(), Memory: NewMemory(o.ProducerIDExpiration, o.Lane), Pause: NewPause(o.RetryBackoff, o.RetryBackoffMax),
		shell: s, lane: o.Lane, options: o, position: Position{Offset: -1},
	}
}

// Position is how far a partition is written: the next sequence, and the offset of
// the last record, -1 if it is not known.
type Position struct {
	Epoch  int16
	Next   int32
	Offset int64
}

// Position returns how far the partition is written.
func (o *Owner) Position() Position { return o.position }

// Begun reports whether anything is known to be written.
func (o *Owner) Begun() bool { return o.position != Position{Offset: -1} }

// Written notes the oldest batch as written: under that epoch and sequence, if it
// was sent from here, at that offset, if that is known.
func (o *Owner) Written(h *History, epoch int16, base throttle.Sequence, records int32, offset int64) {
	if h.Attempts > 0 { // else a former process wrote it
		o.position.Epoch, o.position.Next = epoch, int32(base)
	}
	o.position.Next = int32(throttle.Sequence(o.position.Next).Add(records))
	o.position.Offset = -1
	if offset >= 0 {
		o.position.Offset = offset + int64(records) - 1
	}
}

// Resume begins where a checkpoint of a lane is.
func (o *Owner) Resume(at Position, verified time.Time, end int64) {
	o.position = at
	o.Memory.Resume(verified, end)
}

// CarryOn makes the window of a lane begin at a position, and count on other
// processes that write the same records.
func (o *Owner) CarryOn(producerID int64, at Position) {
	end := int64(-1)
	if at.Offset >= 0 {
		end = at.Offset + 1
	}
	o.Window.Resume(producerID, at.Epoch, throttle.Sequence(at.Next), end)
}

// Wait sets the time before which nothing is sent again.
func (o *Owner) Wait(now time.Time) { o.Pause.Extend(now, o.shell.Jitter()) }

// Admit takes a batch that was sealed. The times are in milliseconds: oldest and
// newest of the timestamps in it.
func (o *Owner) Admit(h *History, records int32, oldest, newest int64, now time.Time) {
	o.Window.Admit(records)
	o.Memory.Note(h, oldest, newest, now)
}

// Fresh arms the gate again where the broker may have forgotten the producer: after
// a pause, and behind records with old timestamps (R7). What is in doubt by then
// must not be sent again, unless the broker just said that it knows us: one that
// forgot would take it for new. Fresh reports whether sending, or asking, may go on.
// offered says that the broker answers questions about the topic.
func (o *Owner) Fresh(offered bool, now time.Time, fx *Effects) bool {
	if o.Remembered(now) || o.assured {
		return true
	}
	if !o.Window.Regate() {
		return false
	}
	if o.mayAsk(offered) {
		o.want()
		return true
	}
	o.StateGone(StateLost, fx)
	return o.stopped == NoCause
}

// Remembered reports whether the broker surely has not forgotten us yet.
func (o *Owner) Remembered(now time.Time) bool {
	holds, cautious := o.Memory.Holds(o.shell, o.Window.InDoubt(), o.shell.Sharing(), now)
	o.Window.Caution(cautious)
	return holds
}

// StateGone goes on without the state that the broker had of us. A broker that
// knows nothing would take what is sent again for new.
func (o *Owner) StateGone(why Cause, fx *Effects) {
	o.Memory.Forget()
	fx.Gone = true
	switch {
	case o.lane:
		o.stop(why)
	case !o.Window.InDoubt():
		o.Window.StateMayBeGone()
	default:
		o.shell.Resolve(o.Window.Disown(), why)
	}
}
