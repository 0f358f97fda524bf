package producer

import (
	"runtime"
	"sync"
	"time"
)

// encoders compress batches as they are sealed, on as many goroutines as there
// are CPUs: neither a caller nor a sender waits for a codec, nor one partition
// for another. The goroutines end when there is nothing to do.
type encoders struct {
	pr *Producer

	mu      sync.Mutex
	queue   queue[encoding]
	running int
	stopped bool
	ended   sync.WaitGroup
}

// encoding is a batch to be compressed. Its partition leaves it alone meanwhile.
type encoding struct {
	p *partition
	b *batch
}

// push queues a batch, and reports false if nothing is compressed any more. It
// may be called with the partition's lock held.
func (e *encoders) push(x encoding) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return false
	}
	e.queue.push(x)
	if e.running < runtime.GOMAXPROCS(0) {
		e.running++
		e.ended.Go(e.run)
	}
	return true
}

func (e *encoders) run() {
	for x, ok := e.next(); ok; x, ok = e.next() {
		x.b.encode(e.pr.codec)
		x.p.encoded(x.b)
	}
}

func (e *encoders) next() (x encoding, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queue.len() == 0 {
		e.running--
		return encoding{}, false
	}
	return e.queue.pop(), true
}

// stop takes no more batches, and waits for those it has.
func (e *encoders) stop() {
	e.mu.Lock()
	e.stopped = true
	e.mu.Unlock()
	e.ended.Wait()
}

// encode has a sealed batch compressed. While the partition has to come to rest
// no more is begun.
func (p *partition) encode(b *batch) {
	switch {
	case b.encoded:
	case p.pr.codec == nil:
		b.encode(nil)
		b.encoded = true
	case !b.encoding && p.pr.encoders.push(encoding{p, b}):
		b.encoding = true
		p.encoding++
	}
}

// encoded gives a batch back to the partition.
func (p *partition) encoded(b *batch) {
	p.mu.Lock()
	p.encoding--
	b.encoding, b.encoded = false, true
	if p.encoding == 0 {
		p.settleDown(time.Now())
	}
	p.fx.enqueue = p.target
	p.unlock()
}
