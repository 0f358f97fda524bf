package producer

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/inspect"
)

// desk is where the proofs of one broker are dealt with. One goroutine and one
// connection serve all partitions, some at once in a round trip. One whose followers
// lag only stays on the list of those whose high watermark is asked for again: it
// keeps no other waiting.
type desk struct {
	a     *auditor
	addr  string
	woken chan struct{}
	came  []*audit // under the auditor's lock: not begun yet

	// Of its goroutine alone:
	conn    *conn.Conn // nil: none
	waiting []proving
	pause   time.Duration // before the high watermarks are asked for again
}

// proving is a proof that wants only the replicas.
type proving struct {
	x     *audit
	proof *inspect.Proof
	until time.Time
}

const (
	// mostCounts bounds the answers that are in memory at once: those of
	// DescribeProducers have all producers of a partition.
	mostCounts = 32
	mostPolls  = 256

	// High watermarks are asked for again after the shortest pause, which doubles
	// up to the longest while nothing happens.
	shortestPoll = 20 * time.Millisecond
	longestPoll  = 320 * time.Millisecond
)

func (a *auditor) proveLocked(x *audit) {
	d := a.desks[x.addr]
	if d == nil {
		d = &desk{a: a, addr: x.addr, woken: make(chan struct{}, 1)}
		a.desks[x.addr] = d
		a.ended.Go(d.run)
	}
	d.came = append(d.came, x)
	select {
	case d.woken <- struct{}{}:
	default:
	}
}

func (d *desk) run() {
	defer d.hangUp()
	for some, over := d.next(); !over; some, over = d.next() {
		if len(some) == 0 {
			d.sleep()
		} else {
			d.pause = shortestPoll
			d.count(some)
		}
		d.poll()
	}
}

// next returns some of those that came. Over says that there is nothing to do.
func (d *desk) next() (some []*audit, over bool) {
	d.a.mu.Lock()
	defer d.a.mu.Unlock()
	if d.a.ctx.Err() != nil || len(d.came)+len(d.waiting) == 0 {
		delete(d.a.desks, d.addr)
		return nil, true
	}
	n := min(len(d.came), mostCounts)
	some, d.came = d.came[:n:n], d.came[n:]
	return some, false
}

func (d *desk) sleep() {
	timer := time.NewTimer(d.pause)
	defer timer.Stop()
	select {
	case <-d.woken:
	case <-timer.C:
	case <-d.a.ctx.Done():
	}
	d.pause = min(2*d.pause, longestPoll)
}

// count learns what the broker counts for each, and how far the log is then.
func (d *desk) count(some []*audit) {
	until := time.Now().Add(d.a.pr.cfg.RequestTimeout)
	var begun []proving
	var proofs []*inspect.Proof
	for _, x := range some {
		if x.wanted() {
			proof := &inspect.Proof{At: x.p.place(), LeaderEpoch: x.leader.Epoch, ProducerID: x.producerID}
			begun, proofs = append(begun, proving{x, proof, until}), append(proofs, proof)
		}
	}
	d.ask(proofs, inspect.Count)
	d.waiting = append(d.waiting, begun...)
}

// poll asks once for the high watermarks, and tells those partitions that have what
// they wait for, or will not get it.
func (d *desk) poll() {
	for first := 0; first < len(d.waiting); first += mostPolls {
		some := d.waiting[first:min(first+mostPolls, len(d.waiting))]
		var proofs []*inspect.Proof
		for _, w := range some {
			if !w.proof.Done() && w.x.wanted() {
				proofs = append(proofs, w.proof)
			}
		}
		d.ask(proofs, inspect.Poll)
	}
	d.tell()
}

func (d *desk) tell() {
	now := time.Now()
	kept := d.waiting[:0]
	for _, w := range d.waiting {
		switch proof := w.proof; {
		case proof.Done():
			d.pause = shortestPoll
			w.x.p.audited(w.x, findings{entry: proof.Entry}, proof.Err)
		case now.After(w.until):
			w.x.p.audited(w.x, findings{}, fmt.Errorf("%w: %s", context.DeadlineExceeded, proof))
		case w.x.wanted():
			kept = append(kept, w)
		}
	}
	clear(d.waiting[len(kept):])
	d.waiting = kept
}

// ask puts questions for the proofs, within the time of one request. A connection
// that fails is the end of all of them.
func (d *desk) ask(proofs []*inspect.Proof, question func(context.Context, *conn.Conn, []*inspect.Proof) error) {
	if len(proofs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(d.a.ctx, d.a.pr.cfg.RequestTimeout)
	defer cancel()
	err := d.connect(ctx)
	if err == nil {
		err = question(ctx, d.conn, proofs)
	}
	if err == nil {
		return
	}
	d.hangUp()
	for _, proof := range proofs {
		proof.Err = err
	}
}

func (d *desk) connect(ctx context.Context) error {
	if d.conn != nil {
		return nil
	}
	c, err := d.a.pr.dial(ctx, d.addr)
	if err == nil {
		d.conn = c
	}
	return err
}

func (d *desk) hangUp() {
	if d.conn != nil {
		d.conn.Abandon()
		d.conn = nil
	}
}
