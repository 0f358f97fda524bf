package sim

import "github.com/sluice-kafka/sluice/throttle"

// asking is for clients that ask much: many batches in doubt, on brokers that
// all answer.
func asking(o *Options) {
	stock(o)
	o.Brokers, o.Replicas, o.MinISR, o.Connections = 3, 3, 2, 1
	o.OldStamps, o.NearWrap, o.IdleGaps, o.FirstMustBeZero = 0, 0, 0, 0
	o.Asks, o.Closed, o.Liars, o.rate[fAskRefused] = 31, 0, 0, 0
	o.rate[fForget], o.every[fForget], o.rate[fSecond], o.every[fSecond] = 0, 0, 0, 0
	o.Depth, o.Load, o.CapBatches, o.Window = 64, 40, 0, [maxBrokers]int{1000, 1000, 1000, 1000, 1000}
	o.rate[fCutRST], o.every[fCutRST] = 65536, 100*millis
}

func forgetful(o *Options) {
	asking(o)
	o.rate[fForget], o.every[fForget] = 65536, 100*millis
}

// zombies is for followers and deposed leaders that answer.
func zombies(o *Options) {
	asking(o)
	o.MinISR = 1
	o.rate[fPrefer], o.every[fPrefer] = 65536, 150*millis
	o.rate[fPause], o.every[fPause] = 65536, 400*millis
	o.rate[fShrink], o.every[fShrink] = 65536, 200*millis
	o.rate[fStaleMetadata], o.rate[fMissingMetadata] = 32768, 8192
}

// returns is for an answer that is on its way while the leader moves away, and
// comes back.
func returns(o *Options) {
	zombies(o)
	o.Partitions, o.rate[fStaleMetadata], o.rate[fMissingMetadata], o.rate[fDelay] = 4, 0, 0, 8192
	o.rate[fPause], o.every[fPrefer] = 0, 50*millis
	o.RequestTimeout, o.DeliveryTimeout, o.Expiration = 3*seconds, 6*seconds, 200*seconds
}

// reporting makes a variant that changes what the window is told.
func reporting(f func(w *throttle.Window, r *throttle.Report)) variant {
	return variant{onHear: func(s *sim, i int, r throttle.Report) throttle.Finding {
		f(s.parts[i].win, &r)
		return s.parts[i].win.Hear(r)
	}}
}

// ignoring makes a variant that does not mind a finding.
func ignoring(f throttle.Finding) variant {
	return variant{onHear: func(s *sim, i int, r throttle.Report) throttle.Finding {
		if found := s.parts[i].win.Hear(r); found != f {
			return found
		}
		return throttle.FoundNothing
	}}
}

// hintIsProof takes everything up to the last sequence of a broker for written.
var hintIsProof = variant{onHear: func(s *sim, i int, r throttle.Report) throttle.Finding {
	p := &s.parts[i]
	for k := p.head; r.Known && k < len(p.q) && p.q[k].wire.sent; k++ {
		if w := &p.q[k].wire; int32(w.epoch) == r.Epoch && brokerLast(w) == r.Last {
			s.resolveFor(i, p.win.Seen(p.base+uint64(k-p.head), -1), causeRead)
			return throttle.FoundNothing
		}
	}
	return p.win.Hear(r)
}}

var askers = []mutant{
	{"a hint taken for a proof", "R5", []string{"I1"}, hintIsProof, zombies},
	{"a hint in an epoch without a success", "R6", []string{"I22", "I21"}, reporting(func(w *throttle.Window, _ *throttle.Report) {
		*in[bool](w, "anchored"), *in[bool](w, "acked") = true, true
	}), asking},
	{"a hint believed for ever", "throttle.Hear", []string{"I19", "I20"}, reporting(func(w *throttle.Window, _ *throttle.Report) {
		*in[bool](w, "deaf") = false
	}), func(o *Options) {
		asking(o)
		o.Liars = 31
	}},
	{"loss told by a broker that is not current", "R6", []string{"I22"}, reporting(func(_ *throttle.Window, r *throttle.Report) {
		r.Current = true
	}), zombies},
	{"state gone goes unnoticed", "R8", []string{"I2", "I3"}, ignoring(throttle.FoundGone), forgetful},
	{"a second owner goes unnoticed", "R6", []string{"I25"}, ignoring(throttle.FoundOther), func(o *Options) {
		asking(o)
		o.rate[fSecond], o.every[fSecond] = 65536, 500*millis
	}},
	{"a loss goes unnoticed", "R6", []string{"I22"}, ignoring(throttle.FoundLoss), func(o *Options) {
		asking(o)
		o.MinISR = 1
		o.rate[fUnclean], o.every[fUnclean] = 65536, 300*millis
	}},
	{"the log read past the high watermark", "R8", []string{"I1"}, variant{readsPastTheMark: true}, func(o *Options) {
		forgetful(o)
		o.rate[fSlowFetch] = 16384
	}},
	{"another producer's batch in the log taken for ours", "R8", []string{"I1", "I21"}, variant{readsOthers: true}, func(o *Options) {
		forgetful(o)
		o.rate[fForeign], o.every[fForeign] = 65536, 5*millis
	}},
	{"the broker's word lost with the first answer of a replay", "ours", []string{"I19", "I20"}, variant{forgetsTheWord: true}, func(o *Options) {
		old(o)
		o.Brokers, o.Replicas, o.MinISR, o.Asks, o.Closed, o.Liars = 1, 1, 1, 31, 0, 0
		o.OldStamps, o.Depth, o.Load, o.CapBatches, o.Window[0] = 5, 64, 30, 0, 1000
		o.Faults, o.Straggle, o.DeliveryTimeout, o.Expiration, o.NearWrap = 4*seconds, seconds, 6*seconds, 70*seconds, 0
		o.Latency, o.rate[fCutRST], o.every[fCutRST] = 5*millis, 65536, 40*millis
	}},
	{"the answer to an earlier question taken", "ours", []string{"I22"}, variant{takesAnyAnswer: true}, returns},
	{"the word of one broker taken for that of another", "ours", []string{"I2", "I3"}, variant{keepsTheWord: true}, func(o *Options) {
		old(o)
		o.Brokers, o.Replicas, o.MinISR = 3, 3, 1
		o.Asks, o.Closed, o.Liars, o.Connections = 1, 0, 0, 1
		o.rate[fPrefer], o.every[fPrefer] = 65536, 100*millis
		o.rate[fThrottle], o.Latency, o.Disk = 16384, 5*millis, millis
		o.rate[fCutRST], o.every[fCutRST] = 65536, 100*millis
	}},
}
