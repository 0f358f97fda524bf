package main

import (
	"flag"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-kafka/sluice/internal/realkafka"
)

var realKills = flag.Int("real.kills", 6, "kills of the pipeline before a real Kafka of each kind")

func TestChaosOnRealKafka(t *testing.T) {
	for name, window := range map[string]int32{"stock": 0, "KIP-758": 1000} {
		t.Run(name, func(t *testing.T) {
			kafka := realkafka.Start(t, realkafka.Config{SequenceWindow: window})
			s := newTestStage(t, "-brokers", strings.Join(kafka.Addrs(), ","), "-chaos",
				"-kills", strconv.Itoa(*realKills), "-every", "20ms")
			if err := s.chaos(patience(t)); err != nil {
				t.Error(err)
			}
		})
	}
}
