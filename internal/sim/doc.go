// Package sim is a Kafka cluster, its network and a small client in one loop
// with virtual time. What becomes of an answer, when brokers are asked and what
// their word leads to is decided by internal/flight, as in package producer, over
// throttle and retry; brokers judge by internal/brokermodel.
// Everything that is left to chance is a function of a seed, so that a run can
// be repeated, and shrunk to the faults that matter.
//
// One event is one step. At every step the invariants of docs/invariants.md are
// judged: on what goes over the wire (watch.go), on what is replicated and
// reported (judge.go), and on what the client makes of the brokers' answers
// (finding.go). Counters say where each fault had an effect (effects.go), and in
// which state of the partition (matrix.go); a run in which a fault has no effect,
// or a cell that is required stays empty, proves nothing about it and fails.
//
// What no client can stand is left out:
//
//   - A request of an abandoned connection that arrives after the broker forgot
//     the producer.
//   - A producer that is forgotten early, while something is in doubt, where the
//     client is not about to ask: it asks before a replay, and when it is not
//     fresh. Without leave to ask, producers are forgotten only by their age. Nor in
//     an epoch without a success, for then nobody can tell a broker that forgot from
//     one that never heard of it; nor where three questions in a row bring nothing,
//     after which the client goes on without.
//   - A producer that is forgotten between the broker's word that it knows it
//     and what is sent on that word.
//   - Another owner of the producer id whose batches have the sequences of ours:
//     a broker takes ours for them and says so with a success. Here it writes
//     one batch that is larger than all of ours, ahead of us or in the next
//     epoch.
package sim
