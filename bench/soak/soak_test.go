package main

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain makes the test binary the broker process, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == brokerCommand {
		if err := serveBroker(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A second is too short to judge memory by; what is to be seen is that all parts
// work, and that a limit is noticed.
func TestSoak(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault, func(t *testing.T) {
			var out bytes.Buffer
			args := []string{"-span", "500ms", "-every", "50ms", "-buffer", "4", "-limit", "4096", "-rise", "4096", "-fault", fault}
			if err := dispatch(t.Context(), args, &out); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			if lines := strings.Count(out.String(), "\n"); lines < 5 {
				t.Errorf("%d lines:\n%s", lines, out.String())
			}
		})
	}
	t.Run("above the limit", func(t *testing.T) {
		var out bytes.Buffer
		err := dispatch(t.Context(), []string{"-span", "200ms", "-every", "50ms", "-limit", "1"}, &out)
		if err == nil || !strings.Contains(err.Error(), "above the limit") {
			t.Errorf("%v\n%s", err, out.String())
		}
	})
}

func TestGrowth(t *testing.T) {
	var flat, leak []sample
	for i := range 30 {
		saw := int64(i%3) << 20
		at := time.Duration(i) * time.Minute
		flat = append(flat, sample{at: at, resident: 100<<20 + saw})
		leak = append(leak, sample{at: at, resident: 100<<20 + saw + int64(i)<<20})
	}
	o := options{limit: 1 << 30, rise: 10 << 20}
	if s := residentSlope(flat); math.Abs(mib(s)) > 0.1 || judge(o, flat) != nil {
		t.Errorf("flat: %v a minute, %v", s, judge(o, flat))
	}
	if s := residentSlope(leak); math.Abs(mib(s)-1) > 0.1 || judge(o, leak) == nil {
		t.Errorf("a MiB a minute: %v, %v", s, judge(o, leak))
	}
}

func TestParse(t *testing.T) {
	for _, args := range []string{"-fault bad", "-span 1s -every 1s", "-every -1s", "-size 0", "-broker 127.0.0.1:1 -fault dead", "more"} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
	o, err := parse([]string{"-buffer", "32"})
	if err != nil || o.limit != 128<<20 || o.every != 2*time.Second {
		t.Errorf("%+v, %v", o, err)
	}
}
