package sim

// domain is a purpose that random numbers are drawn for.
type domain uint8

const (
	dSwarm domain = iota
	dSize
	dPause
	dStamp
	dNet
	dDisk
	dFetch
	dLearn
	dJitter
	dPick
	dStraggle
	dAudit

	// Faults of a moment: asked at every request or answer.
	fDelay
	fRefuse      // before the append, the next attempt may go
	fRefuseGood  // before the append, for good
	fErrorBefore // says nothing about the append, and there was none
	fErrorAfter  // the same, and there was one
	fLoseRequest // the connection breaks before the request is served
	fLoseAnswer  // the connection breaks in the place of the answer
	fOmit
	fThrottle
	fStaleMetadata
	fMissingMetadata
	fBackwardMetadata
	fSlowFetch
	fPoison     // no broker ever takes the batch
	fAskRefused // a question is not answered

	// Faults that come by themselves, from time to time.
	fCutRST
	fCutFIN
	fHoleIn
	fHoleOut
	fKill
	fPause
	fAllDown
	fPrefer
	fShutdown
	fShrink
	fSnapshot
	fRecreate
	fUnclean
	fForget
	fForeign
	fSecond // owner of the producer id
	domains
)

const (
	firstFault   = fDelay
	firstWeather = fCutRST
)

var domainNames = [domains]string{
	"swarm", "size", "pause", "stamp", "net", "disk", "fetch", "learn", "jitter", "pick", "straggle", "audit",
	"delay", "refuse", "refuse-good", "error-before", "error-after", "lose-request", "lose-answer", "omit", "throttle",
	"stale-metadata", "missing-metadata", "backward-metadata", "slow-fetch", "poison", "ask-refused",
	"cut-rst", "cut-fin", "hole-in", "hole-out", "kill", "pause-broker", "all-down", "prefer", "shutdown", "shrink",
	"snapshot", "recreate", "unclean", "forget", "foreign", "second-owner",
}

func (d domain) String() string { return domainNames[d] }
