package config

import (
	"strconv"
	"strings"
)

// springProperties are the names by which Spring Boot configures its Kafka client.
// Below springPrefixes it has the names of the Java client as they are.
var springProperties = []property{
	{name: "spring.kafka.bootstrap-servers", kind: alias{to: "bootstrap.servers"}},
	{name: "spring.kafka.producer.bootstrap-servers", kind: alias{to: "bootstrap.servers"}},
	{name: "spring.kafka.client-id", kind: alias{to: "client.id"}},
	{name: "spring.kafka.producer.client-id", kind: alias{to: "client.id"}},
	{name: "spring.kafka.producer.acks", kind: alias{to: "acks"}},
	{name: "spring.kafka.producer.retries", kind: alias{to: "retries"}},
	{name: "spring.kafka.producer.batch-size", doc: "may have a unit, as 64KB", kind: alias{to: "batch.size", convert: fromDataSize}},
	{name: "spring.kafka.producer.buffer-memory", doc: "may have a unit, as 64MB", kind: alias{to: "buffer.memory", convert: fromDataSize}},
	{name: "spring.kafka.producer.compression-type", kind: alias{to: "compression.type"}},
	{name: "spring.kafka.producer.key-serializer", kind: alias{to: "key.serializer"}},
	{name: "spring.kafka.producer.value-serializer", kind: alias{to: "value.serializer"}},
	{name: "spring.kafka.producer.transaction-id-prefix", kind: alias{to: "transactional.id"}},
	{name: "spring.kafka.security.protocol", kind: alias{to: "security.protocol"}},
	{name: "spring.kafka.producer.security.protocol", kind: alias{to: "security.protocol"}},
	{name: "spring.kafka.ssl.protocol", kind: alias{to: "ssl.protocol"}},
	{name: "spring.kafka.ssl.trust-store-location", doc: "a path or file: URL", kind: alias{to: "ssl.truststore.location", convert: fromFileURL}},
	{name: "spring.kafka.ssl.trust-store-certificates", kind: alias{to: "ssl.truststore.certificates"}},
	{name: "spring.kafka.ssl.trust-store-password", kind: alias{to: "ssl.truststore.password"}},
	{name: "spring.kafka.ssl.trust-store-type", kind: alias{to: "ssl.truststore.type"}},
	{name: "spring.kafka.ssl.key-store-location", doc: "a path or file: URL", kind: alias{to: "ssl.keystore.location", convert: fromFileURL}},
	{name: "spring.kafka.ssl.key-store-certificate-chain", kind: alias{to: "ssl.keystore.certificate.chain"}},
	{name: "spring.kafka.ssl.key-store-key", kind: alias{to: "ssl.keystore.key"}},
	{name: "spring.kafka.ssl.key-store-password", kind: alias{to: "ssl.keystore.password"}},
	{name: "spring.kafka.ssl.key-store-type", kind: alias{to: "ssl.keystore.type"}},
	{name: "spring.kafka.ssl.key-password", kind: alias{to: "ssl.key.password"}},
	{name: "spring.kafka.ssl.bundle", doc: "a bundle is not known here",
		kind: refused{why: "names a bundle of Spring, which is not known here: name the PEM files in spring.kafka.ssl.trust-store-location and so on"}},
	{name: "spring.kafka.jaas.*", doc: "see sasl.jaas.config",
		kind: refused{why: "is not read: give the login in spring.kafka.properties.sasl.jaas.config"}},
	{name: "spring.kafka.consumer.*", doc: "of consumers", kind: springOnly},
	{name: "spring.kafka.listener.*", doc: "of consumers", kind: springOnly},
	{name: "spring.kafka.retry.*", doc: "of consumers", kind: springOnly},
	{name: "spring.kafka.streams.*", doc: "of Kafka Streams", kind: springOnly},
	{name: "spring.kafka.admin.*", doc: "of admin clients", kind: springOnly},
	{name: "spring.kafka.template.*", doc: "of Spring", kind: springOnly},
}

var springOnly = ignored{note: "has no effect: it is a setting of Spring that does not reach a producer"}

// springPrefixes are followed by a name of the Java client.
var springPrefixes = []string{"spring.kafka.properties.", "spring.kafka.producer.properties."}

// fromDataSize converts sizes as Spring writes them: bytes, or with a unit of a
// power of two.
func fromDataSize(value string) (string, string) {
	const want = "a whole number of bytes, or of KB or MB"
	shift := 0
	for i, unit := range []string{"B", "KB", "MB", "GB"} {
		if n, ok := strings.CutSuffix(value, unit); ok && n != "" && n[len(n)-1] >= '0' && n[len(n)-1] <= '9' {
			value, shift = n, 10*i
		}
	}
	n, problem := parseWhole(value, want)
	if problem == "" && n<<shift>>shift != n {
		problem = "is out of range, want " + want
	}
	return strconv.FormatInt(n<<shift, 10), problem
}

// fromFileURL takes the scheme off a path.
func fromFileURL(value string) (string, string) {
	if strings.HasPrefix(value, "classpath:") {
		return "", "is inside a Java program: give the path of a PEM file"
	}
	value = strings.TrimPrefix(value, "file:")
	return strings.TrimPrefix(value, "//"), ""
}
