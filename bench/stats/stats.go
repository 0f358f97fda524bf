// Package stats has the few statistics that the comparison shows.
package stats

import (
	"cmp"
	"math"
	"slices"
)

// Spread is what rounds gave for one figure.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	N      int     `json:"n"`
}

// Of returns the spread of values; zero for none. Values that are no numbers
// do not count.
func Of(values []float64) Spread {
	v := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(v) == 0 {
		return Spread{}
	}
	slices.Sort(v)
	mid := v[len(v)/2]
	if len(v)%2 == 0 {
		mid = (v[len(v)/2-1] + v[len(v)/2]) / 2
	}
	return Spread{Median: mid, Min: v[0], Max: v[len(v)-1], N: len(v)}
}

// Quantile returns the value that a share q of the sorted values does not
// exceed, by nearest rank: always one of the values. Zero for none.
func Quantile[T cmp.Ordered](sorted []T, q float64) T {
	var zero T
	if len(sorted) == 0 {
		return zero
	}
	rank := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(rank, 0), len(sorted)-1)]
}

// Ratios divides round by round: what disturbed a round disturbed both. Rounds
// that one of them lacks (NaN), and those with a divisor of zero, do not count.
func Ratios(a, b []float64) Spread {
	var r []float64
	for i := range min(len(a), len(b)) {
		if b[i] != 0 {
			r = append(r, a[i]/b[i])
		}
	}
	return Of(r)
}
