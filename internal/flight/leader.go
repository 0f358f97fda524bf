package flight

import "time"

// Follow is for a leader that is another one, or leads under another epoch. Before
// the partition moves, what is outstanding is answered, or its connection dies.
func (o *Owner) Follow(newer bool, now time.Time, fx *Effects) {
	if newer {
		o.Pause.Cut() // there is news: no reason to wait (KIP-951)
	}
	o.Window.Regate()
	o.assured = false
	o.SettleDown(now, fx)
}

// left is for a connection that the partition does not use any more, since another
// broker leads. The answer would be the former one's.
func (o *Owner) left() {
	if o.state == asked {
		o.state = wanted
	}
}

// Bound is for a connection that is not the one before: what was said there says
// nothing of this one's broker. An answer that was waited for is lost; what a
// connection dies of is no answer either.
func (o *Owner) Bound() {
	if o.state == asked {
		o.failed++
		o.state = wanted
	} else {
		o.failed = 0
	}
	if o.assured {
		o.assured = false
		o.want()
	}
}
