package conn

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// dear builds responses of the form s in which one array has as many of the smallest
// elements as there can be; all else is the smallest there is.
type dear struct {
	version  int16
	flexible bool
	at       int // of the arrays, in the order in which they come
	elements int // in the array of which there are many
	claimed  int // instead, if not 0: what it says that it has
	seen     int
	found    bool
}

func (d *dear) count(b []byte, n int) []byte {
	if d.flexible {
		return binary.AppendUvarint(b, uint64(n)+1)
	}
	return binary.BigEndian.AppendUint32(b, uint32(n))
}

// smallest is an element without anything in it.
func (d *dear) smallest(b []byte, s shape) []byte {
	for i := range s {
		f := &s[i]
		if !f.in(d.version) || f.kind == tagged && !d.flexible {
			continue
		}
		switch f.kind {
		case fixed:
			b = append(b, make([]byte, f.size)...)
		case text:
			if d.flexible {
				b = append(b, 1) // empty: dearer than a null
			} else {
				b = append(b, 0, 0)
			}
		case blob, array:
			b = d.count(b, 0)
		case tagged:
			b = append(b, 0)
		}
	}
	return b
}

// build goes down to the array, with one element of those that it is in.
func (d *dear) build(b []byte, s shape) []byte {
	for i := range s {
		f := &s[i]
		if f.kind == tagged && d.flexible && f.known != nil && !d.found {
			if inner, ok := d.tag(f); ok {
				b = append(append(b, 1), inner...)
				continue
			}
		}
		if f.kind != array || !f.in(d.version) || d.found {
			b = d.smallest(b, s[i:i+1])
			continue
		}
		if d.seen++; d.seen > d.at {
			d.found = true
			b = d.count(b, max(d.elements, d.claimed))
			b = append(b, slices.Repeat(d.smallest(nil, f.elem), d.elements)...)
			continue
		}
		one := d.build(nil, f.elem)
		if d.found {
			b = append(d.count(b, 1), one...)
		} else {
			b = d.count(b, 0)
		}
	}
	return b
}

// tag is a known one with the array in it.
func (d *dear) tag(f *field) (b []byte, ok bool) {
	for key := range uint64(4) {
		inner := d.build(nil, f.known[key])
		if d.found {
			b = binary.AppendUvarint(binary.AppendUvarint(nil, key), uint64(len(inner)))
			return append(b, inner...), true
		}
	}
	return nil, false
}

// dearest is what a broker sends that wants to be dear: for each array of a response
// a body of some size with nothing but its elements, and bodies that claim them.
func dearest(key, version int16, size int, f func(name string, body []byte)) {
	resp := response(key, version)
	for at := 0; ; at++ {
		probe := dear{version: version, flexible: resp.IsFlexible(), at: at, elements: 1}
		one := len(probe.build(nil, shapes[key]))
		if !probe.found {
			return
		}
		probe = dear{version: version, flexible: resp.IsFlexible(), at: at, elements: 2}
		each := len(probe.build(nil, shapes[key])) - one
		for _, claim := range []int{0, 1 << 31 / 2, size, size / 5, size / 18} {
			d := dear{version: version, flexible: resp.IsFlexible(), at: at, elements: size / each, claimed: claim}
			if claim > 0 {
				d.elements = 0
			}
			body := d.build(nil, shapes[key])
			if claim > 0 {
				body = append(body, make([]byte, size)...)
			}
			if resp.IsFlexible() && key != apiVersionsKey {
				body = append([]byte{0}, body...)
			}
			f(fmt.Sprintf("%s %d, array %d, claim %d", kmsg.NameForKey(key), version, at, claim), body)
		}
	}
}

// Whatever a response is made of, in every version: to decode it takes no more than
// twice its frame and a quarter of the limit, so with the frame it is three times.
func TestNoResponseIsDear(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes as much memory again")
	}
	const size = 256 << 10
	for _, key := range decodedKeys {
		for version := int16(0); version <= response(key, 0).MaxVersion(); version++ {
			dearest(key, version, size, func(name string, body []byte) {
				var err error
				got := allocated(func() { err = Decode(response(key, version), body, size) })
				if most := uint64(2*len(body) + size/4 + len(body)/4 + 64<<10); got > most { // Go gives memory in steps
					t.Errorf("%s: %d KiB for a body of %d KiB, %v", name, got>>10, len(body)>>10, err)
				}
			})
		}
	}
}

// What the walk counts is what decoding takes: within an eighth where it is much.
func TestWalkKnowsWhatDecodingTakes(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes as much memory again")
	}
	const room = 1 << 40
	for _, key := range decodedKeys {
		for version := int16(0); version <= response(key, 0).MaxVersion(); version++ {
			dearest(key, version, 128<<10, func(name string, body []byte) {
				resp := response(key, version)
				w := newWalker(resp, body, 0)
				w.room = room
				if resp.IsFlexible() && key != apiVersionsKey {
					w.tags(nil)
				}
				rest := w.b
				w.walk(shapes[key])
				if w.bad != "" {
					return
				}
				counted := float64(room - w.room)
				var err error
				took := float64(allocated(func() { err = resp.ReadFrom(rest) }))
				if err == nil && took > 64<<10 && (took > counted*1.15 || counted > took*1.6) {
					t.Errorf("%s: counted %.0f KiB, took %.0f KiB", name, counted/1024, took/1024)
				}
			})
		}
	}
}

// Clusters that are large, and honest: nothing is refused.
func TestHonestResponsesAreDecoded(t *testing.T) {
	for _, c := range []struct{ topics, partitions, replicas int }{
		{1, 1, 1}, {1, 100_000, 1}, {1, 100_000, 3}, {10_000, 3, 1}, {10_000, 10, 3}, {1000, 50, 1}, {1000, 0, 0},
	} {
		resp := &kmsg.MetadataResponse{}
		req := kmsg.NewPtrMetadataRequest()
		for range c.topics {
			topic := kmsg.NewMetadataResponseTopic()
			topic.Topic = kmsg.StringPtr("some.topic")
			for i := range c.partitions {
				p := kmsg.NewMetadataResponseTopicPartition()
				p.Partition, p.Replicas, p.ISR = int32(i), make([]int32, c.replicas), make([]int32, c.replicas)
				topic.Partitions = append(topic.Partitions, p)
			}
			resp.Topics = append(resp.Topics, topic)
			req.Topics = append(req.Topics, kmsg.NewMetadataRequestTopic())
		}
		for _, resp.Version = range []int16{1, 9, 12} {
			body := frame(1, resp)[8:]
			if err := Decode(response(metadataKey, resp.Version), body, Limit(req)); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
	text := strings.Repeat("x", 100)
	for _, c := range []struct {
		partitions, records int
		text                *string
	}{{1, 1, nil}, {10_000, 0, nil}, {1, 100_000, nil}, {1, 15_000, &text}, {3000, 5, &text}} {
		resp := &kmsg.ProduceResponse{}
		for range c.partitions {
			topic := kmsg.ProduceResponseTopic{Topic: "t"}
			p := kmsg.NewProduceResponseTopicPartition()
			p.ErrorMessage = c.text
			for range c.records {
				p.ErrorRecords = append(p.ErrorRecords, kmsg.ProduceResponseTopicPartitionErrorRecord{ErrorMessage: c.text})
			}
			topic.Partitions = append(topic.Partitions, p)
			resp.Topics = append(resp.Topics, topic)
		}
		for _, resp.Version = range []int16{3, 8, 13} {
			body := frame(1, resp)[8:]
			if err := Decode(response(produceKey, resp.Version), body, ProduceLimit(c.partitions, c.partitions*c.records)); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
}
