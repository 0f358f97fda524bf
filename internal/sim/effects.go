package sim

// effect is a place where a fault had its effect. It is counted there, and not
// where the fault is thrown.
type effect uint8

const (
	eCutRST effect = iota
	eCutFIN
	eHoleIn
	eHoleOut
	eAnswerLost
	eRequestLost
	eDelay
	eStragglerAppended
	eStragglerAfterAck
	eStragglerAfterMove
	eStragglerFenced
	eStragglerForgotten
	eStragglerHeldBack
	eLeaderKilled
	eLeaderPaused
	eZombieAppend
	eZombieTruncated
	ePreferred
	eShutdown
	eTwoFailovers
	eAllDown
	eBelowMinBefore
	eBelowMinAfter
	ePurgatory
	eDeposedAfterAppend
	eShrunk
	eRejoined
	eStaleMetadata
	eMissingMetadata
	eBackwardMetadata
	eHint
	eForeign
	eRecreated
	eForgottenIdle
	eForgottenInDoubt
	eAnyFirst
	eUnknownProducer
	eThrottled
	eRefused
	eRefusedGood
	eSplit
	eUncertainBefore
	eUncertainAfter
	eStrangeCode
	eGivenUp
	eOmitted
	eClientTimeout
	eExpired
	eOverdue
	eExpiredInDoubt
	eSnapshotInDoubt
	eMemoryOfOne
	eRecognised
	eDuplicate
	eOutOfOrder
	eProvenInReplay
	eVouched
	eDeepDoubt
	eSmallerWindow
	eStale
	eWrapped
	eRenewed
	eExhausted
	eUnclean
	eAlarm
	eAsked
	eAskRefused
	eToldByFollower
	eToldByZombie
	eNothingTold
	ePlaceTold
	eLossTold
	eGoneTold
	eOtherTold
	eForgotUnderDoubt
	eSeen
	eReadFailed
	eSecondOwner
	eFenced
	eWentBack
	eDeleted
	eUncleanElection
	eStateExpired
	effects
)

var effectNames = [effects]string{
	"connection cut, RST", "connection cut, FIN", "half-open, client to broker", "half-open, broker to client",
	"answer lost after append", "request lost before append", "delay spike",
	"straggler appended", "straggler after its batch was acknowledged", "straggler after a leader change",
	"straggler fenced by a new epoch", "straggler after expiry (left out)", "straggler held back on the way",
	"leader killed", "leader paused", "zombie append", "zombie append truncated", "preferred election",
	"controlled shutdown", "two failovers with a batch unresolved", "all brokers down",
	"ISR too small, before append", "ISR too small, after append", "timeout in purgatory", "deposed after append",
	"ISR shrunk", "ISR rejoined", "metadata stale", "metadata missing", "metadata backwards", "leader hint taken",
	"offset unknown behind another producer's records", "topic recreated with a batch unresolved", "state forgotten, nothing in doubt", "state forgotten, in doubt",
	"any first sequence accepted", "UNKNOWN_PRODUCER_ID", "throttled", "refused before append", "refused for good",
	"batch split", "uncertain code, not appended", "uncertain code, appended", "code without a name", "given up after few tries",
	"entry left out", "request timeout", "delivery timeout",
	"connection given up at a deadline", "delivery timeout in doubt", "snapshot reloaded in doubt",
	"sent again to a memory of one", "recognised", "duplicate", "out of order", "proven by a later batch in a replay",
	"vouched for by a new batch", "more than 30 batches in doubt", "replay beyond a smaller window",
	"record with an old timestamp in the anchor", "sequence wrapped", "producer id renewed", "epochs exhausted",
	"unclean election lost acknowledged data", "alarm raised",
	"broker asked", "question refused", "question answered by a follower", "question answered by a zombie",
	"asked, and nothing found", "asked: the place to go on", "asked: loss", "asked: state gone", "asked: a second owner",
	"state forgotten under a doubt", "batch seen in the log", "log read failed", "a second owner wrote", "fenced by a second owner",
	"older metadata believed after a while",
	"topic deleted and created", "unclean election", "state expired at the leader",
}

func (e effect) String() string { return effectNames[e] }

// Effects counts how often each fault had its effect.
type Effects [effects]uint64

// Add adds the counts of o.
func (c *Effects) Add(o *Effects) {
	for i := range c {
		c[i] += o[i]
	}
}

// Missing names the effects that never were.
func (c *Effects) Missing() (names []string) {
	for i, n := range c {
		if n == 0 {
			names = append(names, effectNames[i])
		}
	}
	return names
}
