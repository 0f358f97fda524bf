package main

import (
	"errors"
	"fmt"
)

// line is the line through some values that has the least squares.
type line struct {
	perMinute float64
	rise      float64 // from the first value to the last
}

func lineOf(samples []sample) line {
	return fit(samples, func(x sample) float64 { return float64(x.resident) })
}

func aliveLine(samples []sample) line {
	return fit(samples, func(x sample) float64 { return float64(x.alive) })
}

func fit(samples []sample, value func(sample) float64) line {
	n := float64(len(samples))
	var meanT, meanY, tt, ty float64
	for _, x := range samples {
		meanT += x.at.Minutes() / n
		meanY += value(x) / n
	}
	for _, x := range samples {
		t := x.at.Minutes() - meanT
		tt += t * t
		ty += t * (value(x) - meanY)
	}
	if tt == 0 {
		return line{}
	}
	slope := ty / tt
	return line{slope, slope * (samples[len(samples)-1].at - samples[0].at).Minutes()}
}

// judge says what is wrong with the samples. A short run has room for what the
// collector does; in a long one a small leak rises above that, too.
func judge(o options, samples []sample, l line) error {
	var errs []error
	for _, x := range samples {
		if x.resident > o.limit {
			errs = append(errs, fmt.Errorf("%.1f MiB resident after %v, above the limit of %.1f", mib(float64(x.resident)), x.at.Round(1e8), mib(float64(o.limit))))
			break
		}
	}
	if l.rise > float64(o.rise) {
		errs = append(errs, fmt.Errorf("resident memory grows: %.1f MiB in the second half", mib(l.rise)))
	}
	return errors.Join(errs...)
}
