package flight

import (
	"time"

	"github.com/sluice-kafka/sluice/throttle"
)

// Asking the broker what it knows of us (DescribeProducers, KIP-664) is a help
// where it is allowed, and for a partition that is no lane's never a need or a
// proof: a replay may begin further on, and lost data, a second owner and a
// forgotten producer can be told apart.

// inquiry is where a partition is with its question to the broker.
type inquiry struct {
	state   asking
	number  uint64    // of the latest question or reading: the answer to another one is old
	put     time.Time // when the latest question was put
	clear   bool      // its answer showed nothing behind what is written
	failed  int       // questions in a row without an answer that says something
	suspect time.Time // since when a broker seems to have lost what was acknowledged
	reading Reading

	// assured: the broker has just said that it knows us. It holds for one
	// replay of what is no longer fresh (R7), on one connection.
	assured bool
}

// asking is what an inquiry waits for.
type asking uint8

const (
	idle    asking = iota
	wanted         // a question is to be put, once nothing is outstanding
	asked          // the answer to it
	reading        // the log is being read
)

// mostFailed is how often a question is put on a connection that gets nothing but
// errors. A partition that cannot do without goes on asking.
const mostFailed = 3

func (o *Owner) mayAsk(offered bool) bool { return offered && (o.failed < mostFailed || o.lane) }

// want has the broker asked. While the log is read there is nothing to ask.
func (q *inquiry) want() {
	if q.state == idle {
		q.state = wanted
	}
}

// Doubtful asks for a look at the broker's state before a replay, also a short
// one: one to a broker that forgot us would double what it has.
func (o *Owner) Doubtful(r throttle.Resolution) {
	if r.Drained || r.Stalled || r.Written.Len() > 0 {
		o.assured = false // not with every refusal in a replay that is passed over
	}
	if r.Stalled || r.Drained && o.Window.InDoubt() {
		o.want()
	}
}

// Wants reports whether a question is to be put.
func (o *Owner) Wants() bool { return o.state == wanted }

// Waits reports whether nothing may be sent before an answer.
func (o *Owner) Waits() bool { return o.state == asked || o.state == reading }

// Reads reports whether the log is being read.
func (o *Owner) Reads() bool { return o.state == reading }

// Assured reports whether what is sent goes by the broker's word that it knows us.
func (o *Owner) Assured() bool { return o.assured }

// Asks reports whether the question is to be put now, and its number.
func (o *Owner) Asks(offered bool, now time.Time) (number uint64, ok bool) {
	if o.state != wanted || o.Window.Outstanding() > 0 {
		return 0, false
	}
	o.state, o.clear = idle, false
	if !o.mayAsk(offered) {
		return 0, false
	}
	o.state, o.put = asked, now
	o.number++
	return o.number, true
}

// AsksFirst is for a lane, before each write from the gate: it counts how far a
// former process came. ok says that the question is to be put; a lane that cannot
// ask stops. Nothing is to be asked if it may write.
func (o *Owner) AsksFirst(offered bool, now time.Time) (number uint64, ok, writes bool) {
	if !o.lane || !o.Window.AtGate() || o.assured {
		return 0, false, true
	}
	o.want()
	if number, ok = o.Asks(offered, now); !ok {
		o.stop(CannotAsk)
	}
	return number, ok, false
}

// Abandon ends the question: what it is about was given up.
func (o *Owner) Abandon() { o.inquiry = inquiry{number: o.number} }

// verifiedBySuccess notes what the question before a replay showed, now that the
// broker that answered it has given a success. One success alone shows nothing: it
// may be the answer to a duplicate of what another owner wrote long ago, behind
// which there is more.
func (o *Owner) verifiedBySuccess() {
	if o.clear && o.Memory.Newer(o.put) {
		o.Memory.Verify(o.put, 0)
	}
	o.clear = false
}

// succeeded notes a success: appendTime and newest as in Memory.
func (o *Owner) succeeded(h *History, appendTime, newest int64, now time.Time) {
	o.verifiedBySuccess()
	o.Memory.Succeeded(h, appendTime, newest, o.shell.Leader(), now)
	o.Pause.Succeeded()
}

// ShowsAll is Memory's, for a leader that knows nothing of the producer ID.
func (o *Owner) ShowsAll(now time.Time) bool {
	return o.Memory.ShowsAll(o.shell, o.shell.Sharing(), o.Begun(), now)
}

// Ahead reports whether the log is known to hold more of a lane than is resolved
// here, and up to which sequence.
func (o *Owner) Ahead() (last throttle.Sequence, ahead bool) { return o.Memory.Ahead(o.Window.Una()) }
