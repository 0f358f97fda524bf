package producer

import (
	"github.com/sluice-kafka/sluice/batcher"
	"github.com/sluice-kafka/sluice/throttle"
)

// SetCompressor replaces the codec of a producer that has no topic yet.
func SetCompressor(pr *Producer, c batcher.Compressor) { pr.codec = c }

// SkipSequences lets the next record of a partition have sequence n, as if so
// many had been written in one batch. The producer must have an ID, and the
// partition must never have sent anything.
func SkipSequences(pr *Producer, topic string, index, n int32) {
	t := (*pr.main.topics.Load())[topic]
	p := t.partition(*t.parts.Load(), index)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ident = pr.main.identity.Load()
	p.win.SetProducer(p.ident.producerID, p.ident.epoch)
	p.win.Bind(throttle.Limits{})
	b := p.win.Admit(n)
	p.win.Commit()
	p.win.Settle(b, throttle.Success, -1)
	p.win.Unbind()
	p.base++
}
