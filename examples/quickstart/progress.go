package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/producer"
)

// progress shows a live line until the returned function is called.
func progress(p *producer.Producer, records int) (stop func()) {
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		var last int64
		for {
			select {
			case <-tick.C:
			case <-end:
				line(p.Stats(), records, 0)
				fmt.Print("\n\n")
				return
			}
			s := p.Stats()
			line(s, records, (s.Written-last)*5)
			last = s.Written
		}
	})
	return func() {
		close(end)
		wg.Wait()
	}
}

func line(s producer.Stats, records int, perSecond int64) {
	inFlight, window := fullest(s)
	fmt.Printf("\r%3d%%  %7d records/s  in flight %5d of %5d  throttled %6.2fs  resends %5d  duplicates dropped %4d ",
		s.Written*100/int64(records), perSecond, inFlight, window, s.ThrottledTime.Seconds(), s.Resends, s.Duplicates)
}

// fullest is the partition that uses most of its window.
func fullest(s producer.Stats) (inFlight, window int32) {
	for _, p := range s.Partitions {
		if p.Sequences >= inFlight && p.Window > 0 {
			inFlight, window = p.Sequences, p.Window
		}
	}
	return inFlight, window
}

func summary(s producer.Stats, took time.Duration, c *cluster) {
	var deepest, window int32
	for _, p := range s.Partitions {
		if p.Deepest > deepest {
			deepest, window = p.Deepest, p.Window
		}
	}
	fmt.Printf("%d written, %d not written, %d unknown in %.1fs (%.0f records/s)\n",
		s.Written, s.NotWritten, s.Unknown, took.Seconds(), float64(s.Written)/took.Seconds())
	fmt.Printf("most in flight: %d sequences of a window of %d; held back %d times, %.2fs in all partitions\n",
		deepest, window, s.Throttled, s.ThrottledTime.Seconds())
	fmt.Printf("%d connections, %d batches sent again, %d duplicates dropped, %d refused as out of order and sent again in order\n",
		s.Connections, s.Resends, s.Duplicates, s.OutOfOrder)
	if f := c.faults(); f != "" {
		fmt.Println("faults injected:", f)
	}
	fmt.Println()
}
