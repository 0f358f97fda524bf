//go:build !race

package sim

const (
	usualSteps  = 10_500_000
	mutantSeeds = 4000
	patient     = true // not found is a failure
)
