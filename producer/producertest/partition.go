package producertest

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/internal/brokermodel"
)

// partitionRules is what the partitions of a cluster have in common.
type partitionRules struct {
	firstMustBeZero bool
	logAppendTime   bool
	expiry          expiry
}

// partition is a log with the state of its producers. There is one for all
// brokers of a cluster: what the leader appends is replicated at once.
type partition struct {
	rules partitionRules

	mu        sync.Mutex
	leader    int32
	epoch     int32
	epochs    []epochStart // ascending
	log       []stored     // in offset order
	end       int64        // offset of the next record
	producers map[int64]*producer
	expired   time.Time                  // the latest look at which producers were forgotten
	waiting   map[chan struct{}]struct{} // fetches to wake
}

// epochStart is where a leader epoch began.
type epochStart struct {
	epoch  int32
	offset int64
}

// stored is a batch in the log, as the bytes that came in.
type stored struct {
	base         int64
	records      int32
	maxTimestamp int64 // ms
	bytes        []byte
}

// producer is the state of one producer ID.
type producer struct {
	model         brokermodel.Producer
	lastTimestamp int64 // ms
}

func newPartition(rules partitionRules, leader int32) *partition {
	return &partition{
		rules: rules, leader: leader,
		epochs:    []epochStart{{}},
		producers: make(map[int64]*producer),
		waiting:   make(map[chan struct{}]struct{}),
	}
}

// appended is what became of a batch.
type appended struct {
	code      int16
	base      int64 // -1: not in the log as far as the broker knows
	timestamp int64 // ms, log append time; -1: CreateTime
}

// append judges a batch and appends it. window is that of the broker.
func (p *partition) append(broker, window int32, b *batch) appended {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leader != broker {
		return appended{codeNotLeader, -1, -1}
	}
	if b.head.ProducerID < 0 {
		return p.write(b)
	}
	p.expire()
	rules := brokermodel.Rules{Window: window, FirstMustBeZero: p.rules.firstMustBeZero}
	pr := p.producers[b.head.ProducerID]
	if pr == nil {
		pr = new(producer)
	}
	h := &b.head
	verdict, at := rules.Judge(&pr.model, p.end == 0, h.ProducerEpoch, h.FirstSequence, h.NumRecords)
	switch verdict {
	case brokermodel.Append:
		a := p.write(b)
		pr.model.Appended(h.ProducerEpoch, h.FirstSequence, h.NumRecords, a.base)
		pr.lastTimestamp = p.log[len(p.log)-1].maxTimestamp
		p.producers[h.ProducerID] = pr
		return a
	case brokermodel.Recognised:
		// The answer to a duplicate has the batch's time in it, whatever the
		// timestamp type (UnifiedLog.append).
		return appended{codeNone, at, p.log[p.find(at)].maxTimestamp}
	case brokermodel.Duplicate:
		return appended{codeDuplicate, -1, -1}
	case brokermodel.Fenced:
		return appended{codeFenced, -1, -1}
	}
	return appended{codeOutOfOrder, -1, -1}
}

// write appends without judging. The batch's bytes become the log's.
func (p *partition) write(b *batch) appended {
	a := appended{codeNone, p.end, -1}
	s := stored{base: p.end, records: b.head.NumRecords, maxTimestamp: b.head.MaxTimestamp, bytes: b.bytes}
	binary.BigEndian.PutUint64(s.bytes, uint64(s.base))
	binary.BigEndian.PutUint32(s.bytes[leaderEpochAt:], uint32(p.epoch))
	if p.rules.logAppendTime {
		s.maxTimestamp = time.Now().UnixMilli()
		a.timestamp = s.maxTimestamp
		stampAppendTime(s.bytes, s.maxTimestamp)
	}
	p.log = append(p.log, s)
	p.end += int64(s.records)
	p.wake()
	return a
}

// stampAppendTime puts the broker's time on a batch: its timestamp type and
// greatest timestamp say so for all records.
func stampAppendTime(b []byte, ms int64) {
	b[attributesAt+1] |= appendTime
	binary.BigEndian.PutUint64(b[maxTimestampAt:], uint64(ms))
	binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[attributesAt:], castagnoli))
}

func (p *partition) wake() {
	for c := range p.waiting {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// await asks for a token in c at every change, until forget.
func (p *partition) await(c chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[c] = struct{}{}
}

func (p *partition) forget(c chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, c)
}

// find is the index of the batch that holds an offset, or len(p.log).
func (p *partition) find(offset int64) int {
	return sort.Search(len(p.log), func(i int) bool {
		return p.log[i].base+int64(p.log[i].records) > offset
	})
}

// leadership is the leader and its epoch.
func (p *partition) leadership() (leader, epoch int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leader, p.epoch
}

// move makes a broker the leader, in a new leader epoch.
func (p *partition) move(leader int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leader = leader
	p.epoch++
	p.epochs = append(p.epochs, epochStart{p.epoch, p.end})
	p.wake()
}

// reload is what a restart leaves of the producers' state.
func (p *partition) reload(leader int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leader != leader {
		return
	}
	p.expire()
	if p.rules.expiry.after > 0 {
		p.forgetOlder(time.Now()) // a broker loads none that has expired
	}
	for _, pr := range p.producers {
		pr.model.Reload()
	}
}

func (p *partition) forgetProducers() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.producers)
}

// describe calls f for each producer known, in the order of their IDs.
func (p *partition) describe(f func(id int64, pr *producer)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	for _, id := range slices.Sorted(maps.Keys(p.producers)) {
		f(id, p.producers[id])
	}
}

// snapshot is the log as it is now. Its bytes are never changed again.
func (p *partition) snapshot() (log []stored, end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log[:len(p.log):len(p.log)], p.end
}
