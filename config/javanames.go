package config

// javaProperties are the names of the Java producer, besides those of TLS and
// login, that are no settings here under the same name.
var javaProperties = []property{
	{name: "acks", doc: "accepted: every record waits for all in-sync replicas",
		kind: ignored{silent: []string{"all", "-1"}, valid: oneOf("all", "-1", "0", "1"),
			note: "has no effect: a record is Written when all in-sync replicas have it, as with acks=all, which is stronger and takes longer"}},
	{name: "enable.idempotence", doc: "accepted: every record is written once",
		kind: ignored{silent: []string{"true"}, valid: oneOf("true", "false"),
			note: "has no effect: the producer is always idempotent, which is stronger"}},
	{name: "retries", doc: "accepted: delivery.timeout.ms, not a count, ends the attempts, and none doubles a record",
		kind: ignored{silent: []string{"2147483647"}, valid: count(0),
			note: "has no effect: attempts are not counted, delivery.timeout.ms ends them; none of them doubles or reorders records"}},
	{name: "max.in.flight.requests.per.connection", doc: "accepted: the order of records is kept at any depth",
		kind: ignored{valid: count(1),
			note: "has no effect: order is kept at any depth; to bound the batches of a partition in flight, set max.in.flight.batches.per.partition"}},
	{name: "key.serializer", doc: "keys are bytes", kind: serializer},
	{name: "value.serializer", doc: "values are bytes", kind: serializer},
	{name: "transactional.id", doc: "there are no transactions",
		kind: refused{why: "cannot be set, there are no transactions here: take it out; a Lane with its checkpoint carries on exactly where it stopped"}},
	{name: "transaction.timeout.ms", doc: "there are no transactions",
		kind: ignored{note: "has no effect: it bounds a transaction, and there are none here"}},
	{name: "transaction.two.phase.commit.enable", doc: "there are no transactions",
		kind: refused{[]string{"false"}, "must be false: there are no transactions here"}},
	{name: "partitioner.class", doc: "a key goes to the partition that the Java client gives it without this setting",
		kind: refused{[]string{""}, "cannot run a Java class: without it keys go where Java's default puts them (murmur2); for another choice set Record.Partition"}},
	{name: "partitioner.adaptive.partitioning.enable", doc: "records without a key leave slow brokers alone",
		kind: refused{[]string{"true"}, "must be true: records without a key go elsewhere while a broker is slow; for another choice set Record.Partition"}},
	{name: "partitioner.availability.timeout.ms", doc: "there is no time after which a broker is left out",
		kind: refused{[]string{"0"}, "must be 0: there is no time after which a broker is left out; for another choice set Record.Partition"}},
	{name: "partitioner.rack.aware", doc: "racks are not looked at",
		kind: refused{[]string{"false"}, "must be false: partitions are not chosen by rack; for another choice set Record.Partition"}},
	{name: "interceptor.classes", doc: "Java classes cannot be run",
		kind: refused{[]string{""}, "cannot run Java classes, and what they do to each record would be missing: take it out, and do it before Produce"}},
	{name: "config.providers", doc: "values are taken as they are",
		kind: refused{[]string{""}, "cannot run Java classes, and ${...} in values is not replaced: put the values in, or set them in Go"}},
	{name: "config.providers.*", doc: "values are taken as they are", kind: refused{why: "belongs to config.providers, which cannot be used: put the values in, or set them in Go"}},
	{name: "client.dns.lookup", doc: "all addresses of a name are tried",
		kind: refused{[]string{"use_all_dns_ips", "default"}, "must be use_all_dns_ips: names are not replaced by canonical ones, which the check of certificates would not know"}},
	{name: "bootstrap.resolve.timeout.ms", doc: "names are looked up with each dial",
		kind: ignored{note: "has no effect: names are looked up with each dial, within socket.connection.setup.timeout.ms, again until one is found"}},
	{name: "buffer.memory.allocation.strategy", doc: "buffers grow with their batches",
		kind: ignored{note: "has no effect: buffers grow with their batches, up to buffer.memory"}},
	{name: "client.rack", doc: "racks are not looked at",
		kind: ignored{note: "has no effect: records go to the leader of a partition, in whichever rack"}},
	{name: "compression.gzip.level", doc: "each codec has one level", kind: level},
	{name: "compression.lz4.level", doc: "each codec has one level", kind: level},
	{name: "compression.zstd.level", doc: "each codec has one level", kind: level},
	{name: "connections.max.idle.ms", doc: "connections stay open",
		kind: ignored{note: "has no effect: connections stay open, and one that the broker closes is dialled again when it is needed"}},
	{name: "enable.metrics.push", doc: "metrics are not pushed to brokers",
		kind: ignored{silent: []string{"false"}, note: "has no effect: metrics are not pushed to the brokers; Producer.Stats has them"}},
	{name: "metadata.recovery.strategy", doc: "the bootstrap servers are always asked again",
		kind: ignored{silent: []string{"rebootstrap"}, note: "has no effect: where no known broker answers, the bootstrap servers are asked again"}},
	{name: "metadata.recovery.rebootstrap.trigger.ms", doc: "the bootstrap servers are asked again without a delay of their own",
		kind: ignored{note: "has no effect: where no known broker answers, the bootstrap servers are asked again"}},
	{name: "metric.reporters", doc: "Producer.Stats has the metrics", kind: metrics},
	{name: "metrics.num.samples", doc: "Producer.Stats has the metrics", kind: metrics},
	{name: "metrics.recording.level", doc: "Producer.Stats has the metrics", kind: metrics},
	{name: "metrics.sample.window.ms", doc: "Producer.Stats has the metrics", kind: metrics},
	{name: "auto.include.jmx.reporter", doc: "Producer.Stats has the metrics", kind: metrics},
	{name: "receive.buffer.bytes", doc: "the system sizes the buffers of sockets", kind: socketBuffer},
	{name: "send.buffer.bytes", doc: "the system sizes the buffers of sockets", kind: socketBuffer},
	{name: "socket.connection.setup.timeout.max.ms", doc: "the time for a connection does not grow",
		kind: ignored{note: "has no effect: the time for a connection is socket.connection.setup.timeout.ms and does not grow"}},
	{name: "block.on.buffer.full", doc: "old; see max.block.ms",
		kind: refused{why: "is of an old client: say with max.block.ms how long Produce may wait (0: not at all)"}},
	{name: "metadata.fetch.timeout.ms", doc: "old; see max.block.ms",
		kind: refused{why: "is of an old client: say with max.block.ms how long Produce may wait"}},
	{name: "timeout.ms", doc: "old; see request.timeout.ms", kind: refused{why: "is of an old client: set request.timeout.ms"}},
	{name: "schema.registry.*", doc: "of Confluent's serializers", kind: registry},
	{name: "basic.auth.credentials.source", doc: "of Confluent's serializers", kind: registry},
	{name: "basic.auth.user.info", doc: "of Confluent's serializers", kind: registry},
	{name: "bearer.auth.*", doc: "of Confluent's serializers", kind: registry},
	{name: "auto.register.schemas", doc: "of Confluent's serializers", kind: registry},
	{name: "use.latest.version", doc: "of Confluent's serializers", kind: registry},
	{name: "key.subject.name.strategy", doc: "of Confluent's serializers", kind: registry},
	{name: "value.subject.name.strategy", doc: "of Confluent's serializers", kind: registry},
}

const bytesSerializer = "org.apache.kafka.common.serialization.ByteArraySerializer"

var (
	serializer = ignored{silent: []string{bytesSerializer},
		note: "has no effect: keys and values are bytes, and no serializer is called: encode before Produce"}

	level = ignored{silent: []string{"-1"}, note: "has no effect: each codec has one level, a fast one"}

	metrics = ignored{note: "has no effect: there are no reporters; Producer.Stats has the metrics"}

	socketBuffer = ignored{silent: []string{"-1", "0"},
		note: "has no effect: the system sizes the buffers of sockets; the Go field Dialer can do otherwise"}

	registry = ignored{note: "has no effect: it is for serializers that use a schema registry, and none is called: encode before Produce"}
)
