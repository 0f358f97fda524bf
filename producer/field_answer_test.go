package producer_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kgo"
)

// K15, run 1: a batch is sent again and answered with success, without an
// offset. It is written, at a place that nobody knows; what follows is known.
func TestK15SuccessWithoutOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(1), nil)
		s.warm(0)
		s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			switch {
			case a.BaseSequence == 10 && a.FirstTime():
				return producertest.Drop()
			case a.BaseSequence == 10:
				return producertest.Fault{}.NoOffset()
			}
			return producertest.Fault{}
		})
		first := s.tens(0, 1)
		s.flush(time.Minute)
		for i := range 10 {
			if r := s.result(first + i); r.Outcome != producer.Written || r.Offset != -1 || r.Err != nil {
				t.Errorf("record %d: %+v", i, r)
			}
		}
		next := s.tens(0, 1)
		s.judgeWritten()
		s.wantOffsets(next, 10)
		s.wantSent(0, 0, 0, 10, 10, 20)
	})
}

// K15, run 2: it is answered as a duplicate. That alone proves nothing, but the
// next success does, and then the offsets follow by arithmetic: exactly as many
// lie between the two successes as there are records (docs/window.md).
func TestK15DuplicateWithoutOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(1), nil)
		s.warm(0)
		s.c.OnProduce(lostThenDuplicate)
		first := s.tens(0, 1)
		s.await(0, 3)
		synctest.Wait()
		if rs := s.results(first); len(rs) != 0 {
			t.Errorf("a duplicate alone was taken for %+v", rs)
		}
		s.tens(0, 1)
		s.judgeWritten()
		s.wantOffsets(0, 30)
		if st := s.p.Stats(); st.Duplicates == 0 || st.Alarms != 0 {
			t.Errorf("%d duplicates, %d alarms", st.Duplicates, st.Alarms)
		}
		for _, b := range s.tap.batches(nil) {
			if b.epoch != 0 {
				t.Errorf("%v: the epoch changed", b)
			}
		}
	})
}

func lostThenDuplicate(a producertest.ProduceAttempt) producertest.Fault {
	switch {
	case a.BaseSequence == 10 && a.FirstTime():
		return producertest.Drop()
	case a.BaseSequence == 10:
		return producertest.AppendThen(46).NoOffset()
	}
	return producertest.Fault{}
}

// K15, run 2 and nothing new to send: the duplicate stays what it is until the
// deadline, and is unknown then. The partition goes on.
func TestK15DuplicateForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(1), nil)
		s.warm(0)
		s.c.OnProduce(lostThenDuplicate)
		first := s.tens(0, 1)
		s.flush(time.Hour)
		s.wantOutcomes(first, 10, producer.Unknown, producer.ErrDeliveryTimeout)
		next := s.tens(0, 1)
		s.judge()
		s.wantOutcomes(next, 10, producer.Written, nil)
		s.wantNewEpoch(1)
		if n := len(s.tap.batches(nil)); n > 200 {
			t.Errorf("%d batches in two minutes", n)
		}
	})
}

// K15, run 2 with somebody else who writes to the partition: the offsets are
// not known, and none is made up.
func TestK15DuplicateAmongOthers(t *testing.T) {
	cc := topics(1)
	cc.InMemory = false
	s := newTapped(t, cc, nil)
	own := int64(-1)
	s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
		if own < 0 {
			own = a.ProducerID
		}
		switch {
		case a.ProducerID != own:
			return producertest.Fault{}
		case a.BaseSequence > 10 && a.BaseSequence < 30:
			return producertest.AppendThen(46).NoOffset()
		}
		return lostThenDuplicate(a)
	})
	s.warm(0)
	other, err := kgo.NewClient(kgo.SeedBrokers(s.c.Addrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	first := s.tens(0, 2)
	s.await(0, 3)
	foreign := &kgo.Record{Topic: "t", Value: []byte("foreign")}
	if err := other.ProduceSync(t.Context(), foreign).FirstErr(); err != nil {
		t.Fatal(err)
	}
	next := s.tens(0, 1)
	s.flush(time.Minute)
	for i := range 20 {
		if r := s.result(first + i); r.Outcome != producer.Written || r.Offset != -1 {
			t.Errorf("record %d: %+v", first+i, r)
		}
	}
	s.wantOffsets(next+9, 1)
	recs, err := s.c.Records("t", 0)
	if err != nil || len(recs) != 41 || string(recs[foreign.Offset].Value) != "foreign" {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	if err := s.p.Close(s.within(time.Minute)); err != nil {
		t.Error(err)
	}
	for _, f := range append(s.c.Violations(), s.tap.wrongs()...) {
		t.Error(f)
	}
}

// K25: a response whose number is not the one that is due ends the connection;
// all that was asked on it is unknown and is sent again.
func TestK25CorrelationIDs(t *testing.T) {
	for name, change := range map[string]func(r *producertest.Response, nth int){
		"two swapped": func(r *producertest.Response, nth int) {
			switch nth {
			case 0:
				r.CorrelationID++
			case 1:
				r.CorrelationID--
			}
		},
		"never used": func(r *producertest.Response, nth int) {
			if nth == 0 {
				r.CorrelationID += 1000
			}
		},
		"negative": func(r *producertest.Response, nth int) {
			if nth == 0 {
				r.CorrelationID = -r.CorrelationID
			}
		},
		"twice": func(r *producertest.Response, nth int) {
			if nth == 0 {
				r.Repeat = 1
			}
		},
		"the last one twice": func(r *producertest.Response, nth int) {
			if nth == 2 {
				r.Repeat = 1
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTapped(t, topics(2), nil)
				s.warm(0, 1)
				release := make(chan struct{})
				s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
					if a.Partition == 0 && a.BaseSequence == 10 && a.FirstTime() {
						return producertest.Hold(release)
					}
					return producertest.Fault{}
				})
				nth, broken := -1, int64(0)
				s.c.OnResponse(func(r *producertest.Response) {
					if r.Request.Key() != produceKey {
						return
					}
					if nth < 0 {
						broken = r.Connection
					}
					if nth++; r.Connection == broken {
						change(r, nth)
					}
				})
				s.tens(0, 1)
				s.await(0, 2)
				s.tens(1, 1) // the two partitions take turns: an answer to the
				s.await(1, 2)
				s.tens(0, 1) // wrong request would be one to the wrong partition
				s.await(0, 3)
				close(release)
				s.flush(time.Minute)
				s.tens(0, 1)
				s.judgeWritten()
				s.wantOffsets(0, len(s.entries))
				if st := s.p.Stats(); st.Connections != 2 {
					t.Errorf("%d connections", st.Connections)
				}
			})
		})
	}
}

