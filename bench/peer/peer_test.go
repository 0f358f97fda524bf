package peer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/bench/sink"
)

// TestPeersDeliver gives every peer records with and without stamps, to
// partitions as it likes and as it is told, and compares its callbacks with what
// arrived.
func TestPeersDeliver(t *testing.T) {
	for _, p := range all {
		if p.Name == "null" {
			continue
		}
		for _, codec := range []string{"none", "lz4", "zstd", "snappy", "gzip"} {
			if p.Name == "raw" && codec != "none" {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", p.Name, codec), func(t *testing.T) {
				deliver(t, p, Config{Codec: codec})
			})
		}
		t.Run(p.Name+"/in turn", func(t *testing.T) {
			deliver(t, p, Config{Codec: "none", Spread: true})
		})
	}
}

func deliver(t *testing.T, p Peer, c Config) {
	const partitions, records = 3, 2000
	b, err := sink.Listen(sink.Config{Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	value := make([]byte, 100)
	c.Addrs, c.Topic, c.Linger, c.ValueBytes = b.Addrs(), sink.Topic, time.Millisecond, len(value)
	c.BatchBytes, c.BufferBytes = 16<<10, 1<<20
	done, stamped := 0, 0
	c.Done = func(stamp *int64, err error) {
		if err != nil {
			t.Error(err)
		}
		if stamp != nil {
			*stamp++
			stamped++
		}
		done++
	}
	client, err := p.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stamps := make([]int64, records)
	for i := range records {
		stamp := &stamps[i]
		if i%2 == 0 {
			stamp = nil
		}
		client.Produce(ctx, value, int32(i%partitions), stamp)
	}
	if err := client.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if done != records || stamped != records/2 {
		t.Errorf("%d callbacks, %d with a stamp, for %d records", done, stamped, records)
	}
	for i := range stamps {
		if want := int64(i % 2); stamps[i] != want {
			t.Fatalf("the stamp of record %d came %d times", i, stamps[i])
		}
	}
	if s := b.Stats(); s.Records != records || s.OutOfOrder+s.Corrupt+s.Duplicates > 0 {
		t.Errorf("arrived: %+v", s)
	}
}

func TestFind(t *testing.T) {
	if _, err := FindAll("sluice,nobody"); err == nil {
		t.Error("nobody was found")
	}
	ps, err := FindAll("kgo, sluice")
	if err != nil || len(ps) != 2 || ps[0].Name != "kgo" || ps[1].Name != "sluice" {
		t.Errorf("%v, %v", ps, err)
	}
}
