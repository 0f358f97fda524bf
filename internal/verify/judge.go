package verify

import (
	"encoding/binary"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const fetchWait = 200 * time.Millisecond

// judge compares the log with what was reported.
type judge struct {
	log  *Log
	v    Verdict
	last map[int32]int // highest number so far, by partition
}

func (j *judge) record(r *kgo.Record) {
	v := r.Value
	if len(v) < headerBytes || binary.BigEndian.Uint32(v) != j.log.run {
		j.v.Foreign++
		return
	}
	number := int(binary.BigEndian.Uint32(v[4:]))
	if number >= len(j.log.recs) || binary.BigEndian.Uint32(v[8:]) != checksum(v) {
		j.v.fault(&j.v.Corrupt, "partition %d offset %d: a record that nobody produced", r.Partition, r.Offset)
		return
	}
	j.v.Read++
	rec := &j.log.recs[number]
	if rec.seen++; rec.seen > 1 {
		j.v.fault(&j.v.Doubled, "record %d again at partition %d offset %d", number, r.Partition, r.Offset)
		return
	}
	if last, ok := j.last[r.Partition]; ok && number < last {
		j.v.fault(&j.v.Swapped, "record %d at partition %d offset %d, behind %d", number, r.Partition, r.Offset, last)
	} else {
		j.last[r.Partition] = number
	}
	switch {
	case rec.outcome == NotWritten:
		j.v.fault(&j.v.Ghosts, "record %d at partition %d offset %d, reported not written", number, r.Partition, r.Offset)
	case rec.outcome == Written && (rec.partition != r.Partition || rec.offset >= 0 && rec.offset != r.Offset):
		j.v.fault(&j.v.WrongOffset, "record %d at partition %d offset %d, reported at partition %d offset %d",
			number, r.Partition, r.Offset, rec.partition, rec.offset)
	}
}

func (j *judge) end() {
	last := map[int32]int{} // highest number written, by partition
	for number := range j.log.recs {
		if rec := &j.log.recs[number]; rec.outcome == Written {
			last[rec.partition] = number
		}
	}
	for number := range j.log.recs {
		rec := &j.log.recs[number]
		if rec.again {
			j.v.fault(&j.v.TwoOutcomes, "record %d has two outcomes", number)
		}
		switch rec.outcome {
		case None:
			j.v.fault(&j.v.NoOutcome, "record %d has no outcome", number)
		case Written:
			if rec.seen == 0 {
				j.v.fault(&j.v.Lost, "record %d, reported at partition %d offset %d", number, rec.partition, rec.offset)
			}
			if rec.offset < 0 {
				j.v.NoOffset++
			}
		case NotWritten:
			j.v.NotWritten++
			if number < last[rec.partition] {
				j.v.Gaps++
			}
		case Unknown:
			j.v.Unknown++
			if rec.seen > 0 {
				j.v.UnknownRead++
			}
		}
	}
}
