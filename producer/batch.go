package producer

import (
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/batcher"
	"github.com/sluice-kafka/sluice/internal/bufpool"
)

// delivery is what is kept for a record until its outcome is known.
type delivery struct {
	done      func(Result)
	tag       any
	timestamp int64
}

// batch is one record batch on its way: open, sealed, in flight, resolved.
type batch struct {
	batcher.Batch[delivery]

	created  time.Time // when its first record came
	cost     int64     // bytes of the budget
	encoded  bool      // sealed and, if so configured, compressed
	old      bool      // by its timestamps, see partition.noteAge
	urgent   bool      // someone waits for it: no linger
	attempts int
	tries    uint8 // answers in a row that are only worth a few tries
	hangUps  int   // connections that died while the broker had it in hand
	lastErr  error // of the latest attempt
}

var batchPool = sync.Pool{New: func() any { return new(batch) }}

// newBatch returns an empty batch with room for about size bytes.
func newBatch(size int, now time.Time) *batch {
	b := batchPool.Get().(*batch)
	b.Reset(bufpool.Get(size))
	b.created = now
	return b
}

// encode seals the batch. It runs without a lock, and only while nobody else
// touches the batch.
func (b *batch) encode(c batcher.Compressor) {
	if c == nil {
		b.Seal(nil, nil)
		return
	}
	bufpool.Put(b.Seal(c, bufpool.Get(b.Bytes())))
}

// release returns the buffers. The deliveries stay until recycle.
func (b *batch) release() {
	raw, packed := b.Release()
	bufpool.Put(raw)
	bufpool.Put(packed)
}

// recycle makes the batch available to others; nothing of it may be used again.
func (b *batch) recycle() {
	b.Reset(nil) // forgets the callbacks
	keep := b.Batch
	*b = batch{Batch: keep}
	batchPool.Put(b)
}

// split cuts the batch in two halves and frees it.
func (b *batch) split() (left, right *batch) {
	left, right = newBatch(b.Bytes(), b.created), newBatch(b.Bytes(), b.created)
	cost, lastErr := b.cost, b.lastErr
	b.Split(&left.Batch, &right.Batch)
	left.cost, right.cost = cost-cost/2, cost/2
	for _, half := range []*batch{left, right} {
		half.attempts, half.lastErr, half.urgent = b.attempts, lastErr, true
	}
	b.release()
	b.recycle()
	return left, right
}
