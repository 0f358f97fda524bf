package producertest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/twmb/franz-go/pkg/kgo"
)

// What kgo writes, with every codec, is decoded as it was; nil and empty apart.
func TestDecodesEveryCodec(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123)
	for name, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, Config{Topics: map[string]int32{"t": 1}})
			k := newKgo(t, c, kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(time.Millisecond))
			defer k.Close()
			const n = 500
			for i := range n {
				r := &kgo.Record{Topic: "t", Timestamp: at.Add(time.Duration(i) * time.Millisecond)}
				switch i % 3 {
				case 0:
					r.Key, r.Value = []byte("key"), []byte(strings.Repeat(fmt.Sprint(i), 20))
				case 1:
					r.Key, r.Value = []byte{}, []byte{}
				}
				r.Headers = []kgo.RecordHeader{{Key: "a", Value: []byte("x")}, {Key: "a"}}
				k.Produce(t.Context(), r, nil)
			}
			if err := k.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			records, err := c.Records("t", 0)
			if err != nil || len(records) != n {
				t.Fatalf("%d records, %v", len(records), err)
			}
			for i, r := range records {
				want(t, "offset", r.Offset, int64(i))
				want(t, "timestamp", r.Timestamp.Equal(at.Add(time.Duration(i)*time.Millisecond)), true)
				want(t, "headers", fmt.Sprint(r.Headers), "[{a [120]} {a []}]")
				switch i % 3 {
				case 0:
					want(t, "value", string(r.Value), strings.Repeat(fmt.Sprint(i), 20))
				case 1:
					want(t, "empty", r.Key != nil && len(r.Key) == 0 && r.Value != nil, true)
				case 2:
					want(t, "null", r.Key == nil && r.Value == nil, true)
				}
			}
		})
	}
}

// Java's clients write snappy in a framing of their own.
func TestXerialSnappy(t *testing.T) {
	data := bytes.Repeat([]byte("sluice"), 100)
	framed := append(append([]byte{}, xerial...), 0, 0, 0, 1, 0, 0, 0, 1)
	for _, half := range [][]byte{data[:300], data[300:]} {
		block := snappy.Encode(nil, half)
		framed = append(binary.BigEndian.AppendUint32(framed, uint32(len(block))), block...)
	}
	got, err := decompress(2, framed)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := decompress(2, framed[:len(framed)-1]); err == nil {
		t.Error("cut off: no error")
	}
	if _, err := decompress(5, nil); err == nil {
		t.Error("unknown codec: no error")
	}
}

func TestLog(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 1}})
	r := connect(t, c, 0)
	r.produce(seq{7, 2, 0, 3, "v"})
	r.produce(seq{-1, -1, -1, 1, "w"})
	log := c.Log("t", 0)
	want(t, "batches", len(log), 2)
	b := log[0]
	b.Bytes = nil
	want(t, "first", fmt.Sprintf("%+v", b), fmt.Sprintf("%+v",
		Batch{ProducerID: 7, ProducerEpoch: 2, BaseSequence: 0, Records: 3}))
	want(t, "second", log[1].BaseOffset, 3)
	records, err := log[1].Decode()
	want(t, "error", err, nil)
	want(t, "offset", records[0].Offset, 3)
	want(t, "value", string(records[0].Value), "w")
	want(t, "no such partition", len(c.Log("t", 1))+len(c.Log("u", 0)), 0)
}
