package sim

import (
	"fmt"
	"strings"

	"github.com/sluice-kafka/sluice/internal/brokermodel"
)

const (
	maxBrokers    = 5
	maxPartitions = 4
)

// Options are what a run is made of, besides chance. They are numbers, so that
// a failed run can be written down as one line.
type Options struct {
	Brokers, Replicas, MinISR int
	Partitions                int
	Connections               int // to each broker
	Batches                   int // of each partition
	BatchRecords              int // at most
	Depth                     int // requests in flight on a connection
	CapBatches                int // in flight of a partition; 0: none
	Window                    [maxBrokers]int
	KIP758                    int // bit b: broker b names its window
	FirstMustBeZero           int // 1: Kafka 4.5
	Legacy                    int // 1: Kafka 2.4 answers UNKNOWN_PRODUCER_ID
	LatestIsDuplicate         int // 1: even the latest batch is answered with DUPLICATE
	OldStamps                 int // percent of the batches with old timestamps
	NearWrap                  int // 1: sequences begin just below the wrap
	Epoch                     int // the first one
	IdleGaps                  int // 1: pauses beyond the expiration
	Load                      int // batches a burst
	Asks                      int // bit b: broker b answers questions about producers
	Closed                    int // bit p: nobody answers questions about partition p
	Liars                     int // bit b: broker b names the latest batch in doubt as its last
	Gap                       int64
	Latency                   int64
	Disk                      int64
	Fetch                     int64
	RequestTimeout            int64
	DeliveryTimeout           int64
	Expiration                int64
	Faults                    int64 // how long they last
	Straggle                  int64 // the longest delay
	rate                      [domains]uint32
	every                     [domains]int64
}

// field is a number among the options, for writing and reading them.
type field struct {
	name string
	get  func(*Options) int64
	set  func(*Options, int64)
}

func intField(name string, at func(*Options) *int) field {
	return field{name, func(o *Options) int64 { return int64(*at(o)) }, func(o *Options, v int64) { *at(o) = int(v) }}
}

func longField(name string, at func(*Options) *int64) field {
	return field{name, func(o *Options) int64 { return *at(o) }, func(o *Options, v int64) { *at(o) = v }}
}

func fields() []field {
	all := []field{
		intField("brokers", func(o *Options) *int { return &o.Brokers }),
		intField("replicas", func(o *Options) *int { return &o.Replicas }),
		intField("minisr", func(o *Options) *int { return &o.MinISR }),
		intField("partitions", func(o *Options) *int { return &o.Partitions }),
		intField("connections", func(o *Options) *int { return &o.Connections }),
		intField("batches", func(o *Options) *int { return &o.Batches }),
		intField("records", func(o *Options) *int { return &o.BatchRecords }),
		intField("depth", func(o *Options) *int { return &o.Depth }),
		intField("cap", func(o *Options) *int { return &o.CapBatches }),
		intField("kip758", func(o *Options) *int { return &o.KIP758 }),
		intField("zero", func(o *Options) *int { return &o.FirstMustBeZero }),
		intField("legacy", func(o *Options) *int { return &o.Legacy }),
		intField("latestdup", func(o *Options) *int { return &o.LatestIsDuplicate }),
		intField("old", func(o *Options) *int { return &o.OldStamps }),
		intField("wrap", func(o *Options) *int { return &o.NearWrap }),
		intField("epoch", func(o *Options) *int { return &o.Epoch }),
		intField("idle", func(o *Options) *int { return &o.IdleGaps }),
		intField("load", func(o *Options) *int { return &o.Load }),
		intField("asks", func(o *Options) *int { return &o.Asks }),
		intField("closed", func(o *Options) *int { return &o.Closed }),
		intField("liars", func(o *Options) *int { return &o.Liars }),
		longField("gap", func(o *Options) *int64 { return &o.Gap }),
		longField("latency", func(o *Options) *int64 { return &o.Latency }),
		longField("disk", func(o *Options) *int64 { return &o.Disk }),
		longField("fetch", func(o *Options) *int64 { return &o.Fetch }),
		longField("request", func(o *Options) *int64 { return &o.RequestTimeout }),
		longField("delivery", func(o *Options) *int64 { return &o.DeliveryTimeout }),
		longField("expiration", func(o *Options) *int64 { return &o.Expiration }),
		longField("faults", func(o *Options) *int64 { return &o.Faults }),
		longField("straggle", func(o *Options) *int64 { return &o.Straggle }),
	}
	for b := range maxBrokers {
		all = append(all, intField(fmt.Sprintf("window%d", b), func(o *Options) *int { return &o.Window[b] }))
	}
	for d := firstFault; d < domains; d++ {
		all = append(all, field{d.String(),
			func(o *Options) int64 { return int64(o.rate[d]) },
			func(o *Options, v int64) { o.rate[d] = uint32(v) },
		})
		if d >= firstWeather {
			all = append(all, longField(d.String()+"-every", func(o *Options) *int64 { return &o.every[d] }))
		}
	}
	return all
}

// String writes the options as name=value, without those that are zero.
func (o *Options) String() string {
	var words []string
	for _, f := range fields() {
		if v := f.get(o); v != 0 {
			words = append(words, fmt.Sprintf("%s=%d", f.name, v))
		}
	}
	return strings.Join(words, " ")
}

