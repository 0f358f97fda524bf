package depth

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var plots = flag.String("depth.plots", "", "a directory to write plots of the first minute of some situations to")

// TestPlots draws depth, rate and delay over time.
func TestPlots(t *testing.T) {
	if *plots == "" {
		t.Skip("no -depth.plots")
	}
	for _, s := range situations {
		switch s.name {
		case "far and fast", "varying", "varying and full", "lossy":
		default:
			continue
		}
		name := filepath.Join(*plots, "depth-"+strings.ReplaceAll(s.name, " ", "-")+".svg")
		if err := os.WriteFile(name, []byte(draw(s)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	steps             = 300
	step              = 200 * time.Millisecond
	plotWide, lineTop = 2, 110 // pixels, of a step and of a curve
)

// draw lets the situation go on for a minute.
func draw(s situation) string {
	f := s.flow(0)
	curves := []struct {
		name, unit string
		values     []float64
	}{{"depth", "requests", nil}, {"rate", "requests/s", nil}, {"answer time", "ms", nil}}
	for range steps {
		got := measure(step, f)[0]
		for i, v := range []float64{float64(f.rule.Limit()), got.rate, float64(got.took) / 1e6} {
			curves[i].values = append(curves[i].values, v)
		}
	}
	out := new(strings.Builder)
	high := 40 + len(curves)*(lineTop+36)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="860" height="%d" font-family="sans-serif" font-size="12">`+"\n", high)
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" fill="#ffffff"/><text x="16" y="24" font-size="15" font-weight="bold">%s: the first minute, simulated</text>`+"\n", s.name)
	for i, c := range curves {
		top, y := 0.0, 56+i*(lineTop+36)
		for _, v := range c.values {
			top = max(top, v)
		}
		fmt.Fprintf(out, `<text x="16" y="%d">%s</text><text x="16" y="%d" fill="#555555">0 to %.4g %s</text>`+"\n", y+lineTop/2, c.name, y+lineTop/2+16, top, c.unit)
		fmt.Fprintf(out, `<line x1="200" x2="%d" y1="%d" y2="%d" stroke="#999999"/><polyline fill="none" stroke="#0072b2" stroke-width="1.5" points="`, 200+steps*plotWide, y+lineTop, y+lineTop)
		for j, v := range c.values {
			fmt.Fprintf(out, "%d,%.1f ", 200+j*plotWide, float64(y+lineTop)-v/max(top, 1)*lineTop)
		}
		out.WriteString(`"/>` + "\n")
	}
	out.WriteString("</svg>\n")
	return out.String()
}
