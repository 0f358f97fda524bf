package inspect

import (
	"context"
	"errors"
	"sync"

	"github.com/sluice-kafka/sluice/internal/conn"
)

// Portion is how many partitions one question is about. A broker answers with all
// producers of a partition, which may be none or a million, and what stands behind
// the answer on its connection waits. So the first question is about few partitions,
// and answers teach how many the next may be about. It may be used by several
// goroutines; the zero value has learnt nothing.
type Portion struct {
	mu   sync.Mutex
	most int // what went well, times growth
	each int // bytes of the answer for a partition: the most of late
}

const (
	firstPortion = 4
	growth       = 4

	// Fits is how large an answer may be where others wait behind it, in bytes.
	Fits = 256 << 10
)

// Next is how many partitions the next question may be about. Large says that the
// answer for even one is larger than Fits.
func (p *Portion) Next() (partitions int, large bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	most := max(p.most, firstPortion)
	return max(1, min(most, Fits/max(p.each, 1))), p.each > Fits
}

// Learn takes how large an answer was. What was large is forgotten slowly.
func (p *Portion) Learn(partitions, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each = max(bytes/max(partitions, 1), p.each-p.each/8)
	if bytes <= Fits {
		p.most = max(p.most, growth*partitions)
	}
}

// Refused notes an answer that was so large that it was not read.
func (p *Portion) Refused(partitions, limit int) {
	p.Learn(partitions, max(limit, (Fits+1)*partitions))
}

// Describe asks a broker what it has of a producer ID in partitions, in portions. It
// uses c as Conn.Do does.
func Describe(ctx context.Context, c *conn.Conn, places []Place, producerID int64, size *Portion) (*Answer, error) {
	all := request{q: &Question{about: map[int64]bool{producerID: true}}}.ResponseKind().(*Answer)
	for len(places) > 0 {
		n, _ := size.Next()
		n = min(n, len(places))
		var q Question
		for _, at := range places[:n] {
			q.Add(at, producerID)
		}
		places = places[n:]
		resp, err := c.Do(ctx, q.Request())
		if errors.Is(err, conn.ErrTooLarge) {
			size.Refused(q.Places(), conn.Limit(q.Request()))
		}
		if err != nil {
			return nil, err
		}
		answer := resp.(*Answer)
		size.Learn(q.Places(), answer.Size())
		all.add(answer)
	}
	return all, nil
}