// swarm draws the options of a run: some of the faults, in some strength, on
// some cluster. All faults at once would keep each other from having an effect.
func swarm(seed uint64) Options {
	c := chance{seed: seed}
	n := func(k int64) int { return int(c.upTo(dSwarm, 0, k)) }
	percent := func(p int) bool { return n(100) < p }
	pick := func(vs ...int) int { return vs[n(int64(len(vs)))] }
	bit := func(p int) int {
		if percent(p) {
			return 1
		}
		return 0
	}
	o := Options{
		Brokers: 1 + n(5), Partitions: 1 + n(4), Connections: 1 + bit(30), BatchRecords: pick(1, 3, 10, 50),
		Batches: 30 + n(120), Depth: pick(1, 4, 16, 64, 200), CapBatches: pick(0, 0, 0, 1, 5, 64),
		FirstMustBeZero: bit(15), OldStamps: pick(0, 0, 0, 10, 40), NearWrap: bit(25), IdleGaps: bit(15),
		Load: pick(1, 3, 10, 40), Gap: int64(pick(2, 10, 40)) * millis,
		Latency: int64(pick(100, 1000, 5000, 25000)) * micros, Disk: int64(pick(20, 200, 1000)) * micros,
		Fetch:          int64(pick(200, 1000, 10000)) * micros,
		RequestTimeout: int64(300+n(700)) * millis, DeliveryTimeout: int64(2+n(4)) * seconds,
		Faults: int64(3+n(10)) * seconds, Straggle: int64(2+n(8)) * seconds,
	}
	o.Expiration = 10*o.DeliveryTimeout + 2*o.Straggle
	o.Replicas = min(o.Brokers, pick(1, 2, 3, 3, 3, 5))
	o.MinISR = 1 + n(int64(o.Replicas))
	switch n(10) {
	case 0, 1, 2:
		o.KIP758 = 31
	case 3, 4:
		o.KIP758 = n(32)
	}
	widest := pick(3, 60, 1000, 1000)
	same := percent(50)
	for b := range o.Window {
		o.Window[b] = 1 + n(int64(widest))
		if same {
			o.Window[b] = o.Window[0]
		}
	}
	o.LatestIsDuplicate = bit(10)
	o.Legacy = bit(8)
	o.Epoch = pick(0, 0, 0, 0, 0, 29_995)
	if percent(3) {
		o.Epoch = 32_762
	}
	if o.IdleGaps == 1 {
		o.Faults += 2 * o.Expiration
	}
	o.drawFaults(n, percent)
	return o
}

func (o *Options) drawFaults(n func(int64) int, percent func(int) bool) {
	strength := n(3)
	share := 25 + n(50)
	for d := firstFault; d < domains; d++ {
		if !percent(share) {
			continue
		}
		if d < firstWeather {
			o.rate[d] = uint32(65536 >> (4 + n(3) + 2*strength))
			continue
		}
		o.rate[d] = 65536
		o.every[d] = int64(100<<n(5)) * millis << strength
	}
	for _, d := range []domain{fKill, fAllDown, fShutdown} {
		o.every[d] *= 6
	}
	if o.IdleGaps == 1 {
		for d := firstWeather; d < domains; d++ {
			o.every[d] *= 8
		}
	}
	o.rate[fPoison] /= 8
	for _, d := range []domain{fStaleMetadata, fBackwardMetadata} {
		o.rate[d] *= 8
	}
	if o.rate[fRecreate] > 0 {
		o.every[fRecreate] = o.Faults / int64(1+n(3))
		o.rate[fRecreate] *= uint32(n(2))
	}
	o.rate[fUnclean], o.every[fUnclean] = 0, 0
	if o.Replicas > 1 && o.OldStamps == 0 && percent(10) {
		o.rate[fUnclean], o.every[fUnclean] = 65536, o.Faults/int64(1<<n(6))
		o.MinISR = 1
		o.rate[fForeign], o.every[fForeign] = 0, 0 // it hides what is lost
	}
	o.drawAsking(n, percent)
}

// drawAsking draws who may be asked, and the faults that only who asks survives.
func (o *Options) drawAsking(n func(int64) int, percent func(int) bool) {
	strange := o.OldStamps > 0 || o.IdleGaps == 1 || o.NearWrap == 1 || o.rate[fUnclean] > 0
	switch k := n(10); {
	case o.Legacy == 1 || k < 3:
	case k < 5:
		o.Asks, o.Closed = n(32), n(16)
	default:
		o.Asks = 31
	}
	if o.Legacy == 0 {
		o.rate[fForget], o.every[fForget] = 0, 0
	}
	o.rate[fSecond], o.every[fSecond] = 0, 0
	forgets, seconds, lies := percent(30), percent(20), percent(5)
	switch {
	case strange:
	case forgets && o.Asks == 31 && o.Closed == 0:
		o.rate[fForget], o.every[fForget], o.rate[fAskRefused] = 65536, 200*millis, 0
	case seconds:
		o.rate[fSecond], o.every[fSecond] = 65536, o.Faults/4
	case lies:
		o.Liars = n(32)
	}
}

// honest says that only what a client can survive is asked of it: see doc.go.
func (o *Options) honest() bool {
	strange := o.OldStamps > 0 || o.IdleGaps == 1 || o.NearWrap == 1 || o.every[fUnclean] > 0
	early := o.Legacy == 0 && o.every[fForget] > 0
	if strange && (early || o.every[fSecond] > 0 || o.Liars > 0) || early && (o.every[fSecond] > 0 || o.Liars > 0) {
		return false
	}
	return !early || o.Asks == 31 && o.Closed == 0 && o.rate[fAskRefused] == 0
}

// tame takes out what no client survives.
func (o *Options) tame() {
	if !o.honest() {
		o.every[fForget], o.every[fSecond], o.Liars = 0, 0, 0
	}
}

// rules is how broker b judges.
func (o *Options) rules(b int) brokermodel.Rules {
	r := brokermodel.Rules{FirstMustBeZero: o.FirstMustBeZero == 1}
	if o.KIP758>>b&1 == 1 {
		r.Window = int32(o.Window[b])
	}
	return r
}
