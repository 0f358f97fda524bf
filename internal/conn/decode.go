package conn

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const apiVersionsKey = 18

// Decode reads body, as ReadFrame returned it, into resp, whose version must
// be set to the one asked with. It skips the header tags, and refuses a
// response that lies about what it holds before memory is spent on it; one that
// is too large was not read, see Limit. resp shares memory with body where it
// holds bytes or tags, not where it holds strings.
//
// Any goroutine may call it. The error has ErrProtocol in its chain; after it
// the connection should be abandoned, and what was asked is unanswered.
func Decode(resp kmsg.Response, body []byte) error {
	key := resp.Key()
	if resp.IsFlexible() {
		w := walker{b: body, version: resp.GetVersion(), tagsLeft: maxUnknownTags}
		if key != apiVersionsKey { // its header is always the old one, KIP-511
			w.tags(nil)
		}
		body = w.b
		w.walk(shapes[key])
		if w.bad != "" {
			return protocolErrorf("%s %d: %s", kmsg.NameForKey(key), resp.GetVersion(), w.bad)
		}
	}
	if err := resp.ReadFrom(body); err != nil {
		return protocolErrorf("%s %d: %v", kmsg.NameForKey(key), resp.GetVersion(), err)
	}
	return nil
}

// walker goes through a response of a flexible version without keeping
// anything, to see that it holds what it claims. kmsg checks counts against
// the bytes there, but keeps every tag it does not know in a map: 8 MiB of
// tags became 320 MiB.
type walker struct {
	b        []byte
	version  int16
	tagsLeft int
	bad      string // "" is fine
}

// maxUnknownTags is the most that a response may carry; Kafka's carry none.
const maxUnknownTags = 1024

func (w *walker) walk(s shape) {
	for i := range s {
		if f := &s[i]; w.bad == "" && f.in(w.version) {
			w.field(f)
		}
	}
}

func (w *walker) field(f *field) {
	switch f.kind {
	case fixed:
		w.skip(uint64(f.size))
	case text:
		if n := w.uvarint(); n > 0 { // 0 is null, n is n-1 bytes
			w.skip(n - 1)
		}
	case array:
		// 0 is null, n is n-1 elements. Each has a byte at least, so a lie
		// about their number ends with the bytes.
		for n := w.uvarint(); n > 1 && w.bad == ""; n-- {
			w.walk(f.elem)
		}
	case tagged:
		w.tags(f.known)
	}
}

func (w *walker) tags(known map[uint64]shape) {
	for n := w.uvarint(); n > 0 && w.bad == ""; n-- {
		key, size := w.uvarint(), w.uvarint()
		value := w.b
		if w.skip(size); w.bad != "" {
			return
		}
		if s, ok := known[key]; ok {
			rest := w.b
			w.b = value[:size]
			w.walk(s)
			w.b = rest
		} else if w.tagsLeft--; w.tagsLeft < 0 {
			w.bad = "too many unknown tags"
		}
	}
}

func (w *walker) skip(n uint64) {
	if n > uint64(len(w.b)) {
		w.bad, w.b = "cut short", nil
		return
	}
	w.b = w.b[n:]
}

// uvarint reads a number of at most 32 bits.
func (w *walker) uvarint() uint64 {
	v, n := binary.Uvarint(w.b)
	if n <= 0 || v > 1<<32-1 {
		w.bad, w.b = "cut short", nil
		return 0
	}
	w.b = w.b[n:]
	return v
}
