package producer

import (
	"fmt"
	"strconv"

	"github.com/sluice-kafka/sluice/internal/cluster"
	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/throttle"
)

// moveTo goes on in another cluster, where the user allows that. Nothing holds
// there that was known: producer IDs may be others' there, sequences and offsets
// begin anew. So what is under way ends first, and what is in doubt is Unknown.
// What has not been sent is NotWritten; it was meant for another log. Lanes stop.
func (c *control) moveTo(id string) {
	why := fmt.Errorf("%w: the brokers are of cluster %s now", ErrOtherCluster, strconv.Quote(oneLine(id, 100)))
	c.pr.log.Warn("going on in another cluster", "cluster", strconv.Quote(id), "before", c.snap.ClusterID)
	c.pr.main.identity.Store(nil) // nothing is sent without
	c.pr.clusterID.Store(id)      // no connection to the former one passes the check from now on
	c.snap = new(cluster.Snapshot)
	for _, b := range *c.pr.senders.Load() {
		if l := b.link.Load(); l != nil && l.cluster != id {
			l.die(why)
			<-l.ended
		}
	}
	c.pr.eachLane(func(l *Lane) {
		if l.stops {
			l.fail(why)
			return
		}
		l.each(func(p *partition) { p.forsake(why) })
	})
	c.renew(c.pr.main)
	c.refresh()
}

// forsake gives up all that is there and begins anew. No connection is alive.
func (p *partition) forsake(why error) {
	p.mu.Lock()
	var fx effects
	if p.open != nil {
		p.shutBatch()
	}
	p.condemn(why)
	p.resolve(p.win.Abort(), &fx)
	p.win, p.base, p.ident = throttle.New(), 0, nil
	p.link, p.inquiry, p.pending, p.resting = nil, inquiry{}, pending{}, false
	p.memory = flight.NewMemory(p.pr.cfg.ProducerIDExpiration, p.shared)
	p.leaderEpoch, p.pos = -1, position{offset: -1}
	p.fatal = nil // a second owner was one of the former cluster
	p.publish()
	p.mu.Unlock()
	p.do(fx)
}
