package flight

import (
	"time"

	"github.com/sluice-kafka/sluice/retry"
)

// Pause is the time before which a partition sends nothing again.
type Pause struct {
	backoff retry.Backoff
	until   time.Time
}

// NewPause returns no pause; the first one is initial long, and they grow to
// limit.
func NewPause(initial, limit time.Duration) Pause {
	return Pause{backoff: retry.NewBackoff(initial, limit)}
}

// Extend begins a pause. The answers to what was pipelined behind a failure do not
// lengthen it. jitter is a random number in [0,1).
func (p *Pause) Extend(now time.Time, jitter float64) {
	if !p.until.After(now) {
		p.until = now.Add(p.backoff.Next(jitter))
	}
}

// Hold begins a pause that ends then, whatever there was before.
func (p *Pause) Hold(until time.Time) { p.until = until }

// Cut ends the pause: there is news.
func (p *Pause) Cut() { p.until = time.Time{} }

// Succeeded ends the pause after a success. The next one is short again.
func (p *Pause) Succeeded() {
	p.backoff.Reset()
	p.Cut()
}

// Until is when the pause ends, and whether it still lasts.
func (p *Pause) Until(now time.Time) (end time.Time, on bool) { return p.until, now.Before(p.until) }
