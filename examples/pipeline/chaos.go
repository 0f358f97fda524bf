package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// When a process is killed: up to so many checkpoints after its start, and so
// long after the last of them. None of them is often enough, so that some die
// while they start or resume.
const (
	killNotes = 12
	killWait  = 60 * time.Millisecond
)

// aheadAtMost is by how many sentences of a partition the input may be ahead of
// the checkpoints.
const aheadAtMost = 3000

// chaos runs the pipeline as one process after another, kills each but the last,
// while the input grows, and judges.
func (s *stage) chaos(ctx context.Context) error {
	fmt.Printf("%s\n%d kills, sentences in %s, their words to %s\n", s.what, s.kills, s.input, s.output)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the processes that are left
	feeding, stop := context.WithCancel(ctx)
	defer stop()
	fed := make(chan error, 1)
	go func() { fed <- s.keepFeeding(ctx, feeding) }()
	began := time.Now()
	err := s.kill(ctx)
	stop()
	if err = errors.Join(err, <-fed); err == nil {
		err = s.liveOn(ctx)
	}
	did := fmt.Sprintf("%d kills in %.1fs, %d partitions added, %d logs read where a broker did not know the lane, %d had more of it: ",
		s.kills, time.Since(began).Seconds(), s.grown, s.read.Load(), s.forgotten.Load())
	return errors.Join(err, s.judge(ctx, did))
}

// kill goes through all lives but the last. Some end with a pause, which outlasts
// the start of the next life.
func (s *stage) kill(ctx context.Context) error {
	var sleeper *child
	pauses := s.pauses // to come
	for life := range s.kills {
		c, err := s.live(ctx, sleeper, s.growsIn(life))
		if err != nil {
			return fmt.Errorf("life %d: %w", life+1, err)
		}
		sleeper = nil
		if left := s.kills - life; rand.IntN(left) < pauses {
			pauses--
			if err = c.pause(); err == nil {
				sleeper = c
			}
		} else {
			err = c.kill()
		}
		if err != nil {
			return fmt.Errorf("life %d: %w", life+1, err)
		}
	}
	if sleeper != nil {
		return sleeper.kill()
	}
	return nil
}

// keepFeeding makes the input grow, but not too far ahead of the checkpoints.
func (s *stage) keepFeeding(ctx, until context.Context) error {
	for total := int64(0); until.Err() == nil; {
		if err := s.feed(ctx, 200); err != nil {
			return err
		}
		total += 200
		ends := map[int32]int64{}
		for partition := range s.partitions {
			ends[int32(partition)] = total - aheadAtMost
		}
		s.progress.waitSaved(until, ends)
	}
	return ctx.Err()
}

// live is one life, up to the moment at which it is to end. If somebody sleeps,
// it wakes up meanwhile, and both do the same work, until it dies or is killed.
func (s *stage) live(ctx context.Context, sleeper *child, grow bool) (*child, error) {
	c, err := s.newChild(ctx)
	if err != nil {
		return nil, err
	}
	if sleeper != nil {
		s.progress.waitNotes(c.ended, 1+rand.IntN(4))
		if err := wake(sleeper.cmd.Process); err != nil {
			return nil, err
		}
	}
	if grow {
		if err := s.addPartition(ctx, c); err != nil {
			return nil, err
		}
	}
	wait := time.Duration(rand.Int64N(int64(killWait)))
	if s.progress.waitNotes(c.ended, rand.IntN(killNotes)) == nil {
		select {
		case <-time.After(wait):
		case <-c.ended.Done():
		}
	}
	if sleeper != nil {
		if err := sleeper.kill(); err != nil {
			fmt.Println("woken up:", err)
		}
	}
	return c, nil
}

// growsIn reports whether a partition is added to the output in a life, as in up
// to three of them.
func (s *stage) growsIn(life int) bool {
	every := s.kills/4 + 1
	return s.grow && life%every == every-1
}

// addPartition adds a partition to the output while a process writes to it, once
// each of its lanes has a state, and so the number of partitions that it keeps to.
func (s *stage) addPartition(ctx context.Context, c *child) error {
	begun := map[int32]int64{}
	for partition := range s.partitions {
		begun[int32(partition)] = 1
	}
	if s.progress.waitSaved(c.ended, begun) != nil {
		return c.fault()
	}
	s.grown++
	if s.embedded != nil {
		return s.embedded.AddPartitions(s.output, 1)
	}
	return growTopic(ctx, s.addrs, s.output, s.partitions+s.grown)
}

// liveOn is the life that gets everything done.
func (s *stage) liveOn(ctx context.Context) error {
	ends, err := offsets(ctx, s.addrs, s.input, latest)
	if err != nil {
		return err
	}
	c, err := s.newChild(ctx)
	if err != nil {
		return err
	}
	if s.progress.waitSaved(c.ended, ends) != nil {
		return fmt.Errorf("last life: %w", c.fault())
	}
	return c.stop()
}
