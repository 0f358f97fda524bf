package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The names and defaults that users rely on.
var wantDefaults = map[string]string{
	"bootstrap.servers":   "",
	"client.id":           "sluice",
	"linger.ms":           "5",
	"batch.size":          "131072",
	"max.request.size":    "8388608",
	"compression.type":    "none",
	"buffer.memory":       "67108864",
	"max.block.ms":        "60000",
	"max.in.flight.bytes": "1073741824",
	"max.in.flight.sequence.number.per.connection": "10000000",
	"max.in.flight.batches.per.partition":          "0",
	"sluice.requests.in.flight":                    "0",
	"connections.per.broker":                       "1",
	"request.timeout.ms":                           "30000",
	"delivery.timeout.ms":                          "120000",
	"socket.connection.setup.timeout.ms":           "10000",
	"retry.backoff.ms":                             "100",
	"retry.backoff.max.ms":                         "1000",
	"reconnect.backoff.ms":                         "50",
	"reconnect.backoff.max.ms":                     "1000",
	"metadata.max.age.ms":                          "300000",
	"allow.auto.create.topics":                     "true",
	"metadata.max.idle.ms":                         "300000",
	"metadata.cluster.check.enable":                "true",
	"sluice.refusal.grace.ms":                      "5000",
	"producer.id.expiration.ms":                    "86400000",
	"partitioner.ignore.keys":                      "false",
	"security.protocol":                            "PLAINTEXT",
	"ssl.truststore.location":                      "",
	"ssl.truststore.certificates":                  "",
	"ssl.keystore.location":                        "",
	"ssl.keystore.certificate.chain":               "",
	"ssl.key.location":                             "",
	"ssl.keystore.key":                             "",
	"sasl.mechanism":                               "",
	"sasl.username":                                "",
	"sasl.password":                                "",
	"sluice.allow.plaintext.passwords":             "false",
}

func TestDefaultsOfProperties(t *testing.T) {
	got := map[string]string{}
	for _, p := range Properties() {
		if p.Field != "" {
			got[p.Name] = p.Default
		}
	}
	if !maps.Equal(got, wantDefaults) {
		t.Errorf("got %v\nwant %v", got, wantDefaults)
	}
}

func TestPropertiesAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Properties() {
		if seen[p.Name] {
			t.Errorf("%s is listed twice", p.Name)
		}
		seen[p.Name] = true
		if p.Doc == "" || strings.HasSuffix(p.Doc, ".") || strings.Contains(p.Doc, "\n") || strings.Contains(p.Doc, "|") {
			t.Errorf("%s: doc %q is no line for a table", p.Name, p.Doc)
		}
		if p.Name != strings.ToLower(p.Name) || p.Name != strings.TrimSpace(p.Name) {
			t.Errorf("%q is no property name", p.Name)
		}
	}
	list := Properties()
	list[0].Name = "changed"
	if Properties()[0].Name != "bootstrap.servers" {
		t.Error("the caller can change the table")
	}
}

// otherValues holds for each property with a field a value that is not its default.
var otherValues = map[string]string{
	"bootstrap.servers":   "a:1,[::1]:2",
	"client.id":           "my client",
	"linger.ms":           "0",
	"batch.size":          "1",
	"max.request.size":    "104857600",
	"compression.type":    "zstd",
	"buffer.memory":       "9223372036854775807",
	"max.block.ms":        "-1",
	"max.in.flight.bytes": "9223372036854775807",
	"max.in.flight.sequence.number.per.connection": "1073741824",
	"max.in.flight.batches.per.partition":          "5",
	"sluice.requests.in.flight":                    "100",
	"connections.per.broker":                       "3",
	"request.timeout.ms":                           "1",
	"delivery.timeout.ms":                          "2147483647",
	"socket.connection.setup.timeout.ms":           "1",
	"retry.backoff.ms":                             "1",
	"retry.backoff.max.ms":                         "2147483647",
	"reconnect.backoff.ms":                         "1",
	"reconnect.backoff.max.ms":                     "2147483647",
	"metadata.max.age.ms":                          "1",
	"allow.auto.create.topics":                     "false",
	"metadata.max.idle.ms":                         "60000",
	"metadata.cluster.check.enable":                "false",
	"sluice.refusal.grace.ms":                      "0",
	"producer.id.expiration.ms":                    "8000",
	"partitioner.ignore.keys":                      "true",
	"security.protocol":                            "SASL_SSL",
	"ssl.truststore.location":                      "/etc/ca.pem",
	"ssl.truststore.certificates":                  "line\nline",
	"ssl.keystore.location":                        "/etc/me.pem",
	"ssl.keystore.certificate.chain":               "line\nline",
	"ssl.key.location":                             "/etc/me.key",
	"ssl.keystore.key":                             "line\nline",
	"sasl.mechanism":                               "SCRAM-SHA-512",
	"sasl.username":                                "alice",
	"sasl.password":                                " with spaces ",
	"sluice.allow.plaintext.passwords":             "true",
}

