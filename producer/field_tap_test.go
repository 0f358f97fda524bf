package producer_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// tap sits on the producer's sockets and reads both directions. It knows what
// the producer wrote, and which answers it can know of: those that were handed
// to it. It judges by that, without trusting the cluster or the producer:
//
//   - a batch is written for the first time only while its last sequence is
//     less than W beyond the first of the oldest one without a success (those
//     that a connection took with it unwritten were within the W of that one);
//   - a batch keeps its bytes;
//   - a partition is not written to one connection while another one that is
//     not closed owes an answer for it.
type tap struct {
	below dialFunc
	most  int32 // the user's limit

	mu      sync.Mutex
	changed *sync.Cond
	conns   []*tapConn
	sent    []sentBatch
	topics  map[[16]byte]string
	chains  map[chainKey]*tapChain
	faults  []string

	cut func(key int16, size int) int // see onWrite
}

// sentBatch is a batch that was written.
type sentBatch struct {
	at        time.Time
	conn      int // number of the connection, from 0
	addr      string
	request   int32 // correlation ID
	topic     string
	partition int32
	epoch     int16
	base      int32
	records   int32
	first     bool
}

func (s sentBatch) String() string {
	return fmt.Sprintf("%s/%d e%d s%d+%d on %d", s.topic, s.partition, s.epoch, s.base, s.records, s.conn)
}

type chainKey struct {
	topic     string
	partition int32
	producer  int64
	epoch     int16
}

// tapChain is one epoch of a partition.
type tapChain struct {
	crcs    map[int32]uint32 // by base sequence
	open    []kmsg.RecordBatch
	deepest int64 // most sequences from the oldest one without a success on
	left    leftover
}

// leftover is what a connection that ended may have taken with it: the producer
// puts requests together for one write, and where the connection ends before it
// they are in doubt like those that were written. A later connection may have a
// smaller window, and gets them all the same.
type leftover struct {
	window int64 // the widest of the connections that ended
	bytes  int   // that one write can still account for
}

// writeBytes is how many bytes of requests the producer writes at once.
const writeBytes = 64 << 10

func newTap(d dialFunc, most int32) *tap {
	t := &tap{below: d, most: most, topics: map[[16]byte]string{}, chains: map[chainKey]*tapChain{}}
	t.changed = sync.NewCond(&t.mu)
	return t
}

func (t *tap) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := t.below(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &tapConn{Conn: raw, tap: t, addr: addr, number: len(t.conns), asked: map[int32]kmsg.Request{}}
	t.conns = append(t.conns, c)
	return c, nil
}

// onWrite sets a function that sees the key and the size of every request that
// is about to be written, and says after how many bytes of it the connection is
// to end; negative: not.
func (t *tap) onWrite(cut func(key int16, size int) int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut = cut
}

func (t *tap) fault(format string, args ...any) {
	t.faults = append(t.faults, fmt.Sprintf(format, args...))
}

// wrongs returns what was found wrong so far.
func (t *tap) wrongs() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.faults)
}

// batches returns what was written so far and fits.
func (t *tap) batches(fits func(sentBatch) bool) []sentBatch {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []sentBatch
	for _, s := range t.sent {
		if fits == nil || fits(s) {
			list = append(list, s)
		}
	}
	return list
}

// await blocks until so many batches that fit were written, or an hour passed.
func (t *tap) await(n int, fits func(sentBatch) bool) bool {
	late := false
	timer := time.AfterFunc(time.Hour, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		late = true
		t.changed.Broadcast()
	})
	defer timer.Stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		have := 0
		for _, s := range t.sent {
			if fits == nil || fits(s) {
				have++
			}
		}
		if have >= n || late {
			return have >= n
		}
		t.changed.Wait()
	}
}

// deepest is the most sequences that were ever in flight in a partition.
func (t *tap) deepest(topic string, partition int32) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	most := int64(0)
	for k, c := range t.chains {
		if k.topic == topic && k.partition == partition {
			most = max(most, c.deepest)
		}
	}
	return most
}

