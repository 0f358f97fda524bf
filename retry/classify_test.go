package retry

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write testdata anew; commit only a difference you can explain")

// goldenCodes is every code of the protocol and some numbers that are none.
func goldenCodes() []Code {
	codes := []Code{math.MinInt16, -2}
	for c := range codeTable {
		codes = append(codes, Code(c-1))
	}
	return append(codes, Code(len(codeTable)-1), math.MaxInt16)
}

func describe(d Decision) string {
	s := d.Fate.String()
	for _, flag := range []struct {
		on   bool
		name string
	}{{d.Refresh, "refresh"}, {d.Backoff, "backoff"}, {d.Split, "split"}, {d.Stop, "stop"}, {d.Gone, "gone"}, {d.NewID, "new producer id"}} {
		if flag.on {
			s += ", " + flag.name
		}
	}
	if d.Tries > 0 {
		s += fmt.Sprintf(", %d tries", d.Tries)
	}
	return s
}

// The decision for every code is written down in testdata/classify.txt, once
// without a base offset and once with one, and compared line by line.
func TestClassifyGolden(t *testing.T) {
	const file = "testdata/classify.txt"
	var got []string
	for _, c := range goldenCodes() {
		without, with := describe(Classify(c, -1)), describe(Classify(c, 1000))
		line := fmt.Sprintf("%d %s: %s", c, c.Name(), without)
		if with != without {
			line += " | with base offset: " + with
		}
		got = append(got, line)
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var want []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		want = append(want, lines.Text())
	}
	if len(want) != len(got) {
		t.Fatalf("%d lines in %s, %d codes", len(want), file, len(got))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("got  %s\nwant %s", got[i], want[i])
		}
	}
}

// K28: what is worth sending again, as reported for other clients.
func TestRetriableCodes(t *testing.T) {
	retriable := []Code{
		2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 72, 74, 75, 78, 89, 100, 103,
		-1, // not in the Java table; here the batch stays in doubt and is replayed
	}
	final := []Code{10, 17, 18, 21, 29, 31, 32, 35, 42, 43, 44, 48, 76, 87, 120}
	for _, c := range goldenCodes() {
		d := Classify(c, -1)
		again := d.Backoff && (d.Fate == NotAppended || d.Fate == Uncertain)
		bounded := d.Tries > 0 && d.Tries <= 5
		switch {
		case slices.Contains(final, c):
			if d.Fate != Refused || again {
				t.Errorf("%v: %v, want it refused at once", c, describe(d))
			}
		case slices.Contains(retriable, c):
			if !again || bounded && c != CorruptMessage {
				t.Errorf("%v: %v, want it sent again until the deadline", c, describe(d))
			}
		case c == None || c >= 45 && c <= 47 || c == 49 || c == 59 || c == 90:
			// rules of their own, see the golden table
		default:
			if d.Fate != Uncertain || !bounded {
				t.Errorf("%v: %v, want it uncertain and given up after a few tries", c, describe(d))
			}
		}
	}
}

// An error that carries a base offset comes from after the append, whatever its
// words are: it is sent again after a pause, never cut in two, never given up as
// refused. What it says of the producer ID stays.
func TestBaseOffsetMeansAppended(t *testing.T) {
	for c := Code(-1); c <= 140; c++ {
		without := Classify(c, -1)
		for _, offset := range []int64{0, 1, math.MaxInt64} {
			d := Classify(c, offset)
			if c == None || c == DuplicateSequenceNumber {
				if d != without {
					t.Errorf("%v with base offset %d: %v", c, offset, describe(d))
				}
				continue
			}
			if d.Fate != Uncertain || !d.Backoff || d.Split {
				t.Errorf("%v with base offset %d: %v", c, offset, describe(d))
			}
			if d.Stop != without.Stop || d.Gone != without.Gone || d.Refresh != without.Refresh {
				t.Errorf("%v with base offset %d: %v, without: %v", c, offset, describe(d), describe(without))
			}
			if _, fate, _ := d.Count(d.Tries); fate != Uncertain {
				t.Errorf("%v with base offset %d, given up: %v", c, offset, fate)
			}
		}
		if again := Classify(c, -7); again != without {
			t.Errorf("%v with an offset that is none: %v", c, describe(again))
		}
	}
}

// Without an offset the codes that are looked at before the append are the only
// ones that say that nothing was appended.
func TestNotAppendedWithoutOffset(t *testing.T) {
	var got []Code
	for _, c := range goldenCodes() {
		if Classify(c, -1).Fate == NotAppended {
			got = append(got, c)
		}
	}
	want := []Code{CorruptMessage, UnknownTopicOrPartition, LeaderNotAvailable, NotLeaderOrFollower, ReplicaNotAvailable,
		NotEnoughReplicas, FencedLeaderEpoch, UnknownLeaderEpoch, UnknownTopicID, InconsistentTopicID}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What it says of the producer ID decides whether more is sent.
func TestStopAndGone(t *testing.T) {
	for _, c := range goldenCodes() {
		d := Classify(c, -1)
		if d.Stop != (c == InvalidProducerEpoch || c == ProducerFenced) || d.Gone != (c == UnknownProducerID || c == InvalidProducerIDMapping) || d.NewID != (c == InvalidProducerIDMapping) {
			t.Errorf("%v: %v", c, describe(d))
		}
	}
}

func TestAlwaysUncertain(t *testing.T) {
	for _, c := range []Code{
		RequestTimedOut, NotEnoughReplicasAfterAppend, KafkaStorageError, UnknownServerError,
		NetworkException, CoordinatorNotAvailable, NotCoordinator, ThrottlingQuotaExceeded,
	} {
		for _, offset := range []int64{-1, 0, 7} {
			if f := Classify(c, offset).Fate; f != Uncertain {
				t.Errorf("%v, base offset %d: %v", c, offset, f)
			}
		}
	}
}

// K15: a success without an offset is a success.
func TestSuccessWithoutOffset(t *testing.T) {
	if d := Classify(None, -1); d != (Decision{Fate: Committed}) {
		t.Error(describe(d))
	}
}

func TestLost(t *testing.T) {
	if f := Lost(0).Fate; f != NotAppended {
		t.Errorf("nothing written: %v", f)
	}
	for _, wrote := range []int64{1, 1 << 40} {
		if f := Lost(wrote).Fate; f != Uncertain {
			t.Errorf("%d bytes written: %v", wrote, f)
		}
	}
}

// What is not set says the least: a forgotten assignment must not turn into a
// claim about the log.
func TestZeroValuesAreSafe(t *testing.T) {
	var d Decision
	var o Outcome
	if d.Fate != Uncertain || o != Unknown {
		t.Errorf("zero values: %v, %v", d.Fate, o)
	}
	for o, want := range map[Outcome]string{Unknown: "unknown", NotWritten: "not written", Written: "written", 77: "unknown"} {
		if o.String() != want {
			t.Errorf("%d: %q, want %q", o, o.String(), want)
		}
	}
	if s := Fate(200).String(); s != "uncertain" {
		t.Errorf("Fate(200): %q", s)
	}
}
