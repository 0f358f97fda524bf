package producer

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// pinned is the checkpoint whose forms are written down below.
var (
	pinnedAt = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)
	ordersID = [16]byte{1, 2, 3, 15: 0xff}
	pinned   = Checkpoint{
		ClusterID: "kafka-1", ProducerID: 4001, Epoch: 2, Taken: pinnedAt, Stamps: StampsNone, Verified: pinnedAt.Add(-48 * time.Hour),
		Topics: []TopicCheckpoint{
			{Topic: "orders", TopicID: ordersID, Partitions: 12, Verified: pinnedAt},
			{Topic: "quiet", Partitions: 3, Verified: pinnedAt.Add(-time.Minute)},
			{Topic: "refunds"},
		},
		Partitions: []PartitionCheckpoint{
			{Topic: "orders", TopicID: ordersID, Partition: 0, Epoch: 2, Next: 1_000_000, Offset: 12_345_678_901, Verified: pinnedAt.Add(-time.Hour), LogEnd: 12_345_678_999},
			{Topic: "orders", TopicID: ordersID, Partition: 7, Epoch: 3, Next: 0, Offset: -1, LogEnd: 17},
			{Topic: "refunds", Partition: 1, Epoch: 2, Next: math.MaxInt32, Offset: math.MaxInt64, Verified: pinnedAt},
		},
	}

	// pinnedOne is what version 1 held of it.
	pinnedOne = Checkpoint{
		ClusterID: "kafka-1", ProducerID: 4001, Epoch: 2, Taken: pinnedAt,
		Topics: []TopicCheckpoint{{Topic: "orders", TopicID: ordersID}, {Topic: "refunds"}},
		Partitions: []PartitionCheckpoint{
			{Topic: "orders", TopicID: ordersID, Partition: 0, Epoch: 2, Next: 1_000_000, Offset: 12_345_678_901},
			{Topic: "orders", TopicID: ordersID, Partition: 7, Epoch: 3, Next: 0, Offset: -1},
			{Topic: "refunds", Partition: 1, Epoch: 2, Next: math.MaxInt32, Offset: math.MaxInt64},
		},
	}
)

// Versions 1 and 2 for ever: these literals must never be changed.
const (
	pinnedTwo = "534c4350020000008e076b61666b612d31c23e04fef6bd9a0dc090b82a81c60a0103066f7264657273010203000000000000000000" +
		"000000ff0c0102000080897aeaf0e0fd5b911c620e020001001205717569657400000000000000000000000000000000033d0007726566756e6473" +
		"000000000000000000000000000000000000010200feffffff0ffeffffffffffffffff010100000d6778a9"
	pinnedTwoJSON = `{"version":2,"cluster_id":"kafka-1","producer_id":4001,"epoch":2,"taken":"2026-03-04T05:06:07.089Z","verified":172801,"stamps":1,"topics":[` +
		`{"topic":"orders","id":"AQIDAAAAAAAAAAAAAAAA_w","count":12,"verified":1,"partitions":[` +
		`{"partition":0,"epoch":2,"next":1000000,"offset":12345678901,"verified":3601,"log_end_behind":98},` +
		`{"partition":7,"epoch":3,"next":0,"offset":-1,"log_end_behind":18}]},{"topic":"quiet","count":3,"verified":61,"partitions":[]},` +
		`{"topic":"refunds","partitions":[{"partition":1,"epoch":2,"next":2147483647,"offset":9223372036854775807,"verified":1}]}],` +
		`"crc32c":"0d6778a9"}`
	pinnedTwoNone = "534c43500200000010000101fef6bd9a0dc090b82a00000000d4b1f73c"
	pinnedBinary  = "534c43500100000065076b61666b612d31c23e04fef6bd9a0dc090b82a02066f726465727301020300000000000000000000" +
		"0000ff02000080897aeaf0e0fd5b0e02000107726566756e647300000000000000000000000000000000010200feffffff0f" +
		"feffffffffffffffff01ad400a04"
	pinnedJSON = `{"version":1,"cluster_id":"kafka-1","producer_id":4001,"epoch":2,"taken":"2026-03-04T05:06:07.089Z","topics":[` +
		`{"topic":"orders","id":"AQIDAAAAAAAAAAAAAAAA_w","partitions":[` +
		`{"partition":0,"epoch":2,"next":1000000,"offset":12345678901},{"partition":7,"epoch":3,"next":0,"offset":-1}]},` +
		`{"topic":"refunds","partitions":[{"partition":1,"epoch":2,"next":2147483647,"offset":9223372036854775807}]}],` +
		`"crc32c":"ad400a04"}`
)

// forms are the two ways to store a checkpoint.
var forms = map[string]struct {
	marshal   func(Checkpoint) ([]byte, error)
	unmarshal func(*Checkpoint, []byte) error
}{
	"binary": {Checkpoint.MarshalBinary, (*Checkpoint).UnmarshalBinary},
	"JSON":   {Checkpoint.MarshalJSON, (*Checkpoint).UnmarshalJSON},
}

func TestCheckpointVersionOneForEver(t *testing.T) {
	want, err := hex.DecodeString(pinnedBinary)
	if err != nil {
		t.Fatal(err)
	}
	var c Checkpoint
	if err := c.UnmarshalBinary(want); err != nil || !reflect.DeepEqual(c, pinnedOne) {
		t.Errorf("from binary: %+v, %v", c, err)
	}
	c = Checkpoint{}
	if err := json.Unmarshal([]byte(pinnedJSON), &c); err != nil || !reflect.DeepEqual(c, pinnedOne) {
		t.Errorf("from JSON: %+v, %v", c, err)
	}
}

