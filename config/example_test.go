package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/sluice-kafka/sluice/config"
)

func ExampleDefault() {
	cfg := config.Default()
	cfg.BootstrapServers = []string{"127.0.0.1:9092"}
	cfg.Linger = 0 // no linger, not the default

	fmt.Println(cfg.Validate(), cfg.Linger, cfg.DeliveryTimeout)
	// Output: <nil> 0s 2m0s
}

func ExampleConfig_Validate() {
	cfg := config.Default()
	cfg.BootstrapServers = []string{"broker1:9092", "broker2"}
	cfg.Linger = -time.Second
	cfg.MaxRequestBytes = cfg.BatchBytes

	// Every fault comes at once.
	fmt.Println(cfg.Validate())
	// Output:
	// config: bootstrap.servers = "broker2": has no port: write host:port, the usual port of Kafka is 9092
	// config: linger.ms = "-1000": must be from 0 to 2147483647 milliseconds
	// config: max.request.size = "131072": must be at least batch.size + 1024, so that a full batch fits a request
}

func ExampleFromMap() {
	cfg, err := config.FromMap(map[string]string{
		"bootstrap.servers": "broker1:9092, broker2:9092",
		"linger.ms":         "20",
		"compression.type":  "zstd",
		"acks":              "all",
	})
	fmt.Println(cfg.BootstrapServers, cfg.Linger, cfg.Compression, cfg.BatchBytes, err)

	_, err = config.FromMap(map[string]string{
		"lingerms": "20",
		"acks":     "some",
	})
	fmt.Println(err)
	// Output:
	// [broker1:9092 broker2:9092] 20ms zstd 131072 <nil>
	// config: acks = "some": must be all, -1, 0 or 1
	// config: lingerms: unknown property; did you mean linger.ms?
}

func ExampleParse() {
	cfg, err := config.Parse([]byte(`
# a file of the Java client works, if it is for a producer of this kind
bootstrap.servers = broker1:9092,\
                    broker2:9092
security.protocol = SASL_SSL
sasl.mechanism = SCRAM-SHA-512
sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required \
    username="alice" \
    password="opens-the-gate";
`))
	fmt.Println(cfg.BootstrapServers, cfg.SASLMechanism, cfg.SASLUsername, cfg.SASLPassword, err)

	_, err = config.Parse([]byte("linger.ms = 5s\nlinger.ms = 5000\n"))
	fmt.Println(err)
	// Output:
	// [broker1:9092 broker2:9092] SCRAM-SHA-512 alice [hidden] <nil>
	// config: line 1: linger.ms = "5s": is not a whole number of milliseconds; write 5000, without a unit
	// config: line 2: linger.ms: was given before, at line 1
}

// A program can look at the faults one by one.
func ExampleFieldError() {
	_, err := config.FromMap(map[string]string{"batch.size": "64k", "max.block.ms": "-7"})

	var first *config.FieldError
	fmt.Println(errors.As(err, &first), first.Property)

	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var fault *config.FieldError
		errors.As(e, &fault)
		fmt.Printf("%s|%s|%s\n", fault.Property, fault.Value, fault.Problem)
	}
	// Output:
	// true batch.size
	// batch.size|64k|is not a whole number of bytes
	// max.block.ms|-7|must be from 0 to 2147483647 milliseconds, or -1 (config.Unbounded) for no bound
}

// Secrets do not get into logs, however they are printed.
func ExampleSecret() {
	cfg := config.Default()
	cfg.SASLPassword = config.NewSecret("opens-the-gate")

	fmt.Printf("%v %+v %#v\n", cfg.SASLPassword, cfg.SASLPassword, cfg.SASLPassword)
	text, _ := json.Marshal(cfg.SASLPassword)
	fmt.Println(string(text))
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	logger.Info("start", "password", cfg.SASLPassword)
	fmt.Println(cfg.SASLPassword.Reveal())
	// Output:
	// [hidden] [hidden] [hidden]
	// "[hidden]"
	// level=INFO msg=start password=[hidden]
	// opens-the-gate
}

func ExampleProperties() {
	for _, p := range config.Properties()[:4] {
		fmt.Printf("%-18s %-17s %-7q %s\n", p.Name, p.Field, p.Default, p.Doc)
	}
	// Output:
	// bootstrap.servers  BootstrapServers  ""      brokers asked first, host:port separated by commas; required
	// client.id          ClientID          "sluice" name of the client in the broker's logs, metrics and quotas
	// linger.ms          Linger            "5"     how long an open batch waits for company at most; 0: for a small part of the round trip
	// batch.size         BatchBytes        "131072" size at which a batch is closed
}
