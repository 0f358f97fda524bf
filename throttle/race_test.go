//go:build race

package throttle

// raceEnabled: there is no goroutine here for the race detector to watch, and it
// makes an exploration ten times slower.
const raceEnabled = true
