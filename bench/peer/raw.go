package peer

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

var rawPeer = Peer{
	Name: "raw", Idempotent: true,
	Note: "no client but the yardstick: numbers batches and writes them pipelined to one broker, and gives up at the first fault; " +
		"no codecs, no retry, no second broker, one batch a request; a lone batch leaves at once, linger counts while something is in flight",
	Open:    openRaw,
	version: func() string { return "-" },
}

// raw is what is left of a producer when nothing can go wrong.
type raw struct {
	cfg        Config
	conn       net.Conn
	responses  *bufio.Reader
	producerID int64
	head       []byte // of every request, up to the partition

	calls sync.Mutex // held while callbacks run

	mu       sync.Mutex
	changed  sync.Cond // something to write, or closed
	room     sync.Cond // bytes were given back, or all is done
	parts    []rawPartition
	sticky   int32
	ready    []*rawBatch // full, in order
	open     int         // partitions with an open batch
	oldest   time.Time   // when the first of them was opened
	flushing bool
	flight   []*rawBatch // written, in order
	buffered int64       // bytes of all batches
	free     []*rawBatch
	failed   error
}

type rawPartition struct {
	open     *rawBatch
	sequence int32
}

func openRaw(c Config) (Client, error) {
	if c.Codec != "none" {
		return nil, unknownCodec(c.Codec + " in raw")
	}
	conn, err := net.Dial("tcp", c.Addrs[0])
	if err != nil {
		return nil, err
	}
	r := &raw{cfg: c, conn: conn, responses: bufio.NewReaderSize(conn, 64<<10)}
	r.changed.L, r.room.L = &r.mu, &r.mu
	partitions, err := r.handshake()
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	r.parts = make([]rawPartition, partitions)
	go r.write()
	go r.read()
	return r, nil
}

func (r *raw) Produce(_ context.Context, value []byte, partition int32, stamp *int64) {
	if err := r.add(value, partition, stamp); err != nil {
		r.calls.Lock()
		defer r.calls.Unlock()
		r.cfg.Done(stamp, err)
	}
}

func (r *raw) add(value []byte, partition int32, stamp *int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.buffered >= r.cfg.BufferBytes && r.failed == nil {
		r.room.Wait()
	}
	if r.failed != nil {
		return r.failed
	}
	if !r.cfg.Spread {
		partition = r.sticky
	}
	p := &r.parts[partition]
	if p.open != nil && p.open.size()+len(value)+rawRecordBytes > r.cfg.BatchBytes {
		r.seal(p)
		if !r.cfg.Spread {
			r.sticky = (r.sticky + 1) % int32(len(r.parts))
			p = &r.parts[r.sticky]
			partition = r.sticky
		}
	}
	if p.open == nil {
		r.begin(p, partition)
	}
	r.buffered += int64(p.open.add(value, stamp))
	return nil
}

func (r *raw) begin(p *rawPartition, partition int32) {
	if n := len(r.free); n > 0 {
		p.open, r.free = r.free[n-1], r.free[:n-1]
	} else {
		p.open = &rawBatch{buf: make([]byte, 0, r.cfg.BatchBytes+256)}
	}
	p.open.begin(r.head, partition)
	r.buffered += int64(p.open.size())
	if r.open == 0 {
		r.oldest = time.Now()
		r.changed.Signal()
	}
	r.open++
}

func (r *raw) seal(p *rawPartition) {
	b := p.open
	p.open = nil
	r.open--
	b.sequence = p.sequence
	p.sequence = int32((int64(p.sequence) + int64(b.records)) & (1<<31 - 1))
	r.ready = append(r.ready, b)
	r.changed.Signal()
}

// due seals open batches if they need not wait any longer. It returns how long
// they may wait otherwise.
func (r *raw) due() time.Duration {
	if r.open == 0 {
		return 0
	}
	wait := r.cfg.Linger - time.Since(r.oldest)
	if wait > 0 && len(r.flight) > 0 && !r.flushing {
		return wait
	}
	for i := range r.parts {
		if r.parts[i].open != nil {
			r.seal(&r.parts[i])
		}
	}
	return 0
}

func (r *raw) write() {
	var vec net.Buffers
	var batches []*rawBatch
	timer := time.AfterFunc(time.Hour, r.changed.Signal)
	defer timer.Stop()
	for correlation := int32(1); ; {
		r.mu.Lock()
		for len(r.ready) == 0 && r.failed == nil {
			if wait := r.due(); wait > 0 {
				timer.Reset(wait)
			}
			if len(r.ready) == 0 {
				r.changed.Wait()
			}
		}
		batches = append(batches[:0], r.ready...)
		r.ready = r.ready[:0]
		r.flight = append(r.flight, batches...)
		failed := r.failed
		r.mu.Unlock()
		if failed != nil {
			return
		}
		vec = vec[:0]
		for _, b := range batches {
			vec = append(vec, b.finish(len(r.head), correlation, r.producerID))
			correlation++
		}
		if _, err := vec.WriteTo(r.conn); err != nil {
			r.fail(err)
			return
		}
	}
}

func (r *raw) read() {
	var frame []byte
	for {
		var err error
		if frame, err = r.response(frame); err == nil {
			err = rawProduceError(frame)
		}
		if err != nil {
			r.fail(err)
			return
		}
		r.mu.Lock()
		b := r.flight[0]
		r.flight = r.flight[:copy(r.flight, r.flight[1:])]
		r.mu.Unlock()
		r.calls.Lock()
		for i := range b.records {
			r.cfg.Done(b.stamp(i), nil)
		}
		r.calls.Unlock()
		r.mu.Lock()
		r.buffered -= int64(b.size())
		r.free = append(r.free, b)
		r.room.Broadcast()
		r.changed.Signal()
		r.mu.Unlock()
	}
}

func (r *raw) response(into []byte) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r.responses, size[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(size[:]))
	if n > 1<<20 {
		return nil, fmt.Errorf("raw: a response of %d bytes", n)
	}
	if cap(into) < n {
		into = make([]byte, n)
	}
	_, err := io.ReadFull(r.responses, into[:n])
	return into[:n], err
}

func (r *raw) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
	r.room.Broadcast()
	r.changed.Signal()
}

func (r *raw) Flush(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.room.Broadcast()
	})
	defer stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushing = true
	defer func() { r.flushing = false }()
	r.changed.Signal()
	for r.buffered > 0 && r.failed == nil && ctx.Err() == nil {
		r.room.Wait()
	}
	return errors.Join(r.failed, ctx.Err())
}

func (r *raw) Close() {
	r.fail(net.ErrClosed)
	_ = r.conn.Close()
}
