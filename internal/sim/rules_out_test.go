package sim

const (
	answerFile  = "../flight/answer.go"
	memoryFile  = "../flight/memory.go"
	askingFile  = "../flight/asking.go"
	hearFile    = "../flight/hear.go"
	readingFile = "../flight/reading.go"
	ownerFile   = "../flight/owner.go"
	windowHear  = "../../throttle/hear.go"
)

// none is for rules that are kept in one place.
var none [2]string

// rulesOut is all rules of package flight that a simulation has to miss.
var rulesOut = []takenOut{
	{
		"an entry left out taken for a success", "K31", []string{"I1"}, answerFile,
		"case a.Missing:", "case false:", "silent",
		none,
	},
	{
		"the gate is not armed after a pause", "R7", []string{"I12"}, memoryFile,
		"return Age(then, now) <= expiration/2", "return true", "idle",
		none,
	},
	{
		"no caution behind old timestamps", "KIP-854", []string{"I12"}, memoryFile,
		"return !doubt || m.remembers(head.First, now), cautious", "return !doubt || m.remembers(head.First, now), false", "old",
		none,
	},
	{
		"caution by the last success alone", "KIP-854", []string{"I12"}, memoryFile,
		"cautious = m.old > 0 || !m", "cautious = !m", "old",
		none,
	},
	{
		"caution by what is unresolved alone", "KIP-854", []string{"I12"}, memoryFile,
		"cautious = m.old > 0 || !m.acked.IsZero() && !m.remembers(m.recorded, now)", "cautious = m.old > 0", "old",
		none,
	},
	{
		"old timestamps in doubt sent again", "KIP-854", []string{"I2", "I3"}, memoryFile,
		"case cautious && doubt:", "case false:", "old",
		none,
	},
	{
		"a batch that became old in the queue counts as young", "KIP-854", []string{"I2", "I3"}, memoryFile,
		" || head != nil && m.stale(head, now)", "", "late",
		none,
	},

	{
		"a hint taken for a proof", "R5", []string{"I1"}, hearFile,
		"	o.assured = report.Known && report.Epoch == o.epoch()\n",
		"	if found == throttle.FoundPlace {\n		o.shell.Resolve(o.Window.ReadUpTo(throttle.Sequence(w.Last)), Seen)\n	}\n", "zombies",
		none,
	},
	{
		"a broker that is behind in an epoch without a success", "R6", []string{"I22", "I21"}, windowHear,
		"if w.acked && r.Current {", "if r.Current {", "asking",
		none,
	},
	{
		"a hint believed for ever", "throttle.Hear", []string{"I19", "I20"}, windowHear,
		"|| !w.acked || w.deaf {", "|| !w.acked {", "liars",
		none,
	},
	{
		"loss told by a broker that is not current", "R6", []string{"I22"}, hearFile,
		"Current: o.Memory.Current(o.shell.Leader())", "Current: true", "zombies",
		[2]string{"if !serious || o.Memory.Answered(o.shell.Leader()) {", "if serious || !serious {"},
	},
	{
		"a deposed leader taken for the present one", "R6", []string{"I22", "I21"}, hearFile,
		"if !serious || o.Memory.Answered(o.shell.Leader()) {", "if serious || !serious {", "zombies",
		none,
	},
	{
		"state gone goes unnoticed", "R8", []string{"I2", "I3"}, windowHear,
		"return w.ifCurrent(r, FoundGone)", "return FoundNothing", "forgetful",
		none,
	},
	{
		"a second owner goes unnoticed", "R6", []string{"I25"}, windowHear,
		"case r.Known && r.Epoch > int32(w.epoch):\n		return FoundOther", "case r.Known && r.Epoch > int32(w.epoch):\n		return FoundNothing", "twoOwners",
		none,
	},
	{
		"a loss goes unnoticed", "R6", []string{"I22"}, windowHear,
		"if w.acked && r.Current {", "if w.acked && r.Current && f != FoundLoss {", "unclean",
		none,
	},
	{
		"the broker's word lost with the first answer of a replay", "ours", []string{"I19", "I20"}, askingFile,
		"if r.Drained || r.Stalled || r.Written.Len() > 0 {", "if true {", "longReplays",
		none,
	},
	{
		"the answer to an earlier question taken", "ours", []string{"I22", "I12"}, hearFile,
		"o.number != number || ", "", "returns",
		none,
	},
	{
		"the word of one broker taken for that of another", "ours", []string{"I2", "I3"}, askingFile,
		"	if o.assured {\n		o.assured = false", "	if false {\n		o.assured = false", "oneAnswers",
		[2]string{"Moved() { o.assured = false }", "Moved() {}"},
	},
	{
		"the question is forgotten when the leader moves", "ours", []string{"I2", "I3"}, askingFile,
		"	if o.state == asked {\n		o.state = wanted", "	if o.state == asked {\n		o.state = idle", "forgetful",
		none,
	},
	{
		"a replay begins without a question", "R8", []string{"I2", "I3", "I21"}, askingFile,
		"if r.Stalled || r.Drained && o.Window.InDoubt() {", "if r.Stalled {", "forgetful",
		none,
	},
	{
		"a batch in the log taken for a proof of those before it", "R8", []string{"I1", "I2"}, readingFile,
		"ok && i == o.Window.State().Una {", "ok {", "forgetful",
		none,
	},
	{
		"what was not seen in the log is sent again", "R8", []string{"I2", "I3"}, readingFile,
		"	o.StateGone(StateLost, fx)\n", "", "forgetful",
		none,
	},
	{
		"in doubt for long, and sent again without a question", "R7", []string{"I2", "I3"}, ownerFile,
		"	o.StateGone(StateLost, fx)\n	return fx.Stop == NoCause", "	return fx.Stop == NoCause", "old",
		none,
	},
}
