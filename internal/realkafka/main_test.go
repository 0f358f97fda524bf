package realkafka

import (
	"os"
	"testing"
)

// window is the sequence window of the cluster that speaks KIP-758.
const window = 1000

// The clusters of this package's tests. In the one of three, a node that sleeps
// for a while must not lose its place.
var (
	stock  = &Shared{Config: Config{Nodes: 1}}
	taught = &Shared{Config: Config{Nodes: 1, SequenceWindow: window}}
	three  = &Shared{Config: Config{Nodes: 3, Properties: map[string]string{
		"broker.session.timeout.ms": "120000",
		"replica.lag.time.max.ms":   "120000",
	}}}
)

func TestMain(m *testing.M) {
	if helper := os.Getenv(helperEnv); helper != "" {
		runHelper()
	}
	code := m.Run()
	for _, shared := range []*Shared{stock, taught, three} {
		if err := shared.Close(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
