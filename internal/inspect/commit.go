package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrMoved says that the leader changed while it was asked. Another attempt may do better.
var ErrMoved = errors.New("inspect: the partition has moved")

// Proof is the broker's entry for a producer ID together with the proof that all
// that the entry counts is replicated. DescribeProducers alone says neither who
// answers nor what is replicated. So the broker is asked for the end of its log
// before and after: it answers that only as the leader in the given epoch, and
// leaders of one epoch do not come back, so it was the leader in between. Then the
// high watermark has to pass that end (protocol rule R8).
//
// Count does the first part, and Poll the second, as often as the replicas need.
// Both do it for several proofs in the time of one, and use the connection as
// Conn.Do does. Their error is the connection's, and concerns all proofs.
type Proof struct {
	At          Place
	LeaderEpoch int32
	ProducerID  int64

	Entry Entry // of use once Done says so, without Err
	Err   error // why there is no proof

	counted bool
	end     int64 // of the log when Entry was given
	high    int64
}

// Done reports whether there is a proof, or none will come.
func (p *Proof) Done() bool { return p.Err != nil || p.counted && p.high >= p.end }

func (p *Proof) String() string {
	return fmt.Sprintf("inspect: offset %d is not replicated, the high watermark is %d", p.end-1, p.high)
}

// Count asks what the broker counts for each proof, and where the log ends then.
func Count(ctx context.Context, c *conn.Conn, proofs []*Proof) error {
	for _, p := range proofs {
		if p.LeaderEpoch < 0 {
			p.Err = fmt.Errorf("inspect: %w: the broker names no leader epochs", errors.ErrUnsupported)
		}
	}
	if err := each(ctx, c, proofs, (*Proof).askEnd, (*Proof).takeEnd); err != nil {
		return err
	}
	if err := each(ctx, c, proofs, (*Proof).askEntry, (*Proof).takeEntry); err != nil {
		return err
	}
	if err := each(ctx, c, proofs, (*Proof).askEnd, (*Proof).takeEnd); err != nil {
		return err
	}
	for _, p := range proofs {
		p.counted = p.Err == nil
	}
	return nil
}

// Poll asks once for the high watermarks.
func Poll(ctx context.Context, c *conn.Conn, proofs []*Proof) error {
	return each(ctx, c, proofs, (*Proof).askHigh, (*Proof).takeHigh)
}

// each puts a request for each proof that is not done, all at once. One answer after
// the other is taken: some are large.
func each[R kmsg.Response](ctx context.Context, c *conn.Conn, proofs []*Proof, ask func(*Proof) kmsg.Request, take func(*Proof, R) error) error {
	var reqs []kmsg.Request
	var asked []*Proof
	for _, p := range proofs {
		if !p.Done() {
			reqs, asked = append(reqs, ask(p)), append(asked, p)
		}
	}
	return c.DoEach(ctx, reqs, func(i int, resp kmsg.Response) {
		asked[i].Err = take(asked[i], resp.(R))
	})
}

func (p *Proof) led() []Led { return []Led{{p.At, p.LeaderEpoch}} }

func (p *Proof) askEnd() kmsg.Request { return askLogEnds(p.led()) }

func (p *Proof) takeEnd(resp *kmsg.OffsetForLeaderEpochResponse) error {
	if len(resp.Topics) == 0 || len(resp.Topics[0].Partitions) == 0 {
		return errLeftOut
	}
	rp := &resp.Topics[0].Partitions[0]
	if rp.ErrorCode == 0 && rp.EndOffset < 0 { // the epoch is not known there
		return ErrMoved
	}
	p.end = rp.EndOffset
	return moved(rp.ErrorCode)
}

func (p *Proof) askEntry() kmsg.Request {
	var q Question
	q.Add(p.At, p.ProducerID)
	return q.Request()
}

func (p *Proof) takeEntry(answer *Answer) error {
	e, ok := answer.Find(p.At, p.ProducerID)
	switch {
	case !ok:
		return errLeftOut
	case e.Code != 0:
		return retry.Code(e.Code)
	}
	p.Entry = e
	return nil
}

func (p *Proof) askHigh() kmsg.Request { return askHighWatermarks(p.led()) }

func (p *Proof) takeHigh(resp *kmsg.ListOffsetsResponse) error {
	if len(resp.Topics) == 0 || len(resp.Topics[0].Partitions) == 0 {
		return errLeftOut
	}
	rp := &resp.Topics[0].Partitions[0]
	p.high = rp.Offset
	return moved(rp.ErrorCode)
}

// moved tells what another leader, or other metadata, may mend. It is nil for no
// error.
func moved(code int16) error {
	switch c := retry.Code(code); c {
	case retry.None:
		return nil
	case retry.NotLeaderOrFollower, retry.FencedLeaderEpoch, retry.UnknownLeaderEpoch, retry.UnknownTopicOrPartition:
		return fmt.Errorf("%w: %w", ErrMoved, c)
	default:
		return c
	}
}
