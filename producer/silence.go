package producer

import (
	"fmt"
	"time"
)

// silent is called when the broker's time for its answer is up. Bytes that move are
// not silence: a large request on a thin line takes longer to go out than a broker may
// take to answer. What trickles in, or out, is a connection that works; how long
// records may wait is for their own deadline.
func (l *link) silent() {
	l.mu.Lock()
	over := false
	if l.cause == nil && l.requests.len()+len(l.writing) > 0 { // else it was answered just now
		if left := l.patience(time.Now()); left > 0 {
			l.watchdog.Reset(left)
		} else {
			over = true
		}
	}
	l.mu.Unlock()
	if over {
		l.die(fmt.Errorf("%w: broker %d at %s", ErrRequestTimeout, l.broker.id, l.conn.Addr()))
	}
}

// patience is how much longer there is reason to wait.
func (l *link) patience(now time.Time) time.Duration {
	since := latest(l.watched, l.conn.LastHeard())
	if len(l.writing) > 0 {
		since = latest(since, l.conn.LastWritten())
	}
	return l.timeout - now.Sub(since)
}
