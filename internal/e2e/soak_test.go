package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
)

var (
	soakFor  = flag.Duration("e2e.soak", 0, "how long TestSoak goes on")
	soakSeed = flag.Uint64("e2e.seed", 0, "what TestSoak draws its faults from; 0: something new, which is printed")
)

// TestSoak draws faults, one or a few in a row for each producer, half of the
// time on stock brokers and half on ones that speak KIP-758.
func TestSoak(t *testing.T) {
	if *soakFor == 0 {
		t.Skip("to be run by: go test ./internal/e2e -run Soak -v -e2e.soak=10m -timeout 20m")
	}
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	all := map[string]*tally{}
	defer func() { (&arena{tally: all}).report(t) }()
	for _, flavour := range []struct {
		name   string
		window int32
	}{{"stock", 0}, {"KIP-758", smallWindow}} {
		t.Run(flavour.name, func(t *testing.T) {
			a := openArena(t, flavour.window)
			a.tally = all
			end := time.Now().Add(*soakFor / 2)
			for n := 0; time.Now().Before(end) && !t.Failed(); n++ {
				// Each round has its own, so that one more draw changes no other.
				rng := rand.New(rand.NewPCG(seed, uint64(n)))
				a.draw(t, rng)
			}
		})
	}
}

// draw has one round with what comes out of the hat.
func (a *arena) draw(t *testing.T, rng *rand.Rand) {
	kinds := []fault{faults[rng.IntN(len(faults))]}
	for range rng.IntN(4) {
		if next := faults[rng.IntN(len(faults))]; !kinds[0].alone && !next.alone {
			kinds = append(kinds, next)
		}
	}
	name := fmt.Sprintf("round %d", a.rounds)
	for _, f := range kinds {
		name += ", " + f.name
	}
	batch, connections := 512<<rng.IntN(3), 1+rng.IntN(3)
	codec := []config.Compression{config.CompressionNone, config.CompressionLZ4}[rng.IntN(2)]
	t.Run(name, func(t *testing.T) {
		a.round(t, rng, func(c *config.Config) {
			c.BatchBytes, c.ConnectionsPerBroker = batch, connections
			c.BufferBytes = int64(loadBuffer / loadBatch * batch)
			c.Compression = codec
		}, kinds...)
	})
}
