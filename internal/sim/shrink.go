package sim

import "slices"

// shrink makes a script that breaks an invariant smaller: fewer faults, then
// less of everything else, for as long as the same invariant breaks.
func shrink(s *sim, sc script) script {
	want := sc.play(s)
	if want == "" {
		return sc
	}
	fails := func(c *script) bool { return invariant(c.play(s)) == invariant(want) }
	all := sc
	all.only, all.kept = true, sortedCopy(s.hits)
	if !fails(&all) {
		return sc
	}
	sc = all
	for range shrinkRounds {
		before := sc
		sc.kept = fewer(sc.kept, func(kept []uint64) bool {
			c := sc
			c.kept = kept
			return fails(&c)
		})
		sc = lower(sc, fails)
		if len(sc.kept) == len(before.kept) && sc.opt == before.opt {
			break
		}
	}
	return sc
}

// shrinkRounds is how often all of it is tried again.
const shrinkRounds = 5

// invariant is the name in what was broken: the words before the colon.
func invariant(broken string) string {
	for i, r := range broken {
		if r == ':' {
			return broken[:i]
		}
	}
	return broken
}

func sortedCopy(keys []uint64) []uint64 {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// fewer is delta debugging: it leaves out halves, then quarters, and so on.
func fewer(keys []uint64, fails func([]uint64) bool) []uint64 {
	for size := (len(keys) + 1) / 2; size > 0 && len(keys) > 0; {
		less := false
		for from := 0; from < len(keys); {
			rest := slices.Concat(keys[:from], keys[min(from+size, len(keys)):])
			if fails(rest) {
				keys, less = rest, true
			} else {
				from += size
			}
		}
		if size == 1 && !less {
			break
		}
		if !less || size > len(keys) {
			size = max(size/2, 1)
		}
	}
	return keys
}

// lower tries smaller numbers for every option. Times stay, for what waits on
// them would not be the same.
func lower(sc script, fails func(*script) bool) script {
	for _, f := range fields() {
		now := f.get(&sc.opt)
		for _, v := range []int64{0, 1, now / 4, now / 2, now - 1} {
			c := sc
			if f.set(&c.opt, v); v >= 0 && v < now && (v < now-1 || now < 100) && c.opt.valid() && fails(&c) {
				sc = c
				break
			}
		}
	}
	return sc
}

// valid says whether a cluster can be made of the options.
func (o *Options) valid() bool {
	ok := o.honest() && o.Brokers > 0 && o.Brokers <= maxBrokers && o.Partitions > 0 && o.Partitions <= maxPartitions &&
		o.Replicas > 0 && o.Replicas <= o.Brokers && o.MinISR > 0 && o.MinISR <= o.Replicas && o.Connections > 0 &&
		o.Batches > 0 && o.BatchRecords > 0 && o.Depth > 0 && o.Load > 0
	for _, t := range []int64{o.Gap, o.Latency, o.Disk, o.Fetch, o.RequestTimeout, o.DeliveryTimeout, o.Expiration, o.Straggle, o.Faults} {
		ok = ok && t >= micros
	}
	for _, w := range o.Window {
		ok = ok && w > 0
	}
	for _, t := range o.every {
		ok = ok && (t == 0 || t >= millis)
	}
	return ok && o.RequestTimeout >= 10*millis && o.DeliveryTimeout >= seconds && o.Expiration >= 10*o.DeliveryTimeout+2*o.Straggle
}
