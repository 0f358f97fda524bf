//go:build !unix

package sink

import "time"

func sleepUntil(t time.Time) { time.Sleep(time.Until(t)) }
