package sim

const (
	answerFile  = "../flight/answer.go"
	memoryFile  = "../flight/memory.go"
	askingFile  = "../flight/asking.go"
	hearFile    = "../flight/hear.go"
	readingFile = "../flight/reading.go"
	ownerFile   = "../flight/owner.go"
	settleFile  = "../flight/settle.go"
	leaderFile  = "../flight/leader.go"
	windowHear  = "../../throttle/hear.go"
	windowEnds  = "../../throttle/resolve.go"
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
		"the word of one broker taken for that of another", "ours", []string{"I2", "I3"}, leaderFile,
		"	if o.assured {\n		o.assured = false", "	if false {\n		o.assured = false", "oneAnswers",
		[2]string{"	o.assured = false\n	o.SettleDown(now, fx)", "	o.SettleDown(now, fx)"},
	},
	{
		"the question is forgotten when the leader moves", "ours", []string{"I2", "I3"}, leaderFile,
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
		"	o.StateGone(StateLost, fx)\n	return o.stopped == NoCause", "	return o.stopped == NoCause", "old",
		none,
	},

	{
		"only the expired head given up", "R9", []string{"I7", "I19", "I21", "I22", "I13", "I18", "panic"}, windowEnds,
		"	if w.InDoubt() {\n		return w.disown(w.doubtEnd())\n	}\n	return w.drop()",
		"	if w.InDoubt() {\n		w.una++\n		w.max = max(w.max, w.una)\n		w.rewind()\n" +
			"		return Resolution{Unknown: Range{w.una - 1, w.una}}\n	}\n	return w.drop()", "",
		none,
	},
	{
		"a new producer id over something unknown", "R9", []string{"I13"}, windowEnds,
		newIDFrom, newIDTo, "",
		none,
	},
	{
		"a new producer id over something unknown: the log shows it", "R9", []string{"I2", "I3", "I4", "I21"}, windowEnds,
		newIDFrom, newIDTo, onlyTheLog,
		none,
	},
	{
		"what is in doubt is sent past its deadline", "R9", []string{"I18"}, settleFile,
		"return ok && now.Sub(created) >= o.options.DeliveryTimeout", "return ok && created.After(now)", "",
		none,
	},
	{
		"no gate for a new leader epoch", "kgo", []string{"I12", "I14"}, leaderFile,
		"	o.Window.Regate()\n	o.assured = false\n", "	o.assured = false\n", "",
		none,
	},
	{
		"a recreated topic goes unnoticed", "librdkafka 1.8", []string{"I2", "I3", "I19", "I21", "I1"}, settleFile,
		"		o.shell.Resolve(o.Window.NewLog(), TopicRecreated)\n", "", "recreated",
		none,
	},
	{
		"the pause is not ended by a success", "ours", []string{"I19"}, settleFile,
		"	if v.Pauses(r, o.shell.Moving()) {\n		o.Wait(now)\n	}\n", "	o.Pause.Hold(now.Add(o.options.DeliveryTimeout * 9))\n", "",
		none,
	},
	{
		"everything is given up while attempts are outstanding", "R9", []string{"panic", "I4", "I2"}, settleFile,
		"	if o.resting && !o.Window.Regate() {\n		return\n	}\n	if o.Window.Outstanding() > 0 || o.shell.Encoding() {\n		return\n	}\n", "", "",
		none,
	},
}

const (
	newIDFrom = "		return w.disown(w.doubtEnd())\n	}\n	return w.drop()"
	newIDTo   = "		r := w.disown(w.doubtEnd())\n		w.producerID += 1000\n		w.begin(0)\n		return r\n	}\n	return w.drop()"
)
