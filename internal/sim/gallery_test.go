package sim

import (
	"slices"

	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// mutant is a client without one of its rules, the invariants by which it may
// be found, and where the mistake was made before, or which rule says otherwise
// (docs/invariants.md, docs/design.md).
type mutant struct {
	name, origin string
	by           []string
	variant
	tune func(o *Options)
}

// before makes a variant that changes the window ahead of an answer.
func before(f func(w *throttle.Window, i uint64, a throttle.Answer)) variant {
	return variant{before: f}
}

// after makes a variant that changes the window behind an answer.
func after(f func(w *throttle.Window, a throttle.Answer)) variant { return variant{after: f} }

// taking makes a variant that takes a code for another one, which says something
// else of the attempt.
func taking(code, other retry.Code) variant {
	return variant{answer: func(a *flight.Answer) {
		if a.Code == code {
			a.Code, a.BaseOffset = other, -1
		}
	}}
}

// silent is the variant with nobody listening on the wire.
func (v variant) silent() variant {
	v.logOnly = true
	return v
}

func stock(o *Options) {
	o.KIP758, o.LatestIsDuplicate, o.Legacy, o.rate[fUnclean], o.every[fUnclean] = 0, 0, 0, 0, 0
}

func newLeaders(o *Options) {
	stock(o)
	o.Brokers, o.Replicas, o.MinISR, o.OldStamps = 3, 3, 2, 0
	o.rate[fPrefer], o.every[fPrefer] = 65536, 200*millis
	o.rate[fRefuse] = 2048
}

func idle(o *Options) {
	stock(o)
	o.IdleGaps, o.OldStamps, o.Faults = 1, 0, 3*o.Expiration
	o.rate[fRefuse] = 4096
}

func old(o *Options) {
	o.OldStamps, o.Expiration = 40, 20*seconds
	o.DeliveryTimeout, o.Straggle = 2*seconds, millis
	o.rate[fLoseAnswer], o.rate[fPause] = 1024, 0
	o.rate[fSnapshot], o.every[fSnapshot] = 65536, 50*millis
}

// silent is for answers that leave partitions out.
func silent(o *Options) { o.rate[fOmit], o.rate[fRefuse] = 2048, 8192 }

// late is for batches that are in doubt for longer than brokers remember, before
// any of their producer was acknowledged.
func late(o *Options) {
	stock(o)
	o.Brokers, o.Replicas, o.MinISR, o.Asks, o.OldStamps, o.IdleGaps = 1, 1, 1, 0, 0, 0
	o.RequestTimeout, o.DeliveryTimeout, o.Expiration, o.Straggle = 300*millis, 6*seconds, 1500*millis, millis
	o.rate[fLoseAnswer], o.FirstMustBeZero, o.Latency = 50000, 0, millis
	for _, d := range []domain{fDelay, fPause, fKill, fAllDown, fShutdown, fHoleIn} { // none that outlasts the memory
		o.rate[d], o.every[d] = 0, 0
	}
}

var clearDoubt = func(w *throttle.Window) {
	for i := *in[uint64](w, "una"); i < *in[uint64](w, "max"); i++ {
		entryAt(w, i).doubt, entryAt(w, i).stray = false, false
	}
}

var noGate = variant{onBound: func(w *throttle.Window) { *phaseOf(w) = inOpen }}

var renumbers = variant{onLost: func(w *throttle.Window) { begin(w, *in[int64](w, "producerID"), *in[int16](w, "epoch")+1) }}

var javasBump = after(func(w *throttle.Window, a throttle.Answer) {
	if a == throttle.OutOfOrder && w.Outstanding() == 0 {
		begin(w, *in[int64](w, "producerID"), *in[int16](w, "epoch")+1)
	}
})

var disconnectIsAbsent = variant{onLost: clearDoubt}

var outOfOrderIsAbsent = before(func(w *throttle.Window, i uint64, a throttle.Answer) {
	if a == throttle.OutOfOrder {
		entryAt(w, i).doubt = false
	}
})

var duplicateIsCommitted = taking(retry.DuplicateSequenceNumber, retry.None)

var absenceEndsDoubt = variant{onLost: func(w *throttle.Window) {
	if una := *in[uint64](w, "una"); una < *in[uint64](w, "max") && !entryAt(w, una).doubt {
		clearDoubt(w)
	}
}}

var vouchesUnknown = before(func(w *throttle.Window, _ uint64, _ throttle.Answer) { *in[bool](w, "acked") = true })

// believes takes what the broker remembers for what is written.
var believes = variant{losing: func(s *sim, i int) {
	p := &s.parts[i]
	r := &s.logs[i].rep[s.links[p.link].broker]
	k := r.producer(p.ident)
	c := &s.conns[s.links[p.link].conn]
	if k == nil {
		return
	}
	for j := c.answered; j < len(c.reqs); j++ {
		for n := range c.reqs[j].n {
			m := &c.reqs[j].p[n]
			if epoch, ok := k.state.Known(); m.part == i && ok && epoch == m.epoch && k.state.Last() == m.base+m.count-1 {
				for p.base <= m.batch && p.size() > 0 {
					s.watchAnswer(i, p.base, throttle.Success)
					s.resolveFor(i, p.win.Settle(p.base, throttle.Success, -1), causeAnswer)
				}
			}
		}
	}
}}

// fromInFlight measures the window from the oldest batch in flight.
var fromInFlight = variant{onPeek: func(w *throttle.Window) {
	una := *in[uint64](w, "una")
	limits := in[throttle.Limits](w, "limits")
	if limits.Sequences >= throttle.DefaultSequences || *phaseOf(w) != inOpen {
		return
	}
	for i := una; i < *in[uint64](w, "nxt"); i++ {
		if entryAt(w, i).out {
			limits.Sequences += entryAt(w, i).base.Distance(entryAt(w, una).base)
			return
		}
	}
}}

// overflows counts sequences in 32 bits, with a sign.
func overflows() variant {
	var total [maxPartitions]int64
	return variant{onWire: func(_ *sim, i int, b *batch, send *throttle.Send) {
		if !send.First {
			return
		}
		if send.Base == 0 {
			total[i] = 0
		}
		send.Base = throttle.Sequence(int32(total[i]))
		total[i] += int64(b.count)
	}}
}

// gallery is all mutants: of the rules of sending, and of those of asking.
var gallery = slices.Concat(senders, askers)

var senders = []mutant{
	{"no gate", "KAFKA-15591, kgo 223", []string{"I12"}, noGate, nil},
	{"no gate: the log gets a gap", "KAFKA-15591", []string{"I21", "I2", "I3", "I4"}, noGate.silent(), newLeaders},
	{"retry numbered anew", "sarama 3354", []string{"I10", "I13"}, renumbers, nil},
	{"retry numbered anew: the log is doubled", "Redpanda 3039", []string{"I2", "I3"}, renumbers.silent(), nil},
	{"epoch bumped at OUT_OF_ORDER", "KIP-360, Java", []string{"I10", "I13"}, javasBump, nil},
	{"epoch bumped at OUT_OF_ORDER: the log is doubled", "KIP-360, Java", []string{"I2", "I3", "I4"}, javasBump.silent(), newLeaders},
	{"a retry cut anew", "librdkafka 4750", []string{"I10"}, variant{onWire: func(_ *sim, _ int, b *batch, _ *throttle.Send) {
		if b.wire.sent && b.count > 1 {
			b.count--
		}
	}}, nil},
	{"a later batch again before the oldest", "R6", []string{"I12"}, variant{onPeek: func(w *throttle.Window) {
		una, nxt := *in[uint64](w, "una"), in[uint64](w, "nxt")
		if *phaseOf(w) == inGate && w.Outstanding() == 0 && *nxt == una && una+1 < *in[uint64](w, "max") {
			*nxt = una + 1
		}
	}}, nil},
	{"sent again before drained", "KAFKA-5494", []string{"I14"}, after(func(w *throttle.Window, _ throttle.Answer) {
		if *phaseOf(w) == inDrain {
			*phaseOf(w), *in[uint64](w, "nxt") = inOpen, *in[uint64](w, "una")
		}
	}), nil},
	{"a new batch before the first success of a replay", "R6", []string{"I12"}, variant{onPeek: func(w *throttle.Window) {
		end := in[uint64](w, "sweepEnd")
		if *phaseOf(w) == inSweep && *in[uint64](w, "nxt") == *end && *end < *in[uint64](w, "end") {
			*end++
		}
	}}, nil},
	{"a replay that stops at the first refusal", "KAFKA-9199", []string{"I19"}, after(func(w *throttle.Window, _ throttle.Answer) {
		if ph := *phaseOf(w); ph == inSweep || ph == inVouch {
			*phaseOf(w), *in[uint64](w, "nxt") = inGate, *in[uint64](w, "una")
		}
	}), nil},
	{"a replay bound by the distance", "R4", []string{"I19"}, variant{
		onHold: func(w *throttle.Window, send throttle.Send) throttle.Hold {
			una, e := *in[uint64](w, "una"), entryAt(w, send.Batch)
			if !send.First && e.base.Add(e.records-1).Distance(entryAt(w, una).base) >= in[throttle.Limits](w, "limits").Sequences {
				return throttle.HoldSequences
			}
			return throttle.Ready
		},
	}, nil},
	{"the new leader used before the old one is drained", "kgo inflightOnSink", []string{"I14"}, variant{movesUndrained: true}, newLeaders},
	{"distance from what is in flight", "R4", []string{"I12"}, fromInFlight, func(o *Options) {
		o.KIP758, o.LatestIsDuplicate, o.CapBatches = 31, 1, 0
	}},
	{"a sequence below zero", "kgo 1.5.3, KAFKA-7693", []string{"I11", "I10"}, overflows(), func(o *Options) { o.NearWrap = 1 }},
	{"sequences begin anew when metadata misses the partition", "librdkafka 1.8", []string{"I10", "I11", "I25"}, variant{
		restart: func(_ *sim, p *part) { begin(p.win, int64(p.ident), *in[int16](p.win, "epoch")) },
	}, func(o *Options) { o.rate[fMissingMetadata] = 8192 }},

	{"REQUEST_TIMED_OUT taken for not written", "kgo 1217", []string{"I10", "I4", "I13", "I21"},
		taking(retry.RequestTimedOut, retry.NotEnoughReplicas), nil},
	{"20 taken for not written", "broker-facts.md", []string{"I10", "I4", "I13", "I21"},
		taking(retry.NotEnoughReplicasAfterAppend, retry.NotEnoughReplicas), nil},
	{"-1 taken for not written", "broker-facts.md", []string{"I10", "I4", "I13", "I21"}, taking(retry.UnknownServerError, retry.NotEnoughReplicas), nil},
	{"the base offset of an error ignored", "broker-facts.md", []string{"I10", "I4", "I13", "I21"}, variant{
		answer: func(a *flight.Answer) {
			if a.Code != retry.None {
				a.BaseOffset = -1
			}
		},
	}, newLeaders},
	{"possibly written taken for written", "librdkafka 3584", []string{"I1"}, taking(retry.RequestTimedOut, retry.None), nil},
	{"DUPLICATE taken for written", "R5", []string{"I1"}, duplicateIsCommitted.silent(), func(o *Options) {
		newLeaders(o)
		o.KIP758 = 31
	}},
	{"OUT_OF_ORDER taken for not written", "design.md, rule 5", []string{"I4", "I10", "I13", "I21"}, outOfOrderIsAbsent, nil},
	{"a lost connection taken for not written", "design.md, rule 5", []string{"I10", "I4", "I13", "I21"}, disconnectIsAbsent, nil},
	{"a lost connection taken for not written: the log shows it", "design.md, rule 5", []string{"I4", "I2", "I21"}, disconnectIsAbsent.silent(), nil},
	{"absence of one batch ends the doubt behind it", "design.md, rule 6", []string{"I4", "I2", "I10", "I21", "I13"}, absenceEndsDoubt, func(o *Options) {
		stock(o)
		o.Brokers, o.Replicas, o.MinISR, o.OldStamps = 1, 1, 1, 0
		o.rate[fRefuse], o.rate[fLoseRequest], o.DeliveryTimeout = 8192, 4096, 2*seconds
	}},
	{"a broker's memory taken for written", "R5", []string{"I1"}, believes, newLeaders},
	{"a new batch vouches in an epoch without a success", "design.md, rule 7", []string{"I1", "I21"}, vouchesUnknown, func(o *Options) {
		o.rate[fRefuseGood], o.rate[fLoseAnswer], o.rate[fLoseRequest], o.Asks = 8192, 2048, 2048, 0
	}},
	{"an entry answered twice", "kgo sweep", []string{"panic", "I1", "I6", "I10", "I12", "I14", "I21"}, variant{answersTwice: true}, nil},

	{"at a deadline every answer is waited for", "design.md, Time", []string{"I18"}, variant{patientAtDeadline: true}, func(o *Options) {
		newLeaders(o)
		o.Depth, o.Load, o.CapBatches, o.NearWrap = 200, 60, 0, 0
		o.rate[fSlowFetch], o.RequestTimeout, o.DeliveryTimeout = 32768, 900*millis, 2*seconds
	}},

	{"a wake-up lost after a backoff", "ours", []string{"I19"}, variant{losesWakeUp: true}, nil},
	{"throttle time ignored", "KIP-219", []string{"I20"}, variant{deafToThrottle: true}, nil},
	{"the request timeout runs from the write", "design.md, Time", []string{"I21"}, variant{timesFromWrite: true}, func(o *Options) {
		o.RequestTimeout, o.Disk, o.Depth, o.Load = 300*millis, 5*millis, 200, 60
	}},
}
