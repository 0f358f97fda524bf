package producer

// queue is a first-in first-out list whose memory serves again: what goes in and
// out all the time allocates nothing. The zero value is empty.
type queue[T any] struct {
	list []T // list[head:] is the queue
	head int
}

func (q *queue[T]) len() int { return len(q.list) - q.head }

// all is the queue in order, valid until the next change of it.
func (q *queue[T]) all() []T { return q.list[q.head:] }

func (q *queue[T]) first() T { return q.list[q.head] }

func (q *queue[T]) push(x T) {
	if q.head > len(q.list)/2 && len(q.list) == cap(q.list) {
		q.replace(q.all()) // half of it at least is free, so that this costs each little
	}
	q.list = append(q.list, x)
}

// pop takes the first one out.
func (q *queue[T]) pop() T {
	var none T
	x := q.list[q.head]
	q.list[q.head] = none
	if q.head++; q.head == len(q.list) {
		q.empty()
	}
	return x
}

// empty keeps no more memory than most of the time is of use: one that was long
// once, after some failure, would keep it for good.
func (q *queue[T]) empty() {
	const most = 1 << 10
	if q.head = 0; cap(q.list) > most {
		q.list = nil
	}
	q.list = q.list[:0]
}

// replace makes these the queue; they may be part of what it was.
func (q *queue[T]) replace(these []T) {
	old := q.list
	q.list, q.head = append(q.list[:0], these...), 0
	if len(old) > len(q.list) {
		clear(old[len(q.list):])
	}
}
