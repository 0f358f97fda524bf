package producer_test

import (
	"encoding/binary"
	"math"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// endless makes a broker that knows nothing of any producer, and whose log goes on
// for ever: with empty batches of the latest producer ID it gave.
type endless struct {
	base    func(n int64) int32 // sequence of batch n
	id      int64
	fetches int
	peak    uint64 // of the heap, in bytes
	bytes   []byte
}

const endlessBatches = 4 << 20 / 61

func (e *endless) spoil(resp *producertest.Response) {
	switch m := resp.Message.(type) {
	case *kmsg.DescribeProducersResponse:
		for i := range m.Topics[0].Partitions {
			p := &m.Topics[0].Partitions[i]
			for _, a := range p.ActiveProducers {
				e.id = a.ProducerID
			}
			p.ActiveProducers = nil
		}
	case *kmsg.FetchResponse:
		p := &m.Topics[0].Partitions[0]
		p.ErrorCode, p.HighWatermark = 0, math.MaxInt64
		p.RecordBatches = e.batches(resp.Request.(*kmsg.FetchRequest).Topics[0].Partitions[0].FetchOffset)
		if e.fetches++; e.fetches%10 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			e.peak = max(e.peak, m.HeapAlloc)
		}
	case *kmsg.OffsetForLeaderEpochResponse:
		m.Topics[0].Partitions[0].EndOffset = math.MaxInt64
	}
}

func (e *endless) batches(from int64) []byte {
	if e.bytes == nil {
		e.bytes = make([]byte, 61*endlessBatches)
	}
	for i := range int64(endlessBatches) {
		b := e.bytes[61*i:]
		binary.BigEndian.PutUint64(b, uint64(from+i))
		binary.BigEndian.PutUint32(b[8:], 61-12)
		b[16] = 2
		binary.BigEndian.PutUint64(b[43:], uint64(e.id))
		binary.BigEndian.PutUint32(b[53:], uint32(e.base(from+i)))
	}
	return e.bytes
}

// What a broker serves as its log takes time, as long as a request may, and no memory
// to speak of: only batches in doubt are kept, each once.
func TestLogWithoutEndTakesNoMemory(t *testing.T) {
	for name, c := range map[string]struct {
		base    func(int64) int32
		fetches int // at least
	}{
		"nothing of ours":                {func(int64) int32 { return 1 << 30 }, 50},
		"the oldest, repeated":           {func(int64) int32 { return 1 }, 50},
		"all sequences, and round again": {func(n int64) int32 { return int32(n % (1 << 31)) }, 1},
		"backwards":                      {func(n int64) int32 { return int32(20 - n%20) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := &endless{base: c.base}
			synctest.Test(t, func(t *testing.T) {
				var cluster *producertest.Cluster
				r := newSpoiltRig(t, topics(1), func(c *producertest.Cluster) { cluster = c }, func(cfg *config.Config) {
					smallBatches(cfg)
					cfg.Dialer = slowly(cluster.Dial, 0, 8e6)
				})
				cutWithDoubt(r, 20, 10, e.spoil)
				if s := r.p.Stats(); s.Written+s.Unknown != 21 {
					t.Errorf("%d written, %d unknown", s.Written, s.Unknown)
				}
			})
			if e.fetches < c.fetches || e.peak > 120<<20 {
				t.Errorf("the heap came to %d MiB in %d fetches", e.peak>>20, e.fetches)
			}
			t.Logf("%d fetches, %d MiB", e.fetches, e.peak>>20)
		})
	}
}