// carriers returns how many connections to an address carried records, and how
// many of them were open at once at most.
func (t *tap) carriers(addr string) (all, atOnce int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		if c.addr == addr && c.produced {
			all++
			atOnce = max(atOnce, c.beside+1)
		}
	}
	return all, atOnce
}

// tapConn is one connection of the producer.
type tapConn struct {
	net.Conn
	tap    *tap
	addr   string
	number int

	// Guarded by the tap's mutex:
	out, in  []byte
	asked    map[int32]kmsg.Request
	window   int32 // that the broker named; 0: none
	produced bool
	beside   int // other open connections to the address that carry records
	owes     map[chainKey]int
	ended    bool // closed by the producer
}

// SetLinger is passed on, so that the producer can reset the connection.
func (c *tapConn) SetLinger(sec int) error {
	if l, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		return l.SetLinger(sec)
	}
	return nil
}

func (c *tapConn) Close() error {
	c.tap.mu.Lock()
	if !c.ended {
		c.ended = true
		for k := range c.owes {
			if left := &c.tap.chains[k].left; c.limit() >= left.window {
				*left = leftover{window: c.limit(), bytes: writeBytes}
			}
		}
	}
	c.tap.changed.Broadcast()
	c.tap.mu.Unlock()
	return c.Conn.Close()
}

// Write looks at the bytes before they go, so that no answer can overtake them.
func (c *tapConn) Write(p []byte) (int, error) {
	n := c.tap.written(c, p)
	if n < 0 {
		return c.Conn.Write(p)
	}
	if n > 0 {
		n, _ = c.Conn.Write(p[:n])
	}
	c.SetLinger(0)
	c.Conn.Close()
	return n, syscall.EPIPE
}

// Read looks at the bytes before the producer gets them.
func (c *tapConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.in = append(c.in, p[:n]...)
	for frame := nextFrame(&c.in); frame != nil; frame = nextFrame(&c.in) {
		c.answered(frame)
	}
	return n, err
}

// nextFrame takes one whole frame, without its size, off the stream.
func nextFrame(stream *[]byte) []byte {
	b := *stream
	if len(b) < 4 {
		return nil
	}
	size := int(int32(binary.BigEndian.Uint32(b)))
	if size < 4 || len(b) < 4+size {
		return nil
	}
	*stream = b[4+size:]
	return b[4 : 4+size]
}

// written notes requests, and says after how many bytes of p the connection is
// to end, -1 for not at all. A write begins with a request and ends with one.
func (t *tap) written(c *tapConn, p []byte) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := -1
	if t.cut != nil && len(c.out) == 0 && len(p) >= 8 {
		if n = t.cut(int16(binary.BigEndian.Uint16(p[4:])), len(p)); n >= 0 {
			return min(n, len(p))
		}
	}
	c.out = append(c.out, p...)
	for frame := nextFrame(&c.out); frame != nil; frame = nextFrame(&c.out) {
		c.requested(frame)
	}
	t.changed.Broadcast()
	return n
}

func (c *tapConn) requested(frame []byte) {
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	id := int32(binary.BigEndian.Uint32(frame[4:]))
	body := frame[10:]
	if name := int16(binary.BigEndian.Uint16(frame[8:])); name > 0 {
		body = body[name:]
	}
	req := kmsg.RequestForKey(key)
	if req == nil {
		return // of SASL without a handshake, or TLS
	}
	req.SetVersion(version)
	if req.IsFlexible() {
		body = body[1:] // the producer sends no tags in the header
	}
	if err := req.ReadFrom(body); err != nil {
		c.tap.fault("connection %d: request %d of %s cannot be read: %v", c.number, id, kmsg.NameForKey(key), err)
		return
	}
	c.asked[id] = req
	if p, ok := req.(*kmsg.ProduceRequest); ok {
		c.produces(id, p)
	}
}
