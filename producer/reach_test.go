package producer

import (
	"fmt"
	"testing"

	"github.com/sluice-kafka/sluice/internal/cluster"
)

// The order in which brokers are tried: bootstrap servers among the first whatever
// the number of known ones, nobody twice, the one who served last at the end, and in
// the end everybody.
func TestTargets(t *testing.T) {
	for _, known := range []int{0, 1, 3, 12, 100} {
		for _, servers := range []int{1, 2, 5} {
			var brokers []cluster.Broker
			for id := range known {
				brokers = append(brokers, cluster.Broker{ID: int32(id), Host: fmt.Sprint("b", id), Port: 9092})
			}
			var seeds []string
			for i := range servers {
				seeds = append(seeds, fmt.Sprintf("seed-%d:9092", i))
			}
			ever := map[string]bool{}
			for turn := range 200 {
				checkTargets(t, targets(brokers, seeds, 3, turn, "b1:9092"), known, servers, ever)
			}
			if len(ever) != known+servers {
				t.Errorf("%d and %d: only %d were ever tried", known, servers, len(ever))
			}
		}
	}
	// A bootstrap server that is a known broker is that broker.
	list := targets([]cluster.Broker{{ID: 7, Host: "a", Port: 1}}, []string{"a:1", "b:1"}, 0, 0, "")
	if len(list) != 2 || list[0] != (target{7, "a:1"}) || list[1] != (target{-1, "b:1"}) {
		t.Errorf("%v", list)
	}
	// One that served last and is not named any more is not tried at all.
	if list := targets(nil, []string{"a:1"}, 0, 0, "gone:1"); len(list) != 1 || list[0].addr != "a:1" {
		t.Errorf("%v", list)
	}
}

func checkTargets(t *testing.T, list []target, known, servers int, ever map[string]bool) {
	t.Helper()
	seen := map[string]bool{}
	early := 0
	for i, who := range list {
		if seen[who.addr] {
			t.Fatalf("%s twice in %v", who.addr, list)
		}
		seen[who.addr], ever[who.addr] = true, true
		if i < 4 && who.id < 0 {
			early++
		}
	}
	if len(list) > mostTargets || early < min(1, servers) {
		t.Fatalf("%d targets, %d bootstrap servers among the first four", len(list), early)
	}
	if known > 1 && list[len(list)-1].addr != "b1:9092" {
		t.Fatalf("the last one is not last: %v", list)
	}
}
