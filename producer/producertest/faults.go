package producertest

// ProduceAttempt is what one Produce request has for one partition, as a hook
// sees it before it is judged.
type ProduceAttempt struct {
	Broker    int32 // node ID
	Topic     string
	Partition int32
	Acks      int16
	Version   int16 // of the Produce request

	ProducerID    int64 // -1: not idempotent
	ProducerEpoch int16
	BaseSequence  int32
	Records       int32
	Bytes         int // size of the batch

	Connection int64 // number of the connection in the cluster, from 1
	Request    int64 // number of the Produce request on its connection, from 1

	// Attempt counts how often this batch (producer ID, epoch, partition and
	// base sequence) was received by the cluster: 1 for the first time. It is
	// always 1 for a producer that is not idempotent.
	Attempt int
}

// FirstTime reports whether the cluster has never received this batch before.
func (a ProduceAttempt) FirstTime() bool { return a.Attempt == 1 }

// Fault is what a hook makes of a ProduceAttempt. The zero Fault is none. The
// functions below make one, its methods add to it.
//
// Drop, Cut, Hold and Straggle concern the whole request: they hold for all
// partitions in it as soon as one has them.
type Fault struct {
	refuse, replace     bool
	code                int16
	noOffset            bool
	drop, cut, straggle bool
	hold                <-chan struct{}
	omit, foreign       bool
	double              bool
	doubled             int16
	hint                bool
	leader, leaderEpoch int32
	bad                 []int32
	message             string
}

// Refuse answers an error code with base offset -1, and appends nothing.
func Refuse(code int16) Fault { return Fault{refuse: true, code: code} }

// AppendThen judges the batch as usual; if it is in the log after that, the
// answer is this code with the batch's base offset, as when a broker fails
// while it waits for replicas.
func AppendThen(code int16) Fault { return Fault{replace: true, code: code} }

// Drop executes the request and resets the connection instead of answering.
func Drop() Fault { return Fault{drop: true} }

// Cut resets the connection without executing the request.
func Cut() Fault { return Fault{cut: true} }

// Hold keeps the request from being executed until the channel is closed or
// sends. The requests behind it on the connection wait too. If the connection
// ends meanwhile, the request is still executed, as one in work is. A nil
// channel holds it until the cluster is closed.
func Hold(until <-chan struct{}) Fault { return Fault{}.Hold(until) }

// Straggle resets the connection now, and executes the request when the channel
// is closed or sends; the requests that were received behind it follow in
// order, each through the hook, where Cut ends the train.
func Straggle(until <-chan struct{}) Fault { return Fault{straggle: true}.Hold(until) }

// NoOffset makes the answer's base offset -1. AppendThen(46).NoOffset() is what
// a KIP-758 broker answers to what it knows without knowing where it is.
func (f Fault) NoOffset() Fault {
	f.noOffset = true
	return f
}

// Hold adds what the function Hold does.
func (f Fault) Hold(until <-chan struct{}) Fault {
	f.hold = until
	if until == nil {
		f.hold = make(chan struct{})
	}
	return f
}

// Omit leaves the partition out of the response. The batch is judged as usual,
// or refused.
func (f Fault) Omit() Fault {
	f.omit = true
	return f
}

// Double names the partition a second time in the response, with this code.
func (f Fault) Double(code int16) Fault {
	f.double, f.doubled = true, code
	return f
}

// Foreign adds a topic to the response that was not asked for.
func (f Fault) Foreign() Fault {
	f.foreign = true
	return f
}

// Hint adds a leader and its epoch to the answer, with the leader's endpoint if
// there is such a broker (KIP-951, Produce v10 and later). A broker that is
// really not the leader adds the true ones by itself.
func (f Fault) Hint(leader, epoch int32) Fault {
	f.hint, f.leader, f.leaderEpoch = true, leader, epoch
	return f
}

// BadRecords names records of the batch by their index, as the ones that made
// the broker refuse it (KIP-467, Produce v8 and later).
func (f Fault) BadRecords(message string, indexes ...int32) Fault {
	f.message, f.bad = message, indexes
	return f
}

// OnProduce sets a function that decides what goes wrong with each partition of
// each Produce request, in the order in which they are served. It replaces the
// one set before; nil removes it. What it may do is said at OnResponse.
func (c *Cluster) OnProduce(hook func(ProduceAttempt) Fault) {
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	c.hooks.onProduce = hook
}
