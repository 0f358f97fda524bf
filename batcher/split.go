package batcher

import "encoding/binary"

// SplitAt moves the first n records of b to left and the rest to right, so that
// a batch that a broker found too large can be sent in parts. Order, nulls,
// headers, timestamps and deliveries are kept (K11, K26). left and right are
// other, empty batches, reset by the caller, who also seals them.
//
// b is empty afterwards, so that no record is in two batches; its buffers stay
// until Release.
func (b *Batch[D]) SplitAt(n int, left, right *Batch[D]) {
	rest := b.raw[min(headerBytes, len(b.raw)):]
	for i, d := range b.deliveries {
		to := left
		if i >= n {
			to = right
		}
		var delta int64
		var content []byte
		delta, content, rest = cutRecord(rest)
		to.raw = append(to.begin(b.first+delta, int64(len(content))), content...)
		to.deliveries = append(to.deliveries, d)
	}
	clear(b.deliveries)
	b.deliveries = b.deliveries[:0]
}

// cutRecord takes the first record off src, which begin and appendContent wrote.
func cutRecord(src []byte) (timestampDelta int64, content, rest []byte) {
	body, n := binary.Varint(src)
	end := n + int(body)
	n++ // attributes
	timestampDelta, m := binary.Varint(src[n:])
	n += m
	_, m = binary.Varint(src[n:]) // the offset changes with the batch
	n += m
	return timestampDelta, src[n:end], src[end:]
}
