package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/retry"
)

var (
	// ErrDeleted says that the log does not reach back to where it was to be
	// read from: retention or DeleteRecords took that.
	ErrDeleted = errors.New("inspect: the log begins later")
	// ErrTruncated says that the log ends before the place from where it was to
	// be read.
	ErrTruncated = errors.New("inspect: the log ends earlier")
	// ErrNotReplicated says that the end of the log is above the high watermark.
	ErrNotReplicated = errors.New("inspect: not replicated yet")
)

// Chain is what the log shows of a producer ID, whether the broker remembers it
// or not.
type Chain struct {
	Entry // of the last batch that was seen
	// Next is where to go on reading. All before it has been read.
	Next int64
}

// ReadChain reads the log from an offset to its end, for the batches of a
// producer ID, and adds what it finds to the chain; Next is where it begins.
// The end is that of the leader in the given epoch when the reading begins.
// ErrNotReplicated says that the high watermark is not there yet. With any error
// the chain holds what was seen so far, so that reading can go on there.
//
// It uses c as Conn.Do does, and the records cross the wire with it.
func ReadChain(ctx context.Context, c *conn.Conn, at Place, topicID [16]byte, leaderEpoch int32, producerID int64, chain *Chain) error {
	if leaderEpoch < 0 {
		return fmt.Errorf("inspect: %w: the broker names no leader epochs", errors.ErrUnsupported)
	}
	ends, err := logEnds(ctx, c, []Led{{at, leaderEpoch}})
	end, led := ends[at]
	switch {
	case err != nil:
		return err
	case !led:
		return ErrMoved
	case end < chain.Next:
		return fmt.Errorf("%w: at %d, not %d", ErrTruncated, end, chain.Next)
	}
	next, err := Log(ctx, c, at, topicID, chain.Next, end, func(h Header) bool {
		// Of two epochs the later one has the later batches.
		if h.ProducerID == producerID {
			chain.Entry = Entry{Known: true, Epoch: int32(h.Epoch), Last: sequence(h.Base, h.Records-1)}
		}
		return true
	})
	chain.Next = max(next, chain.Next)
	switch {
	case errors.Is(err, retry.Code(offsetOutOfRange)):
		return fmt.Errorf("%w than at %d", ErrDeleted, chain.Next)
	case err == nil && chain.Next < end:
		return fmt.Errorf("%w: offset %d", ErrNotReplicated, end-1)
	}
	return err
}

const offsetOutOfRange = 1

// sequence is the one n records behind s: after 2^31-1 comes 0 (KIP-98).
func sequence(s, n int32) int32 { return int32((int64(s) + int64(n)) & (1<<31 - 1)) }