// K31: what the response leaves out has no answer; of two answers the first
// counts; what was not asked does not. No record stays without an outcome.
func TestK31ResponseDoesNotMatch(t *testing.T) {
	p1 := func(f producertest.Fault) func(a producertest.ProduceAttempt) producertest.Fault {
		return func(a producertest.ProduceAttempt) producertest.Fault {
			if a.Partition == 1 && a.BaseSequence == 10 && a.FirstTime() {
				return f
			}
			return producertest.Fault{}
		}
	}
	for _, test := range []struct {
		name  string
		fault func(a producertest.ProduceAttempt) producertest.Fault
		sent  []int32 // of partition 1
		all   []int32 // of the others
	}{
		{"missing, and appended", p1(producertest.Fault{}.Omit()), []int32{0, 10, 10}, []int32{0, 10}},
		{"missing, and not appended", p1(producertest.Refuse(6).Omit()), []int32{0, 10, 10}, []int32{0, 10}},
		{"success, then an error", p1(producertest.Fault{}.Double(6)), []int32{0, 10}, []int32{0, 10}},
		{"success, then a fatal error", p1(producertest.Fault{}.Double(47)), []int32{0, 10}, []int32{0, 10}},
		{"an error, then success", p1(producertest.Refuse(6).Double(0)), []int32{0, 10, 10}, []int32{0, 10}},
		{"a stranger", p1(producertest.Fault{}.Foreign()), []int32{0, 10}, []int32{0, 10}},
		{"empty", func(a producertest.ProduceAttempt) producertest.Fault {
			if a.BaseSequence == 10 && a.FirstTime() {
				return producertest.Fault{}.Omit()
			}
			return producertest.Fault{}
		}, []int32{0, 10, 10}, []int32{0, 10, 10}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTapped(t, topics(3), nil)
				s.warm(0, 1, 2)
				s.c.OnProduce(test.fault)
				for p := range int32(3) {
					s.tens(p, 1)
				}
				s.flush(time.Minute)
				s.tens(1, 1)
				s.judgeWritten()
				s.wantOffsets(0, len(s.entries))
				s.wantSent(0, 0, test.all...)
				s.wantSent(1, 0, append(slices.Clone(test.sent), 20)...)
				s.wantSent(2, 0, test.all...)
				if st := s.p.Stats(); st.Connections != 1 || st.Alarms != 0 {
					t.Errorf("%d connections, %d alarms", st.Connections, st.Alarms)
				}
			})
		})
	}
}

// K31: what is left out again and again is unknown in the end, for it may be in
// the log. Here it is.
func TestK31MissingForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(2), nil)
		s.warm(0, 1)
		s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.Partition == 1 && a.ProducerEpoch == 0 {
				return producertest.Fault{}.Omit()
			}
			return producertest.Fault{}
		})
		left := s.tens(1, 1)
		fine := s.tens(0, 2)
		s.flush(time.Hour)
		next := s.tens(1, 1)
		s.judge()
		s.wantOutcomes(left, 10, producer.Unknown, producer.ErrDeliveryTimeout)
		s.wantOutcomes(fine, 20, producer.Written, nil)
		s.wantOutcomes(next, 10, producer.Written, nil)
	})
}

// K38: of six partitions on three brokers one is refused. Only that one is sent
// again.
func TestK38PartialSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(6)
		cc.Brokers = 3
		s := newTapped(t, cc, nil)
		s.warm(0, 1, 2, 3, 4, 5)
		s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.Partition == 4 && a.BaseSequence == 10 && a.Attempt < 3 {
				return producertest.Refuse(6)
			}
			return producertest.Fault{}
		})
		for p := range int32(6) {
			s.tens(p, 1)
		}
		s.judgeWritten()
		for p := range int32(6) {
			if p == 4 {
				s.wantSent(p, 0, 0, 10, 10, 10)
			} else {
				s.wantSent(p, 0, 0, 10)
			}
		}
	})
}
