package throttle

// Sequence is the sequence number of a record: 0 to 2147483647, then 0 again.
// A producer gives every record of a partition the next one, and the broker
// accepts a batch only if it begins where the last one ended (KIP-98).
type Sequence int32

// sequenceMask takes a number modulo 2^31.
const sequenceMask = 1<<31 - 1

// MaxWindow is the largest window of sequences (KIP-758): half the sequence
// space, so that what was appended and what may come never overlap.
const MaxWindow = 1 << 30

// Add returns the sequence n records after s; n may be negative.
func (s Sequence) Add(n int32) Sequence {
	return Sequence((int64(s) + int64(n)) & sequenceMask)
}

// Distance returns how many records s lies after from, modulo 2^31.
func (s Sequence) Distance(from Sequence) int32 {
	return int32((int64(s) - int64(from)) & sequenceMask)
}
