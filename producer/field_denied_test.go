package producer_test

import (
	"context"
	"crypto/tls"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/testcert"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// refusing is one way in which brokers refuse a producer. Mend ends it, if it can be
// ended in the middle.
type refusing struct {
	cluster producertest.Config
	change  func(*config.Config)
	spoil   func(*producertest.Cluster)
	want    error
	early   bool // Ping without a topic meets it, too
	mend    func(*producertest.Cluster)
}

// answer makes a hook that changes each response of a type, until it is taken away.
func onEach[T kmsg.Response](change func(T)) func(*producertest.Cluster) {
	return func(c *producertest.Cluster) {
		c.OnResponse(func(r *producertest.Response) {
			if m, ok := r.Message.(T); ok {
				change(m)
			}
		})
	}
}

func unhook(c *producertest.Cluster) { c.OnResponse(nil) }

func refusals(t *testing.T) map[string]refusing {
	var mended atomic.Bool
	login := plain.Plain(func(context.Context) (plain.Auth, error) {
		if mended.Load() {
			return plain.Auth{User: "u", Pass: "right"}, nil
		}
		return plain.Auth{User: "u", Pass: "wrong"}, nil
	})
	secured := topics(1)
	secured.Users = map[string]string{"u": "right"}
	encrypted := topics(1)
	encrypted.TLS = &tls.Config{Certificates: []tls.Certificate{testcert.New(t).TLS}}
	old := topics(1)
	old.MaxVersions = map[int16]int16{0: -1}
	noID := topics(1)
	noID.MaxVersions = map[int16]int16{22: -1}
	return map[string]refusing{
		"login": {
			cluster: secured, want: conn.ErrAuth, early: true, mend: func(*producertest.Cluster) { mended.Store(true) },
			change: func(c *config.Config) { c.SecurityProtocol, c.SASL = config.ProtocolSASLPlaintext, login; c.AllowPlaintextPasswords = true },
		},
		"certificate": {
			cluster: encrypted, want: new(tls.CertificateVerificationError), early: true,
			change: func(c *config.Config) { c.SecurityProtocol = config.ProtocolSSL },
		},
		"no Produce":        {cluster: old, want: producer.ErrNoProduce},
		"no InitProducerId": {cluster: noID, want: conn.ErrNotOffered, early: true},
		"metadata of the topic": {
			cluster: topics(1), want: producer.Code(29), mend: unhook,
			spoil: onEach(func(m *kmsg.MetadataResponse) {
				for i := range m.Topics {
					m.Topics[i].ErrorCode, m.Topics[i].Partitions = 29, nil
				}
			}),
		},
		"producer id": {
			cluster: topics(1), want: producer.Code(31), early: true, mend: unhook,
			spoil: onEach(func(m *kmsg.InitProducerIDResponse) { m.ErrorCode, m.ProducerID = 31, -1 }),
		},
	}
}

func isCause(err, want error) bool {
	var cert *tls.CertificateVerificationError
	if errors.As(want, &cert) {
		return errors.As(err, &cert)
	}
	return errors.Is(err, want)
}

// Whatever refuses the producer: a record is told so after the grace, and not after
// the delivery timeout; a lane stops; Ping ends at once; the logins are few; and once
// it is mended the same producer goes on.
func TestRefused(t *testing.T) {
	for name, how := range refusals(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spoil := how.spoil
				if spoil == nil {
					spoil = func(*producertest.Cluster) {}
				}
				r := newSpoiltRig(t, how.cluster, spoil, how.change)
				begun := time.Now()
				var where []string
				if !how.early {
					where = append(where, "t")
				}
				if err := r.p.Ping(r.within(time.Minute), where...); !isCause(err, how.want) || time.Since(begun) > time.Second {
					t.Errorf("ping: %v after %v", err, time.Since(begun))
				}
				for _, grace := range []time.Duration{5 * time.Second, 5 * time.Second} { // also a record that comes later
					begun := time.Now()
					res, err := r.sync(t.Context(), producer.Record{}, 10)
					if res.Outcome != producer.NotWritten || !isCause(err, how.want) {
						t.Errorf("%+v", res)
					}
					if d := time.Since(begun); d < grace-time.Second || d > grace+time.Second {
						t.Errorf("took %v", d)
					}
				}
				lane := r.p.Lane("t")
				begun = time.Now()
				n, rec := r.enter(producer.Record{Key: []byte("k")}, 10)
				res, err := lane.ProduceSync(t.Context(), rec)
				if r.note(n, res); !isCause(err, how.want) || lane.Err() == nil || time.Since(begun) > 7*time.Second {
					t.Errorf("lane: %+v after %v", res, time.Since(begun))
				}
				if how.mend != nil {
					n := r.produce(t.Context(), producer.Record{}, 10)
					time.Sleep(2 * time.Second)
					how.mend(r.c)
					r.flush(4 * time.Second)
					if res := r.result(n); res.Err != nil {
						t.Errorf("mended: %+v", res)
					}
				}
				r.judge()
			})
		})
	}
}

// Records that were in doubt when the login began to be refused wait for their
// outcome, and are not said to be not written.
func TestRefusedInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wrong atomic.Bool
		cc := topics(1)
		cc.Users = map[string]string{"u": "right"}
		r := newRig(t, cc, func(c *config.Config) {
			c.SecurityProtocol, c.AllowPlaintextPasswords = config.ProtocolSASLPlaintext, true
			c.SASL = plain.Plain(func(context.Context) (plain.Auth, error) {
				if wrong.Load() {
					return plain.Auth{User: "u", Pass: "wrong"}, nil
				}
				return plain.Auth{User: "u", Pass: "right"}, nil
			})
		})
		if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
			t.Fatal(err)
		}
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(nil) })
		n := r.produce(t.Context(), producer.Record{}, 10)
		time.Sleep(time.Second)
		wrong.Store(true)
		r.c.OnProduce(nil)
		r.c.Stop(0)
		r.c.Start(0)
		behind := r.produce(t.Context(), producer.Record{}, 10)
		time.Sleep(30 * time.Second)
		if len(r.results(n)) > 0 || len(r.results(behind)) > 0 {
			t.Errorf("%+v %+v", r.results(n), r.results(behind))
		}
		wrong.Store(false)
		r.flush(10 * time.Second)
		if a, b := r.result(n), r.result(behind); a.Err != nil || b.Err != nil {
			t.Errorf("%+v %+v", a, b)
		}
		r.judge()
	})
}

// A refusal elsewhere is no reason to fail what is written all the same: the control
// connection is refused, the one for records lives.
func TestRefusedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
			t.Fatal(err)
		}
		onEach(func(m *kmsg.MetadataResponse) {
			for i := range m.Topics {
				m.Topics[i].ErrorCode, m.Topics[i].Partitions = 29, nil
			}
		})(r.c)
		served := make(chan struct{})
		time.AfterFunc(8*time.Second, func() { close(served) })
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(served) })
		if err := r.p.Ping(r.within(time.Minute)); err != nil {
			t.Errorf("ping: %v", err)
		}
		if res, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
			t.Errorf("%+v", res)
		}
		r.judge()
	})
}
