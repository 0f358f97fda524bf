package producer_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// memoryLimit is buffer.memory in the tests of this file, and memoryBatch is
// batch.size.
var memoryLimit, memoryBatch = func() (int64, int) {
	if raceEnabled {
		return 4 << 20, 16 << 10
	}
	return 16 << 20, 64 << 10
}()

// memoryRest is for the open batch of each of 8 partitions, which has a whole
// buffer and may have hardly a record, and for connections and queues.
func memoryRest() int64 { return 8*int64(memoryBatch) + 512<<10 }

// The buffer is full, and callers go on trying. What is then alive on the heap
// is at most buffer.memory times a factor, which follows from what a record
// takes. In bytes, for a value of v, without key and headers:
//
//	of the budget  v + 68 to 72: a record is counted as a batch of its own
//	in a batch     v + 7 to 12, and 32 for its callback in a list that may have
//	               just grown, so up to 53
//	with a codec   v + 7 to 12 again: what came is kept for a split, and the
//	               buffer for what is compressed is as large
//	without topic  v as a copy, and 200 in a list that may have just grown by a
//	               quarter, as long as metadata does not show the topic
//
// That is less than counted in batches, twice that with a codec, and the more
// without a topic the smaller records are. Buffers come in powers of two: records
// of just over half of one waste the other half.
func TestMemoryOfAFullBuffer(t *testing.T) {
	for _, tc := range []struct {
		name   string
		value  int
		codec  config.Compression
		early  bool // the trouble is there before the first record
		is     trouble
		back   bool // it is over in the end; otherwise Abort
		factor float64
	}{
		{name: "never answered, 100 B", value: 100, early: true, is: mute, factor: 2.25},
		{name: "never answered, 1 KiB", value: 1 << 10, early: true, is: mute, factor: 1.25},
		{name: "never there, 100 B", value: 100, early: true, is: gone, back: true, factor: 2.25},
		{name: "answers no more, 100 B", value: 100, is: mute, factor: 1},
		{name: "answers no more, empty", value: 0, is: mute, factor: 1},
		{name: "answers no more, 1 KiB, lz4", value: 1 << 10, codec: config.CompressionLZ4, is: mute, factor: 2},
		{name: "gone, 100 B", value: 100, is: gone, back: true, factor: 1},
		{name: "gone, third of a batch", value: memoryBatch * 5 / 16, is: gone, factor: 1.1},
		{name: "gone, half of a batch", value: memoryBatch * 65 / 128, is: gone, factor: 2},
		{name: "gone, half of a batch, lz4", value: memoryBatch * 65 / 128, codec: config.CompressionLZ4, is: gone, back: true, factor: 4},
		{name: "gone, 100 B, zstd", value: 100, codec: config.CompressionZstd, is: gone, back: true, factor: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemoryRig(t, tc.codec, tc.value)
				if !tc.early {
					m.p.ProduceAll(t.Context(), m.rec)
				}
				m.b.trouble.Store(int32(tc.is))
				m.b.hangUp(tc.is)
				m.fill()
				m.insist()
				m.check(tc.factor)
				if tc.back {
					m.b.trouble.Store(int32(none))
					if err := m.p.Flush(t.Context()); err != nil {
						t.Fatal(err)
					}
				} else {
					m.p.Abort()
				}
				m.checkEmpty()
			})
		})
	}
}

// A slow broker keeps the buffer full while records come and go: memory is that
// of the buffer at any moment, and does not depend on how many went through.
func TestMemoryOfASlowBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryRig(t, config.CompressionNone, 1<<10)
		m.p.ProduceAll(t.Context(), m.rec)
		m.b.trouble.Store(int32(slow))
		for range 4 {
			for range memoryLimit / (1 << 10) {
				m.p.Produce(t.Context(), m.rec, m.done)
			}
			m.taken.Add(memoryLimit / (1 << 10))
			synctest.Wait() // for the rest of the answer that made room
			m.fill()
			m.check(1)
		}
		if err := m.p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.checkEmpty()
	})
}

