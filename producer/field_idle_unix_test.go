//go:build unix

package producer_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// cpuTime is what the process has used so far.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// K70: an idle producer takes no processor time to speak of, and neither does
// one whose records wait: for linger, for an answer, for a broker.
func TestK70NoBusyLoop(t *testing.T) {
	for name, wait := range map[string]func(r *rig){
		"idle":   func(*rig) {},
		"linger": func(r *rig) { r.produce(t.Context(), producer.Record{}, 10) },
		"answer": func(r *rig) {
			r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(nil) })
			_ = r.try(producer.Record{}, 10)
			_ = r.p.Flush(r.within(10 * time.Millisecond))
		},
		"broker": func(r *rig) {
			r.c.Stop(0)
			_ = r.try(producer.Record{}, 10)
			_ = r.p.Flush(r.within(10 * time.Millisecond))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, producertest.Config{Topics: map[string]int32{"t": 3}}, func(c *config.Config) { c.Linger = time.Minute })
			r.sync(t.Context(), producer.Record{}, 10)
			wait(r)
			const span = 500 * time.Millisecond
			before := cpuTime(t)
			time.Sleep(span) // it measures what happens meanwhile
			if used := cpuTime(t) - before; used > span/2 {
				t.Errorf("%v of processor time in %v", used, span)
			}
		})
	}
}

// K66: open, produce and close on real sockets leaves no descriptor open.
func TestK66NoDescriptorIsLeft(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("needs /proc: ", err)
		}
		return len(entries)
	}
	c, err := producertest.New(producertest.Config{Topics: map[string]int32{"t": 3}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cycle := func(abort bool) {
		cfg := config.Default()
		cfg.BootstrapServers = c.Addrs()
		p, err := producer.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		p.Produce(t.Context(), producer.Record{Topic: "t"}, nil)
		if abort {
			p.Abort()
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	cycle(false)
	before := count()
	for i := range 100 {
		cycle(i%3 == 0)
	}
	// The cluster closes its ends a moment after the producer does.
	for deadline := time.Now().Add(time.Minute); count() > before+10; {
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors, %d at first", count(), before)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
