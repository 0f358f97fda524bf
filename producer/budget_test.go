package producer

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crowds counts what a budget says of its waiters.
type crowds struct {
	mu    sync.Mutex
	now   int // 1: somebody waits
	began int
}

func (c *crowds) on(waiting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting {
		c.now++
		c.began++
	} else {
		c.now--
	}
}

// lone is a budget with one share.
type lone struct {
	budget
	s share
}

func (l *lone) take(ctx context.Context, n int64, maxWait time.Duration) error {
	_, err := l.budget.take(ctx, &l.s, n, 0, maxWait)
	return err
}

func (l *lone) give(n int64) { l.budget.give(&l.s, n) }

func newBudget(limit int64) (*lone, *crowds) {
	c := new(crowds)
	return &lone{budget: budget{limit: limit, onCrowd: c.on}}, c
}

// taker asks for n bytes and says what came of it.
func taker(ctx context.Context, b *lone, n int64, maxWait time.Duration) chan error {
	done := make(chan error, 1)
	go func() { done <- b.take(ctx, n, maxWait) }()
	synctest.Wait()
	return done
}

func isOut(c chan error) bool { return len(c) > 0 }

// K13: 100 bytes come free, and both who wait for 50 get them.
func TestBudgetWakesAllThatFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, crowd := newBudget(100)
		if err := b.take(t.Context(), 100, -1); err != nil {
			t.Fatal(err)
		}
		one, two := taker(t.Context(), b, 50, -1), taker(t.Context(), b, 50, -1)
		if isOut(one) || isOut(two) || b.waiting.Load() != 2 {
			t.Fatal("they do not wait")
		}
		b.give(100)
		if err := errors.Join(<-one, <-two); err != nil {
			t.Error(err)
		}
		if b.used.Load() != 100 || b.waiting.Load() != 0 || crowd.now != 0 || crowd.began != 1 {
			t.Errorf("used %d, waiting %d, %+v", b.used.Load(), b.waiting.Load(), crowd)
		}
	})
}

// Nobody overtakes: a small one waits behind a large one that does not fit yet.
func TestBudgetIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBudget(100)
		if err := b.take(t.Context(), 60, -1); err != nil {
			t.Fatal(err)
		}
		large := taker(t.Context(), b, 90, -1)
		small := taker(t.Context(), b, 10, -1)
		if isOut(large) || isOut(small) {
			t.Fatal("overtaken")
		}
		if err := b.take(t.Context(), 1, 0); err != ErrBufferFull {
			t.Errorf("without waiting: %v", err)
		}
		b.give(49) // 89 are free
		if synctest.Wait(); isOut(large) || isOut(small) {
			t.Fatal("served too early, or out of turn")
		}
		b.give(1)
		if err := errors.Join(<-large); err != nil {
			t.Error(err)
		}
		if synctest.Wait(); isOut(small) {
			t.Error("100 of 100 are used, and it was served")
		}
		b.give(10)
		if err := <-small; err != nil {
			t.Error(err)
		}
	})
}

// K10, K13: who gives up waiting makes way for those behind.
func TestBudgetLeaverMakesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, crowd := newBudget(100)
		if err := b.take(t.Context(), 60, -1); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		large, small := taker(ctx, b, 90, -1), taker(t.Context(), b, 40, -1)
		cancel()
		if err := <-large; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if synctest.Wait(); !isOut(small) {
			t.Fatal("the next one still waits")
		}
		if err := <-small; err != nil || b.used.Load() != 100 || crowd.now != 0 {
			t.Error(err, b.used.Load(), crowd.now)
		}
	})
}

func TestBudgetMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, crowd := newBudget(100)
		if err := b.take(t.Context(), 100, 0); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := b.take(t.Context(), 1, time.Second); err != ErrBufferFull || time.Since(begun) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		if b.used.Load() != 100 || len(b.waiters) != 0 || crowd.now != 0 {
			t.Errorf("used %d, %d waiters, %+v", b.used.Load(), len(b.waiters), crowd)
		}
	})
}

// K48: close refuses all who wait and all who come.
func TestBudgetClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, crowd := newBudget(100)
		if err := b.take(t.Context(), 100, -1); err != nil {
			t.Fatal(err)
		}
		var waiting []chan error
		for range 10 {
			waiting = append(waiting, taker(t.Context(), b, 20, -1))
		}
		b.close()
		for _, w := range waiting {
			if err := <-w; err != ErrClosed {
				t.Error(err)
			}
		}
		for _, maxWait := range []time.Duration{-1, 0, time.Hour} {
			if err := b.take(t.Context(), 1, maxWait); err != ErrClosed {
				t.Error(err)
			}
		}
		b.give(100)
		b.close()
		if b.used.Load() != 0 || b.waiting.Load() != 0 || crowd.now != 0 {
			t.Errorf("used %d, waiting %d, %+v", b.used.Load(), b.waiting.Load(), crowd)
		}
	})
}