// memoryRig is a producer, a broker that keeps nothing, and where the process
// stood before them.
type memoryRig struct {
	t   *testing.T
	b   *sieve
	p   *producer.Producer
	rec producer.Record

	heap       int64
	goroutines int
	taken      atomic.Int64
	told       atomic.Int64
	done       func(producer.Result)
}

func newMemoryRig(t *testing.T, codec config.Compression, value int) *memoryRig {
	t.Helper()
	m := &memoryRig{t: t, rec: producer.Record{Topic: "t", Value: make([]byte, value)}}
	m.done = func(producer.Result) { m.told.Add(1) }
	m.heap, m.goroutines = liveHeap(), runtime.NumGoroutine()
	m.b = &sieve{conns: map[net.Conn]struct{}{}}
	cfg := config.Default()
	cfg.BootstrapServers, cfg.Dialer = []string{sieveAddr}, m.b.dial
	cfg.BufferBytes, cfg.BatchBytes, cfg.Compression, cfg.MaxBlock = memoryLimit, memoryBatch, codec, time.Second
	var err error
	if m.p, err = producer.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.p.Abort()
		m.b.hangUp(gone)
		m.b.served.Wait()
	})
	return m
}

// fill produces until there is no room.
func (m *memoryRig) fill() {
	m.t.Helper()
	for range 4 * memoryLimit / 68 {
		if !m.try() {
			return
		}
	}
	m.t.Fatal("the buffer has no end")
}

// try produces without waiting, and reports whether there was room.
func (m *memoryRig) try() bool {
	err := m.p.TryProduce(m.rec, m.done)
	if err == nil {
		m.taken.Add(1)
	} else if !errors.Is(err, producer.ErrBufferFull) {
		m.t.Error(err)
	}
	return err == nil
}

// insist goes on producing for some time, in both ways.
func (m *memoryRig) insist() {
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 40 {
				m.p.Produce(m.t.Context(), m.rec, m.done)
				for range 10 {
					m.try()
				}
			}
		})
	}
	callers.Wait()
	m.taken.Add(8 * 40) // each has its callback, a refused one too
}

// check compares what is alive with what the full buffer allows.
func (m *memoryRig) check(factor float64) {
	m.t.Helper()
	synctest.Wait()
	grown, more := liveHeap()-m.heap, runtime.NumGoroutine()-m.goroutines
	used := m.p.Stats().BufferedBytes
	m.t.Logf("%.2f of buffer.memory alive, %.3f counted, %d goroutines", float64(grown)/float64(memoryLimit), float64(used)/float64(memoryLimit), more)
	if used < memoryLimit*9/10 || used > memoryLimit {
		m.t.Errorf("%d bytes are counted with a full buffer of %d", used, memoryLimit)
	}
	if limit := int64(factor*float64(memoryLimit)) + memoryRest(); grown > limit {
		m.t.Errorf("%d bytes are alive, at most %d should be", grown, limit)
	}
	if more > 20 {
		m.t.Errorf("%d goroutines", more)
	}
}

// checkEmpty looks at what is left once all records have their outcomes, while
// the producer is still there. The bubble itself ends the test where a goroutine
// is left behind.
func (m *memoryRig) checkEmpty() {
	m.t.Helper()
	synctest.Wait()
	if told := m.told.Load(); told != m.taken.Load() {
		m.t.Errorf("%d callbacks for %d records", told, m.taken.Load())
	}
	grown := liveHeap() - m.heap
	m.t.Logf("%.3f of buffer.memory alive after that", float64(grown)/float64(memoryLimit))
	if limit := memoryRest(); grown > limit {
		m.t.Errorf("%d bytes are alive with an empty buffer, at most %d should be", grown, limit)
	}
	if err := m.p.Close(m.t.Context()); err != nil {
		m.t.Error(err)
	}
	if used := m.p.Stats().BufferedBytes; used != 0 {
		m.t.Errorf("%d bytes are counted with an empty buffer", used)
	}
	runtime.KeepAlive(m.p)
}

