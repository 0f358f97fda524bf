module github.com/sluice-kafka/sluice

go 1.26.0

require (
	github.com/cenkalti/backoff/v4 v4.3.0
	github.com/klauspost/compress v1.20.4
	github.com/magiconair/properties v1.18.13
	github.com/pierrec/lz4/v4 v4.1.33
	github.com/twmb/franz-go v1.22.3
	github.com/twmb/franz-go/pkg/kmsg v1.15.1
	go.uber.org/atomic v1.12.0
	go.uber.org/goleak v1.3.0
)
