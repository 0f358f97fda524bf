package sim

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

// liars is for brokers that name a batch that they do not have.
func liars(o *Options) {
	asking(o)
	o.Liars = 31
}

func twoOwners(o *Options) {
	asking(o)
	o.rate[fSecond], o.every[fSecond] = 65536, 500*millis
}

func uncleanElections(o *Options) {
	asking(o)
	o.MinISR = 1
	o.rate[fUnclean], o.every[fUnclean] = 65536, 300*millis
}

// longReplays is for the word of a broker, which has to last for one.
func longReplays(o *Options) {
	old(o)
	o.Brokers, o.Replicas, o.MinISR, o.Asks, o.Closed, o.Liars = 1, 1, 1, 31, 0, 0
	o.OldStamps, o.Depth, o.Load, o.CapBatches, o.Window[0] = 5, 64, 30, 0, 1000
	o.Faults, o.Straggle, o.DeliveryTimeout, o.Expiration, o.NearWrap = 4*seconds, seconds, 6*seconds, 70*seconds, 0
	o.Latency, o.rate[fCutRST], o.every[fCutRST] = 5*millis, 65536, 40*millis
}

// oneAnswers is for brokers of which only one can be asked.
func oneAnswers(o *Options) {
	old(o)
	o.Brokers, o.Replicas, o.MinISR = 3, 3, 1
	o.Asks, o.Closed, o.Liars, o.Connections = 1, 0, 0, 1
	o.rate[fPrefer], o.every[fPrefer] = 65536, 100*millis
	o.rate[fThrottle], o.Latency, o.Disk = 16384, 5*millis, millis
	o.rate[fCutRST], o.every[fCutRST] = 65536, 100*millis
}

var askers = []mutant{
	{"the log read past the high watermark", "R8", []string{"I1"}, variant{readsPastTheMark: true}, func(o *Options) {
		forgetful(o)
		o.rate[fSlowFetch] = 16384
	}},
	{"another producer's batch in the log taken for ours", "R8", []string{"I1", "I21"}, variant{readsOthers: true}, func(o *Options) {
		forgetful(o)
		o.rate[fForeign], o.every[fForeign] = 65536, 5*millis
	}},
}
