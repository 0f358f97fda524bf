package producer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
)

// unconnected is a producer that never reaches a broker. What it refuses has its
// callback all the same.
func unconnected(t *testing.T) *Producer {
	t.Helper()
	cfg := config.Default()
	cfg.BootstrapServers = []string{"127.0.0.1:1"}
	pr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pr.Abort()
		if err := pr.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return pr
}

// within runs f in a callback, and returns what it found.
func within(pr *Producer, f func() error) error {
	found := make(chan error, 1)
	pr.Produce(context.Background(), Record{Topic: "t", Partition: On(-1)}, func(Result) { found <- f() })
	return <-found
}

func soon() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Second)
}

// A callback is found however deep the stack above it, in whatever goroutine of the
// deliverer it runs.
func TestInCallbackIsFound(t *testing.T) {
	pr := unconnected(t)
	for _, depth := range []int{0, 1, 30, 63, 64, 65, 200, 1000} {
		if err := within(pr, func() (err error) {
			deep(depth, func() { err = pr.Flush(context.Background()) })
			return err
		}); !errors.Is(err, ErrInCallback) {
			t.Errorf("%d frames deep: %v", depth, err)
		}
	}
}

// Who is no callback of this producer may wait for it, also while its callbacks run:
// another goroutine, one that a callback started, and a callback of another producer.
func TestInCallbackIsOfThisProducer(t *testing.T) {
	a, b := unconnected(t), unconnected(t)
	ctx, cancel := soon()
	defer cancel()
	running, leave := make(chan struct{}), make(chan struct{})
	go func() {
		_ = within(b, func() error { close(running); <-leave; return nil })
	}()
	<-running
	time.AfterFunc(0, func() { close(leave) })
	if err := within(a, func() error { return b.Flush(ctx) }); err != nil {
		t.Errorf("a callback of another producer: %v", err)
	}
	if err := within(a, func() error {
		found := make(chan error)
		go func() {
			found <- errors.Join(b.Flush(ctx), map[bool]error{true: errors.New("found")}[a.delivery.inCallback()])
		}()
		return <-found
	}); err != nil {
		t.Errorf("a goroutine of a callback: %v", err)
	}
}

// The question allocates nothing, whether callbacks run or not, however deep the stack.
func TestInCallbackAllocatesNothing(t *testing.T) {
	pr := unconnected(t)
	deep(30, func() {
		for _, inside := range []bool{false, true} {
			pr.delivery.inside.Store(inside)
			if n := testing.AllocsPerRun(100, func() { pr.delivery.inCallback() }); n != 0 {
				t.Errorf("%v allocations, callbacks run: %v", n, inside)
			}
		}
	})
	pr.delivery.inside.Store(false)
}
