package producer

import (
	"context"
	"log/slog"

	"github.com/sluice-kafka/sluice/throttle"
)

// effects is what has to be done once the partition's lock is free.
type effects struct {
	enqueue *broker // has something to look at
	deliver bool    // records were resolved
	share   *share  // of these bytes:
	free    int64   // not needed any more
	refresh bool    // metadata is needed
	renew   bool    // a new producer ID is needed
	kill    *link   // has outstayed a deadline
	alarm   throttle.Alarm
	fenced  bool
	loss    bool   // the broker lost what it had acknowledged
	audit   *audit // the log is to be read
	failed  bool   // the lane has stopped
	lines   []line // for the log: its handler is user code
}

// line is one of the log.
type line struct {
	level slog.Level
	text  string
	args  []any
}

func (fx *effects) say(level slog.Level, text string, args ...any) {
	fx.lines = append(fx.lines, line{level, text, args})
}

// do carries out what was collected under the lock.
func (p *partition) do(fx effects) {
	p.tally(&fx) // before the callbacks: who is told of a loss finds it in Stats
	if fx.failed {
		p.topic.lane.spread()
	}
	p.pr.budget.give(fx.share, fx.free)
	if fx.deliver {
		p.pr.delivery.enqueue(p)
	}
	if fx.enqueue != nil {
		fx.enqueue.enqueue(p)
	}
	if fx.kill != nil {
		fx.kill.die(ErrDeliveryTimeout)
	}
	if fx.refresh {
		p.pr.control.refresh()
	}
	if fx.renew {
		p.pr.control.renew(p.topic.lane)
	}
	if fx.audit != nil {
		p.pr.auditor.enqueue(fx.audit)
	}
	for _, l := range fx.lines { // last, for a handler may block
		args := append([]any{"topic", p.topic.name, "partition", p.index}, l.args...)
		p.pr.log.Log(context.Background(), l.level, l.text, args...)
	}
}

// tally counts what operators have to know of, and has it logged.
func (p *partition) tally(fx *effects) {
	if fx.alarm != throttle.NoAlarm {
		p.pr.stats.alarms.Add(1)
		fx.say(slog.LevelError, "the log of a partition is not what was acknowledged", "alarm", fx.alarm.String())
	}
	if fx.loss {
		p.pr.stats.alarms.Add(1)
		fx.say(slog.LevelError, "the broker lost records that it had acknowledged")
	}
	if fx.fenced {
		fx.say(slog.LevelError, "another producer uses our producer id")
	}
}
