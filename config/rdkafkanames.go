package config

// rdkafkaProperties are the names that librdkafka has for its producers and the
// Java client has not, besides those of TLS and login.
var rdkafkaProperties = []property{
	{name: "metadata.broker.list", kind: alias{to: "bootstrap.servers"}},
	{name: "message.max.bytes", kind: alias{to: "max.request.size"}},
	{name: "topic.metadata.refresh.interval.ms", kind: alias{to: "metadata.max.age.ms"}},
	{name: "socket.timeout.ms", kind: alias{to: "request.timeout.ms"}},
	{name: "message.timeout.ms", kind: alias{to: "delivery.timeout.ms", convert: notEndless}},
	{name: "queue.buffering.max.kbytes", doc: "in kilobytes of 1024 bytes", kind: alias{to: "buffer.memory", convert: fromKiB}},
	{name: "queue.buffering.max.ms", doc: "decimals are rounded up", kind: alias{to: "linger.ms", convert: fromFraction, note: roundedUp}},
	{name: "compression.codec", kind: alias{to: "compression.type", unset: "inherit"}},
	{name: "request.required.acks", kind: alias{to: "acks"}},
	{name: "message.send.max.retries", kind: alias{to: "retries"}},
	{name: "max.in.flight", kind: alias{to: "max.in.flight.requests.per.connection"}},

	{name: "partitioner", doc: "keys go where the Java client puts them",
		kind: refused{[]string{"murmur2_random"}, "must be murmur2_random, which is what happens here: the others put equal keys into other partitions; for another choice set Record.Partition"}},
	{name: "sticky.partitioning.linger.ms", doc: "a partition gets records without a key until a batch is full",
		kind: refused{[]string{"10"}, "cannot be chosen: a partition gets records without a key until about a batch is full; take it out, or set Record.Partition"}},
	{name: "enable.gapless.guarantee", doc: "a Lane has it",
		kind: refused{[]string{"false"}, "must be false: what has no gaps is a Lane, which stops at the first record that is not written"}},
	{name: "queuing.strategy", doc: "records leave in order", kind: refused{[]string{"fifo"}, "must be fifo: records leave in the order of Produce"}},
	{name: "plugin.library.paths", doc: "there are no plugins", kind: refused{why: "cannot load libraries, and what they do would be missing: take it out"}},

	{name: "queue.buffering.max.messages", doc: "see buffer.memory",
		kind: ignored{note: "has no effect: it would bound the records that wait by their number; here buffer.memory bounds their bytes"}},
	{name: "queue.buffering.backpressure.threshold", doc: "a connection carries as many requests as bring something",
		kind: ignored{note: "has no effect: a connection carries as many requests as bring something; batches fill while more would only wait"}},
	{name: "batch.num.messages", doc: "see batch.size", kind: ignored{note: "has no effect: it would bound the records of a batch by their number; here batch.size bounds their bytes"}},
	{name: "message.copy.max.bytes", doc: "records are copied once", kind: ignored{note: "has no effect: every record is copied once, into its batch"}},
	{name: "receive.message.max.bytes", doc: "answers of a producer are small", kind: ignored{note: "has no effect: the size of an answer has a bound of its own"}},
	{name: "compression.level", doc: "each codec has one level", kind: level},
	{name: "delivery.report.only.error", doc: "each record has its callback",
		kind: ignored{silent: []string{"false"}, note: "has no effect: each record that has a callback gets it called, also when it is written"}},
	{name: "produce.offset.report", doc: "a Result has its offset", kind: ignored{silent: []string{"true"}, note: "has no effect: a Result always has its offset"}},
	{name: "topic.metadata.refresh.fast.interval.ms", doc: "see retry.backoff.ms", kind: ignored{note: "has no effect: metadata of a lost leader is asked for at retry.backoff.ms"}},
	{name: "topic.metadata.refresh.fast.cnt", doc: "without effect there, too", kind: obsolete},
	{name: "topic.metadata.refresh.sparse", doc: "only topics in use are asked for",
		kind: ignored{silent: []string{"true"}, note: "has no effect: only topics in use are asked for"}},
	{name: "topic.metadata.propagation.max.ms", doc: "a topic that is not there fails its records after some seconds",
		kind: ignored{note: "has no effect: a topic that is not there fails its records after some seconds"}},
	{name: "topic.blacklist", doc: "nobody produces to a topic by accident", kind: ignored{note: "has no effect: it would hide topics from listings, and there are none here"}},
	{name: "socket.blocking.max.ms", doc: "without effect there, too", kind: obsolete},
	{name: "socket.send.buffer.bytes", doc: "the system sizes the buffers of sockets", kind: socketBuffer},
	{name: "socket.receive.buffer.bytes", doc: "the system sizes the buffers of sockets", kind: socketBuffer},
	{name: "socket.keepalive.enable", doc: "keep-alive is on", kind: ignored{silent: []string{"true"}, note: "has no effect: TCP keep-alive is on; the Go field Dialer can do otherwise"}},
	{name: "socket.nagle.disable", doc: "Nagle's algorithm is off", kind: ignored{silent: []string{"true"}, note: "has no effect: Nagle's algorithm is off; the Go field Dialer can do otherwise"}},
	{name: "socket.max.fails", doc: "a connection is given up at its first failure", kind: ignored{silent: []string{"1"}, note: "has no effect: a connection is given up at its first failure"}},
	{name: "broker.address.ttl", doc: "names are looked up with each dial", kind: ignored{note: "has no effect: names are looked up with each dial"}},
	{name: "broker.address.family", doc: "both families are dialled", kind: ignored{silent: []string{"any"}, note: "has no effect: addresses of both families are dialled; the Go field Dialer can do otherwise"}},
	{name: "reconnect.backoff.jitter.ms", doc: "without effect there, too", kind: obsolete},
	{name: "api.version.request", doc: "brokers are always asked", kind: ignored{silent: []string{"true"}, note: "has no effect: brokers are always asked for their versions"}},
	{name: "api.version.request.timeout.ms", doc: "see socket.connection.setup.timeout.ms", kind: ignored{note: "has no effect: asking for versions is part of socket.connection.setup.timeout.ms"}},
	{name: "api.version.fallback.ms", doc: "brokers are always asked", kind: ignored{silent: []string{"0"}, note: "has no effect: brokers are always asked for their versions"}},
	{name: "broker.version.fallback", doc: "brokers are always asked", kind: ignored{note: "has no effect: brokers are always asked for their versions"}},
	{name: "builtin.features", doc: "all codecs are there", kind: ignored{note: "has no effect: there are no features to choose, all codecs are there"}},
	{name: "statistics.interval.ms", doc: "Producer.Stats has the metrics", kind: ignored{silent: []string{"0"}, note: "has no effect: Producer.Stats gives the metrics when it is called"}},
	{name: "debug", doc: "see the Go field Logger", kind: rdkafkaLog},
	{name: "log_level", doc: "see the Go field Logger", kind: rdkafkaLog},
	{name: "log.queue", doc: "see the Go field Logger", kind: rdkafkaLog},
	{name: "log.thread.name", doc: "see the Go field Logger", kind: rdkafkaLog},
	{name: "log.connection.close", doc: "see the Go field Logger", kind: rdkafkaLog},
	{name: "enable.random.seed", doc: "of C", kind: ignored{note: "has no effect: it is about random numbers in C"}},
	{name: "internal.termination.signal", doc: "of C", kind: ignored{note: "has no effect: it is about threads in C; Close ends the producer"}},
	{name: "enabled_events", doc: "not a property", kind: callback}, {name: "error_cb", doc: "not a property", kind: callback},
	{name: "throttle_cb", doc: "not a property", kind: callback}, {name: "stats_cb", doc: "not a property", kind: callback},
	{name: "log_cb", doc: "not a property", kind: callback}, {name: "background_event_cb", doc: "not a property", kind: callback},
	{name: "socket_cb", doc: "not a property", kind: callback}, {name: "connect_cb", doc: "not a property", kind: callback},
	{name: "closesocket_cb", doc: "not a property", kind: callback}, {name: "open_cb", doc: "not a property", kind: callback},
	{name: "resolve_cb", doc: "not a property", kind: callback}, {name: "opaque", doc: "not a property", kind: callback},
	{name: "default_topic_conf", doc: "not a property", kind: callback}, {name: "interceptors", doc: "not a property", kind: callback},
	{name: "dr_cb", doc: "not a property", kind: callback}, {name: "dr_msg_cb", doc: "not a property", kind: callback},
	{name: "partitioner_cb", doc: "not a property", kind: callback}, {name: "msg_order_cmp", doc: "not a property", kind: callback},
}

