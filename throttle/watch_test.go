package throttle

// watch judges what goes out on the wire, by what was sent and answered, and
// without a look into the Window.
type watch struct {
	sent    [maxBatches]bool // a request with the batch was written, in this epoch
	doubt   [maxBatches]bool // one of its attempts has an open fate
	healthy bool             // a success, and no failure since, on this connection
	failed  bool             // a failure, and not everything answered since
	refused bool             // the oldest unresolved batch was refused in this replay
	number  [maxBatches]numbered
	hinted  uint8 // a broker named this batch for the replay to begin at, 0: none
}

// numbered is what a batch was first written as.
type numbered struct {
	pid, epoch int8
	base       int32
}

func (k *watch) key(dst []byte) []byte {
	for i := range k.sent {
		v := uint8(0)
		for j, b := range []bool{k.sent[i], k.doubt[i], k.healthy, k.failed, k.refused} {
			if b {
				v |= 1 << j
			}
		}
		n := k.number[i]
		dst = append(dst, v, uint8(n.pid), uint8(n.epoch), uint8(n.base), uint8(n.base>>24))
	}
	dst = append(dst, k.hinted)
	return dst
}

// write judges one batch on its way out. una is the oldest unresolved batch.
func (k *watch) write(wd *world, s Send, una uint64, outstanding int32) (broken string) {
	n := numbered{int8(s.ProducerID), int8(s.Epoch), int32(s.Base)}
	first := !k.sent[s.Batch] || n.epoch != k.number[s.Batch].epoch || n.pid != k.number[s.Batch].pid
	alone := outstanding == 0
	switch {
	case first && k.doubt[s.Batch]:
		broken = "I10: a batch in doubt was renumbered"
	case !first && n != k.number[s.Batch]:
		broken = "I10: a batch was renumbered within its epoch"
	case k.failed && !alone:
		broken = "I14: sent again before everything was answered"
	case !k.healthy && first && !alone:
		broken = "I12: a new batch before the first success"
	case !k.healthy && !alone && !k.refused:
		broken = "I12: pipelined before the first success"
	case !k.healthy && !k.doubt[s.Batch] && !alone:
		broken = "I12: a batch that is not in doubt in a replay"
	case !k.healthy && !first && s.Batch != una && !k.refused && (uint8(s.Batch) != k.hinted || !k.doubt[s.Batch]):
		broken = "I12: a replay that does not begin at the oldest, and nobody named another"
	case first && s.Batch != una && !wd.fits(s, una):
		broken = "I12: beyond the window of sequences"
	}
	k.sent[s.Batch], k.number[s.Batch] = true, n
	k.failed = k.failed && !alone
	k.hinted = 0
	return broken
}

// fits is the distance rule (R4), from una's number on the wire.
func (wd *world) fits(s Send, una uint64) bool {
	from := wd.watch.number[una]
	if !wd.watch.sent[una] || from.epoch != int8(s.Epoch) {
		return true
	}
	last := s.Base.Add(wd.set.records - 1)
	l := wd.set.limits[wd.cur.broker].normal()
	return last.Distance(Sequence(from.base)) < l.Sequences
}

func (k *watch) connected() {
	k.healthy, k.failed, k.refused = false, false, false
	k.hinted = 0
}

func (k *watch) lost(sent []rec) {
	for _, m := range sent {
		k.doubt[m.id] = true
	}
	k.connected()
}

// seen notes that everything up to a batch was read in the log.
func (k *watch) seen(id uint8) {
	k.connected()
	for i := range k.doubt[:id+1] {
		k.doubt[i] = false
	}
}

// absent notes that a batch is surely not in the log and will not be sent again
// under its number: nothing behind it can be there, nor get there.
func (k *watch) absent(id uint8) {
	for i := range k.doubt[id:] {
		k.doubt[int(id)+i] = false
	}
}

func (k *watch) answered(id uint8, a Answer, una uint64, outstanding int32) {
	switch a {
	case Success:
		k.healthy, k.refused = true, false
		for i := range k.doubt[:id+1] {
			k.doubt[i] = false
		}
		return
	case Duplicate:
		k.doubt[id] = true
		if !k.healthy && uint64(id) == una {
			k.refused = true
		}
		return
	case Uncertain:
		k.doubt[id] = true
	}
	again := !k.healthy && (a == OutOfOrder || a == Refused)
	if again && uint64(id) == una {
		k.refused = true
	}
	if again {
		return // passed over in a replay
	}
	k.healthy, k.refused, k.failed = false, false, outstanding > 0
}
