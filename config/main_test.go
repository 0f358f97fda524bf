package config

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faultsOf returns all FieldErrors joined in err; anything else in it fails.
func faultsOf(t *testing.T, err error) []*FieldError {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("not a joined error: %v", err)
	}
	var faults []*FieldError
	for _, e := range joined.Unwrap() {
		f, ok := errors.AsType[*FieldError](e)
		if !ok {
			t.Fatalf("not a FieldError: %v", e)
		}
		faults = append(faults, f)
	}
	return faults
}

// wantFaults demands exactly these faults, in this order, each given as
// "PROPERTY: a part of the problem".
func wantFaults(t *testing.T, err error, want ...string) {
	t.Helper()
	faults := faultsOf(t, err)
	if len(faults) != len(want) {
		t.Fatalf("got %d faults, want %d:\n%v", len(faults), len(want), err)
	}
	for i, f := range faults {
		name, part, _ := strings.Cut(want[i], ": ")
		if f.Property != name || !strings.Contains(f.Problem, part) {
			t.Errorf("fault %d: got %v, want %s", i, f, want[i])
		}
	}
}

// valid is a configuration without a fault.
func valid() Config {
	c := Default()
	c.BootstrapServers = []string{"127.0.0.1:9092"}
	return c
}
