//go:build race

package sim

const (
	usualSteps  = 600_000
	mutantSeeds = 60
	patient     = false // what needs many seeds is left to the build that is fast
)