func TestCheckpointVersionTwoForEver(t *testing.T) {
	want, err := hex.DecodeString(pinnedTwo)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := pinned.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("binary is\n%x, %v", got, err)
	}
	if got, err := json.Marshal(pinned); err != nil || string(got) != pinnedTwoJSON {
		t.Errorf("JSON is\n%s, %v", got, err)
	}
	var c Checkpoint
	if err := c.UnmarshalBinary(want); err != nil || !reflect.DeepEqual(c, pinned) {
		t.Errorf("from binary: %+v, %v", c, err)
	}
	c = Checkpoint{}
	if err := json.Unmarshal([]byte(pinnedTwoJSON), &c); err != nil || !reflect.DeepEqual(c, pinned) {
		t.Errorf("from JSON: %+v, %v", c, err)
	}
}

func TestCheckpointOfNothing(t *testing.T) {
	for _, epoch := range []int16{-1, 0} {
		want := Checkpoint{ProducerID: -1, Epoch: epoch, Taken: pinned.Taken}
		for name, form := range forms {
			b, err := form.marshal(want)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got Checkpoint
			if err := form.unmarshal(&got, b); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			if name == "binary" && epoch == -1 && hex.EncodeToString(b) != pinnedTwoNone {
				t.Errorf("binary is %x", b)
			}
		}
	}
}

func TestCheckpointKeepsNoLocation(t *testing.T) {
	c := pinned
	c.Taken = c.Taken.In(time.FixedZone("there", 3600))
	for name, form := range forms {
		b, err := form.marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var got Checkpoint
		if err := form.unmarshal(&got, b); err != nil || !reflect.DeepEqual(got, pinned) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestCheckpointJSONMayBeReformatted(t *testing.T) {
	var asMap map[string]any
	dec := json.NewDecoder(strings.NewReader(pinnedTwoJSON))
	dec.UseNumber()
	if err := dec.Decode(&asMap); err != nil {
		t.Fatal(err)
	}
	other, err := json.MarshalIndent(asMap, "", "   ") // sorts the keys
	if err != nil {
		t.Fatal(err)
	}
	var c Checkpoint
	if err := json.Unmarshal(other, &c); err != nil || !reflect.DeepEqual(c, pinned) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestCheckpointMayHoldTwoIDsOfATopic(t *testing.T) {
	c := pinned
	c.Partitions = append([]PartitionCheckpoint{}, pinned.Partitions...)
	c.Partitions[1].TopicID[0] = 77
	c.Topics = slices.Insert(slices.Clone(pinned.Topics), 1, TopicCheckpoint{Topic: "orders", TopicID: c.Partitions[1].TopicID})
	for name, form := range forms {
		b, err := form.marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var got Checkpoint
		if err := form.unmarshal(&got, b); err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestCheckpointString(t *testing.T) {
	for want, c := range map[string]Checkpoint{
		"checkpoint of producer id 4001: 3 partitions, taken 2026-03-04T05:06:07Z":  pinned,
		"checkpoint of a lane that has written nothing, taken 2026-03-04T05:06:07Z": {ProducerID: -1, Taken: pinned.Taken},
	} {
		if got := fmt.Sprint(c); got != want {
			t.Errorf("%q", got)
		}
	}
}

// sizedCheckpoint is one of n partitions in a few topics, well used.
func sizedCheckpoint(n int) Checkpoint {
	c := Checkpoint{ClusterID: "MkU3OEVBNTcwNTJENDM2Qg", ProducerID: 123_456, Taken: pinned.Taken}
	topics := 1 + n/2_000
	for i := range n {
		topic := i * topics / n
		c.Partitions = append(c.Partitions, PartitionCheckpoint{
			Topic: fmt.Sprintf("a-topic-of-some-length-%02d", topic), TopicID: [16]byte{byte(topic)},
			Partition: int32(i - topic*n/topics), Next: int32(1_000_000 + 7919*i), Offset: 10_000_000_000 + int64(i)*1_000_003,
			Verified: pinned.Taken.Add(-time.Duration(i%3600) * time.Second), LogEnd: 10_000_000_001 + int64(i)*1_000_003,
		})
	}
	return c
}

func TestCheckpointSizes(t *testing.T) {
	for n, most := range map[int]int{1: 120, 100: 1_500, 10_000: 145_000} {
		c := sizedCheckpoint(n)
		for name, form := range forms {
			b, err := form.marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			var got Checkpoint
			if err := form.unmarshal(&got, b); err != nil || !slices.Equal(got.Partitions, c.Partitions) {
				t.Errorf("%s: %v", name, err)
			}
			t.Logf("%5d partitions: %6d bytes %s", n, len(b), name)
			if name == "binary" && len(b) > most {
				t.Errorf("%d partitions take %d bytes", n, len(b))
			}
		}
	}
}

func BenchmarkCheckpoint(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		c := sizedCheckpoint(n)
		for name, form := range forms {
			data, err := form.marshal(c)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("marshal %s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					form.marshal(c)
				}
				b.ReportMetric(float64(len(data)), "bytes")
			})
			b.Run(fmt.Sprintf("unmarshal %s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					form.unmarshal(&Checkpoint{}, data)
				}
			})
		}
	}
}
