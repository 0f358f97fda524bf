package producertest

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Whatever comes in, it is a request or an error.
func FuzzRequest(f *testing.F) {
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID("fuzz"))
	for _, q := range []kmsg.Request{
		b10(0).on("t", 0), apiVersionsRequest(3), fetchRequest(0, 0, 0), describeRequest(),
	} {
		f.Add(format.AppendRequest(nil, q, 7))
	}
	f.Add([]byte("\x00\x00\x00\x0aGET / HTTP/1.1\r\n"))
	c := &Cluster{}
	f.Fuzz(func(t *testing.T, b []byte) {
		br := bufio.NewReader(bytes.NewReader(b))
		for {
			frame, err := readFrame(br, new(tap), 1<<20)
			if err != nil {
				return
			}
			r, err := parseRequest(frame, c.versions)
			if err != nil || r.produce == nil {
				continue
			}
			for _, a := range r.produce.attempts {
				a.batch.check(1 << 20)
			}
		}
	})
}

// Tagged fields in a request's header are skipped; sizes that lie are errors.
func TestRequestHeaderTags(t *testing.T) {
	c := &Cluster{}
	const header = 14 // up to the tagged fields, with a client ID of four bytes
	plain := kmsg.NewRequestFormatter(kmsg.FormatterClientID("fuzz")).AppendRequest(nil, apiVersionsRequest(3), 7)[4:]
	tagged := func(tags ...byte) error {
		frame := append(append(append([]byte{}, plain[:header]...), tags...), plain[header+1:]...)
		r, err := parseRequest(frame, c.versions)
		if err == nil {
			want(t, "name", r.body.(*kmsg.ApiVersionsRequest).ClientSoftwareName, "raw")
		}
		return err
	}
	want(t, "none", tagged(0), nil)
	want(t, "one", tagged(1, 5, 2, 'x', 'y'), nil)
	for _, lie := range [][]byte{{1, 5, 120, 'x'}, {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
		if tagged(lie...) == nil {
			t.Errorf("%v: no error", lie)
		}
	}
}

// Whatever a batch holds, it decodes or is an error.
func FuzzDecode(f *testing.F) {
	f.Add(b10(0).encode())
	for codec := range byte(6) {
		b := seq{7, 0, 0, 2, "value"}.encode()
		b[22] = codec
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := decodeRecords(b)
		if err == nil && len(records) != int(parseBatch(b, 13).head.NumRecords) {
			t.Errorf("%d records", len(records))
		}
	})
}
