package producer_test

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const sequenceSpace = 1 << 31

// distance is how many sequences b lies behind a.
func distance(a, b int32) int64 { return (int64(b) - int64(a)) & (sequenceSpace - 1) }

// eachBatch calls f for every batch of a Produce request.
func (c *tapConn) eachBatch(p *kmsg.ProduceRequest, f func(chainKey, kmsg.RecordBatch)) {
	for _, t := range p.Topics {
		name := t.Topic
		if p.Version >= 13 {
			name = c.tap.topics[t.TopicID]
		}
		for _, part := range t.Partitions {
			var b kmsg.RecordBatch
			if err := b.ReadFrom(part.Records); err != nil {
				c.tap.fault("connection %d: a batch of %s/%d cannot be read: %v", c.number, name, part.Partition, err)
				continue
			}
			f(chainKey{name, part.Partition, b.ProducerID, b.ProducerEpoch}, b)
		}
	}
}

func (c *tapConn) produces(id int32, p *kmsg.ProduceRequest) {
	if !c.produced {
		c.produced, c.owes = true, map[chainKey]int{}
		for _, o := range c.tap.conns {
			if o != c && o.addr == c.addr && o.produced && !o.ended {
				c.beside++
			}
		}
	}
	c.eachBatch(p, func(k chainKey, b kmsg.RecordBatch) {
		s := sentBatch{
			at: time.Now(), conn: c.number, addr: c.addr, request: id, topic: k.topic, partition: k.partition,
			epoch: k.epoch, base: b.FirstSequence, records: b.NumRecords,
		}
		c.judge(&s, k, b)
		c.tap.sent = append(c.tap.sent, s)
		c.owes[k]++
	})
}

// judge looks at a batch that is about to be written.
func (c *tapConn) judge(s *sentBatch, k chainKey, b kmsg.RecordBatch) {
	for _, o := range c.tap.conns {
		if o != c && !o.ended && o.owes[k] > 0 {
			c.tap.fault("I14: %v while connection %d owes %d answers", s, o.number, o.owes[k])
		}
	}
	chain := c.tap.chains[k]
	if chain == nil {
		chain = &tapChain{crcs: map[int32]uint32{}}
		c.tap.chains[k] = chain
	}
	crc, known := chain.crcs[s.base]
	if s.first = !known; known {
		if crc != uint32(b.CRC) {
			c.tap.fault("I10: %v was another batch before", s)
		}
		return
	}
	chain.crcs[s.base] = uint32(b.CRC)
	chain.open = append(chain.open, b)
	una := chain.open[0].FirstSequence
	depth := distance(una, s.base) + int64(s.records)
	chain.deepest = max(chain.deepest, depth)
	// One that is alone may always go, even if it was cut for another window.
	w := c.limit()
	if len(chain.open) == 1 || depth <= w {
		return
	}
	if depth <= chain.left.window && chain.left.bytes > 0 {
		chain.left.bytes -= int(b.Length)
	} else {
		c.tap.fault("W: %v ends %d beyond sequence %d, the limit is %d", s, depth, una, w)
	}
}

// limit is how many sequences may be in flight on the connection.
func (c *tapConn) limit() int64 {
	if c.window > 0 {
		return int64(min(c.window, c.tap.most))
	}
	return int64(c.tap.most)
}

// answered notes what a response tells the producer. Those that belong to no
// request, or cannot be read, tell it nothing.
func (c *tapConn) answered(frame []byte) {
	id := int32(binary.BigEndian.Uint32(frame))
	req := c.asked[id]
	if req == nil {
		return
	}
	delete(c.asked, id)
	resp, body := req.ResponseKind(), frame[4:]
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && resp.Key() != 18 && len(body) > 0 {
		body = body[1:]
	}
	if resp.ReadFrom(body) != nil {
		return
	}
	switch resp := resp.(type) {
	case *kmsg.ApiVersionsResponse:
		resp.UnknownTags.Each(func(tag uint32, v []byte) {
			if tag == 758 && len(v) == 4 {
				c.window = int32(binary.BigEndian.Uint32(v))
			}
		})
	case *kmsg.MetadataResponse:
		for _, t := range resp.Topics {
			if t.Topic != nil {
				c.tap.topics[t.TopicID] = *t.Topic
			}
		}
	case *kmsg.ProduceResponse:
		c.succeeded(req.(*kmsg.ProduceRequest), resp)
	}
}

// succeeded takes what a response confirms out of the books.
func (c *tapConn) succeeded(req *kmsg.ProduceRequest, resp *kmsg.ProduceResponse) {
	codes := map[string]int16{}
	for _, t := range resp.Topics {
		name := t.Topic
		if resp.Version >= 13 {
			name = c.tap.topics[t.TopicID]
		}
		for _, p := range t.Partitions {
			at := fmt.Sprint(name, "/", p.Partition)
			if _, twice := codes[at]; !twice {
				codes[at] = p.ErrorCode
			}
		}
	}
	c.eachBatch(req, func(k chainKey, b kmsg.RecordBatch) {
		c.owes[k]--
		if code, ok := codes[fmt.Sprint(k.topic, "/", k.partition)]; !ok || code != 0 {
			return
		}
		chain := c.tap.chains[k]
		for len(chain.open) > 0 && distance(chain.open[0].FirstSequence, b.FirstSequence) < sequenceSpace/2 {
			chain.open = chain.open[1:]
		}
	})
}
