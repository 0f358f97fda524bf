package conn

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sluice-kafka/sluice/retry"
)

func TestDialLearnsVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(t, func(p *peer) {
			r := p.want(apiVersionsKey)
			if r.GetVersion() != firstVersion || r.clientID != "tester" {
				t.Errorf("asked with version %d by %q", r.GetVersion(), r.clientID)
			}
			if q := r.Request.(*kmsg.ApiVersionsRequest); q.ClientSoftwareName != "sluice" || q.ClientSoftwareVersion != "1.2.3" {
				t.Errorf("software %q %q", q.ClientSoftwareName, q.ClientSoftwareVersion)
			}
			resp := versionsResponse(r.GetVersion())
			resp.ApiKeys = append(resp.ApiKeys,
				kmsg.ApiVersionsResponseApiKey{ApiKey: 1, MinVersion: 4, MaxVersion: 18},
				kmsg.ApiVersionsResponseApiKey{ApiKey: 61, MinVersion: 3, MaxVersion: 1}, // nonsense
				kmsg.ApiVersionsResponseApiKey{ApiKey: 62, MinVersion: -2, MaxVersion: 1},
				kmsg.ApiVersionsResponseApiKey{ApiKey: -1, MaxVersion: 1},
				kmsg.ApiVersionsResponseApiKey{ApiKey: 9999, MaxVersion: 1},
			)
			p.answer(r, resp)
		})
		c := b.connect()
		defer c.Close()
		if c.Addr() != brokerAddr {
			t.Errorf("Addr() = %q", c.Addr())
		}
		for _, want := range []struct {
			key, ourMax, version int16
			ok                   bool
		}{
			{produceKey, 13, 13, true}, {produceKey, 9, 9, true}, {produceKey, 99, 13, true},
			{1, 18, 18, true}, {1, 4, 4, true}, {1, 3, 0, false},
			{61, 9, 0, false}, {62, 9, 0, false}, {-1, 9, 0, false}, {9999, 9, 0, false}, {77, 9, 0, false},
		} {
			if v, ok := c.Version(want.key, want.ourMax); v != want.version || ok != want.ok {
				t.Errorf("Version(%d, %d) = %d, %v", want.key, want.ourMax, v, ok)
			}
		}
	})
}

// A broker too old for the version of the question answers in the form of
// version 0, and says what it knows.
func TestVersionsDowngrade(t *testing.T) {
	for _, test := range []struct {
		name  string
		offer []kmsg.ApiVersionsResponseApiKey
		want  int16
	}{
		{"it knows up to 2", []kmsg.ApiVersionsResponseApiKey{{ApiKey: apiVersionsKey, MaxVersion: 2}}, 2},
		{"it lists nothing", nil, 0},
		{"it lists nonsense", []kmsg.ApiVersionsResponseApiKey{{ApiKey: apiVersionsKey, MaxVersion: -7}}, 0},
		{"it claims to know this one", []kmsg.ApiVersionsResponseApiKey{{ApiKey: apiVersionsKey, MaxVersion: 9}}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newBroker(t, func(p *peer) {
					p.answer(p.want(apiVersionsKey), &kmsg.ApiVersionsResponse{ErrorCode: 35, ApiKeys: test.offer})
					r := p.want(apiVersionsKey)
					if r.GetVersion() != test.want {
						t.Errorf("asked again with version %d, want %d", r.GetVersion(), test.want)
					}
					p.answer(r, versionsResponse(r.GetVersion()))
				}).connect()
				defer c.Close()
				if v, _ := c.Version(produceKey, 13); v != 13 {
					t.Errorf("Produce %d", v)
				}
			})
		})
	}
}

// Kafka 0.10 and the like: the code and nothing behind it.
func TestVersionsDowngradeBareCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newBroker(t, func(p *peer) {
			r := p.want(apiVersionsKey)
			p.send([]byte{0, 0, 0, 6, 0, 0, 0, byte(r.correlationID), 0, 35})
			if r = p.want(apiVersionsKey); r.GetVersion() != 0 {
				t.Errorf("asked again with version %d", r.GetVersion())
			}
			p.answer(r, versionsResponse(0))
		}).connect().Close()
	})
}

// However a broker refuses, the questions come to an end.
func TestVersionsRefusedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		b := newBroker(t, func(p *peer) {
			for r := p.read(); r != nil; r = p.read() {
				asked++
				p.answer(r, &kmsg.ApiVersionsResponse{ErrorCode: 35, ApiKeys: []kmsg.ApiVersionsResponseApiKey{{ApiKey: apiVersionsKey, MaxVersion: 99}}})
			}
		})
		_, err := Dial(context.Background(), brokerAddr, b.options())
		if !errors.Is(err, retry.UnsupportedVersion) || asked > firstVersion+1 {
			t.Errorf("after %d questions: %v", asked, err)
		}
	})
}

func TestVersionsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(t, func(p *peer) {
			p.answer(p.want(apiVersionsKey), &kmsg.ApiVersionsResponse{Version: firstVersion, ErrorCode: 42})
			p.gone()
		})
		_, err := Dial(context.Background(), brokerAddr, b.options())
		if !errors.Is(err, retry.InvalidRequest) {
			t.Error(err)
		}
	})
}

// K63: a service that hangs up when it meets a version it does not know is
// asked in the oldest form on a new connection, once; the first is not leaked.
func TestPickyService(t *testing.T) {
	hangUp := func(p *peer) { p.want(apiVersionsKey) }
	t.Run("then answers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker(t, hangUp, func(p *peer) {
				r := p.want(apiVersionsKey)
				if r.GetVersion() != 0 {
					t.Errorf("asked again with version %d", r.GetVersion())
				}
				p.answer(r, versionsResponse(0))
			})
			b.connect().Close()
			if b.dialled != 2 {
				t.Errorf("%d connections", b.dialled)
			}
		})
	})
	t.Run("for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker(t, hangUp, hangUp)
			_, err := Dial(context.Background(), brokerAddr, b.options())
			if !errors.Is(err, io.EOF) || b.dialled != 2 {
				t.Errorf("%d connections: %v", b.dialled, err)
			}
		})
	})
	t.Run("not where brokers are known to answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker(t, hangUp)
			o := b.options()
			o.Modern = true
			if _, err := Dial(context.Background(), brokerAddr, o); !errors.Is(err, io.EOF) || b.dialled != 1 {
				t.Errorf("%d connections: %v", b.dialled, err)
			}
		})
	})
	t.Run("not if it talks nonsense", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker(t, func(p *peer) {
				p.want(apiVersionsKey)
				p.send([]byte("HTTP/1.1 400 Bad Request\r\n"))
			})
			_, err := Dial(context.Background(), brokerAddr, b.options())
			if !errors.Is(err, ErrProtocol) || b.dialled != 1 {
				t.Errorf("%d connections: %v", b.dialled, err)
			}
		})
	})
}

func TestSoftwareToken(t *testing.T) {
	for in, want := range map[string]string{
		"sluice": "sluice", "v1.2-rc.1": "v1.2-rc.1", "(devel)": "devel", "": "unknown", "-.-": "unknown",
		"a b/c": "a-b-c", "ümlaut": "mlaut", "x\n\r": "x",
	} {
		if got := softwareToken(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