var (
	obsolete = ignored{note: "has no effect, neither here nor in librdkafka any more"}

	rdkafkaLog = ignored{note: "has no effect: what happens is logged to the Go field Logger, at the levels of slog"}

	callback = function{refused{why: "is set by a function of librdkafka, not by a property: take it out"}}
)

// function is a name in librdkafka's list that no file can set.
type function struct{ refused }

// rdkafkaOnly are names by which a configuration of librdkafka is recognised.
var rdkafkaOnly = []string{"metadata.broker.list", "message.max.bytes", "message.timeout.ms", "queue.buffering.max.kbytes",
	"queue.buffering.max.ms", "queue.buffering.max.messages", "compression.codec", "request.required.acks",
	"message.send.max.retries", "ssl.ca.location", "ssl.certificate.location", "sasl.mechanisms", "statistics.interval.ms", "debug"}

// partitionerWarning is due where a configuration of librdkafka leaves the choice
// of partitions to its default, which is not the one here.
func partitionerWarning(given map[string]entry) []Warning {
	if _, chosen := given["partitioner"]; chosen {
		return nil
	}
	for _, name := range rdkafkaOnly {
		if e, ok := given[name]; ok {
			return []Warning{{Property: "partitioner", Origin: e.origin,
				Problem: "is not given beside " + name + ", a name of librdkafka, whose default is consistent_random: " +
					"here equal keys go to the partitions of murmur2_random; if a topic has keyed records from both, set Record.Partition"}}
		}
	}
	return nil
}
