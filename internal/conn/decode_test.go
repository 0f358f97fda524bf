package conn

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var decodedKeys = []int16{
	produceKey, metadataKey, saslHandshakeKey, apiVersionsKey, initProducerIDKey, saslAuthenticateKey, describeProdKey,
	fetchKey, listOffsetsKey, offsetForEpochKey,
}

// testLimit is that of a usual response.
const testLimit = 1 << 20

func response(key, version int16) kmsg.Response {
	resp := kmsg.ResponseForKey(key)
	resp.SetVersion(version)
	return resp
}

// fill puts random values into every field, and some unknown tags.
func fill(v reflect.Value, r *rand.Rand) {
	switch v.Kind() {
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), r)
		}
	case reflect.Struct:
		if tags, ok := v.Addr().Interface().(*kmsg.Tags); ok {
			for range r.IntN(3) {
				tags.Set(100+r.Uint32N(1000), make([]byte, r.IntN(5)))
			}
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Version" {
				fill(v.Field(i), r)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
		for i := range v.Len() {
			fill(v.Index(i), r)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), r)
		}
	case reflect.String:
		v.SetString(strings.Repeat("x", r.IntN(200)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> (64 - v.Type().Bits()))
	case reflect.Uint8:
		v.SetUint(uint64(r.UintN(256)))
	default:
		panic(v.Kind())
	}
}

// Every version of every response we decode: what kmsg writes is walked to its
// last byte and decoded to the same. A new kmsg with new fields fails here.
func TestShapesAgreeWithKmsg(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, key := range decodedKeys {
		for version := int16(0); version <= response(key, 0).MaxVersion(); version++ {
			for range 50 {
				in, out := response(key, version), response(key, version)
				fill(reflect.ValueOf(in).Elem(), r)
				body := frame(1, in)[8:]
				if err := Decode(out, body, testLimit); err != nil {
					t.Fatalf("%s %d: %v", kmsg.NameForKey(key), version, err)
				}
				if again := frame(1, out)[8:]; string(again) != string(body) {
					t.Fatalf("%s %d: decoded to something else", kmsg.NameForKey(key), version)
				}
				w := newWalker(in, body, testLimit)
				if key != apiVersionsKey {
					w.tags(nil)
				}
				w.walk(shapes[key])
				if w.bad != "" || len(w.b) != 0 {
					t.Fatalf("%s %d: %q, %d of %d bytes left", kmsg.NameForKey(key), version, w.bad, len(w.b), len(body))
				}
			}
		}
	}
}

// KIP-482 tags may be in the header of every flexible response but that of
// ApiVersions.
func TestDecodeSkipsHeaderTags(t *testing.T) {
	in := &kmsg.InitProducerIDResponse{Version: 5, ProducerID: 42}
	body := append([]byte{2, 9, 3, 'a', 'b', 'c', 10, 0}, in.AppendTo(nil)...)
	out := &kmsg.InitProducerIDResponse{Version: 5}
	if err := Decode(out, body, testLimit); err != nil || out.ProducerID != 42 {
		t.Errorf("%+v, %v", out, err)
	}
	for cut := range body {
		if err := Decode(out, body[:cut], testLimit); !errors.Is(err, ErrProtocol) {
			t.Errorf("cut after %d bytes: %v", cut, err)
		}
	}
}

// Lies about the sizes of tags and of what is in them, with bytes behind the
// body that do not belong to it.
func TestWalkerKeepsToTheBody(t *testing.T) {
	for _, test := range []struct {
		name string
		body []byte
	}{
		{"a tag longer than the body", []byte{1, 9, 3, 'a'}},
		{"a tag without size", []byte{1, 9}},
		{"a tag without anything", []byte{1}},
		{"fewer tags than said", []byte{2, 9, 0}},
		{"a known tag that is too short", []byte{1, 1, 3, 1, 2, 3}},
		{"a known tag that goes on behind its end", []byte{2, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0}},
		{"a known tag longer than any body", []byte{1, 1, 0x80, 0x80, 0x40}},
		{"a number of more than 32 bits", []byte{0xff, 0xff, 0xff, 0xff, 0x1f}},
		{"nothing", nil},
	} {
		room := append(test.body[:len(test.body):len(test.body)], make([]byte, 100)...)
		w := newWalker(response(metadataKey, 12), room[:len(test.body)], testLimit)
		w.tags(map[uint64]shape{1: {{size: 4 + 4}, noTags}})
		if w.bad == "" {
			t.Errorf("%s: accepted", test.name)
		}
	}
}

// Looking before decoding costs the data path no memory.
func TestDecodeAllocatesNoMoreThanKmsg(t *testing.T) {
	in := &kmsg.ProduceResponse{Version: 13, Topics: make([]kmsg.ProduceResponseTopic, 3)}
	for i := range in.Topics {
		in.Topics[i].Partitions = make([]kmsg.ProduceResponseTopicPartition, 5)
	}
	body, out := frame(1, in)[8:], &kmsg.ProduceResponse{Version: 13}
	ours := testing.AllocsPerRun(100, func() {
		if err := Decode(out, body, testLimit); err != nil {
			t.Fatal(err)
		}
	})
	theirs := testing.AllocsPerRun(100, func() {
		if err := out.ReadFrom(body[1:]); err != nil {
			t.Fatal(err)
		}
	})
	if ours > theirs {
		t.Errorf("%v allocations, %v by kmsg alone", ours, theirs)
	}
}

