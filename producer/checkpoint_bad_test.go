package producer

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"strings"
	"testing"
	"time"
)

// sealed puts length and checksum on a body.
func sealed(body []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte(checkpointMagic+"\x01"), uint32(len(body)))
	b = append(b, body...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func TestCheckpointBadBytes(t *testing.T) {
	good, err := hex.DecodeString(pinnedBinary)
	if err != nil {
		t.Fatal(err)
	}
	with := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	for name, c := range map[string]struct {
		form, data, want string
	}{
		"empty":             {"binary", "", "it is empty"},
		"foreign":           {"binary", "PK\x03\x04 and so on", "does not begin as one"},
		"JSON as binary":    {"binary", pinnedJSON, "does not begin as one"},
		"torn in the name":  {"binary", string(good[:3]), "cut short after 3 bytes"},
		"torn in the head":  {"binary", string(good[:8]), "cut short after 8 bytes"},
		"torn":              {"binary", string(good[:50]), fmt.Sprintf("cut short after 50 of %d bytes", len(good))},
		"garbage behind":    {"binary", string(good) + "xyz", "3 bytes behind its end"},
		"twice":             {"binary", string(good) + string(good), "bytes behind its end"},
		"flipped":           {"binary", string(with(40, good[40]^4)), "checksum is wrong"},
		"a later version":   {"binary", string(with(4, 3)), "version 3, this release reads versions 1 to 2"},
		"no version":        {"binary", string(with(4, 0)), "version 0, this release"},
		"body ends early":   {"binary", string(sealed(good[9:30])), "parts do not fit"},
		"body goes on":      {"binary", string(sealed(append(bytes.Clone(good[9:len(good)-4]), 0))), "parts do not fit"},
		"2^63 topics":       {"binary", string(sealed([]byte("\x00\x00\x00\x02\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))), "parts do not fit"},
		"a long text":       {"binary", string(sealed([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))), "parts do not fit"},
		"an endless varint": {"binary", string(sealed(bytes.Repeat([]byte{0xff}, 100))), "parts do not fit"},
		"too many nanos":    {"binary", string(sealed([]byte("\x00\x00\x00\x02\x80\x94\xeb\xdc\x03\x00"))), "parts do not fit"},

		"empty JSON":         {"JSON", "", "not the JSON of one"},
		"null":               {"JSON", "null", "it has no version"},
		"another object":     {"JSON", `{"a":1}`, "it has no version"},
		"an array":           {"JSON", `[1]`, "not the JSON of one"},
		"binary as JSON":     {"JSON", string(good), "not the JSON of one"},
		"torn JSON":          {"JSON", pinnedJSON[:100], "not the JSON of one"},
		"garbage behind it":  {"JSON", pinnedJSON + "x", "not the JSON of one"},
		"two objects":        {"JSON", pinnedJSON + pinnedJSON, "not the JSON of one"},
		"a later one":        {"JSON", `{"version":3,"lanes":[]}`, "version 3, this release reads versions 1 to 2"},
		"a flipped number":   {"JSON", strings.Replace(pinnedJSON, "1000000", "1000001", 1), "checksum is wrong"},
		"a rounded number":   {"JSON", strings.Replace(pinnedJSON, "9223372036854775807", "9223372036854775000", 1), "checksum is wrong"},
		"a missing number":   {"JSON", strings.Replace(pinnedJSON, `"next":1000000,`, "", 1), "checksum is wrong"},
		"a missing checksum": {"JSON", strings.Replace(pinnedJSON, `"ad400a04"`, `""`, 1), "checksum is wrong"},
		"an unknown key":     {"JSON", strings.Replace(pinnedJSON, `"epoch"`, `"era"`, 1), `unknown field "era"`},
		"a bad topic id":     {"JSON", strings.Replace(pinnedJSON, `"AQID`, `"*QID`, 1), "no topic id"},
		"a short topic id":   {"JSON", strings.Replace(pinnedJSON, `"AQID`, `"`, 1), "no topic id"},
	} {
		got := Checkpoint{ProducerID: 99}
		err := forms[c.form].unmarshal(&got, []byte(c.data))
		if !errors.Is(err, ErrCheckpoint) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, Checkpoint{ProducerID: 99}) {
			t.Errorf("%s: the error left %+v", name, got)
		}
	}
}

// No damage of a bit, and no cut, gives another checkpoint.
func TestCheckpointDamage(t *testing.T) {
	for name, form := range forms {
		good, err := form.marshal(pinned)
		if err != nil {
			t.Fatal(err)
		}
		for cut := range good {
			var c Checkpoint
			if err := form.unmarshal(&c, good[:cut]); !errors.Is(err, ErrCheckpoint) {
				t.Errorf("%s cut after %d bytes: %v", name, cut, err)
			}
		}
		for bit := 0; bit < 8*len(good); bit += map[string]int{"binary": 1, "JSON": 5}[name] {
			bad := bytes.Clone(good)
			bad[bit/8] ^= 1 << (bit % 8)
			var c Checkpoint
			err := form.unmarshal(&c, bad)
			if err == nil && name == "JSON" && reflect.DeepEqual(c, pinned) {
				continue // the case of a letter of a key
			}
			if !errors.Is(err, ErrCheckpoint) {
				t.Errorf("%s with bit %d flipped: %v", name, bit, err)
			}
		}
	}
}

func TestCheckpointImpossibleValues(t *testing.T) {
	type part = PartitionCheckpoint
	one := func(change func(*part)) func(*Checkpoint) {
		return func(c *Checkpoint) { change(&c.Partitions[1]) }
	}
	for want, change := range map[string]func(*Checkpoint){
		"it was never taken":                               func(c *Checkpoint) { c.Taken = time.Time{} },
		"its time is 10000-":                               func(c *Checkpoint) { c.Taken = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"the producer id is -2":                            func(c *Checkpoint) { c.ProducerID = -2 },
		"there are partitions, and no producer id":         func(c *Checkpoint) { c.ProducerID, c.Epoch = -1, 0 },
		"the epoch is -1, not from 0":                      func(c *Checkpoint) { c.Epoch = -1 },
		"the epoch is 2, not from -1 to 0":                 func(c *Checkpoint) { c.ProducerID, c.Partitions = -1, nil },
		"the cluster id has 32768 bytes":                   func(c *Checkpoint) { c.ClusterID = strings.Repeat("x", 32768) },
		`the cluster id "\xff" is not UTF-8`:               func(c *Checkpoint) { c.ClusterID = "\xff" },
		"a topic name has 0 bytes":                         func(c *Checkpoint) { c.Partitions[0].Topic = "" },
		"a topic name has 250 bytes":                       func(c *Checkpoint) { c.Partitions[2].Topic = strings.Repeat("x", 250) },
		`a topic name "\xff" is not UTF-8`:                 func(c *Checkpoint) { c.Partitions[2].Topic = "\xff" },
		`topic "orders" has no partition -7`:               one(func(p *part) { p.Partition = -7 }),
		`"orders" partition 7: the epoch is -3`:            one(func(p *part) { p.Epoch = -3 }),
		`"orders" partition 7: the epoch is 1, not from 2`: one(func(p *part) { p.Epoch = 1 }),
		`"orders" partition 7: the next sequence is -1`:    one(func(p *part) { p.Next = -1 }),
		`"orders" partition 7: the offset is -2`:           one(func(p *part) { p.Offset = -2 }),
		`topic "orders" partition 0 is there twice`:        one(func(p *part) { p.Partition = 0 }),
		`topic "orders" partition 1 is there twice`: one(func(p *part) {
			*p = part{Topic: "orders", TopicID: [16]byte{9}, Partition: 1, Epoch: 2}
		}),
		`topic "orders" partition 7 is out of order`:  func(c *Checkpoint) { c.Partitions[0].Partition = 8 },
		`topic "refunds" partition 1 is out of order`: func(c *Checkpoint) { c.Partitions[0].Topic, c.Partitions[1].Topic = "zebras", "zebras" },
	} {
		c := pinned
		c.Partitions = append([]part{}, pinned.Partitions...)
		if strings.Contains(want, "partition 1 is there twice") {
			c.Partitions[0].Partition = 1
		}
		change(&c)
		for name, form := range forms {
			if b, err := form.marshal(c); !errors.Is(err, ErrCheckpoint) || !strings.Contains(fmt.Sprint(err), want) || b != nil {
				t.Errorf("marshal %s: want %q: %v", name, want, err)
			}
		}
		// The same from somebody who gets the checksum right.
		f := c.form()
		b := f.binary()
		var got Checkpoint
		if err := got.UnmarshalBinary(b); !errors.Is(err, ErrCheckpoint) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("unmarshal binary: want %q: %v", want, err)
		}
		b, err := f.json()
		if err != nil || strings.Contains(want, "UTF-8") {
			continue // JSON cannot say it
		}
		if err := got.UnmarshalJSON(b); !errors.Is(err, ErrCheckpoint) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("unmarshal JSON: want %q: %v", want, err)
		}
	}
}

func TestCheckpointNamesAllFaults(t *testing.T) {
	c := Checkpoint{ProducerID: -5, Partitions: []PartitionCheckpoint{{Topic: "a", Partition: -1, Epoch: -1, Next: -1, Offset: -9}}}
	_, err := c.MarshalBinary()
	for _, want := range []string{"producer id is -5", "never taken", "no partition -1", "the epoch is -1", "sequence is -1", "offset is -9"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	c = sizedCheckpoint(10_000)
	for i := range c.Partitions {
		c.Partitions[i].Next = -1
	}
	if _, err := c.MarshalBinary(); !strings.Contains(fmt.Sprint(err), "and 9990 more") || len(fmt.Sprint(err)) > 2000 {
		t.Errorf("%d bytes: %.3000v", len(fmt.Sprint(err)), err)
	}
}

// A number that no field can hold is told like any other fault.
func TestCheckpointWideValues(t *testing.T) {
	f := pinned.form()
	f.Epoch, f.Topics[0].Partitions[0] = 40_000, partitionForm{Partition: 1 << 40, Epoch: 70_000, Next: 1 << 31}
	b, err := f.json()
	if err != nil {
		t.Fatal(err)
	}
	var c Checkpoint
	for name, err := range map[string]error{"binary": c.UnmarshalBinary(f.binary()), "JSON": c.UnmarshalJSON(b)} {
		for _, want := range []string{"epoch is 40000", "no partition 1099511627776", "the epoch is 70000", "sequence is 2147483648"} {
			if !errors.Is(err, ErrCheckpoint) || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: %q is not in: %v", name, want, err)
			}
		}
	}
}

// mustSurvive: what can be read can be written, and read again as the same.
func mustSurvive(t *testing.T, form string, data []byte) {
	var c, again Checkpoint
	if err := forms[form].unmarshal(&c, data); err != nil {
		if !errors.Is(err, ErrCheckpoint) {
			t.Fatalf("another error: %v", err)
		}
		if !reflect.DeepEqual(c, Checkpoint{}) {
			t.Fatalf("the error left %+v", c)
		}
		return
	}
	for name, f := range forms {
		b, err := f.marshal(c)
		if err != nil {
			t.Fatalf("%s of what was read: %v", name, err)
		}
		if err := f.unmarshal(&again, b); err != nil || !reflect.DeepEqual(c, again) {
			t.Fatalf("%s: %+v became %+v, %v", name, c, again, err)
		}
	}
}

func FuzzCheckpointBinary(f *testing.F) {
	good, _ := hex.DecodeString(pinnedBinary)
	for _, seed := range [][]byte{nil, good, good[:30], good[9 : len(good)-4], []byte(pinnedJSON)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		mustSurvive(t, "binary", data)
		mustSurvive(t, "binary", sealed(data))
	})
}

func FuzzCheckpointJSON(f *testing.F) {
	for _, seed := range []string{"", "null", pinnedJSON, pinnedJSON[:99], `{"version":1,"topics":[{"partitions":[{}]}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		mustSurvive(t, "JSON", data)
		form := &checkpointForm{}
		if json.Unmarshal(data, form) != nil {
			return
		}
		if b, err := form.json(); err == nil { // with the right checksum
			mustSurvive(t, "JSON", b)
		}
	})
}
