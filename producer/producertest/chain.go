package producertest

// track is what the watch knows of one producer ID in one partition.
type track struct {
	topic     string
	partition int32
	producer  int64
	chains    map[int16]*chain // by epoch
	open      map[*peer]int    // batches without an answer, by connection
}

// chain is one epoch of a track. Sequences are unrolled to positions, so that
// they can be compared across the wrap: a position is a sequence, plus a
// multiple of 2^31.
type chain struct {
	track *track
	epoch int16

	una     int64 // all before it was answered with success
	max     int64 // end of the highest batch received
	told    int64 // end of what DescribeProducers has told somebody
	horizon int64 // end of what may have been sent on connections that broke
	reach   int64 // end of what any window of a connection now gone allowed
	success bool  // some batch was answered with success

	seen map[int32]frozen // by base sequence
	pins map[*peer]*pin   // connections in use, or used before
	last *peer            // where the latest batch came from
}

// frozen is what must never change about a batch.
type frozen struct {
	records int32
	bytes   int32
	crc     uint32
	times   int32 // received
}

// pin is what the watch knows of a chain on one connection.
type pin struct {
	window int32 // that the client was told there; 0: none
	out    int   // batches without an answer
	last   int64 // position of the latest batch

	// open: there was a success in this leader epoch and no resending since,
	// so that batches may be pipelined.
	open        bool
	leaderEpoch int32

	// returned is another connection that had the partition meanwhile, if the
	// gate was closed for that reason. It must prove to be open still: of one
	// that was abandoned, what came before may be read late.
	returned *peer

	// refused: in this replay a batch was refused in a way that says nothing,
	// so that the other batches in doubt may be pipelined.
	refused bool

	// beyond: in this replay the highest batch of all was refused, and not as
	// being out of order, so that a new one may go alone to prove it.
	beyond bool
}

// newChain begins where the first batch received begins.
func newChain(t *track, a *attempt) *chain {
	at := int64(a.batch.head.FirstSequence)
	return &chain{
		track: t, epoch: a.batch.head.ProducerEpoch,
		una: at, max: at, told: at, horizon: at, reach: at,
		seen: make(map[int32]frozen), pins: make(map[*peer]*pin),
	}
}

// at is the position of a sequence, the one nearest to una.
func (c *chain) at(sequence int32) int64 {
	const half, whole = 1 << 30, 1 << 31
	d := (int64(sequence) - c.una) & (whole - 1)
	if d >= half {
		d -= whole
	}
	return c.una + d
}

// span is the positions of a batch: its first, and the one behind its last.
func (c *chain) span(b *batch) (base, end int64) {
	base = c.at(b.head.FirstSequence)
	return base, base + int64(b.head.NumRecords)
}

// confirmed is the end of what the client may regard as settled.
func (c *chain) confirmed() int64 { return max(c.una, c.told) }

// pin returns what is known of the chain on a connection.
func (c *chain) pin(p *peer) *pin {
	k := c.pins[p]
	if k == nil {
		k = &pin{last: c.una - 1}
		c.pins[p] = k
		p.chains[c] = struct{}{}
	}
	k.window = p.window
	return k
}

// others are the connections besides p where batches of the chain may still be
// on their way, because not everything sent there was read.
func (c *chain) others(p *peer) []*peer {
	var others []*peer
	for o := range c.pins {
		if o != p {
			others = append(others, o)
		}
	}
	return others
}

// leave is for a connection that has ended. What may have been sent on one of
// which not everything could be read goes as far as its window did. And as far
// as that, batches may have got their sequences for any connection that broke:
// those are not bound by the window of the next one, written before or not.
func (c *chain) leave(p *peer, whole bool) {
	k := c.pins[p]
	delete(c.pins, p)
	window := int64(k.window)
	if window == 0 {
		window = maxWindow
	}
	c.reach = max(c.reach, c.una+window)
	if !whole {
		c.horizon = max(c.horizon, c.una+window)
	}
}
