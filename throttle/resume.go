package throttle

// Resume makes a Window in which nothing was written yet go on where a former
// process with the same producer ID came to: the next sequence in the epoch,
// everything before it in the log and replicated. end is the offset behind the
// last record, -1: not known. The owner admits the records from there on, the
// same ones in the same order; they may be cut into other batches.
//
// A former process may have written more than next tells, and its requests may
// still arrive, for as long as it lives: a process that was paused wakes up at
// any time, and goes on. A Window cannot tell that it is gone, so it counts on
// it for good:
//
//   - Any batch may be in the log, or get there, whether it was sent from here
//     or not. Nothing is NotWritten, and what is given up is Unknown.
//   - The replay alone does not always get on: a broker recognises no batch with
//     other boundaries. Before each write from the gate the owner asks the
//     broker and tells Hear. Hear passes over what the former process wrote, has
//     the batch cut anew in which it ended, or has the log read.
//   - Brokers may know nothing of the epoch: the partition is fresh, or was quiet
//     for so long that they forgot it. Such a broker takes any batch as its first.
//     So until the first success, and again after StateMayBeGone, with Caution, or
//     once a broker knows nothing, una goes alone: no hint is followed, a replay
//     does not go on behind it, and no other batch vouches for it.
//   - There is no new epoch and no other producer ID, for a request of the former
//     process could land before its first batch, with records that are then
//     written again. After Expire, Disown or NewLog everything is Unknown and
//     the Window is fenced. The owner resumes anew from its checkpoint.
//
// What holds then: a broker appends a batch only where the last one of the epoch
// ended, so the log has every record once and in order, whoever wrote it, and a
// success proves everything up to it. This is so with any number of former
// processes, awake or not, as long as they write the same records under the same
// sequences, none of them begins another epoch, and no broker forgets the
// producer. A former process that wakes up and begins another epoch is a second
// owner (Fence): what it wrote there may be there twice. Other records under
// the same sequences are lost without a sign.
func (w *Window) Resume(producerID int64, epoch int16, next Sequence, end int64) {
	w.mustBeDrained("Resume")
	if w.producerID >= 0 || w.max > 0 {
		panic("throttle: Resume of a Window that is in use")
	}
	w.producerID, w.epoch, w.next, w.lastEnd = producerID, epoch, next, end
	w.anchored, w.resumed = next != 0 || end >= 0, true
	w.rewind()
}

// Recut replaces the oldest batch of a resumed Window by two with the same
// sequences, the first with the given number of records. They take its number
// and the next one, and the numbers of all batches behind it grow by one. It is
// for FoundInside; the first half is then proved by Read or by the success of a
// later batch. The owner keeps the old bytes until no connection can write them
// any more, as with any attempt. Nothing may be outstanding.
func (w *Window) Recut(left int32) {
	w.mustBeDrained("Recut")
	if !w.resumed || w.una == w.end || left < 1 || left >= w.at(w.una).records {
		panic("throttle: Recut of a batch that cannot be cut there")
	}
	w.Admit(0)
	for i := w.end - 1; i > w.una+1; i-- {
		*w.at(i) = *w.at(i - 1)
	}
	first := *w.at(w.una)
	rest := first
	first.records, rest.records, rest.base = left, first.records-left, first.base.Add(left)
	*w.at(w.una), *w.at(w.una + 1) = first, rest
	if w.max > w.una {
		w.max++
	}
	w.resumeAt = 0
	w.rewind()
}

// Inside is where FoundInside says that the oldest batch must be cut: how many
// of its records lie up to this sequence, which is Report.Last. 0 is not inside.
func (w *Window) Inside(last Sequence) (left int32) {
	if w.una == w.end {
		return 0
	}
	if left = last.Add(1).Distance(w.baseOf(w.una)); left < w.at(w.una).records {
		return left
	}
	return 0
}

// Read says that the log holds below the high watermark, at this base offset, a
// batch of this producer ID. Batches must come in the order of the log. What
// ends in it or before it is written, as with Seen, whatever its boundaries are:
// a former process may have cut others. An offset that does not follow from
// those of the log is -1. Nothing may be outstanding.
func (w *Window) Read(epoch int16, first Sequence, records int32, offset int64) Resolution {
	w.mustBeDrained("Read")
	if epoch != w.epoch {
		return Resolution{}
	}
	begin := int64(first.Distance(w.baseOf(w.una))) // from una on, in records
	if begin >= MaxWindow {
		begin -= 1 << 31
	}
	i, from, to := w.una, int64(0), int64(0) // batch i-1 goes from there up to there
	for end := w.readEnd(); i < end && to+int64(w.at(i).records) <= begin+int64(records); i++ {
		from, to = to, to+int64(w.at(i).records)
	}
	if i == w.una {
		return Resolution{}
	}
	base, end := int64(-1), int64(-1)
	if to > begin {
		end = offset + to - begin
	}
	if from >= begin || w.lastEnd >= 0 && end-w.lastEnd == to {
		base = end - (to - from)
	}
	r := w.Seen(i-1, base)
	w.lastEnd = end
	return r
}

// ReadUpTo is Read for who knows that everything up to a sequence of this epoch
// is in the log and replicated, but not at which offsets.
func (w *Window) ReadUpTo(last Sequence) Resolution {
	w.mustBeDrained("ReadUpTo")
	records := last.Add(1).Distance(w.baseOf(w.una))
	i := w.una
	for end := w.readEnd(); records < MaxWindow && i < end && w.at(i).records <= records; i++ {
		records -= w.at(i).records
	}
	if i == w.una {
		return Resolution{}
	}
	return w.Seen(i-1, -1)
}

// readEnd is the end of what may be found in the log.
func (w *Window) readEnd() uint64 {
	if w.resumed {
		return w.end
	}
	return w.max
}

// hearFormer is Hear for a broker that has this many records behind the last
// one that is known to be replicated, be they ours or of a former process.
func (w *Window) hearFormer(past int32) Finding {
	i := w.una
	for ; i < w.end && past >= w.at(i).records; i++ {
		past -= w.at(i).records
	}
	switch {
	case w.una == w.end:
		return FoundNothing // whatever it wrote, nothing here waits for it
	case i == w.una:
		return FoundInside
	case i == w.end || past > 0 || w.deaf || !w.acked:
		return FoundAhead
	}
	// What is behind the broker's last sequence is what it takes next, and its
	// success proves the rest.
	w.number(i)
	w.nxt = i
	return FoundPlace
}
