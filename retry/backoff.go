package retry

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Backoff is the growing pause between the attempts of one partition or one
// broker: initial, twice that, and so on up to a maximum, spread by 20 % so
// that many clients do not come back in step (KIP-580).
//
// It is a plain value, made to be embedded: as long as nothing fails it holds
// two durations and allocates nothing. The zero value pauses for 1 ms at most.
// It must not be copied once Next was called, nor be used from two goroutines
// at once.
type Backoff struct {
	initial, max time.Duration
	grow         *backoff.ExponentialBackOff // nil until the first failure
}

const (
	multiplier   = 2
	jitterShare  = 5 // the pause is spread by a fifth, up and down
	shortestWait = time.Millisecond
)

// NewBackoff returns a Backoff that begins at initial and grows to limit. An
// initial below 1 ms counts as 1 ms, since no pause at all is a busy loop (K70);
// a limit below initial counts as initial.
func NewBackoff(initial, limit time.Duration) Backoff {
	return Backoff{initial: initial, max: limit}
}

// Next returns the pause before the next attempt and grows the one after it.
// jitter is a random number in [0,1) of the caller's; 0.5 is the middle. The
// pause is never longer than the maximum: near it the spread is cut above,
// not folded onto the maximum, so that clients stay spread there too.
func (b *Backoff) Next(jitter float64) time.Duration {
	if b.grow == nil {
		b.grow = newGrowth(b.initial, b.max)
	}
	pause := b.grow.NextBackOff()
	shortest := pause - pause/jitterShare
	longest := pause + pause/jitterShare
	if longest > b.grow.MaxInterval || longest < pause { // the latter is an overflow
		longest = b.grow.MaxInterval
	}
	spread := unit(jitter) * float64(longest-shortest)
	if spread < float64(longest-shortest) {
		return shortest + time.Duration(spread)
	}
	return longest
}

// Reset begins again at the initial pause, after a success.
func (b *Backoff) Reset() { b.grow = nil }

func newGrowth(initial, limit time.Duration) *backoff.ExponentialBackOff {
	initial = max(initial, shortestWait)
	g := &backoff.ExponentialBackOff{
		InitialInterval:     initial,
		RandomizationFactor: 0, // the caller brings the jitter
		Multiplier:          multiplier,
		MaxInterval:         max(limit, initial),
		MaxElapsedTime:      0, // how long to go on is the delivery timeout's business
		Stop:                backoff.Stop,
		Clock:               stoppedClock{},
	}
	g.Reset()
	return g
}

// stoppedClock keeps this package free of clocks: elapsed time is not used.
type stoppedClock struct{}

func (stoppedClock) Now() time.Time { return time.Time{} }

// unit forces x into [0,1]; what is not a number becomes 0.
func unit(x float64) float64 {
	if !(x >= 0) {
		return 0
	}
	return min(x, 1)
}
