package sink

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// pipeline sends n Produce requests at once and returns how long the answers
// took: no less than what is ordered, however slow the machine is.
func pipeline(t *testing.T, c Config, n int) time.Duration {
	t.Helper()
	c.Partitions = 1
	caller := dial(t, listen(t, c).Addrs()[0])
	caller.call(kmsg.NewPtrApiVersionsRequest(), 3)
	began := time.Now()
	for i := range n {
		caller.send(produceRequest(0, rawBatch(7, int32(i), 1)), 7)
	}
	for i := range n {
		r := caller.receive(1 + i).(*kmsg.ProduceResponse)
		if p := r.Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != int64(i) {
			t.Fatalf("request %d: %+v", i, p)
		}
	}
	return time.Since(began)
}

func TestRoundTrip(t *testing.T) {
	const rtt = 20 * time.Millisecond
	if took := pipeline(t, Config{RTT: rtt}, 1); took < rtt {
		t.Errorf("%v, less than %v", took, rtt)
	}
}

func TestSerialServiceAddsUp(t *testing.T) {
	const service, n = 5 * time.Millisecond, 20
	if took := pipeline(t, Config{Service: service, Serial: true}, n); took < n*service {
		t.Errorf("%v, less than %d times %v", took, n, service)
	}
}

// TestServiceOverlaps compares with serial work by a factor that no slow
// machine makes up: 200 requests of 50 ms are 10 s one by one.
func TestServiceOverlaps(t *testing.T) {
	const service, n = 50 * time.Millisecond, 200
	took := pipeline(t, Config{Service: service}, n)
	if took < service {
		t.Errorf("%v, less than %v", took, service)
	}
	if took >= n*service {
		t.Errorf("%v: one after another", took)
	}
}

func TestOthersDoNotWaitForService(t *testing.T) {
	const service = time.Hour
	c := dial(t, listen(t, Config{Partitions: 1, Service: service, Serial: true}).Addrs()[0])
	c.call(kmsg.NewPtrApiVersionsRequest(), 3)
	c.call(kmsg.NewPtrInitProducerIDRequest(), 0)
}

func TestLineHoldsMoreThanOneFrame(t *testing.T) {
	const rtt = 30 * time.Millisecond
	if took := pipeline(t, Config{RTT: rtt}, 1000); took < rtt {
		t.Errorf("%v, less than %v", took, rtt)
	}
}

// TestAnswersStayInOrder is in pipeline, which looks at the offsets.
func TestAnswersStayInOrder(t *testing.T) {
	const service, jitter = 5 * time.Millisecond, 20 * time.Millisecond
	for range 3 {
		if took := pipeline(t, Config{Service: service, Jitter: jitter}, 50); took < service {
			t.Errorf("%v, less than %v", took, service)
		}
	}
}

func TestServiceVaries(t *testing.T) {
	s := service{Config: Config{Service: 100, Jitter: 300}}
	came, seen := time.Unix(0, 0), map[time.Duration]bool{}
	for range 1000 {
		d := s.end(came).Sub(came)
		if seen[d] = true; d < 100 || d > 400 {
			t.Fatalf("work of %d, want 100 to 400", d)
		}
	}
	if len(seen) < 100 {
		t.Errorf("%d different times in 1000 requests", len(seen))
	}
}

func TestRequestsOfATickEndTogether(t *testing.T) {
	s := service{Config: Config{Service: 100, Jitter: 1 << 40, Tick: time.Second}}
	base := time.Unix(1000, 0)
	first := s.end(base.Add(1))
	if first.Before(base.Add(time.Second + 100)) {
		t.Errorf("the end is %v after the begin of the tick, want a tick and the service at least", first.Sub(base))
	}
	if again := s.end(base.Add(999 * time.Millisecond)); again != first {
		t.Errorf("two requests of a tick end at %v and %v", first, again)
	}
	if next := s.end(base.Add(time.Second)); next == first {
		t.Error("requests of two ticks end together")
	}
}
