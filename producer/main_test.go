package producer_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Nothing of a producer, nor of a cluster, may be left behind by any test.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
