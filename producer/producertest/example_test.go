package producertest_test

import (
	"context"
	"fmt"

	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A cluster is started, used by any client, and looked into.
func Example() {
	cluster, err := producertest.New(producertest.Config{Topics: map[string]int32{"orders": 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()

	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Addrs()...))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for _, v := range []string{"one", "two"} {
		client.ProduceSync(context.Background(), &kgo.Record{Topic: "orders", Value: []byte(v)})
	}

	records, err := cluster.Records("orders", 0)
	for _, r := range records {
		fmt.Printf("%d %s\n", r.Offset, r.Value)
	}
	fmt.Println(err, cluster.Violations())
	// Output:
	// 0 one
	// 1 two
	// <nil> []
}

// The first attempt of every batch is executed, and its answer lost.
func ExampleCluster_OnProduce() {
	cluster, err := producertest.New(producertest.Config{Topics: map[string]int32{"orders": 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	lost := 0
	cluster.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
		if a.FirstTime() {
			lost++
			return producertest.Drop()
		}
		return producertest.Fault{}
	})

	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Addrs()...))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	err = client.ProduceSync(context.Background(), &kgo.Record{Topic: "orders", Value: []byte("one")}).FirstErr()

	cluster.OnProduce(nil)
	fmt.Println(err, lost, len(cluster.Log("orders", 0)))
	// Output: <nil> 1 1
}
