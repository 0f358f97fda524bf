// Package bench compares Sluice with other clients on the same work, in one
// run. It is a module of its own, so that the peers' dependencies stay out of
// Sluice's. README.md says how to run it and what its figures mean.
package bench
