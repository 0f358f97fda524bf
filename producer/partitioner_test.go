package producer

import "testing"

// K57: the hash of the Java client, with the values of its own tests.
func TestK57Murmur2(t *testing.T) {
	for key, want := range map[string]int32{
		"21":                         -973932308,
		"foobar":                     -790332482,
		"abc":                        479470107,
		"0":                          971027396,
		"100:48069":                  1009543857,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
	} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
}

// K57: keys go where the Java client puts them. These were wrong in clients
// with a hash of their own: UTF-8, 32-bit overflow, a division that rounds.
func TestK57KeyPartition(t *testing.T) {
	for _, c := range []struct {
		key  string
		n    int
		want int
	}{
		{"100:48069", 12, 9},
		{"wu", 10, 0},
		{"thingäöüÄÖÜ", 10, 2},
		{"TT0124", 15, 10},
		{"", 10, 1},
	} {
		if got := keyPartition([]byte(c.key), c.n); got != c.want {
			t.Errorf("%q of %d: %d, want %d", c.key, c.n, got, c.want)
		}
	}
}

// reference is murmur2 again, from its public description with 64-bit numbers
// that are cut to 32 after each step, so that no overflow is left to chance.
func reference(key []byte) uint32 {
	const mask, m = 1<<32 - 1, 0x5bd1e995
	h := uint64(0x9747b28c^uint32(len(key))) & mask
	n := len(key) / 4 * 4
	for i := 0; i < n; i += 4 {
		var k uint64
		for j := 3; j >= 0; j-- {
			k = k*256 + uint64(key[i+j])
		}
		k = k * m & mask
		k ^= k / (1 << 24)
		k = k * m & mask
		h = h*m&mask ^ k
	}
	if len(key) > n {
		for j := len(key) - 1; j >= n; j-- {
			h ^= uint64(key[j]) << (8 * (j - n))
		}
		h = h * m & mask
	}
	h ^= h / (1 << 13)
	h = h * m & mask
	return uint32(h ^ h/(1<<15))
}

// K57: every length of the tail, with bytes above 0x7f, which Java takes as
// unsigned.
func TestK57AllTails(t *testing.T) {
	for length := range 40 {
		for first := range 256 {
			key := make([]byte, length)
			for i := range key {
				key[i] = byte(first + 77*i)
			}
			if got, want := murmur2(key), reference(key); got != want {
				t.Fatalf("%x: %x, want %x", key, got, want)
			}
			for _, n := range []int{1, 2, 3, 7, 1000} {
				if at := keyPartition(key, n); at < 0 || at >= n {
					t.Fatalf("%x of %d partitions: %d", key, n, at)
				}
			}
		}
	}
}

// Keyless records fill about a batch on one partition before they go on to
// another, and go everywhere in the end.
func TestStickyRuns(t *testing.T) {
	var s sticky
	leaders := make([]leader, 8)
	for i := range leaders {
		leaders[i].broker = new(broker)
	}
	const size, batch = 100, 1000
	count := make([]int, len(leaders))
	runs := make([]run, len(leaders))
	length, last := 0, int32(-1)
	for range 100_000 {
		at := s.pick(make(slots, len(leaders)), leaders)
		s.count(&runs[at], at, size, batch)
		count[at]++
		if at != last && last >= 0 && length < batch/size-1 {
			t.Fatalf("left a partition after %d records", length)
		}
		if at != last {
			length, last = 0, at
		}
		length++
	}
	for at, n := range count {
		if n < 100_000/8/2 {
			t.Errorf("partition %d got %d", at, n)
		}
	}
}

// K49: partitions without a leader get no keyless records while others have
// one; if none has, all get some, and the records wait there.
func TestK49StickyAvoidsLeaderless(t *testing.T) {
	leaders := make([]leader, 4)
	leaders[2].broker = new(broker)
	for range 100 {
		var s sticky
		if at := s.pick(make(slots, 4), leaders); at != 2 {
			t.Fatalf("partition %d", at)
		}
	}
	leaders[2].broker = nil
	seen := map[int]bool{}
	for range 1000 {
		var s sticky
		seen[int(s.pick(make(slots, 4), leaders))] = true
	}
	if len(seen) != 4 {
		t.Errorf("went to %v", seen)
	}
}

// A topic that has shrunk in one's view does not lead the choice astray.
func TestStickyWithFewerPartitions(t *testing.T) {
	var s sticky
	s.chosen.Store(8)
	if at := s.pick(make(slots, 2), nil); at > 1 {
		t.Errorf("partition %d of 2", at)
	}
}

// Of two partitions that are drawn the one with less to do gets the records.
func TestStickyAvoidsTheBusy(t *testing.T) {
	parts, leaders := make(slots, 4), make([]leader, 4)
	for at := range parts {
		leaders[at].broker = new(broker)
		parts[at].Store(new(partition))
	}
	parts[1].Load().gauge.unresolved.Store(100)
	count := make([]int, len(parts))
	for range 16_000 {
		var s sticky
		count[s.pick(parts, leaders)]++
	}
	for at, n := range count { // the busy one: drawn twice
		if busy := at == 1; busy && n > 2000 || !busy && n < 3000 {
			t.Errorf("partition %d got %d of 16,000", at, n)
		}
	}
}
