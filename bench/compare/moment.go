package main

import (
	"runtime"
	"syscall"
	"time"
)

// moment is where a client process stands.
type moment struct {
	at      time.Time
	cpu     time.Duration
	acked   int64
	stamped int64
	allocs  uint64
	gcs     uint32
}

func (s *source) look() moment {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return moment{
		at: time.Now(), cpu: cpu(), acked: s.meter.published.Load(), stamped: s.stamped.Load(),
		allocs: mem.Mallocs, gcs: mem.NumGC,
	}
}

func (m moment) since(o moment) figures {
	return figures{
		Seconds: m.at.Sub(o.at).Seconds(), Records: m.acked - o.acked, CPU: m.cpu - o.cpu,
		Allocs: m.allocs - o.allocs, GCs: m.gcs - o.gcs,
	}
}

// cpu is what this process has used, in user and kernel mode.
func cpu() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func usage() (u syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u
}

// maxRSS is the most memory that was resident, in bytes.
func maxRSS() int64 {
	n := usage().Maxrss
	if runtime.GOOS != "darwin" {
		n <<= 10 // the others count in KiB
	}
	return n
}
