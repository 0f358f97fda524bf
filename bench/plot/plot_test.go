package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func sample() Chart {
	return Chart{
		Title: "CPU <of> a record", Unit: "ns/record", Series: []string{"a", "b & c"},
		Groups: []Group{
			{"first", []Bar{{0, 100, 90, 120, "100"}, {1, 50, 50, 50, "50"}}},
			{"second", []Bar{{0, math.NaN(), 0, 0, "none"}}},
		},
	}
}

func TestDrawIsWellFormed(t *testing.T) {
	var out strings.Builder
	if err := Draw(&out, sample()); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(out.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, out.String())
		}
	}
	for _, bad := range []string{"NaN", "Inf", ">none<", "ZgotmplZ"} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("%q is in it", bad)
		}
	}
}

func TestBarsAreToScale(t *testing.T) {
	d := layout(sample())
	if len(d.Bars) != 2 {
		t.Fatalf("%d bars", len(d.Bars))
	}
	if r := d.Bars[0].W / d.Bars[1].W; math.Abs(r-2) > 1e-9 {
		t.Errorf("100 is %v times as wide as 50", r)
	}
	if d.Bars[0].Low >= d.Bars[0].X+d.Bars[0].W || d.Bars[0].High <= d.Bars[0].X+d.Bars[0].W {
		t.Errorf("whisker from %v to %v around %v", d.Bars[0].Low, d.Bars[0].High, d.Bars[0].X+d.Bars[0].W)
	}
	if d.Bars[0].High > width-right {
		t.Errorf("the whisker leaves the chart: %v", d.Bars[0].High)
	}
}

func TestTickStep(t *testing.T) {
	for top, want := range map[float64]float64{0: 1, 100: 20, 120: 20, 9: 1, 0.07: 0.01, 4e6: 1e6, 8e6: 1e6} {
		if got := tickStep(top); math.Abs(got-want) > want*1e-9 {
			t.Errorf("to %v in steps of %v, want %v", top, got, want)
		}
	}
}
