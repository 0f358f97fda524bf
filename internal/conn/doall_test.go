package conn_test

import (
	"testing"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Many requests, written together, have their responses in order.
func TestDoAll(t *testing.T) {
	c, err := producertest.New(producertest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	to, err := conn.Dial(t.Context(), c.Addrs()[0], conn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Abandon()
	for _, n := range []int{0, 1, 2, 500} {
		var reqs []kmsg.Request
		for range n {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.ProducerID, req.ProducerEpoch = -1, -1
			reqs = append(reqs, req)
		}
		resps, err := to.DoAll(t.Context(), reqs)
		if err != nil || len(resps) != n {
			t.Fatalf("%d requests: %d responses, %v", n, len(resps), err)
		}
		last := int64(-1)
		for _, resp := range resps {
			r := resp.(*kmsg.InitProducerIDResponse)
			if r.ErrorCode != 0 || r.ProducerID <= last {
				t.Fatalf("%d requests: producer id %d after %d, code %d", n, r.ProducerID, last, r.ErrorCode)
			}
			last = r.ProducerID
		}
	}
}
