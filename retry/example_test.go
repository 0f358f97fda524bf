package retry_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice-kafka/sluice/retry"
)

// The same code says two things: without a base offset the batch was refused,
// with one it was appended before the broker lost the partition.
func ExampleClassify() {
	refused := retry.Classify(retry.NotLeaderOrFollower, -1)
	appended := retry.Classify(retry.NotLeaderOrFollower, 1042)
	fmt.Println(refused.Fate)
	fmt.Println(appended.Fate)
	// Output:
	// not appended
	// uncertain
}

func ExampleCode() {
	err := fmt.Errorf("orders/3: %w", retry.NotEnoughReplicas)
	fmt.Println(errors.Is(err, retry.NotEnoughReplicas))
	fmt.Println(err)
	// Output:
	// true
	// orders/3: NOT_ENOUGH_REPLICAS (19): too few replicas in sync, nothing was written
}

func ExampleBackoff() {
	b := retry.NewBackoff(100*time.Millisecond, time.Second)
	for range 5 {
		fmt.Println(b.Next(0.5)) // use a random number here
	}
	b.Reset()
	fmt.Println(b.Next(0.5))
	// Output:
	// 100ms
	// 200ms
	// 400ms
	// 800ms
	// 900ms
	// 100ms
}
