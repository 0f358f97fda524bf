package inspect

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/atomic"
)

// theProducer is the ID of the only producer in topic t.
func theProducer(t *testing.T, to *conn.Conn) int64 {
	t.Helper()
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = append(req.Topics, kmsg.DescribeProducersRequestTopic{Topic: "t", Partitions: []int32{0}})
	resp, err := to.Do(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(*kmsg.DescribeProducersResponse).Topics[0].Partitions[0].ActiveProducers[0].ProducerID
}

// prove asks until the proof is done, or ctx has ended.
func prove(ctx context.Context, to *conn.Conn, at Place, leaderEpoch int32, producerID int64) (Entry, error) {
	p := &Proof{At: at, LeaderEpoch: leaderEpoch, ProducerID: producerID}
	err := Count(ctx, to, []*Proof{p})
	for err == nil && !p.Done() {
		err = errors.Join(Poll(ctx, to, []*Proof{p}), ctx.Err())
	}
	return p.Entry, errors.Join(err, p.Err)
}

func TestProof(t *testing.T) {
	c, to := cluster(t, 3)
	_, epoch, err := c.Leader("t", 0)
	if err != nil {
		t.Fatal(err)
	}
	at, id := Place{Topic: "t"}, theProducer(t, to)
	e, err := prove(t.Context(), to, at, epoch, id)
	if want := (Entry{Known: true, Last: 2}); err != nil || e != want {
		t.Errorf("%+v, %v, want %+v", e, err, want)
	}
	if _, err := prove(t.Context(), to, at, epoch+1, id); !errors.Is(err, ErrMoved) {
		t.Errorf("of an epoch that is not there: %v", err)
	}
	if _, err := prove(t.Context(), to, at, -1, id); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without leader epochs: %v", err)
	}
}

// What is behind the high watermark is waited for, and the leader may change
// while it answers.
func TestProofWaitsAndLooksTwice(t *testing.T) {
	c, to := cluster(t, 3)
	_, epoch, err := c.Leader("t", 0)
	if err != nil {
		t.Fatal(err)
	}
	at, id := Place{Topic: "t"}, theProducer(t, to)
	var polls atomic.Int32
	c.OnResponse(func(r *producertest.Response) {
		if m, ok := r.Message.(*kmsg.ListOffsetsResponse); ok {
			if polls.Inc() < 4 {
				m.Topics[0].Partitions[0].Offset = 2
			}
		}
	})
	if _, err := prove(t.Context(), to, at, epoch, id); err != nil || polls.Load() != 4 {
		t.Errorf("%v after %d looks at the high watermark", err, polls.Load())
	}
	polls.Store(-1 << 30)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := prove(ctx, to, at, epoch, id); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("never replicated: %v", err)
	}
	again, err := conn.Dial(t.Context(), c.Addrs()[0], conn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Abandon()
	var ends atomic.Int32
	c.OnResponse(func(r *producertest.Response) {
		if m, ok := r.Message.(*kmsg.OffsetForLeaderEpochResponse); ok && ends.Inc() == 2 {
			m.Topics[0].Partitions[0].ErrorCode = 74 // FENCED_LEADER_EPOCH
		}
	})
	if _, err := prove(t.Context(), again, at, epoch, id); !errors.Is(err, ErrMoved) {
		t.Errorf("the leader changed in between: %v", err)
	}
}

// Several proofs take no more round trips than one, and one that fails or lags
// keeps no other from its end.
func TestProofsTogether(t *testing.T) {
	c, to := cluster(t, 3)
	_, epoch, err := c.Leader("t", 0)
	if err != nil {
		t.Fatal(err)
	}
	at, id := Place{Topic: "t"}, theProducer(t, to)
	looks := 0
	c.OnResponse(func(r *producertest.Response) {
		if m, ok := r.Message.(*kmsg.ListOffsetsResponse); ok {
			if looks++; looks%2 == 1 {
				m.Topics[0].Partitions[0].Offset = 1
			}
		}
	})
	lags := &Proof{At: at, LeaderEpoch: epoch, ProducerID: id}
	fails := &Proof{At: Place{"t", 7}, LeaderEpoch: epoch, ProducerID: id}
	good := &Proof{At: at, LeaderEpoch: epoch, ProducerID: id}
	all := []*Proof{lags, fails, good}
	if err := errors.Join(Count(t.Context(), to, all), Poll(t.Context(), to, all)); err != nil {
		t.Fatal(err)
	}
	if lags.Done() || fails.Err == nil || !good.Done() || good.Err != nil || good.Entry.Last != 2 {
		t.Errorf("%+v, %+v, %+v", *lags, *fails, *good)
	}
}
