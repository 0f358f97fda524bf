package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"
)

// sample is what the process has at one moment. Sizes are in bytes.
type sample struct {
	at              time.Duration
	resident        int64
	heap, alive     int64 // objects, and those the last collection found in use
	goroutines      int
	files           int // -1: not known here
	written, failed int64
	buffered        int64
}

const header = "    time   RSS MiB  heap MiB alive MiB  buffer MiB  goroutines  files       written       failed"

func (x sample) String() string {
	return fmt.Sprintf("%8s %9.1f %9.1f %9.1f %11.1f %11d %6d %13d %12d", x.at.Round(100*time.Millisecond),
		mib(float64(x.resident)), mib(float64(x.heap)), mib(float64(x.alive)), mib(float64(x.buffered)), x.goroutines, x.files, x.written, x.failed)
}

func mib(bytes float64) float64 { return bytes / (1 << 20) }

func (s *source) look(began time.Time) sample {
	const objects, alive, total, released = "/memory/classes/heap/objects:bytes", "/gc/heap/live:bytes",
		"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes"
	m := []metrics.Sample{{Name: objects}, {Name: alive}, {Name: total}, {Name: released}}
	metrics.Read(m)
	value := func(i int) int64 { return int64(m[i].Value.Uint64()) }
	x := sample{
		at: time.Since(began), heap: value(0), alive: value(1), goroutines: runtime.NumGoroutine(), files: openFiles(),
		written: s.written.Load(), failed: s.failed.Load(), buffered: s.p.Stats().BufferedBytes,
	}
	var err error
	if x.resident, err = residentMemory(); err != nil {
		x.resident = value(2) - value(3) // what the runtime has of the system: no Linux
	}
	return x
}

// residentMemory is VmRSS of this process, on Linux.
func residentMemory() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kib, err := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("no VmRSS")
}

func openFiles() int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(files)
}
