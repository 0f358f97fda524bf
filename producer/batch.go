package producer

import (
	"math"
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/batcher"
	"github.com/sluice-kafka/sluice/internal/bufpool"
	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/throttle"
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
	flight.History

	created  time.Time // when its first record came
	cost     int64     // bytes of the budget
	raw      int       // bytes when it was sealed
	most     int       // records, by what was known of the window when it was opened
	encoding bool      // it is with the encoders
	encoded  bool      // sealed and, if so configured, compressed
	oldest   int64     // of the timestamps that records brought along
	urgent   bool      // someone waits for it: no linger
	epoch    int16     // of the latest attempt
	base     throttle.Sequence
	hangUps  int   // connections that died while the broker had it in hand
	lastErr  error // of the latest attempt
}

var batchPool = sync.Pool{New: func() any { return new(batch) }}

// newBatch returns an empty batch with room for about size bytes.
func newBatch(size int, now time.Time) *batch {
	b := batchPool.Get().(*batch)
	b.Reset(bufpool.Get(size))
	b.created, b.oldest = now, math.MaxInt64
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

// splitAt cuts the batch in two, behind so many records, and frees its buffers.
func (b *batch) splitAt(n int) (left, right *batch) {
	left, right = newBatch(b.Bytes(), b.created), newBatch(b.Bytes(), b.created)
	b.SplitAt(n, &left.Batch, &right.Batch)
	left.cost, right.cost = b.cost-b.cost/2, b.cost/2
	for _, part := range []*batch{left, right} {
		part.History, part.epoch, part.lastErr, part.urgent = b.Part(), b.epoch, b.lastErr, true
		part.oldest, part.raw = b.oldest, part.Bytes()
	}
	left.base, right.base = b.base, b.base.Add(int32(n))
	b.release()
	return left, right
}
