package conn

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestSequenceWindow(t *testing.T) {
	for _, test := range []struct {
		name string
		tag  []byte // nil: no tag
		want int32
		bad  bool
	}{
		{"a stock broker", nil, 0, false},
		{"the default", []byte{0x00, 0x98, 0x96, 0x80}, 10_000_000, false},
		{"network order", []byte{0, 0, 3, 0xe8}, 1000, false},
		{"the smallest", []byte{0, 0, 0, 1}, 1, false},
		{"the largest", []byte{0x40, 0, 0, 0}, 1 << 30, false},
		{"too large", []byte{0x40, 0, 0, 1}, 0, true},
		{"zero", []byte{0, 0, 0, 0}, 0, true},
		{"negative", []byte{0xff, 0xff, 0xff, 0xff}, 0, true},
		{"most negative", []byte{0x80, 0, 0, 0}, 0, true},
		{"empty", []byte{}, 0, true},
		{"three bytes", []byte{0, 0, 1}, 0, true},
		{"five bytes", []byte{0, 0, 0, 1, 0}, 0, true},
		{"a flood", make([]byte, 10_000), 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tags kmsg.Tags
				tags.Set(757, []byte{0, 0, 0, 9})
				tags.Set(759, []byte{0, 0, 0, 9})
				if test.tag != nil {
					tags.Set(758, test.tag)
				}
				c := newBroker(t, func(p *peer) {
					r := p.want(apiVersionsKey)
					resp := versionsResponse(r.GetVersion())
					resp.UnknownTags = tags
					p.answer(r, resp)
					r = p.want(initProducerIDKey)
					p.answer(r, &kmsg.InitProducerIDResponse{Version: r.GetVersion(), UnknownTags: tags})
				}).connect()
				defer c.Close()
				window, err := c.SequenceWindow()
				if window != test.want || (err != nil) != test.bad {
					t.Errorf("ApiVersions: %d, %v", window, err)
				}
				if err != nil && (!strings.Contains(err.Error(), brokerAddr) || len(err.Error()) > 200) {
					t.Errorf("%q does not name the broker, or is too long", err)
				}
				resp, err := c.Do(context.Background(), kmsg.NewPtrInitProducerIDRequest())
				if err != nil {
					t.Fatal(err)
				}
				window, err = SequenceWindowTag(&resp.(*kmsg.InitProducerIDResponse).UnknownTags)
				if window != test.want || (err != nil) != test.bad {
					t.Errorf("InitProducerId: %d, %v", window, err)
				}
			})
		})
	}
}

// The old form of the answer has no tags: a stock broker.
func TestSequenceWindowOldForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) {
			p.answer(p.want(apiVersionsKey), &kmsg.ApiVersionsResponse{ErrorCode: 35})
			p.answer(p.want(apiVersionsKey), versionsResponse(0))
		}).connect()
		defer c.Close()
		if w, err := c.SequenceWindow(); w != 0 || err != nil {
			t.Errorf("%d, %v", w, err)
		}
	})
}
