// Package retry knows what Kafka's answers mean to a producer that must
// neither lose nor double a record: what an error code says about the attempt
// it answers, whether sending again can help, and how long to pause before.
//
// The package is pure: no clock, no randomness, no I/O. It decides nothing
// about sequences; throttle.Window does, from the Fate found here.
package retry
