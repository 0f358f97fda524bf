package producer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/retry"
)

// newOffline returns a producer that never reaches a broker.
func newOffline(t *testing.T, change func(*config.Config)) *Producer {
	t.Helper()
	cfg := config.Default()
	cfg.BootstrapServers = []string{"nowhere:1"}
	cfg.Dialer = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") }
	if change != nil {
		change(&cfg)
	}
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

// told collects what was said of records, in order.
type toldRecords struct {
	mu   sync.Mutex
	tags []any
	errs []error
}

func (r *toldRecords) note(res Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tags, r.errs = append(r.tags, res.Tag), append(r.errs, res.Err)
}

// made returns the partitions of a topic, all of them.
func made(t *topic) (parts []*partition) {
	slots := *t.parts.Load()
	for at := range slots {
		parts = append(parts, t.partition(slots, int32(at)))
	}
	return parts
}

// values returns the tags of the records of a partition's open batch.
func openTags(p *partition) (tags []any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		return nil
	}
	for _, d := range p.open.Deliveries() {
		tags = append(tags, d.tag)
	}
	return tags
}

// Records that wait for the partitions of their topic go on in the order of
// their coming, before any that come later.
func TestTopicQueueKeepsOrder(t *testing.T) {
	pr := newOffline(t, nil)
	for i := range 100 {
		pr.Produce(t.Context(), Record{Topic: "t", Partition: On(int32(i % 3)), Tag: i}, nil)
	}
	topic := (*pr.main.topics.Load())["t"]
	topic.grow(3)
	for i := 100; i < 200; i++ {
		pr.Produce(t.Context(), Record{Topic: "t", Partition: On(int32(i % 3)), Tag: i}, nil)
	}
	for at, p := range made(topic) {
		var want []any
		for i := at; i < 200; i += 3 {
			want = append(want, i)
		}
		if got := openTags(p); !slices.Equal(got, want) {
			t.Errorf("partition %d: %v", at, got)
		}
	}
}

// The same while producing goes on as the partitions become known.
func TestTopicQueueKeepsOrderWhileItEmpties(t *testing.T) {
	for range 30 {
		pr := newOffline(t, nil)
		const n = 2000
		half := make(chan struct{})
		var producing sync.WaitGroup
		producing.Go(func() {
			for i := range n {
				pr.Produce(t.Context(), Record{Topic: "t", Partition: On(0), Tag: i}, nil)
				if i == n/2 {
					close(half)
				}
			}
		})
		<-half
		topic := (*pr.main.topics.Load())["t"]
		topic.grow(1)
		producing.Wait()
		got := openTags(topic.partition(*topic.parts.Load(), 0))
		if len(got) != n || !slices.IsSortedFunc(got, func(a, b any) int { return a.(int) - b.(int) }) {
			t.Fatalf("%d records: %v", len(got), got)
		}
	}
}

// K10: a flush sees each record in one place or the other while the queue
// empties.
func TestK10TopicQueueIsSeenByFlush(t *testing.T) {
	for range 100 {
		pr := newOffline(t, nil)
		for range 50 {
			pr.Produce(t.Context(), Record{Topic: "t"}, nil)
		}
		topic := (*pr.main.topics.Load())["t"]
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
		flushed := make(chan error, 1)
		go func() { flushed <- pr.Flush(ctx) }()
		topic.grow(2)
		if err := <-flushed; !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("flushed, though nothing can be sent: %v", err)
		}
		cancel()
	}
}

