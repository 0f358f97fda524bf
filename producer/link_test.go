package producer

import (
	"sync"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/internal/depth"
)

// newTestLink is a link without a connection, with so many requests at once.
func newTestLink(t *testing.T, requests int) *link {
	l := &link{depth: depth.New(requests, time.Now()), timeout: time.Hour}
	l.changed = sync.NewCond(&l.mu)
	l.watchdog = time.AfterFunc(time.Hour, func() {})
	t.Cleanup(func() { l.watchdog.Stop() })
	return l
}

func (l *link) beginSome(n int) {
	for range n {
		l.begin(&request{bytes: 100, correlationID: int32(l.requests.len() + len(l.writing))}, time.Now())
	}
}

// What a write that failed half way leaves in doubt: everything of which a byte
// left, and nothing else.
func TestWroteTellsSentFromUnsent(t *testing.T) {
	for _, test := range []struct{ bytes, sent int }{{0, 0}, {1, 1}, {100, 1}, {101, 2}, {250, 3}, {300, 3}} {
		l := newTestLink(t, 10)
		l.beginSome(3)
		l.wrote(int64(test.bytes))
		if sent, unsent := l.requests.len(), len(l.writing); sent != test.sent || sent+unsent != 3 {
			t.Errorf("after %d bytes of three requests of 100: %d sent, %d not", test.bytes, sent, unsent)
		}
	}
}

// As many requests as may be are in flight: the sender is not woken for each
// answer, but when there is room for a quarter of them.
func TestSenderSleepsUntilThereIsRoom(t *testing.T) {
	l := newTestLink(t, 8)
	may := func() bool {
		ok, _ := l.mayWrite(time.Now(), true)
		return ok
	}
	for i := range 8 {
		if !may() {
			t.Fatalf("no request may be written with %d in flight", i)
		}
		l.beginSome(1)
	}
	if may() {
		t.Fatal("one too many may be written")
	}
	l.wrote(800)
	for left := 7; left >= 5; left-- {
		if _, err := l.answered(l.requests.first().correlationID, time.Now()); err != nil {
			t.Fatal(err)
		}
		if room := left <= 6; l.choked.Load() == room || may() != room {
			t.Errorf("with %d of 8 in flight: choked %v", left, l.choked.Load())
		}
	}
	for range 3 {
		if !may() {
			t.Fatal("the room is not used up to the last")
		}
		l.beginSome(1)
	}
	if may() {
		t.Error("one too many may be written")
	}
}
