package faultproxy

import (
	"encoding/binary"
	"sync/atomic"
)

const (
	sizeBytes  = 4
	keyBytes   = 2 // what a request begins with: its API key
	produceKey = 0
)

// scanner follows a stream of requests and finds the Produce requests in it.
type scanner struct {
	head [sizeBytes + keyBytes]byte
	have int   // bytes of head seen
	left int64 // bytes of the request behind its size still to come
	flip int64 // the byte before which so many are left is to be damaged; 0: none

	produce atomic.Int64 // found so far
}

// follow scans p. corrupt, if not nil, is asked for each Produce request that
// is found, and if it says so a bit in the middle of that request is turned,
// where the records are.
func (s *scanner) follow(p []byte, corrupt func() bool) {
	for len(p) > 0 {
		if s.have == len(s.head) {
			p = s.skip(p)
			continue
		}
		s.head[s.have] = p[0]
		s.have++
		p = p[1:]
		switch {
		case s.have == sizeBytes:
			s.left = int64(binary.BigEndian.Uint32(s.head[:]))
		case s.have > sizeBytes:
			s.left--
		}
		if s.have == len(s.head) && binary.BigEndian.Uint16(s.head[sizeBytes:]) == produceKey {
			s.produce.Add(1)
			if corrupt != nil && s.left > 0 && corrupt() {
				s.flip = s.left/2 + 1
			}
		}
		if s.have >= sizeBytes && s.left == 0 {
			s.have = 0
		}
	}
}

// skip goes on to the end of the request or of p.
func (s *scanner) skip(p []byte) (rest []byte) {
	n := min(s.left, int64(len(p)))
	if at := s.left - s.flip; s.flip > 0 && at < n {
		p[at] ^= 1
		s.flip = 0
	}
	if s.left -= n; s.left == 0 {
		s.have = 0
	}
	return p[n:]
}
