package sim

import "github.com/sluice-kafka/sluice/internal/brokermodel"

// foreign is the id of a producer that is not ours.
const foreign = -1

// entry is a batch in a log.
type entry struct {
	pid         int32
	epoch       int16
	base, count int32
	first       uint32 // of the batch's records, in the order of the caller
	units       uint16
	leaderEpoch int32
	alien       bool // written under our producer id by another owner
	offset      int64
	stamp       int64
}

// ours says that the entry is a batch of our caller.
func (e *entry) ours() bool { return e.pid != foreign && !e.alien }

func (e *entry) end() int64 { return e.offset + int64(e.count) }

// known is what a replica remembers of one producer id.
type known struct {
	pid   int32
	state brokermodel.Producer
	stamp int64 // of the latest batch: what the expiration goes by
	alien bool  // the latest batch is another owner's
}

// replica is a broker's copy of one partition.
type replica struct {
	log       []entry
	hw        int // entries known to be replicated
	producers []known
	snapshot  int // at this length the memory shrank to one batch a producer

	leads      bool // it believes so: a zombie does, too
	epoch      int32
	epochStart int // length of the log when it became the leader
	isr        uint8
	remote     [maxBrokers]int // lengths of the followers' logs, -1 not known
	zombie     bool            // it has appended what may be truncated

	follows   bool
	truncated bool // to what the leader has, too
	fetching  bool // an evFetch is under way
	joinAfter int64

	// promised is the connection, counted from 1, on which the broker said that
	// it knows our producer. It does not forget before what is sent on that.
	promised int
}

func (r *replica) reset() {
	*r = replica{log: r.log[:0], producers: r.producers[:0]}
}

// producer returns what the replica remembers of pid, nil for nothing.
func (r *replica) producer(pid int32) *known {
	for i := range r.producers {
		if r.producers[i].pid == pid {
			return &r.producers[i]
		}
	}
	return nil
}

func (r *replica) append(e entry) {
	e.offset = 0
	if n := len(r.log); n > 0 {
		e.offset = r.log[n-1].end()
	}
	r.log = append(r.log, e)
	r.remember(len(r.log) - 1)
}

// remember takes entry i into the memory. Its offset there is its index.
func (r *replica) remember(i int) {
	e := &r.log[i]
	if e.pid == foreign {
		return
	}
	k := r.producer(e.pid)
	if k == nil {
		r.producers = append(r.producers, known{pid: e.pid})
		k = &r.producers[len(r.producers)-1]
	}
	k.state.Appended(e.epoch, e.base, e.count, int64(i))
	k.stamp, k.alien = e.stamp, e.alien
}

// rebuild makes the memory anew: from the snapshot, which has one batch a
// producer, and the log behind it.
func (r *replica) rebuild(keep int) {
	r.log = r.log[:keep]
	r.snapshot = min(r.snapshot, keep)
	r.hw = min(r.hw, keep)
	r.producers = r.producers[:0]
	for i := range r.log {
		if i == r.snapshot {
			r.reload()
		}
		r.remember(i)
	}
	if keep == r.snapshot {
		r.reload()
	}
}

func (r *replica) reload() {
	for i := range r.producers {
		r.producers[i].state.Reload()
	}
}

// common is the length of what both logs have in common: an entry of one leader
// epoch at one place is the same entry everywhere.
func common(a, b []entry) int {
	n := min(len(a), len(b))
	for n > 0 && a[n-1].leaderEpoch != b[n-1].leaderEpoch {
		n--
	}
	return n
}

// expire forgets producers whose latest batch is older than the expiration, by
// the broker's clock and the batch's timestamp (KIP-854).
func (r *replica) expire(clock, expiration int64) (forgot bool) {
	for i := 0; i < len(r.producers); {
		if clock-r.producers[i].stamp < expiration {
			i++
			continue
		}
		last := len(r.producers) - 1
		r.producers[i] = r.producers[last]
		r.producers = r.producers[:last]
		forgot = true
	}
	return forgot
}
