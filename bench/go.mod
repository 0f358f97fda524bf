module github.com/sluice-kafka/sluice/bench

go 1.26.0

require (
	github.com/sluice-kafka/sluice v0.0.0
	github.com/twmb/franz-go v1.22.3
)

require (
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
	github.com/twmb/franz-go/pkg/kmsg v1.15.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
)

replace github.com/sluice-kafka/sluice => ../
