// Package producertest runs a Kafka cluster inside the test process, in the
// manner of net/http/httptest: real sockets or, for testing/synctest, buffered
// connections in memory.
//
// It is made for what producers find hard. It judges batches as Apache Kafka
// does, or as a broker that speaks KIP-758 would, it can be told to fail in the
// ways brokers and networks fail (see [Cluster.OnProduce] and
// [Cluster.OnResponse]), and it watches what comes in for breaches of the rules
// that keep a log complete and in order (see [Cluster.Violations]). Any Kafka
// consumer can read its log.
//
// What it does not have: replication (all brokers of a cluster share one log,
// so that everything appended is committed), consumer groups, transactions,
// retention, and authorisation.
package producertest
