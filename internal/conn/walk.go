package conn

import "encoding/binary"

// walker goes through a response without keeping anything, to see that it holds
// what it claims, and what it takes to decode it. kmsg checks counts against the
// bytes that are left, but a topic of 8 bytes becomes 96, and every tag that it does
// not know goes into a map: 8 MiB of tags became 320 MiB.
type walker struct {
	b        []byte
	version  int16
	flexible bool
	tagsLeft int
	room     int64  // bytes that decoding may still take
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
		if n, ok := w.length(2); ok {
			w.skip(n)
			w.take(uint64(f.size) + n)
		}
	case blob:
		n, _ := w.length(4)
		w.skip(n)
	case array:
		w.list(f)
	case tagged:
		w.tags(f.known)
	}
}

// list walks through an array. Each element has a byte at least.
func (w *walker) list(f *field) {
	n, _ := w.length(4)
	if n > uint64(len(w.b)) {
		w.fail("cut short")
		return
	}
	w.take(n * uint64(f.size))
	for ; n > 0 && w.bad == ""; n-- {
		w.walk(f.elem)
	}
}

// length reads how much there is of a string, of bytes or of an array, not ok for a
// null; size is that of the number in versions that are not flexible.
func (w *walker) length(size int) (n uint64, ok bool) {
	if w.flexible {
		n = w.uvarint()
		return max(n, 1) - 1, n > 0
	}
	b := w.b
	if w.skip(uint64(size)); w.bad != "" {
		return 0, false
	}
	v := int32(int16(binary.BigEndian.Uint16(b)))
	if size == 4 {
		v = int32(binary.BigEndian.Uint32(b))
	}
	return uint64(max(v, 0)), v >= 0
}

func (w *walker) tags(known map[uint64]shape) {
	if !w.flexible {
		return
	}
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
			w.fail("too many unknown tags")
		}
	}
}

// take counts memory for what would be decoded, in the steps in which Go gives it.
func (w *walker) take(n uint64) {
	if w.room -= int64((n + 7) &^ 7); w.room < 0 {
		w.fail("it would take much more memory than it has bytes")
	}
}

func (w *walker) skip(n uint64) {
	if n > uint64(len(w.b)) {
		w.fail("cut short")
		return
	}
	w.b = w.b[n:]
}

func (w *walker) fail(why string) {
	if w.bad == "" {
		w.bad = why
	}
	w.b = nil
}

// uvarint reads a number of at most 32 bits.
func (w *walker) uvarint() uint64 {
	v, n := binary.Uvarint(w.b)
	if n <= 0 || v > 1<<32-1 {
		w.fail("cut short")
		return 0
	}
	w.b = w.b[n:]
	return v
}