// K42: one answer that does not know a new topic fails nothing; so many in a
// row do. A final one fails the records at once. The budget is given back.
func TestK50UnknownTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pr := newOffline(t, nil)
		var told toldRecords
		produce := func() {
			pr.Produce(t.Context(), Record{Topic: "t", Tag: 1}, told.note)
			pr.Produce(t.Context(), Record{Topic: "t", Tag: 2}, told.note)
		}
		produce()
		topic := (*pr.main.topics.Load())["t"]
		for range unknownLimit - 1 {
			topic.unknown(retry.UnknownTopicOrPartition, false)
		}
		if synctest.Wait(); len(told.errs) != 0 {
			t.Fatalf("failed early: %v", told.errs)
		}
		topic.unknown(retry.UnknownTopicOrPartition, false)
		if synctest.Wait(); len(told.errs) != 2 || !errors.Is(told.errs[0], retry.UnknownTopicOrPartition) || !slices.Equal(told.tags, []any{1, 2}) {
			t.Fatalf("%v %v", told.tags, told.errs)
		}
		produce()
		topic.unknown(retry.InvalidTopic, true)
		if synctest.Wait(); len(told.errs) != 4 || !errors.Is(told.errs[2], retry.InvalidTopic) {
			t.Fatalf("%v", told.errs)
		}
		if used := pr.budget.used.Load(); used != 0 {
			t.Errorf("%d bytes are in use", used)
		}
	})
}

// K42: a topic whose partitions were seen is not forgotten, whatever metadata
// says then.
func TestK42KnownTopicStays(t *testing.T) {
	pr := newOffline(t, nil)
	if _, err := pr.main.topic("t"); err != nil {
		t.Fatal(err)
	}
	topic := (*pr.main.topics.Load())["t"]
	topic.grow(2)
	pr.Produce(t.Context(), Record{Topic: "t", Partition: On(1), Tag: 7}, nil)
	for range 3 * unknownLimit {
		topic.unknown(retry.UnknownTopicOrPartition, false)
	}
	topic.unknown(retry.InvalidTopic, true)
	topic.grow(1)
	parts := made(topic)
	if len(parts) != 2 || !slices.Equal(openTags(parts[1]), []any{7}) {
		t.Errorf("%d partitions, records %v", len(parts), openTags(parts[1]))
	}
}

// K64: more partitions join the known ones, which stay the same.
func TestK64TopicGrows(t *testing.T) {
	pr := newOffline(t, nil)
	if _, err := pr.main.topic("t"); err != nil {
		t.Fatal(err)
	}
	topic := (*pr.main.topics.Load())["t"]
	topic.grow(3)
	before := made(topic)
	topic.grow(6)
	after := made(topic)
	if len(after) != 6 || !slices.Equal(after[:3], before) {
		t.Errorf("%d partitions, the first three changed: %v", len(after), !slices.Equal(after[:3], before))
	}
	for i, p := range after {
		if p.index != int32(i) {
			t.Errorf("partition %d says %d", i, p.index)
		}
	}
}

// A record's time runs from Produce on also while it waits for its topic.
func TestTopicQueueExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pr := newOffline(t, func(c *config.Config) { c.RequestTimeout, c.DeliveryTimeout = time.Second, 10*time.Second })
		begun := time.Now()
		var told toldRecords
		var took []time.Duration
		done := func(r Result) { told.note(r); took = append(took, time.Since(begun).Round(time.Second)) }
		pr.Produce(t.Context(), Record{Topic: "t", Tag: 1}, done)
		time.Sleep(5 * time.Second)
		pr.Produce(t.Context(), Record{Topic: "t", Tag: 2}, done)
		time.Sleep(time.Minute)
		synctest.Wait()
		if fmt.Sprint(told.tags, took) != "[1 2] [10s 15s]" {
			t.Errorf("records %v after %v", told.tags, took)
		}
		for _, err := range told.errs {
			if !errors.Is(err, ErrDeliveryTimeout) || !SafeToResend(err) {
				t.Error(err)
			}
		}
	})
}

// Names that no topic can have are refused at once.
func TestTopicName(t *testing.T) {
	pr := newOffline(t, nil)
	for _, name := range []string{"", string(make([]byte, 250))} {
		if err := pr.TryProduce(Record{Topic: name}, nil); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%d bytes: %v", len(name), err)
		}
	}
	if n := len(*pr.main.topics.Load()); n != 0 {
		t.Errorf("%d topics are known", n)
	}
}
