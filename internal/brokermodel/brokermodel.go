// Package brokermodel holds the rules by which a Kafka broker judges the
// batches of an idempotent producer, as plain values: no log, no clock, no
// network. The in-process broker of producer/producertest and the model
// checker of throttle.Window both judge with it, so that there is one truth
// about brokers in this repository. What it says was compared with a real
// broker by the tests of internal/realkafka.
package brokermodel

// StockMemory is the number of batches of one producer that a stock broker
// recognises again (ProducerStateEntry.NUM_BATCHES_TO_RETAIN).
const StockMemory = 5

// seqMask takes a sequence modulo 2^31: after 2147483647 comes 0.
const seqMask = 0x7fffffff

// Rules is the kind of broker.
type Rules struct {
	// Window is the number of sequences that a KIP-758 broker remembers
	// behind the last one. 0 is a stock broker, which remembers batches.
	Window int32

	// Memory is the number of batches that a stock broker remembers. 0 is
	// StockMemory, which is also the most.
	Memory int8

	// FirstMustBeZero is the rule of Kafka 4.5 and later (KAFKA-15591): a
	// log that never held a record takes no other first sequence than 0. Any
	// other log still takes any from a producer that it does not know, also one
	// whose records are all deleted. Brokers from 2.5 to 4.4 always take any.
	FirstMustBeZero bool
}

// Batch is what a broker remembers of a batch it appended.
type Batch struct {
	First, Last int32 // sequences
	Offset      int64 // of its first record
}

// Producer is the state of one producer in one partition. The zero value is a
// producer the broker does not know. It is a plain value: assignment copies it.
type Producer struct {
	known  bool
	epoch  int16
	n      int8 // batches of recent in use
	recent [StockMemory]Batch
}

// Known reports whether the broker holds any state, and for which epoch.
func (p *Producer) Known() (epoch int16, ok bool) { return p.epoch, p.known }

// Last returns the last sequence, -1 if the broker holds none.
func (p *Producer) Last() int32 {
	if p.n == 0 {
		return -1
	}
	return p.recent[p.n-1].Last
}

// Verdict is what a broker makes of a batch.
type Verdict uint8

const (
	// Append: the batch is the next one.
	Append Verdict = iota
	// Recognised: it is in the log already, at a known offset. The broker
	// answers success with the old offset, once that is replicated.
	Recognised
	// Duplicate: its sequences were appended, the broker does not know where
	// (KIP-758 only). DUPLICATE_SEQUENCE_NUMBER, answered without waiting.
	Duplicate
	// OutOfOrder: OUT_OF_ORDER_SEQUENCE_NUMBER.
	OutOfOrder
	// Fenced: a newer epoch was seen. INVALID_PRODUCER_EPOCH.
	Fenced
)

// Judge says what a broker does with a batch of count records whose first
// sequence is first. neverWritten says that the log never held a record. For
// Recognised the offset of the earlier append is returned, otherwise -1.
func (r Rules) Judge(p *Producer, neverWritten bool, epoch int16, first, count int32) (Verdict, int64) {
	last := Add(first, count-1)
	if p.known && epoch == p.epoch {
		for _, b := range p.recent[r.forgotten(p):p.n] {
			if b.First == first && b.Last == last {
				return Recognised, b.Offset
			}
		}
	}
	switch {
	case p.known && epoch < p.epoch:
		return Fenced, -1
	case p.known && epoch > p.epoch:
		if first != 0 {
			return OutOfOrder, -1
		}
	case p.known && p.n > 0:
		at := p.Last()
		if first == Add(at, 1) {
			return Append, -1
		}
		// Only where the batch begins counts: "the last one and a record
		// more" is a duplicate too, and the one more is lost (KIP-758).
		if r.Window > 0 && (at-first)&seqMask < r.Window {
			return Duplicate, -1
		}
		return OutOfOrder, -1
	case r.FirstMustBeZero && neverWritten && first != 0:
		return OutOfOrder, -1
	}
	return Append, -1
}

// forgotten is the index of the first batch that is still recognised: a
// KIP-758 broker keeps the latest only.
func (r Rules) forgotten(p *Producer) int8 {
	memory := r.Memory
	switch {
	case r.Window > 0:
		memory = 1
	case memory == 0:
		memory = StockMemory
	}
	return max(0, p.n-memory)
}

// Appended records that the batch was appended at offset.
func (p *Producer) Appended(epoch int16, first, count int32, offset int64) {
	if !p.known || epoch != p.epoch {
		*p = Producer{known: true, epoch: epoch}
	}
	if int(p.n) == len(p.recent) {
		copy(p.recent[:], p.recent[1:])
		p.n--
	}
	p.recent[p.n] = Batch{First: first, Last: Add(first, count-1), Offset: offset}
	p.n++
}

// Reload is what a snapshot keeps: the latest batch only. A broker that was
// restarted cleanly, or truncated to a snapshot, remembers no more.
func (p *Producer) Reload() {
	if p.n > 1 {
		latest := p.recent[p.n-1]
		p.recent = [StockMemory]Batch{latest}
		p.n = 1
	}
}

// Add returns the sequence n after s.
func Add(s, n int32) int32 { return int32((int64(s) + int64(n)) & seqMask) }
