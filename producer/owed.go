package producer

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// owed are the records that a lane refused because their contexts had ended. They
// were never accepted, so the lane need not stop; but it holds a place for them:
// whoever resumes the lane counts records, and one in the place of another would be
// taken for it. So the same records have to come again, in their order, before any
// other one, and there is no mark meanwhile.
type owed struct {
	some atomic.Bool
	mu   sync.Mutex
	list []uint64 // digests, the oldest first
}

// mostOwed bounds the list. A lane that would owe more stops.
const mostOwed = 1024

var (
	digestSeed = maphash.MakeSeed()

	errOutOfTurn = errors.New("another record was refused because its context had ended, and has to be produced again first")
	errOwed      = errors.New("a record was refused because its context had ended; produce it again, and then mark")
)

// refuses returns why the record may not come now, nil if it may.
func (o *owed) refuses(rec *Record) error {
	if !o.some.Load() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.list) > 0 && o.list[0] != digest(rec) {
		return errOutOfTurn
	}
	return nil
}

// paid notes that the record has its place.
func (o *owed) paid(rec *Record) {
	if !o.some.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.list) > 0 && o.list[0] == digest(rec) {
		o.list = o.list[1:]
		o.some.Store(len(o.list) > 0)
	}
}

// add notes that the record was refused, and reports false if there are too many.
// One that waited had come in its turn: if it is owed already that is the same one.
func (o *owed) add(rec *Record, waited bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := digest(rec)
	if waited && len(o.list) > 0 && o.list[0] == d {
		return true
	}
	if len(o.list) == mostOwed {
		return false
	}
	o.list = append(o.list, d)
	o.some.Store(true)
	return true
}

// digest tells records apart by all that goes into the log. One without a timestamp
// gets another one when it comes again.
func digest(rec *Record) uint64 {
	var h maphash.Hash
	h.SetSeed(digestSeed)
	number := func(n int64) { _, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	bytes := func(b []byte) {
		if b == nil {
			number(-1)
			return
		}
		number(int64(len(b)))
		_, _ = h.Write(b)
	}
	bytes([]byte(rec.Topic))
	number(int64(rec.Partition.next))
	bytes(rec.Key)
	bytes(rec.Value)
	for _, header := range rec.Headers {
		bytes([]byte(header.Key))
		bytes(header.Value)
	}
	if !rec.Timestamp.IsZero() {
		number(rec.Timestamp.UnixMilli())
	}
	return h.Sum64()
}
