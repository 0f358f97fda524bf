package main

import (
	"errors"
	"fmt"
)

// residentSlope is how fast resident memory rises, in bytes a minute.
func residentSlope(samples []sample) float64 {
	return slope(samples, func(x sample) float64 { return float64(x.resident) })
}

func aliveSlope(samples []sample) float64 {
	return slope(samples, func(x sample) float64 { return float64(x.alive) })
}

// slope is that of the line with the least squares.
func slope(samples []sample, value func(sample) float64) float64 {
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
		return 0
	}
	return ty / tt
}

// growth is how much higher resident memory was in the second half than in the
// first, at its highest: it goes up and down with the buffer and the collector,
// and a line through that says little.
func growth(samples []sample) int64 {
	peak := func(half []sample) (most int64) {
		for _, x := range half {
			most = max(most, x.resident)
		}
		return most
	}
	middle := len(samples) / 2
	return peak(samples[middle:]) - peak(samples[:middle])
}

// judge says what is wrong with the samples. A short run has room for what the
// collector does; in a long one a small leak rises above that, too.
func judge(o options, samples []sample) error {
	var errs []error
	for _, x := range samples {
		if x.resident > o.limit {
			errs = append(errs, fmt.Errorf("%.1f MiB resident after %v, above the limit of %.1f", mib(float64(x.resident)), x.at.Round(1e8), mib(float64(o.limit))))
			break
		}
	}
	if more := growth(samples); more > o.rise {
		errs = append(errs, fmt.Errorf("resident memory grows: its highest is %.1f MiB more in the second half", mib(float64(more))))
	}
	return errors.Join(errs...)
}
