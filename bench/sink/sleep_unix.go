//go:build unix

package sink

import (
	"syscall"
	"time"
)

// coarse is what a sleep of the runtime can be late by: its poller counts in
// milliseconds. The rest is left to the kernel, which is finer.
const coarse = 2 * time.Millisecond

func sleepUntil(t time.Time) {
	d := time.Until(t)
	if d > coarse {
		time.Sleep(d - coarse)
		d = time.Until(t)
	}
	for d > 0 {
		ts := syscall.NsecToTimespec(int64(d))
		if err := syscall.Nanosleep(&ts, nil); err != nil && err != syscall.EINTR {
			time.Sleep(d)
			return
		}
		d = time.Until(t)
	}
}
