package throttle

import "fmt"

// Brokers forget a producer some time after its last record. The clock for that
// is the timestamps of its records, and each replica looks at it for itself.

// forgetting is when the brokers of a world forget, and what the client knows of
// it. Nothing can stand it while a straggler lives, which may then land
// anywhere, nor between a question and the write behind it.
type forgetting uint8

const (
	// onTime: after a pause, with nothing in doubt. The client's clock shows it,
	// and so it calls StateMayBeGone.
	onTime forgetting = iota
	// unnoticed: at the gate, also with something in doubt.
	unnoticed
	// atAnyTime: the records have old timestamps, which turns Caution on.
	atAnyTime
	// withALeaderEpoch: the broker of the connection leads anew, with nothing in
	// doubt. The client learns of the leader epoch and of nothing else.
	withALeaderEpoch
)

func (wd *world) forgetSteps(emit yield) {
	if !wd.mayForget() {
		return
	}
	all := uint8(1)<<wd.set.replicas - 1
	wd.try(emit, "everyone forgets the producer", func(n *world) string { return n.forget(all) })
	// That one forgets before another is for lanes, whose worlds begin so, too.
	if wd.set.cuts == nil || wd.set.forgets == unnoticed || wd.set.replicas == 1 {
		return
	}
	for b := range wd.set.replicas {
		wd.try(emit, fmt.Sprint(b, " forgets the producer"), func(n *world) string { return n.forget(1 << b) })
	}
}

func (wd *world) mayForget() bool {
	asked := wd.asked || wd.cur.nreq > 0 && wd.cur.waiting == 0
	drained := wd.w.outstanding == 0 && !wd.stragglers()
	switch wd.set.forgets {
	case unnoticed:
		return drained && !asked && wd.w.phase == gate && wd.w.anchored
	case atAnyTime:
		return !asked && !wd.stragglers()
	case withALeaderEpoch:
		return drained && wd.calm() && wd.cur.live && wd.cur.broker == wd.leader
	}
	if wd.set.cuts != nil {
		return drained // a lane asks, and stops if something may be there
	}
	return drained && wd.calm()
}

// calm is when nothing is in doubt, and something was written.
func (wd *world) calm() bool {
	for b := range wd.set.replicas {
		if wd.rep[b].n != wd.rep[wd.leader].n || (b != wd.leader && !wd.rep[b].synced) {
			return false
		}
	}
	return wd.w.una == wd.w.max && wd.w.una > 0
}

// forget is for these replicas, one bit each.
func (n *world) forget(replicas uint8) string {
	n.left.forget--
	for b := range n.set.replicas {
		if replicas>>b&1 == 1 {
			n.rep[b].forgot = n.rep[b].n
		}
	}
	switch n.set.forgets {
	case onTime:
		if !n.set.variant.deafToForgetting {
			n.set.variant.stateMayBeGone(&n.w)
			n.asked, n.ahead = false, false
			n.watch.healthy = false
		}
	case withALeaderEpoch:
		n.epoch++
		n.rep[n.leader].led = n.epoch
		return n.learnOf(n.epoch)
	}
	return ""
}

// remembers is what the owner of a lane may claim: nothing that any replica has
// forgotten lies behind what is acknowledged. With old timestamps it can only
// know that as long as nobody has written.
func (wd *world) remembers() bool {
	if wd.set.forgets == atAnyTime && (wd.w.una < wd.w.max || wd.left.former < wd.set.faults.former) {
		return false
	}
	return !wd.forgotBehindUna()
}

func (wd *world) forgotBehindUna() bool {
	for b := range wd.set.replicas {
		if wd.contents(b, wd.rep[b].forgot) > wd.contentOf(wd.w.una) {
			return true
		}
	}
	return false
}

// mayBeGone is whether the client may find that a broker has forgotten it.
func (wd *world) mayBeGone() bool {
	if wd.set.cuts != nil {
		return wd.set.forgets == atAnyTime || wd.forgotBehindUna()
	}
	return wd.left.forget < wd.set.faults.forget
}
