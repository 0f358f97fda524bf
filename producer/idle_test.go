package producer

import (
	"slices"
	"testing"
)

// Somebody has found a topic, and it is let go of before the record is in: the record
// goes where the next one will look, whether it waits for the topic or has a partition.
func TestRecordForATopicThatIsGone(t *testing.T) {
	for name, known := range map[string]bool{"waiting": false, "in a partition": true} {
		t.Run(name, func(t *testing.T) {
			pr := newOffline(t, nil)
			found, err := pr.main.topic("t")
			if err != nil {
				t.Fatal(err)
			}
			if known {
				found.grow(1)
				made(found)
			}
			if !pr.main.drop(found) {
				t.Fatal("it stays")
			}
			pr.main.recent.Store(found) // somebody who found it before says so
			a := &admission{size: 100, ctx: t.Context(), d: delivery{tag: 7}}
			if _, err := found.add(On(0), a); err != nil {
				t.Fatal(err)
			}
			now := pr.main.topics.find("t")
			if now == nil || now == found {
				t.Fatal("the topic is not there again")
			}
			now.grow(1)
			if got := openTags(now.partition(*now.parts.Load(), 0)); !slices.Equal(got, []any{7}) {
				t.Errorf("%v", got)
			}
			if pr.main.drop(now) {
				t.Error("it goes with a record in it")
			}
			pr.Produce(t.Context(), Record{Topic: "t", Partition: On(0), Tag: 8}, nil)
			if got := openTags(now.partition(*now.parts.Load(), 0)); !slices.Equal(got, []any{7, 8}) {
				t.Errorf("a topic that stayed: %v", got)
			}
		})
	}
}

// A lane that is closed before it has a producer ID is asked for no longer.
func TestLaneThatIsClosedWithoutAnID(t *testing.T) {
	pr := newOffline(t, nil)
	before := Sizes(pr)
	for range 1000 {
		l := pr.Lane("t")
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	after := Sizes(pr)
	for _, kind := range []string{"lanes", "lanes without an id"} {
		if after[kind] != before[kind] {
			t.Errorf("%s: %d, in the beginning %d", kind, after[kind], before[kind])
		}
	}
}