// K10: bytes come free at the moment at which a waiter gives up, or the budget
// is closed: they are taken or not, and what the waiter was told is true.
func TestBudgetRaces(t *testing.T) {
	for i := range 2000 {
		b, crowd := newBudget(100)
		if err := b.take(t.Context(), 100, -1); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		var mu sync.Mutex
		var taken int64
		wait := func(ctx context.Context, n int64, maxWait time.Duration) {
			if err := b.take(ctx, n, maxWait); err == nil {
				mu.Lock()
				taken += n
				mu.Unlock()
			}
		}
		running.Go(func() { wait(ctx, 30, -1) })
		running.Go(func() { wait(ctx, 70, -1) })
		running.Go(func() { wait(t.Context(), 40, time.Duration(rand.IntN(50))*time.Microsecond) })
		running.Go(func() { b.give(60); b.give(40) })
		running.Go(cancel)
		if i%2 == 0 {
			running.Go(b.close)
		}
		running.Wait()
		if b.used.Load() != taken || len(b.waiters) != 0 || b.waiting.Load() != 0 || crowd.now != 0 {
			t.Fatalf("used %d, taken %d, %d waiters, %+v", b.used.Load(), taken, len(b.waiters), crowd)
		}
	}
}

// Many come and go: the limit holds, and in the end all is free.
func TestBudgetStorm(t *testing.T) {
	b, crowd := newBudget(1000)
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			for range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(2000))*time.Microsecond)
				n := rand.Int64N(600) + 1
				if b.take(ctx, n, -1) == nil {
					if used := b.used.Load(); used > 1000 {
						t.Errorf("%d of 1000 are used", used)
					}
					b.give(n)
				}
				cancel()
			}
		})
	}
	running.Wait()
	if b.used.Load() != 0 || len(b.waiters) != 0 || crowd.now != 0 {
		t.Errorf("used %d, %d waiters, %+v", b.used.Load(), len(b.waiters), crowd)
	}
}

// One broker that answers nothing takes 4/5 of the memory; the next ones get
// theirs, and those who wait for it hold up nobody (K43).
func TestBudgetLeavesRoomForOtherBrokers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBudget(1000)
		dead, alive := b.newShare(), b.newShare()
		used := 0
		for {
			if _, err := b.budget.take(t.Context(), dead, 10, 0, 0); err != nil {
				break
			}
			used += 10
		}
		if used != 800 {
			t.Errorf("a broker alone got %d of 1000, want 800", used)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waits := make(chan error, 1)
		go func() {
			_, err := b.budget.take(ctx, dead, 10, 0, -1)
			waits <- err
		}()
		synctest.Wait()
		for range 10 {
			if _, err := b.budget.take(t.Context(), alive, 10, 0, 0); err != nil {
				t.Fatalf("behind a caller of the dead broker: %v", err)
			}
			if isOut(waits) {
				t.Fatal("the dead broker got more")
			}
			b.budget.give(alive, 10)
		}
		b.move(dead, alive, 400) // its partitions got another leader
		if err := <-waits; err != nil {
			t.Error(err)
		}
		cancel()
	})
}

// What is wanted beyond the need comes as far as it is free, and only if nobody
// else waits.
func TestBudgetGivesMoreWhereItIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBudget(100)
		for _, want := range []int64{50, 50} {
			if got, err := b.budget.take(t.Context(), &b.s, 5, 50, 0); got != want || err != nil {
				t.Errorf("got %d, %v, want %d", got, err, want)
			}
		}
		b.give(20)
		if got, err := b.budget.take(t.Context(), &b.s, 5, 50, 0); got != 20 || err != nil {
			t.Errorf("got %d, %v, want 20", got, err)
		}
		waits := make(chan int64, 2)
		wait := func() {
			go func() {
				got, _ := b.budget.take(t.Context(), &b.s, 5, 50, -1)
				waits <- got
			}()
			synctest.Wait()
		}
		wait()
		b.give(30)
		if got := <-waits; got != 30 {
			t.Errorf("the only one that waited got %d, want 30", got)
		}
		wait()
		wait()
		b.give(30)
		if one, two := <-waits, <-waits; one+two != 30 || min(one, two) != 5 {
			t.Errorf("two that waited got %d and %d, want 5 and 25", one, two)
		}
	})
}