func uvarint(v uint64) []byte { return binary.AppendUvarint(nil, v) }

func tagFlood(n int) []byte {
	flood := uvarint(uint64(n))
	for i := range n {
		flood = append(append(flood, uvarint(uint64(1000+i))...), 0)
	}
	return flood
}

// Tags that nobody knows are kept by kmsg, so their number is limited wherever
// they may stand.
func TestTagFloods(t *testing.T) {
	flood := func(n int) (in kmsg.Tags) {
		for i := range n {
			in.Set(uint32(1000+i), nil)
		}
		return in
	}
	for name, build := range map[string]func(kmsg.Tags) kmsg.Response{
		"versions": func(t kmsg.Tags) kmsg.Response { return &kmsg.ApiVersionsResponse{Version: 3, UnknownTags: t} },
		"versions key": func(t kmsg.Tags) kmsg.Response {
			return &kmsg.ApiVersionsResponse{Version: 3, ApiKeys: []kmsg.ApiVersionsResponseApiKey{{UnknownTags: t}}}
		},
		"versions feature": func(t kmsg.Tags) kmsg.Response {
			return &kmsg.ApiVersionsResponse{Version: 3, FinalizedFeatures: []kmsg.ApiVersionsResponseFinalizedFeature{{UnknownTags: t}}}
		},
		"metadata partition": func(t kmsg.Tags) kmsg.Response {
			return &kmsg.MetadataResponse{Version: 12, Topics: []kmsg.MetadataResponseTopic{{Partitions: []kmsg.MetadataResponseTopicPartition{{UnknownTags: t}}}}}
		},
		"produce leader": func(t kmsg.Tags) kmsg.Response {
			return &kmsg.ProduceResponse{Version: 13, Topics: []kmsg.ProduceResponseTopic{{Partitions: []kmsg.ProduceResponseTopicPartition{
				{CurrentLeader: kmsg.ProduceResponseTopicPartitionCurrentLeader{LeaderID: 1, UnknownTags: t}},
			}}}}
		},
		"produce endpoint": func(t kmsg.Tags) kmsg.Response {
			return &kmsg.ProduceResponse{Version: 10, Brokers: []kmsg.ProduceResponseBroker{{UnknownTags: t}}}
		},
		"token": func(t kmsg.Tags) kmsg.Response { return &kmsg.SASLAuthenticateResponse{Version: 2, UnknownTags: t} },
	} {
		for _, n := range []int{maxUnknownTags, maxUnknownTags + 1, 20_000} {
			in := build(flood(n))
			err := Decode(response(in.Key(), in.GetVersion()), frame(1, in)[8:], testLimit)
			if n <= maxUnknownTags && err != nil || n > maxUnknownTags && !errors.Is(err, ErrProtocol) {
				t.Errorf("%s, %d tags: %v", name, n, err)
			}
		}
	}
	header := append(tagFlood(20_000), (&kmsg.MetadataResponse{Version: 9}).AppendTo(nil)...)
	if err := Decode(response(metadataKey, 9), header, testLimit); !errors.Is(err, ErrProtocol) {
		t.Errorf("header: %v", err)
	}
	// Many in all, few in each place.
	spread := &kmsg.ApiVersionsResponse{Version: 3, ApiKeys: make([]kmsg.ApiVersionsResponseApiKey, 1000)}
	for i := range spread.ApiKeys {
		spread.ApiKeys[i].UnknownTags = flood(2)
	}
	if err := Decode(response(apiVersionsKey, 3), spread.AppendTo(nil), testLimit); !errors.Is(err, ErrProtocol) {
		t.Errorf("spread: %v", err)
	}
}

// What a response claims costs nothing; what it holds costs a small multiple.
func TestDecodeMemory(t *testing.T) {
	flood := append([]byte{0, 0, 1, 0, 0, 0, 0}, tagFlood(60_000)...)
	claims := func(n uint64) []byte { return append([]byte{0, 0, 0, 0, 0}, uvarint(n)...) }
	for _, test := range []struct {
		name         string
		key, version int16
		body         []byte
	}{
		{"tags of ApiVersions", apiVersionsKey, 3, flood},
		{"brokers", metadataKey, 12, claims(1 << 31)},
		{"brokers, old form", metadataKey, 1, []byte{0x7f, 0xff, 0xff, 0xff, 1, 2, 3}},
		{"topics", produceKey, 13, append(uvarint(1<<20), make([]byte, 1<<16)...)},
	} {
		got := allocated(func() {
			if err := Decode(response(test.key, test.version), test.body, testLimit); !errors.Is(err, ErrProtocol) {
				t.Errorf("%s: %v", test.name, err)
			}
		})
		if limit := uint64(16*len(test.body) + 64<<10); got > limit {
			t.Errorf("%s: %d bytes allocated for %d", test.name, got, len(test.body))
		}
	}
}
