package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	for _, s := range []string{
		"localhost:9092", "127.0.0.1:1", "b-1.example.com:65535", "my_broker:9092", "broker.:9092",
		"[::1]:9092", "[fe80::1%eth0]:9092", "[::ffff:1.2.3.4]:9092", "1broker:9092", "kafka-0.kafka.svc:9092",
	} {
		if problem := addressProblem(s); problem != "" {
			t.Errorf("%s: %s", s, problem)
		}
	}
	for s, want := range map[string]string{
		"":                                 "empty",
		"broker":                           "has no port",
		"broker:":                          "port from 1 to 65535",
		"broker:0":                         "port from 1 to 65535",
		"broker:65536":                     "port from 1 to 65535",
		"broker:+1":                        "port from 1 to 65535",
		"broker:9092x":                     "port from 1 to 65535",
		"broker:kafka":                     "port from 1 to 65535",
		":9092":                            "has no host",
		"::1:9092":                         "needs brackets",
		"[::1]":                            "is not [IPv6 address]:port",
		"[::1:9092":                        "is not [IPv6 address]:port",
		"[::1]x:9092":                      "is not [IPv6 address]:port",
		"[]:9092":                          "no IPv6 address in its brackets",
		"[127.0.0.1]:9092":                 "no IPv6 address in its brackets",
		"[broker]:9092":                    "no IPv6 address in its brackets",
		"PLAINTEXT://broker:9092":          "has a scheme",
		"user@broker:9092":                 "has a user name",
		"a b:9092":                         "has a character",
		"a:9092;b:9092":                    "needs brackets",
		"brök:9092":                        "has a character",
		"a..b:9092":                        "empty part",
		".:9092":                           "empty part",
		strings.Repeat("a", 64) + ":1":     "more than 63",
		strings.Repeat("a.", 127) + "aa:1": "more than 253",
		"256.0.0.1:9092":                   "not an IPv4 address",
		"1.2.3:9092":                       "not an IPv4 address",
	} {
		if problem := addressProblem(s); !strings.Contains(problem, want) || problem == "" {
			t.Errorf("%q: got %q, want %q", s, problem, want)
		}
	}
}

func TestAllBadServersAreReported(t *testing.T) {
	_, err := FromMap(map[string]string{"bootstrap.servers": "a:1,,b,c:2,"})
	wantFaults(t, err, "bootstrap.servers: empty", "bootstrap.servers: no port", "bootstrap.servers: empty")
}

func TestServersNeverShowAPassword(t *testing.T) {
	c := valid()
	c.BootstrapServers = []string{"alice:" + canary + "@broker:9092", "sasl://u:" + canary + "@broker:9092"}
	err := c.Validate()
	wantFaults(t, err, "bootstrap.servers: has a user name", "bootstrap.servers: has a scheme")
	if strings.Contains(err.Error()+c.String(), canary) {
		t.Errorf("%v %v", err, c)
	}
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{"a:1", "[::1]:9092", "a", "::1:9092", "[a]:1", "x://y:1", "1.2.3.4:5", "a..:1", "é:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if addressProblem(s) != "" {
			return
		}
		// What is accepted can be dialled: the port is one, the host is an
		// address or a name, and there is nothing else.
		host, port, err := net.SplitHostPort(s)
		if err != nil {
			t.Fatalf("%q accepted: %v", s, err)
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			t.Fatalf("%q accepted with port %q", s, port)
		}
		if _, err := netip.ParseAddr(host); err != nil && (host == "" || strings.ContainsAny(host, ":/@ %[]\x00")) {
			t.Fatalf("%q accepted with host %q", s, host)
		}
	})
}
