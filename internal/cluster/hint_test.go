package cluster

import "testing"

// KIP-951: what a hint needs to be believed.
func TestHint(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1, 2, 3).topic("a", 7, 0, part{0, 1, 5, 0}, part{1, 2, 5, 0}), "a")
	at9 := Broker{ID: 9, Host: "b9", Port: 9092}
	moved := Broker{ID: 2, Host: "elsewhere", Port: 9092}
	mangled := Broker{ID: 9, Host: "b\n9", Port: 9092}
	for _, test := range []struct {
		name string
		hint LeaderHint
		ok   bool
	}{
		{"a known broker", LeaderHint{"a", [16]byte{7}, 0, 2, 6, nil}, true},
		{"a new broker with its address", LeaderHint{"a", [16]byte{7}, 0, 9, 6, &at9}, true},
		{"a known broker at a new address", LeaderHint{"a", [16]byte{7}, 0, 2, 6, &moved}, true},
		{"a known broker, and the address of another", LeaderHint{"a", [16]byte{7}, 0, 2, 6, &at9}, true},
		{"no topic id known to the request", LeaderHint{"a", [16]byte{}, 0, 2, 6, nil}, true},
		{"the same epoch", LeaderHint{"a", [16]byte{7}, 0, 2, 5, nil}, false},
		{"an older epoch", LeaderHint{"a", [16]byte{7}, 0, 2, 4, nil}, false},
		{"no epoch", LeaderHint{"a", [16]byte{7}, 0, 2, -1, nil}, false},
		{"an unknown broker", LeaderHint{"a", [16]byte{7}, 0, 9, 6, nil}, false},
		{"an unknown broker at a mangled address", LeaderHint{"a", [16]byte{7}, 0, 9, 6, &mangled}, false},
		{"an unknown broker, and the address of another", LeaderHint{"a", [16]byte{7}, 0, 8, 6, &at9}, false},
		{"nobody", LeaderHint{"a", [16]byte{7}, 0, -1, 6, nil}, false},
		{"a topic deleted meanwhile", LeaderHint{"a", [16]byte{6}, 0, 2, 6, nil}, false},
		{"an unknown topic", LeaderHint{"b", [16]byte{}, 0, 2, 6, nil}, false},
		{"an unknown partition", LeaderHint{"a", [16]byte{7}, 2, 2, 6, nil}, false},
		{"a negative partition", LeaderHint{"a", [16]byte{7}, -1, 2, 6, nil}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := dump(s)
			next, ok := s.Hint(test.hint)
			if dump(s) != before {
				t.Fatal("the old snapshot was changed")
			}
			if ok != test.ok || !ok && next != s {
				t.Fatalf("taken: %v", ok)
			}
			check(t, s, next, Changes{})
			if !ok {
				return
			}
			wantLeader(t, next, "a", 0, test.hint.Leader, 6)
			// K08: a hint names one broker, and says nothing about the others.
			for _, b := range s.Brokers() {
				if now, known := next.Broker(b.ID); !known || b.ID != test.hint.Leader && now != b {
					t.Errorf("broker %v became %v", b, now)
				}
			}
			wantLeader(t, next, "a", 1, 2, 5)
		})
	}
	next, _ := s.Hint(LeaderHint{"a", [16]byte{7}, 0, 2, 6, &moved})
	if b, _ := next.Broker(2); b != moved {
		t.Errorf("broker 2 is %v", b)
	}
}

// Metadata from before the hint does not undo it, and the error that stood with
// the old leader goes.
func TestHintAgainstOldMetadata(t *testing.T) {
	old := metadata(1, 2).topic("a", 7, 0, part{0, -1, 5, 5})
	s, _ := merge(t, new(Snapshot), old, "a")
	s, ok := s.Hint(LeaderHint{"a", [16]byte{7}, 0, 2, 6, nil})
	if topic, _ := s.Topic("a"); !ok || topic.Partitions[0].Err != 0 {
		t.Errorf("%+v", topic)
	}
	s, _ = merge(t, s, old, "a")
	wantLeader(t, s, "a", 0, 2, 6)
}
