package producer_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/sluice-kafka/sluice/retry"
)

// allCodes are those of the protocol and some that it does not have.
func allCodes() []int16 {
	codes := []int16{-32768, -2, -1, 32767}
	for c := int16(1); c <= 140; c++ {
		codes = append(codes, c)
	}
	return codes
}

// want is what a code must lead to if it is answered once and no more: whether
// the record is sent again, and the outcome then. It is derived from the golden
// table of package retry, where the code comes with offset -1.
func wantForCode(d retry.Decision) (attempts int, outcome producer.Outcome) {
	switch d.Fate {
	case retry.Refused:
		return 1, producer.NotWritten
	case retry.Fenced:
		return 1, producer.NotWritten
	}
	return 2, producer.Written
}

// K28: every error code, answered once and then no more. What may come right is
// sent again and is written once; what may not fails at once with the code in
// the error; and the next record is written in either case, unless someone else
// owns the producer ID.
func TestK28EveryCodeOnce(t *testing.T) {
	for _, code := range allCodes() {
		for _, when := range []string{"first batch", "later batch"} {
			t.Run(fmt.Sprint(code, " ", when), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { everyCode(t, code, when == "first batch") })
			})
		}
	}
}

func everyCode(t *testing.T, code int16, first bool) {
	r := newRig(t, topics(1), func(c *config.Config) { c.DeliveryTimeout = time.Minute })
	if !first {
		r.sync(t.Context(), producer.Record{}, 10)
	}
	attempts := 0
	r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
		if attempts++; attempts == 1 {
			return producertest.Refuse(code)
		}
		return producertest.Fault{}
	})
	begun := time.Now()
	res, err := r.sync(t.Context(), producer.Record{}, 10)
	took := time.Since(begun)
	d := retry.Classify(retry.Code(code), -1)
	wantAttempts, want := wantForCode(d)
	if res.Outcome != want || attempts != wantAttempts {
		t.Errorf("after %d attempts: %+v", attempts, res)
	}
	if took > 2*time.Second || d.Backoff && wantAttempts > 1 && took < 80*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if want == producer.NotWritten && !errors.Is(err, producer.Code(code)) {
		t.Errorf("the code is not in the error: %v", err)
	}
	if d.Split && !errors.Is(err, producer.ErrRecordTooLarge) {
		t.Errorf("%v", err)
	}
	next, err := r.sync(t.Context(), producer.Record{}, 10)
	if d.Fate == retry.Fenced {
		if next.Outcome != producer.NotWritten || !errors.Is(err, producer.ErrSecondOwner) {
			t.Errorf("the next record: %+v", next)
		}
	} else if next.Outcome != producer.Written {
		t.Errorf("the next record: %+v", next)
	}
	if r.p.Stats().Alarms > 0 {
		t.Error("alarm")
	}
	r.judge()
}

// K28: the same for errors that come after the append, with its offset: the
// record is in the log, and must not be there twice, nor be called absent. It is
// sent again and written, unless the code says that the producer ID is not ours
// any more, or forgotten: then nobody can say.
func TestK28EveryCodeAfterAppend(t *testing.T) {
	for _, code := range allCodes() {
		for _, when := range []string{"first batch", "later batch"} {
			t.Run(fmt.Sprint(code, " ", when), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { everyCodeAfterAppend(t, code, when == "first batch") })
			})
		}
	}
}

func everyCodeAfterAppend(t *testing.T, code int16, first bool) {
	r := newRig(t, topics(1), func(c *config.Config) { c.DeliveryTimeout = time.Minute })
	if !first {
		r.sync(t.Context(), producer.Record{}, 10)
	}
	attempts := 0
	r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
		if attempts++; attempts == 1 {
			return producertest.AppendThen(code)
		}
		return producertest.Fault{}
	})
	res, _ := r.sync(t.Context(), producer.Record{}, 10)
	d := retry.Classify(retry.Code(code), 1)
	wantAttempts, want := 2, producer.Written
	if d.Stop || d.Gone {
		wantAttempts, want = 1, producer.Unknown
	}
	if res.Outcome != want || attempts != wantAttempts {
		t.Errorf("after %d attempts: %+v", attempts, res)
	}
	next, err := r.sync(t.Context(), producer.Record{}, 10)
	if d.Stop {
		if next.Outcome != producer.NotWritten || !errors.Is(err, producer.ErrSecondOwner) {
			t.Errorf("the next record: %+v", next)
		}
	} else if next.Outcome != producer.Written {
		t.Errorf("the next record: %+v", next)
	}
	r.judge()
}

