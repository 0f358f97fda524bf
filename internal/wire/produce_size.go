package wire

import "math/bits"

// BatchLimit returns the size of the largest batch that fits into a frame of
// limit bytes alone, whichever version of Produce the broker speaks. A record
// that makes a larger batch can never be sent (K24). It is negative if not even
// the rest of the frame fits.
func BatchLimit(limit int, clientID, topic string) int {
	most := limit
	for _, version := range []int16{flexibleSince - 1, topicIDSince - 1, topicIDSince} {
		s := sizer{version}
		rest := limit - s.request(clientID) - s.count(1) - s.topic(topic) - s.count(1) - s.partition(0) + s.count(0)
		n := rest - s.count(max(rest, 0)) // the length field of the batch takes its part,
		if n >= 0 && n+1+s.count(n+1) <= rest {
			n++ // and may be shorter than for all of the rest
		}
		most = min(most, n)
	}
	return most
}

// Size returns the exact size of the encoded frame, its four bytes of length
// included.
func (r *ProduceRequest) Size() int {
	s := sizer{r.Version}
	n := s.request(r.ClientID) + s.count(len(r.Topics))
	for i := range r.Topics {
		t := &r.Topics[i]
		n += s.topic(t.Name) + s.count(len(t.Partitions))
		for j := range t.Partitions {
			n += s.partition(len(t.Partitions[j].Records))
		}
	}
	return n
}

// sizer knows how many bytes the parts of a request take in one version.
type sizer struct{ version int16 }

func (s sizer) flexible() bool { return s.version >= flexibleSince }

// request is all but the topics and their count.
func (s sizer) request(clientID string) int {
	const lengthKeyVersionCorrelation = 4 + 2 + 2 + 4
	const acksTimeout = 2 + 4
	n := lengthKeyVersionCorrelation + 2 + len(clientID) + acksTimeout
	if s.flexible() {
		return n + 1 + 2*s.tags() // no transactional id; header and body end with tags
	}
	return n + 2
}

// topic is all of a topic but its partitions and their count.
func (s sizer) topic(name string) int {
	switch {
	case s.version >= topicIDSince:
		return 16 + s.tags()
	case s.flexible():
		return s.count(len(name)) + len(name) + s.tags()
	default:
		return 2 + len(name)
	}
}

// partition is a partition with a batch of n bytes. A null batch takes as much as
// one of no bytes.
func (s sizer) partition(n int) int {
	return 4 + s.count(n) + n + s.tags()
}

// count is the length field of an array or of a batch.
func (s sizer) count(n int) int {
	if s.flexible() {
		return (bits.Len64(uint64(n)+1) + 6) / 7
	}
	return 4
}

func (s sizer) tags() int {
	if s.flexible() {
		return 1
	}
	return 0
}
