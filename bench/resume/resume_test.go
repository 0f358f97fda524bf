package main

import (
	"context"
	"os"
	"strings"
	"testing"
)

// The test binary is also the cluster that the measurements start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "cluster" {
		if err := dispatch(context.Background(), os.Args[1:]); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestMeasureCheckpoint(t *testing.T) {
	c, err := measureCheckpoint(t.Context(), 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	if c.binary == 0 || c.json <= c.binary || len(c.quiet) != 2 || len(c.busy) != 2 || len(c.resume) != 2 {
		t.Errorf("%+v", c)
	}
}

func TestMeasureLanes(t *testing.T) {
	if err := measureSoManyLanes(t.Context(), 4, 9, 1); err != nil {
		t.Error(err)
	}
}

func TestWatch(t *testing.T) {
	c := &contest{ends: map[int32]int64{0: 10, 1: 20}}
	for text, want := range map[string]float64{
		"saved 0 0.\nsaved 1 5.\nsaved 0 10.\nsaved 1 20.\n": 25,
		"saved 0 10.\nsaved 1 20.\n":                         20,
	} {
		if first, after, err := c.watch(strings.NewReader(text)); err != nil || first.IsZero() || after != want {
			t.Errorf("%q: %v %v %v", text, first, after, err)
		}
	}
	for _, text := range []string{"saved 0 10.\n", "hello\n"} {
		if _, _, err := c.watch(strings.NewReader(text)); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}

func TestParse(t *testing.T) {
	for args, want := range map[string]string{
		"":               "",
		"-only lanes":    "",
		"-only lane":     `no section "lane"`,
		"-rounds 0":      "-rounds",
		"-v please":      `what is "please"?`,
		"-only pipeline": "",
	} {
		_, err := parse(strings.Fields(args))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