// The same for ever, for ten records of one batch: nothing is called absent, cut
// in two or asked about in a hot loop.
func TestK28EveryCodeAfterAppendForEver(t *testing.T) {
	for _, code := range allCodes() {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTapped(t, topics(1), func(c *config.Config) {
					c.DeliveryTimeout, c.RequestTimeout = 20*time.Second, 10*time.Second
				})
				s.warm(0)
				attempts := 0
				s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
					if attempts++; a.Records != 10 {
						t.Errorf("%d records", a.Records)
					}
					if attempts > 1000 {
						return producertest.Fault{} // a hot loop ends here, and fails below
					}
					return producertest.AppendThen(code)
				})
				begun := time.Now()
				s.tens(0, 1)
				s.flush(time.Minute)
				if most := 5 + 5*int(time.Since(begun)/time.Second); attempts > most {
					t.Errorf("%d attempts in %v", attempts, time.Since(begun))
				}
				if sum := s.judge(); sum.notWritten > 0 || sum.unknown != 10 {
					t.Errorf("%+v", sum)
				}
			})
		})
	}
}

// Codes that may come from after the append, as when a proxy lost the broker that
// had the request, and carry no offset: the record is in the log.
func TestCodesThatDoNotSayWhen(t *testing.T) {
	for _, code := range []int16{13, 14, 15, 16, 41, 51, 72, 78, 89} {
		for _, answers := range []int{1, 1000} {
			t.Run(fmt.Sprint(code, " ", answers, " times"), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, topics(1), func(c *config.Config) { c.DeliveryTimeout = 40 * time.Second })
					r.sync(t.Context(), producer.Record{}, 10)
					attempts := 0
					r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
						if attempts++; attempts <= answers {
							return producertest.AppendThen(code).NoOffset()
						}
						return producertest.Fault{}
					})
					want := producer.Written
					if answers > 1 {
						want = producer.Unknown
					}
					if res, _ := r.sync(t.Context(), producer.Record{}, 10); res.Outcome != want {
						t.Errorf("after %d attempts: %+v", attempts, res)
					}
					r.judge()
				})
			})
		}
	}
}

// K28: NOT_ENOUGH_REPLICAS, before and after the append, for as long as a
// broker takes to come back: nothing is lost or doubled.
func TestK28NotEnoughReplicasForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(2), func(c *config.Config) { c.BatchBytes = 300 })
		r.sync(t.Context(), producer.Record{}, 10)
		until := time.Now().Add(30 * time.Second)
		n := 0
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			n++
			switch {
			case time.Now().After(until):
				return producertest.Fault{}
			case n%3 == 0:
				return producertest.AppendThen(20)
			}
			return producertest.Refuse(19)
		})
		for range 100 {
			r.produce(t.Context(), producer.Record{}, 50)
		}
		if sum := r.judge(); sum.written != 101 {
			t.Errorf("%+v %v", sum, r.firstError())
		}
		if n > 500 {
			t.Errorf("%d attempts in 30 seconds", n)
		}
	})
}

// K39, K67: answers that are worth a few tries get exactly those: three are
// survived, the fourth is the end. Others are left to the delivery timeout.
func TestK67FewTries(t *testing.T) {
	for _, c := range []struct {
		code    int16
		answers int
		want    producer.Outcome
	}{
		{2, 3, producer.Written},
		{2, 4, producer.NotWritten},
		{999, 3, producer.Written},
		{999, 4, producer.Unknown},
		{19, 30, producer.Written},
		{6, 30, producer.Written},
		{-1, 30, producer.Written},
	} {
		t.Run(fmt.Sprintf("%d %d times", c.code, c.answers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, topics(1), nil)
				r.sync(t.Context(), producer.Record{}, 10)
				attempts := 0
				r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
					if attempts++; attempts <= c.answers {
						return producertest.Refuse(c.code)
					}
					return producertest.Fault{}
				})
				res, err := r.sync(t.Context(), producer.Record{}, 10)
				if res.Outcome != c.want || err != nil && !errors.Is(err, producer.Code(c.code)) {
					t.Errorf("%+v", res)
				}
				if want := c.answers + 1; c.want == producer.Written && attempts != want {
					t.Errorf("%d attempts, want %d", attempts, want)
				}
				if c.want != producer.Written && attempts != 4 {
					t.Errorf("%d attempts", attempts)
				}
				if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
					t.Errorf("the next record: %v", err)
				}
				r.judge()
			})
		})
	}
}

// The broker's words are in the error, quoted.
func TestBrokersMessageIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			return producertest.Refuse(87).BadRecords("no key\nin a compacted topic", 0)
		})
		_, err := r.sync(t.Context(), producer.Record{}, 10)
		const want = `producer: record for "t" partition 0 not written after 1 attempts: INVALID_RECORD (87): a record breaks a rule of the topic: "no key\nin a compacted topic"`
		if err == nil || err.Error() != want {
			t.Errorf("\n%v\n%s", err, want)
		}
		r.judge()
	})
}
