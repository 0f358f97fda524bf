// Package sim is a Kafka cluster, its network and a small client in one loop
// with virtual time. The client keeps its partitions with the real
// throttle.Window, retry.Classify and retry.Backoff; brokers judge by
// internal/brokermodel. Everything that is left to chance is a function of a
// seed, so that a run can be repeated, and shrunk to the faults that matter.
//
// One event is one step. At every step the invariants of docs/design.md are
// judged: on what goes over the wire (watch.go) and on what is replicated and
// reported (judge.go). Counters say where each fault had an effect
// (effects.go); a run in which one of them stays zero proves nothing about it.
//
// What no client can stand is left out: a request of an abandoned connection
// that arrives after the broker forgot the producer.
package sim
