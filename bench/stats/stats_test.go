package stats

import (
	"math"
	"slices"
	"testing"
)

func TestOf(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		in   []float64
		want Spread
	}{
		{nil, Spread{}},
		{[]float64{nan}, Spread{}},
		{[]float64{7}, Spread{7, 7, 7, 1}},
		{[]float64{9, 1, 5}, Spread{5, 1, 9, 3}},
		{[]float64{4, 1, 3, 2}, Spread{2.5, 1, 4, 4}},
		{[]float64{3, nan, 1}, Spread{2, 1, 3, 2}},
	} {
		in := slices.Clone(c.in)
		if got := Of(in); got != c.want {
			t.Errorf("Of(%v) = %v, want %v", c.in, got, c.want)
		}
		for i := range in {
			if in[i] != c.in[i] && !math.IsNaN(in[i]) {
				t.Errorf("Of changed %v into %v", c.in, in)
			}
		}
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]int64, 100)
	for i := range hundred {
		hundred[i] = int64(i) + 1
	}
	for _, c := range []struct {
		in   []int64
		q    float64
		want int64
	}{
		{nil, 0.5, 0},
		{[]int64{3}, 0.999, 3},
		{[]int64{1, 2}, 0.5, 1},
		{[]int64{1, 2}, 0.51, 2},
		{hundred, 0, 1},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 0.999, 100},
		{hundred, 1, 100},
	} {
		if got := Quantile(c.in, c.q); got != c.want {
			t.Errorf("Quantile of %d values at %v = %v, want %v", len(c.in), c.q, got, c.want)
		}
	}
}

func TestRatiosAreOfTheSameRound(t *testing.T) {
	nan := math.NaN()
	// The second round was slow for both: the ratio is the same.
	got := Ratios([]float64{1, 10, nan, 1}, []float64{2, 20, 5, 0})
	if want := (Spread{0.5, 0.5, 0.5, 2}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