// liveHeap is what is in use and not only kept for use: of a sync.Pool nothing
// is left after two collections.
func liveHeap() int64 {
	var s runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// trouble is what is the matter with a sieve.
type trouble int32

const (
	none trouble = iota
	mute         // it reads everything and answers nothing
	gone         // there are no connections
	slow         // each Produce request takes it 100 ms
)

// sieve is a broker in memory for topic t, with 8 partitions. It acknowledges
// what comes and keeps nothing of it, so that the heap is the producer's.
type sieve struct {
	trouble atomic.Int32
	served  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	next  [8]int64 // offset
}

const sieveAddr = "sieve.example:9092"

func (s *sieve) is(t trouble) bool { return trouble(s.trouble.Load()) == t }

func (s *sieve) dial(context.Context, string, string) (net.Conn, error) {
	if s.is(gone) {
		return nil, errors.New("connection refused")
	}
	client, server := net.Pipe()
	s.mu.Lock()
	s.conns[server] = struct{}{}
	s.mu.Unlock()
	s.served.Go(func() {
		s.serve(server)
		_ = server.Close()
		s.mu.Lock()
		delete(s.conns, server)
		s.mu.Unlock()
	})
	return client, nil
}

// hangUp ends all connections of a broker that goes.
func (s *sieve) hangUp(t trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if t == gone {
			_ = c.Close()
		}
	}
}

func (s *sieve) serve(c net.Conn) {
	var frame []byte
	for {
		var size [4]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint32(size[:]))
		frame = append(frame[:0], make([]byte, n)...)
		if _, err := io.ReadFull(c, frame); err != nil {
			return
		}
		if s.is(mute) {
			continue
		}
		if _, err := c.Write(s.answer(frame)); err != nil {
			return
		}
	}
}

// answer decodes a request and returns the response with its head.
func (s *sieve) answer(frame []byte) []byte {
	q := kmsg.RequestForKey(int16(binary.BigEndian.Uint16(frame)))
	q.SetVersion(int16(binary.BigEndian.Uint16(frame[2:])))
	body := frame[10+int(binary.BigEndian.Uint16(frame[8:])):] // behind the client id
	if q.IsFlexible() {
		body = body[1:]
	}
	if err := q.ReadFrom(body); err != nil {
		panic(err)
	}
	out := append(make([]byte, 4), frame[4:8]...)
	var resp kmsg.Response
	switch q := q.(type) {
	case *kmsg.ApiVersionsRequest:
		resp = sieveVersions(q)
	case *kmsg.MetadataRequest:
		resp = sieveMetadata(q)
	case *kmsg.ProduceRequest:
		resp = s.take(q)
	default: // InitProducerId
		resp = q.ResponseKind()
	}
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		out = append(out, 0)
	}
	out = resp.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}

func sieveVersions(q *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := q.ResponseKind().(*kmsg.ApiVersionsResponse)
	for key, most := range map[kmsg.Key]int16{kmsg.Produce: 12, kmsg.Metadata: 9, kmsg.ApiVersions: 4, kmsg.InitProducerID: 4} {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = int16(key), most
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	return resp
}

func sieveMetadata(q *kmsg.MetadataRequest) kmsg.Response {
	resp := q.ResponseKind().(*kmsg.MetadataResponse)
	resp.Brokers = []kmsg.MetadataResponseBroker{{Host: "sieve.example", Port: 9092}}
	for _, qt := range q.Topics {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic = qt.Topic
		for i := range int32(8) {
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Partition, p.Replicas, p.ISR = i, []int32{0}, []int32{0}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// take acknowledges the batches of a request.
func (s *sieve) take(q *kmsg.ProduceRequest) kmsg.Response {
	if s.is(slow) {
		time.Sleep(100 * time.Millisecond)
	}
	resp := q.ResponseKind().(*kmsg.ProduceResponse)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, qt := range q.Topics {
		t := kmsg.NewProduceResponseTopic()
		t.Topic = qt.Topic
		for _, qp := range qt.Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.BaseOffset, p.LogAppendTime = qp.Partition, s.next[qp.Partition], -1
			s.next[qp.Partition] += int64(binary.BigEndian.Uint32(qp.Records[57:]))
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
