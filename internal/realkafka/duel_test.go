package realkafka

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-kafka/sluice/internal/brokermodel"
)

// duel sends the same batches to a real broker and to brokermodel, and compares
// what they answer. The batches are made up at random, with a fixed seed: mostly
// the next one, otherwise what a client could get wrong, or worse.
type duel struct {
	rules brokermodel.Rules
	rnd   *rand.Rand
	lists []*list
}

// list is a partition: a log that several producers write to.
type list struct {
	log       *log
	end       int64
	producers []*contestant
}

// contestant is a producer in one partition: what the model makes of it, and
// what it has appended, the oldest first.
type contestant struct {
	id      int64
	model   brokermodel.Producer
	history []batch
}

const (
	duelPartitions = 6
	duelProducers  = 2
	duelBatches    = 250 // a partition and round, all in one pipeline
)

func newDuel(t *testing.T, c *Cluster, rules brokermodel.Rules) *duel {
	t.Helper()
	d := &duel{rules: rules, rnd: rand.New(rand.NewPCG(758, 1269))}
	for range duelPartitions {
		l := &list{log: newLog(t, c, 1, nil)}
		for range duelProducers {
			l.producers = append(l.producers, &contestant{id: newProducer(t, c)})
		}
		d.lists = append(d.lists, l)
	}
	return d
}

// reload tells the model of a clean restart.
func (d *duel) reload() {
	for _, l := range d.lists {
		for _, p := range l.producers {
			p.model.Reload()
		}
	}
}

func (d *duel) fight(t *testing.T) {
	seen := make(map[brokermodel.Verdict]int)
	for _, l := range d.lists {
		d.round(l, l.log.reopen(t), seen)
	}
	t.Logf("verdicts: %v", seen)
	// A duel in which something never came up has shown nothing of it.
	for v := brokermodel.Append; v <= brokermodel.Fenced; v++ {
		possible := v != brokermodel.Duplicate || d.rules.Window > 0
		if got := seen[v] > 0; got != possible {
			t.Errorf("verdict %d seen %d times", v, seen[v])
		}
	}
}

// round sends one pipeline to a partition. The first difference ends it: what
// follows would be judged by states that are no longer the same.
func (d *duel) round(l *list, log *log, seen map[brokermodel.Verdict]int) {
	log.t.Helper()
	var batches []batch
	var want []verdict
	var steps []string
	for range duelBatches {
		p := l.producers[d.rnd.IntN(len(l.producers))]
		b, what := d.next(p)
		v, answer := d.judge(l, p, b)
		seen[v]++
		batches, want = append(batches, b), append(want, answer)
		steps = append(steps, fmt.Sprintf("%s: producer %d, epoch %d, %d records from %d: model %v",
			what, b.producer, b.epoch, b.count, b.first, answer))
	}
	log.write(batches...)
	for i, got := range log.answers(len(batches)) {
		if got != want[i] {
			log.t.Fatalf("Kafka: %v\n%s", got, strings.Join(steps[:i+1], "\n"))
		}
	}
}

// judge lets the model answer as a broker would.
func (d *duel) judge(l *list, p *contestant, b batch) (brokermodel.Verdict, verdict) {
	v, offset := d.rules.Judge(&p.model, l.end == 0, b.epoch, b.first, int32(b.count))
	switch v {
	case brokermodel.Append:
		offset = l.end
		l.end += int64(b.count)
		p.model.Appended(b.epoch, b.first, int32(b.count), offset)
		p.history = append(p.history, b)
		return v, appended(offset)
	case brokermodel.Recognised:
		return v, appended(offset)
	case brokermodel.Duplicate:
		return v, refused(duplicateSequence)
	case brokermodel.Fenced:
		return v, refused(invalidProducerEpoch)
	default:
		return v, refused(outOfOrderSequence)
	}
}

// next makes up a batch and says what it is.
func (d *duel) next(p *contestant) (batch, string) {
	b := batch{producer: p.id, count: d.size()}
	epoch, known := p.model.Known()
	if !known {
		b.first = d.start()
		return b, "first"
	}
	b.epoch = epoch
	last := p.model.Last()
	recent := p.history[len(p.history)-1-d.rnd.IntN(min(8, len(p.history)))]
	b.first = recent.first
	switch d.rnd.IntN(18) {
	case 0:
		return recent, "one of the last eight"
	case 1:
		recent.value = "other"
		return recent, "one of the last eight, other content"
	case 2:
		b.count = recent.count
		return b, "sequences of one of the last eight, this epoch"
	case 3:
		return b, "begins as one of the last eight"
	case 4:
		b.count = recent.count + 1
		return b, "one of the last eight and a record more"
	case 5:
		b.first = brokermodel.Add(recent.first, 1)
		return b, "begins inside one of the last eight"
	case 6:
		b.first = brokermodel.Add(last, 2+d.rnd.Int32N(2000))
		return b, "gap"
	case 7:
		b.first = brokermodel.Add(last, -window-1+d.rnd.Int32N(4))
		return b, "edge of the window"
	case 8:
		b.first = brokermodel.Add(last, -d.rnd.Int32N(2*window))
		return b, "behind"
	case 9:
		b.first = d.rnd.Int32()
		return b, "anywhere"
	case 10:
		return p.history[d.rnd.IntN(len(p.history))], "any of the past"
	case 11:
		return d.epoch(b, 1+int16(d.rnd.IntN(3)))
	case 12:
		return d.epoch(b, -1)
	default:
		b.first = brokermodel.Add(last, 1)
		return b, "next"
	}
}

// epoch moves to another epoch, with and without the sequence that a new one
// must begin with. Rarely, so that an epoch gets a past.
func (d *duel) epoch(b batch, step int16) (batch, string) {
	b.epoch = max(0, b.epoch+step)
	if d.rnd.IntN(3) == 0 {
		b.first = 0
	}
	return b, "another epoch"
}

// size is mostly small; some batches fill a good part of the window.
func (d *duel) size() int {
	if d.rnd.IntN(10) == 0 {
		return 100 + d.rnd.IntN(300)
	}
	return 1 + d.rnd.IntN(5)
}

// start is anywhere; half of the time so near to the wrap that it will be
// reached.
func (d *duel) start() int32 {
	if d.rnd.IntN(2) == 0 {
		return math.MaxInt32 - d.rnd.Int32N(200)
	}
	return d.rnd.Int32()
}
