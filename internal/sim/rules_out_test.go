package sim

const (
	answerFile = "../flight/answer.go"
	memoryFile = "../flight/memory.go"
)

// rulesOut is all rules of package flight that a simulation has to miss.
var rulesOut = []takenOut{
	{
		"an entry left out taken for a success", "K31", []string{"I1"}, answerFile,
		"case a.Missing:", "case false:", "silent",
	},
	{
		"the gate is not armed after a pause", "R7", []string{"I12"}, memoryFile,
		"return Age(then, now) <= expiration/2", "return true", "idle",
	},
	{
		"no caution behind old timestamps", "KIP-854", []string{"I12"}, memoryFile,
		"return !doubt || m.remembers(head.First, now), cautious", "return !doubt || m.remembers(head.First, now), false", "old",
	},
	{
		"caution by the last success alone", "KIP-854", []string{"I12"}, memoryFile,
		"cautious = m.old > 0 || !m", "cautious = !m", "old",
	},
	{
		"caution by what is unresolved alone", "KIP-854", []string{"I12"}, memoryFile,
		"cautious = m.old > 0 || !m.acked.IsZero() && !m.remembers(m.recorded, now)", "cautious = m.old > 0", "old",
	},
	{
		"old timestamps in doubt sent again", "KIP-854", []string{"I2", "I3"}, memoryFile,
		"case cautious && doubt:", "case false:", "old",
	},
	{
		"a batch that became old in the queue counts as young", "KIP-854", []string{"I2", "I3"}, memoryFile,
		" || head != nil && m.stale(head, now)", "", "late",
	},
}
