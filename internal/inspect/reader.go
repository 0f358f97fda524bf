package inspect

import (
	"encoding/binary"
	"errors"
)

// reader takes the fields of a flexible response off its bytes. Once they do not
// suffice there are none left, and every field is zero.
type reader struct{ b []byte }

var errShort = errors.New("inspect: the response is cut short")

// end reports whether all was there.
func (r *reader) end() error {
	if r.b == nil {
		return errShort
	}
	return nil
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.b = nil
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) skip(n uint64) { r.take(n) }

func (r *reader) int16() int16 {
	if b := r.take(2); len(b) == 2 {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); len(b) == 4 {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); len(b) == 8 {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b = nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// text is a string, none for a null.
func (r *reader) text() []byte {
	if n := r.uvarint(); n > 0 {
		return r.take(n - 1)
	}
	return nil
}

// count is that of the elements of an array, of which each has a byte at least.
func (r *reader) count() int {
	n := max(r.uvarint(), 1) - 1
	if n > uint64(len(r.b)) {
		r.b = nil
		return 0
	}
	return int(n)
}

func (r *reader) tags() {
	for n := r.uvarint(); n > 0 && r.b != nil; n-- {
		r.uvarint()
		r.skip(r.uvarint())
	}
}
