package producer

import "time"

// clock tells a partition the time for each record, and looks at the real one
// only now and then while records come fast: a look costs as much as much of the
// rest. What it tells is at most some hundred microseconds old in a steady
// stream, and a tenth of a second where one stops: the producer's beat ends what
// is left of a stride. Whoever knows that time has passed calls hurry.
type clock struct {
	last         time.Time
	left, stride int // records until the next look, and between two
	beat         uint32
}

const mostStride = 63

func (c *clock) look(beat uint32) time.Time {
	if c.left > 0 && c.beat == beat {
		c.left--
		return c.last
	}
	return c.read(beat)
}

func (c *clock) read(beat uint32) time.Time {
	c.beat = beat
	now := time.Now()
	switch gap := now.Sub(c.last); {
	case gap < 250*time.Microsecond:
		c.stride = min(2*c.stride+1, mostStride)
	case gap > time.Millisecond:
		c.stride = 0
	default:
		c.stride /= 2
	}
	c.last, c.left = now, c.stride
	return now
}

// hurry makes the next look a real one.
func (c *clock) hurry() { c.left = 0 }
