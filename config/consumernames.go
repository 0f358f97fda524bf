package config

// consumerProperties are names of consumers, and one of admin clients: files that
// several clients share hold them, and a producer loses nothing without them.
var consumerProperties = func() []property {
	list := make([]property, 0, len(consumerNames))
	for _, name := range consumerNames {
		list = append(list, property{name: name, doc: "of consumers",
			kind: ignored{note: "has no effect: it is a setting of consumers"}})
	}
	return append(list, property{name: "bootstrap.controllers", doc: "of admin clients",
		kind: refused{why: "is for admin clients: a producer needs the brokers, in bootstrap.servers"}})
}()

var consumerNames = []string{
	"auto.commit.enable",
	"auto.commit.interval.ms",
	"auto.offset.reset",
	"check.crcs",
	"consume.callback.max.messages",
	"consume_cb",
	"coordinator.query.interval.ms",
	"default.api.timeout.ms",
	"enable.auto.commit",
	"enable.auto.offset.store",
	"enable.partition.eof",
	"exclude.internal.topics",
	"fetch.error.backoff.ms",
	"fetch.max.bytes",
	"fetch.max.wait.ms",
	"fetch.message.max.bytes",
	"fetch.min.bytes",
	"fetch.queue.backoff.ms",
	"fetch.wait.max.ms",
	"group.id",
	"group.instance.id",
	"group.protocol",
	"group.protocol.type",
	"group.remote.assignor",
	"heartbeat.interval.ms",
	"internal.throw.on.fetch.stable.offset.unsupported",
	"isolation.level",
	"key.deserializer",
	"max.partition.fetch.bytes",
	"max.poll.interval.ms",
	"max.poll.records",
	"offset.store.method",
	"offset.store.path",
	"offset.store.sync.interval.ms",
	"offset_commit_cb",
	"partition.assignment.strategy",
	"queued.max.messages.kbytes",
	"queued.min.messages",
	"rebalance_cb",
	"session.timeout.ms",
	"share.acknowledgement.mode",
	"share.acquire.mode",
	"value.deserializer",
}
