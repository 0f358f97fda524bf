package conn

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	sequenceWindowTag = 758
	maxSequenceWindow = 1 << 30
)

// SequenceWindow returns how many sequences the broker remembers behind the
// last one of a producer and partition, as it said in its ApiVersions response
// (KIP-758). 0 is a stock broker. 0 with an error is a broker that named
// something impossible: it is treated as a stock broker, and the error is for
// a warning. The value is this broker's alone. Any goroutine may call it.
func (c *Conn) SequenceWindow() (int32, error) {
	if c.windowErr != nil {
		return 0, c.fail("sequence window", c.windowErr)
	}
	return c.window, nil
}

// SequenceWindowTag returns the sequence window from the tags of an
// ApiVersions or InitProducerId response: an INT32 in network order with the
// tag 758, from 1 to 2^30. Without the tag it returns 0, and 0 with an error
// if the tag holds anything else.
func SequenceWindowTag(tags *kmsg.Tags) (int32, error) {
	var raw []byte
	found := false
	tags.Each(func(key uint32, value []byte) {
		if key == sequenceWindowTag {
			raw, found = value, true
		}
	})
	if !found {
		return 0, nil
	}
	if len(raw) != 4 {
		return 0, fmt.Errorf("tag %d holds %d bytes, not the 4 of an INT32", sequenceWindowTag, len(raw))
	}
	window := int32(binary.BigEndian.Uint32(raw))
	if window < 1 || window > maxSequenceWindow {
		return 0, fmt.Errorf("tag %d says %d, not 1 to %d", sequenceWindowTag, window, maxSequenceWindow)
	}
	return window, nil
}
