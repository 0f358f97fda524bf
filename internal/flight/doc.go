// Package flight decides for one partition: what an answer means, whether a
// broker still remembers the producer, when it has to be asked, and what its
// word leads to. It is pure: no lock, clock, goroutine, I/O or log; time comes in
// as an argument, and what has to be done elsewhere goes out as data.
//
// Package producer drives it with real connections and the simulation
// (internal/sim) with simulated ones, so that the simulation covers the decisions
// that ship. The rules of the sequence numbers themselves are in throttle.
package flight
