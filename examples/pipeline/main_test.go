package main

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also the process that chaos starts and kills.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-brokers" {
		os.Exit(start(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                         "",
		"-chaos -kills 3":          "",
		"-brokers a -chaos":        "",
		"-brokers a -output o":     "-brokers needs -input and -output",
		"-every 0s":                "must be positive",
		"-partitions 0":            "must be positive",
		"-kills 2 -pauses 3":       "-pauses must be",
		"-window -1":               "-window must be",
		"-grow":                    "-grow needs",
		"-grow -chaos -kills 0":    "-grow needs",
		"-chaos please":            `what is "please"?`,
		"-brokers a -input i -v x": `what is "x"?`,
	} {
		_, err := parse(strings.Fields(args))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
