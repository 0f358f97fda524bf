package realkafka

import (
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a broker taught KIP-758 answers, with a window of 1000 sequences.

const windowTag = 758

// namedWindow returns the window in the tags of a response, 0 if there is none.
func namedWindow(t *testing.T, tags kmsg.Tags) (window int32) {
	t.Helper()
	tags.Each(func(tag uint32, value []byte) {
		if tag == windowTag && len(value) == 4 {
			window = int32(binary.BigEndian.Uint32(value))
		}
	})
	return window
}

func TestTaughtBrokerNamesItsWindow(t *testing.T) {
	c := taught.Get(t)
	for version := int16(3); version <= 5; version++ {
		resp := must[*kmsg.ApiVersionsResponse](t, connectTo(t, c, 0), apiVersions(version))
		if got := namedWindow(t, resp.UnknownTags); got != window {
			t.Errorf("ApiVersions %d: window %d, want %d", version, got, window)
		}
	}
	if got := namedWindow(t, initProducerID(t, c).UnknownTags); got != window {
		t.Errorf("InitProducerId: window %d, want %d", got, window)
	}
}

// A version without tagged fields cannot carry it and is answered all the same.
func TestTaughtBrokerAnswersOldVersions(t *testing.T) {
	for version := int16(0); version <= 2; version++ {
		resp := must[*kmsg.ApiVersionsResponse](t, connectTo(t, taught.Get(t), 0), apiVersions(version))
		if resp.ErrorCode != none || len(resp.ApiKeys) == 0 {
			t.Errorf("ApiVersions %d: code %d, %d keys", version, resp.ErrorCode, len(resp.ApiKeys))
		}
	}
}

func TestStockBrokerNamesNoWindow(t *testing.T) {
	c := stock.Get(t)
	resp := must[*kmsg.ApiVersionsResponse](t, connectTo(t, c, 0), apiVersions(4))
	if got := namedWindow(t, resp.UnknownTags) + namedWindow(t, initProducerID(t, c).UnknownTags); got != 0 {
		t.Errorf("names window %d", got)
	}
}

// filled returns a log of a taught broker that ends with sequence 1199.
func filled(t *testing.T) (l *log, id int64, batches []batch) {
	c := taught.Get(t)
	l = newLog(t, c, 1, nil)
	id = newProducer(t, c)
	return l, id, l.fill(id, 1200, 1)
}

func TestTaughtLatestBatchAgain(t *testing.T) {
	l, _, batches := filled(t)
	l.expect(appended(1199), batches[1199])
	l.expectEnd(1200)
}

func TestTaughtWithinTheWindow(t *testing.T) {
	l, _, batches := filled(t)
	l.expect(refused(duplicateSequence), batches[1198], batches[1197], batches[700], batches[201], batches[200])
}

func TestTaughtBehindTheWindow(t *testing.T) {
	l, _, batches := filled(t)
	l.expect(refused(outOfOrderSequence), batches[199], batches[198], batches[0])
}

func TestTaughtGapAndNext(t *testing.T) {
	l, id, _ := filled(t)
	l.expect(refused(outOfOrderSequence), batch{producer: id, first: 1201, count: 1})
	l.expect(appended(1200), batch{producer: id, first: 1200, count: 1})
}

// Why batches are frozen: the one record more is lost, and nobody says so.
func TestTaughtLatestBatchAndARecordMore(t *testing.T) {
	l, id, _ := filled(t)
	l.expect(refused(duplicateSequence), batch{producer: id, first: 1199, count: 2})
	l.expectEnd(1200)
}
