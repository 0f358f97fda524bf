package config

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// namesOf reads a list under testdata/names.
func namesOf(t *testing.T, client string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/names/" + client + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

func TestEveryNameOfOtherClientsIsKnown(t *testing.T) {
	for _, client := range []string{"java-producer", "librdkafka"} {
		for _, name := range namesOf(t, client) {
			if lookup(name) == nil {
				t.Errorf("%s: %s is not known", client, name)
			}
		}
	}
}

// What is about TLS, a login, partitions or transactions is never ignored. Only
// what says how long a transaction may take is: there is none.
func TestNothingThatMattersIsIgnored(t *testing.T) {
	harmless := []string{"transaction.timeout.ms", "schema.registry.*", "spring.kafka.consumer.*"}
	for _, p := range Properties() {
		for _, word := range []string{"ssl", "sasl", "tls", "https", "jaas", "security", "login", "oauth", "kerberos", "partitioner", "partitioning", "transaction", "password"} {
			if strings.Contains(p.Name, word) && p.Use == Ignored && !slices.Contains(harmless, p.Name) {
				t.Errorf("%s is ignored", p.Name)
			}
		}
	}
}

func TestAliasesLeadToFields(t *testing.T) {
	for _, p := range table {
		a, ok := p.kind.(alias)
		if !ok {
			continue
		}
		to := lookup(a.to)
		if to == nil {
			t.Fatalf("%s is another name of %s, which is not there", p.name, a.to)
		}
		if _, again := to.kind.(alias); again {
			t.Errorf("%s leads to another alias", p.name)
		}
	}
}

// A refusal says what to do, and a warning what is different.
func TestReasonsSayWhatToDo(t *testing.T) {
	for _, p := range table {
		var reason string
		switch k := p.kind.(type) {
		case refused:
			reason = k.why
			if !strings.Contains(reason, "must be ") && !strings.Contains(reason, ": ") {
				t.Errorf("%s: %q does not say what to do", p.name, reason)
			}
		case ignored:
			reason = k.note
		default:
			continue
		}
		if reason == "" || strings.HasSuffix(reason, ".") || strings.Contains(reason, "\n") {
			t.Errorf("%s: %q", p.name, reason)
		}
	}
}

func TestUnitsOfOtherNames(t *testing.T) {
	for _, tc := range []struct{ name, value, main, want, problem string }{
		{"queue.buffering.max.kbytes", "1024", "buffer.memory", "1048576", ""},
		{"queue.buffering.max.kbytes", "9007199254740992", "", "", "out of range"},
		{"queue.buffering.max.kbytes", "-1", "", "", "out of range"},
		{"queue.buffering.max.kbytes", "1M", "", "", "whole number of kilobytes"},
		{"queue.buffering.max.ms", "5", "linger.ms", "5", ""},
		{"queue.buffering.max.ms", "0.2", "linger.ms", "1", ""},
		{"queue.buffering.max.ms", "NaN", "", "", "must be a number of milliseconds"},
		{"queue.buffering.max.ms", "1e300", "", "", "must be a number of milliseconds"},
		{"message.timeout.ms", "60000", "delivery.timeout.ms", "60000", ""},
		{"message.timeout.ms", "0", "", "", "would have no end"},
		{"compression.codec", "zstd", "compression.type", "zstd", ""},
		{"compression.codec", "inherit", "compression.type", "none", ""},
		{"ssl.ca.location", "probe", "ssl.truststore.location", "", ""},
		{"topic.metadata.refresh.interval.ms", "-1", "", "", "must be from 1"},
		{"spring.kafka.producer.batch-size", "16KB", "batch.size", "16384", ""},
		{"spring.kafka.producer.batch-size", "16384", "batch.size", "16384", ""},
		{"spring.kafka.producer.batch-size", "16384B", "batch.size", "16384", ""},
		{"spring.kafka.producer.batch-size", "200MB", "", "", "must be from 1 to 104857600 bytes"},
		{"spring.kafka.producer.batch-size", "KB", "", "", "whole number of bytes"},
		{"spring.kafka.producer.buffer-memory", "9223372036854775807KB", "", "", "out of range"},
		{"spring.kafka.ssl.key-store-location", "file:///a/b.pem", "ssl.keystore.location", "/a/b.pem", ""},
		{"spring.kafka.ssl.key-store-location", "classpath:b.jks", "", "", "give the path of a PEM file"},
	} {
		c, err := FromMap(map[string]string{tc.name: tc.value})
		if tc.problem != "" {
			wantFaults(t, err, tc.name+": "+tc.problem)
			if got := faultsOf(t, err)[0].Value; got != tc.value {
				t.Errorf("%s: shows %q, given was %q", tc.name, got, tc.value)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if got := lookup(tc.main).kind.text(&c); got != tc.want {
			t.Errorf("%s = %s: %s is %q, want %q", tc.name, tc.value, tc.main, got, tc.want)
		}
	}
}

func TestTwoNamesOfOneSetting(t *testing.T) {
	_, err := Parse([]byte("bootstrap.servers=a:1\nmetadata.broker.list=b:1\nspring.kafka.properties.linger.ms=5\nlinger.ms=5\nacks=all\nrequest.required.acks=1\n"))
	wantFaults(t, err,
		"metadata.broker.list: sets the same as bootstrap.servers, which is given at line 1: keep one of them",
		"linger.ms: sets the same as spring.kafka.properties.linger.ms, which is given at line 3",
		"request.required.acks: sets the same as acks, which is given at line 5")
	_, err = FromMap(map[string]string{
		"spring.kafka.properties.sasl.jaas.config": plainLogin + ` required username="a" password="b";`, "sasl.username": "c"})
	wantFaults(t, err, "spring.kafka.properties.sasl.jaas.config: sasl.username is given as well")
}

// What these ask for, or more, happens anyway.
func TestWarningsOnlyWhereSomethingDiffers(t *testing.T) {
	for text, warned := range map[string]bool{
		"acks=all": false, "acks=-1": false, "acks=1": true, "acks=0": true,
		"retries=2147483647": false, "retries=0": true, "enable.idempotence=true": false, "enable.idempotence=false": true,
		"max.in.flight.requests.per.connection=1": true, "max.in.flight=5": true, "request.required.acks=all\npartitioner=murmur2_random": false,
		"session.timeout.ms=1": true, "transaction.timeout.ms=1": true,
		"key.serializer=" + bytesSerializer: false, "value.serializer=io.x.AvroSerializer": true,
		"client.dns.lookup=use_all_dns_ips": false, "ssl.enabled.protocols=TLSv1.2,TLSv1.1": true, "ssl.enabled.protocols=TLSv1.3,TLSv1.2": false,
		"linger.ms=1": false, "partitioner=murmur2_random": false, "metadata.broker.list=a:1\npartitioner=murmur2_random": false,
		"metadata.broker.list=a:1": true, "bootstrap.servers=a:1": false,
	} {
		c, err := Parse([]byte(text))
		wantFaults(t, err)
		if got := len(c.Warnings) > 0; got != warned {
			t.Errorf("%s: warnings %v", text, c.Warnings)
		}
	}
}

func TestNeverAcceptedWhereItMatters(t *testing.T) {
	for _, text := range []string{
		"partitioner=consistent_random", "partitioner=random", "partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner",
		"partitioner.adaptive.partitioning.enable=false", "transactional.id=x", "transaction.two.phase.commit.enable=true",
		"ssl.cipher.suites=TLS_AES_128_GCM_SHA256", "ssl.enabled.protocols=TLSv1.3", "ssl.enabled.protocols=TLSv1", "ssl.protocol=TLSv1.1",
		"enable.ssl.certificate.verification=false", "ssl.endpoint.identification.algorithm=", "ssl.endpoint.identification.algorithm=none",
		"ssl.crl.location=/x", "sasl.kerberos.service.name=kafka", "sasl.mechanism=GSSAPI", "sasl.mechanisms=OAUTHBEARER",
		"sasl.login.callback.handler.class=x.Y", "sasl.oauthbearer.token.endpoint.url=https://x", "interceptor.classes=x.Y",
		"enable.gapless.guarantee=true", "config.providers=file", "config.providers.file.class=x.Y", "plugin.library.paths=x",
		"spring.kafka.producer.transaction-id-prefix=x", "spring.kafka.jaas.enabled=true", "client.dns.lookup=resolve_canonical_bootstrap_servers_only",
	} {
		if _, err := Parse([]byte(text)); len(faultsOf(t, err)) != 1 {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A wrong guess is worse than none.
func TestNoGuessAcrossMeanings(t *testing.T) {
	for _, client := range []string{"java-producer", "librdkafka"} {
		for _, name := range namesOf(t, client) {
			if _, err := FromMap(map[string]string{name: "x"}); err != nil && strings.Contains(err.Error(), "did you mean") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, name := range []string{"session.timeout.ms", "message.timeout.ms"} {
		if c, err := FromMap(map[string]string{name: "45000"}); err != nil || c.RequestTimeout != Default().RequestTimeout {
			t.Errorf("%s: %v", name, err)
		}
	}
}
