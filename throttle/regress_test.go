package throttle

import "testing"

// A topic that is recreated before the partition has a producer ID: nothing was
// ever sent, so nothing keeps it from taking its first one.
func TestNewLogBeforeTheFirstProducerID(t *testing.T) {
	w := New()
	w.Admit(1)
	w.Bind(Limits{})
	w.NewLog()
	if !w.SetProducer(7, 0) {
		t.Fatal("the first producer id is refused")
	}
}

// After an unclean election a broker that knows nothing of the producer took a
// later batch and not the one before. What may be in the log is not numbered
// anew: it would be there twice, and out of order.
func TestWhatAStatelessLeaderMayHaveTakenIsUnknown(t *testing.T) {
	w := New()
	w.SetProducer(1, 0)
	for range 4 {
		w.Admit(1)
	}
	w.Bind(Limits{})
	send := func() uint64 {
		s, h := w.Peek()
		if h != Ready {
			t.Fatal(h)
		}
		w.Commit()
		return s.Batch
	}
	w.Settle(send(), Success, 0)
	for range 3 {
		send()
	}
	w.Settle(1, NotAppended, -1)
	w.Settle(2, NotAppended, -1)
	w.Settle(3, Uncertain, -1) // taken as the first, for all we know
	r := w.Settle(send(), OutOfOrder, -1)
	if r.NotWritten != (Range{1, 3}) || r.Unknown != (Range{3, 4}) {
		t.Fatalf("want 1 and 2 not written and 3 unknown, got %+v", r)
	}
}
