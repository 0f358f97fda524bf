package conn

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// stagger is how long one attempt is alone before the next begins, unless it
	// fails before: as long as RFC 8305 has it for the addresses of one name.
	stagger = 250 * time.Millisecond
	// places is how many attempts may be under way that are still young.
	places = 4
)

// race says which of several candidates is tried when: brokers of a cluster, or
// the addresses of a name. One after the other takes a whole timeout for each that
// swallows packets; all at once are a storm at a cluster that is in trouble. So
// they begin staggered, a few at a time. One that is silent keeps its place for a
// quarter of the timeout only: it goes on, and so does the next.
//
// It is a plain state machine. The time comes in as an argument.
type race struct {
	hold   time.Duration // how long an attempt keeps its place
	begun  []time.Time   // of each candidate, zero: not yet
	ended  []bool
	next   int       // the first that has not begun
	latest time.Time // when one began, or zero if it failed since
}

func newRace(n int, timeout time.Duration) *race {
	return &race{hold: timeout / places, begun: make([]time.Time, n), ended: make([]bool, n)}
}

// begin says which candidate is to begin now; if none is, when to ask again, zero
// for once one fails.
func (r *race) begin(now time.Time) (i int, ok bool, again time.Time) {
	if r.next == len(r.begun) {
		return 0, false, time.Time{}
	}
	if again = r.dueAt(now); again.After(now) {
		return 0, false, again
	}
	i = r.next
	r.next++
	r.begun[i], r.latest = now, now
	return i, true, time.Time{}
}

// dueAt is when the next candidate may begin.
func (r *race) dueAt(now time.Time) (due time.Time) {
	if !r.latest.IsZero() {
		due = r.latest.Add(stagger)
	}
	young, free := 0, time.Time{}
	for i := range r.next {
		if until := r.begun[i].Add(r.hold); !r.ended[i] && until.After(now) {
			if young++; free.IsZero() || until.Before(free) {
				free = until
			}
		}
	}
	if young >= places && free.After(due) {
		return free
	}
	return due
}

// failed notes the end of an attempt, and reports whether it was the last.
func (r *race) failed(i int) (last bool) {
	r.ended[i], r.latest = true, time.Time{}
	for i := range r.begun {
		if !r.ended[i] {
			return false
		}
	}
	return true
}

// reached is what one attempt came to.
type reached struct {
	i    int
	conn *Conn
	err  error
}

// run holds the race, until one attempt succeeds, all have failed, one has failed
// in a way that final says ends all, or ctx ends. It waits for nobody who does not
// end with ctx: a dialer and a login may be the user's.
func (r *race) run(ctx context.Context, final func(error) bool, try func(ctx context.Context, i int) (*Conn, error)) (*Conn, int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan reached, len(r.begun))
	under := 0
	defer func() {
		go func(left int) {
			for range left {
				if late := <-results; late.err == nil {
					late.conn.Abandon()
				}
			}
		}(under)
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var failures failures
	for {
		i, ok, again := r.begin(time.Now())
		if ok {
			under++
			go func() {
				end := reached{i, nil, errEndedItself}
				defer func() {
					if v := recover(); v != nil {
						end.err = fmt.Errorf("the Dialer or the login panicked with a %T", v) // which may hold the login
					}
					results <- end
				}()
				end.conn, end.err = try(ctx, i)
			}()
			continue
		}
		var next <-chan time.Time
		if !again.IsZero() {
			timer.Reset(time.Until(again))
			next = timer.C
		}
		var end reached
		select {
		case <-next:
			continue
		case end = <-results:
		case <-ctx.Done():
			if end, ok = lastWord(results); !ok {
				return nil, -1, failures.add(context.Cause(ctx))
			}
		}
		under--
		if end.err == nil {
			return end.conn, end.i, nil
		}
		failures = append(failures, end.err)
		if r.failed(end.i) || final(end.err) || ctx.Err() != nil {
			return nil, -1, failures.err()
		}
	}
}

// lastWord gives an attempt whose context has ended a moment to say what it was at.
func lastWord(results <-chan reached) (reached, bool) {
	select {
	case end := <-results:
		return end, true
	case <-time.After(100 * time.Millisecond):
		return reached{}, false
	}
}

// failures are those of one race. Their text names the latest and the first, and
// counts the others: there may be a hundred.
type failures []error

func (f failures) add(err error) error { return append(f, err).err() }

func (f failures) err() error {
	if len(f) == 1 {
		return f[0]
	}
	return f
}

// Error names the latest failure, and the first.
func (f failures) Error() string {
	return fmt.Sprintf("%v; %d attempts failed, the first: %v", f[len(f)-1], len(f), f[0])
}

// Unwrap returns all of them, the latest first.
func (f failures) Unwrap() []error {
	all := make([]error, 0, len(f))
	for i := range f {
		all = append(all, f[len(f)-1-i])
	}
	return all
}

// errEndedItself is that code of the user's ended its goroutine (runtime.Goexit).
var errEndedItself = errors.New("the Dialer or the login ended its goroutine")