// Each property sets its own field and nothing else, and gives its value back.
func TestEveryPropertyRoundTrips(t *testing.T) {
	for _, p := range table {
		if p.field == "" {
			continue
		}
		value, ok := otherValues[p.name]
		if !ok {
			t.Errorf("no value to test %s with", p.name)
			continue
		}
		c, err := FromMap(map[string]string{p.name: value})
		if err != nil {
			t.Error(err)
			continue
		}
		if got := p.kind.text(&c); got != value {
			t.Errorf("%s: got %q back, want %q", p.name, got, value)
		}
		if changed := changedFields(c, Default()); !slices.Equal(changed, []string{p.field}) {
			t.Errorf("%s changed %v, want %s", p.name, changed, p.field)
		}
	}
}

// changedFields compares secrets by what they hide.
func changedFields(a, b Config) []string {
	var names []string
	for f := range reflect.TypeFor[Config]().Fields() {
		if f.Name == "Warnings" || !f.IsExported() { // said about the settings, and none of them
			continue
		}
		x, y := reflect.ValueOf(a).FieldByName(f.Name).Interface(), reflect.ValueOf(b).FieldByName(f.Name).Interface()
		if s, ok := x.(Secret); ok {
			x, y = s.Reveal(), y.(Secret).Reveal()
		}
		if !reflect.DeepEqual(x, y) {
			names = append(names, f.Name)
		}
	}
	return names
}

func TestValuesOfJavaUsers(t *testing.T) {
	for _, tc := range []struct{ name, value, want string }{
		{"acks", "all", ""},
		{"acks", "-1", ""},
		{"acks", "2", "must be all, -1, 0 or 1"},
		{"acks", "none", "must be all"},
		{"enable.idempotence", "true", ""},
		{"enable.idempotence", "TRUE", ""},
		{"enable.idempotence", "maybe", "must be true or false"},
		{"retries", "2147483647", ""},
		{"retries", "-1", "must be from 0"},
		{"retries", "many", "is not a whole number"},
		{"max.in.flight.requests.per.connection", "0", "must be from 1"},
		{"value.serializer", bytesSerializer, ""},
		{"transactional.id", "tx", "no transactions"},
		{"ssl.endpoint.identification.algorithm", "https", ""},
		{"ssl.endpoint.identification.algorithm", "", "pose as a broker"},
		{"ssl.truststore.type", "PEM", ""},
		{"ssl.truststore.type", "JKS", "must be PEM: JKS and PKCS12"},
		{"ssl.keystore.type", "pem", ""},
		{"ssl.keystore.type", "PKCS12", "must be PEM"},
		{"ssl.key.password", "pw", "encrypted private keys"},
		{"ssl.keystore.password", "pw", "PEM files have no password"},
		{"ssl.truststore.password", "pw", "PEM files have no password"},
		{"compression.type", "ZSTD", ""},
		{"security.protocol", "sasl_ssl", ""},
		{"sasl.mechanism", "GSSAPI", "must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; for others set the Go field SASL"},
	} {
		_, err := FromMap(map[string]string{tc.name: tc.value})
		if tc.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		wantFaults(t, err, tc.name+": "+tc.want)
	}
}
