package faultproxy

import "encoding/binary"

// framer follows a stream of messages, each behind its size in four bytes. The
// fate of a message is decided once, at its first byte, and holds to its last.
type framer struct {
	size [4]byte
	have int   // bytes of size seen
	left int64 // bytes of the message behind its size still to come
	drop bool  // the fate of the message it is in

	decided  bool // the message that begins next has its fate already
	upcoming bool // and this is it
}

// next returns the longest run at the start of p that has one fate, and that
// fate. decide is asked for each message that begins in it. What does not look
// like Kafka's framing comes out as one long message.
func (f *framer) next(p []byte, decide func() (drop bool)) (run []byte, drop bool) {
	for n := 0; n < len(p); {
		if f.have == 0 && f.left == 0 {
			if !f.decided {
				f.upcoming, f.decided = decide(), true
			}
			if n > 0 && f.upcoming != f.drop {
				return p[:n], f.drop
			}
			f.drop, f.decided = f.upcoming, false
		}
		n += f.take(p[n:])
	}
	return p, f.drop
}

// take follows p to the end of a message's size, or of the message, at most.
func (f *framer) take(p []byte) int {
	if f.left > 0 {
		n := min(f.left, int64(len(p)))
		f.left -= n
		return int(n)
	}
	n := copy(f.size[f.have:], p)
	f.have += n
	if f.have == len(f.size) {
		f.have = 0
		f.left = int64(binary.BigEndian.Uint32(f.size[:]))
	}
	return n
}
