package producer

import (
	"maps"
	"slices"

	"github.com/sluice-kafka/sluice/internal/cluster"
)

// route is one of the connections to a broker.
type route struct {
	id int32
	nr int // below connections.per.broker
}

// leaders are those of a topic. All lanes share the list.
func (c *control) leaders(t *cluster.Topic) []leader {
	if c.ledIn != c.snap {
		c.ledIn, c.led = c.snap, map[*cluster.Topic][]leader{}
	}
	list := c.led[t]
	if list == nil {
		list = make([]leader, len(t.Partitions))
		for i, p := range t.Partitions {
			list[i] = leader{c.broker(route{p.Leader, i % c.pr.cfg.ConnectionsPerBroker}), p.LeaderEpoch}
		}
		c.led[t] = list
	}
	return list
}

// broker returns the sender of the route, nil if metadata knows no such broker.
// The first time its loop is started.
func (c *control) broker(r route) *broker {
	known, ok := c.snap.Broker(r.id)
	if !ok {
		return nil
	}
	b := c.brokers[r]
	if b == nil {
		if c.shares[r.id] == nil {
			c.shares[r.id] = c.pr.budget.newShare()
		}
		b = newBroker(c.pr, r.id, c.shares[r.id])
		b.number = r.nr
		c.brokers[r] = b
		b.addr.Store(known.Addr())
		c.showSenders()
		c.pr.loops.Go(func() { b.run(c.ctx) })
	}
	return b
}

// readdress tells the senders where their brokers are now.
func (c *control) readdress() {
	for r, b := range c.brokers {
		if known, ok := c.snap.Broker(r.id); ok {
			b.moveTo(known.Addr())
		}
	}
}

// letGo ends the senders of brokers that metadata no longer names. Such a broker
// leads nothing that is known, and every partition has been told so: its sender
// ends once what is outstanding has its answer. If it is named again it gets
// another one.
func (c *control) letGo() {
	gone := false
	for r, b := range c.brokers {
		if _, ok := c.snap.Broker(r.id); ok {
			continue
		}
		delete(c.brokers, r)
		if c.shares[r.id] != nil {
			delete(c.shares, r.id)
			c.pr.budget.dropShare()
		}
		b.retire()
		gone = true
	}
	if gone {
		c.led = nil
		c.ledIn = nil
		c.showSenders()
	}
}

// showSenders makes the senders known to Stats.
func (c *control) showSenders() {
	senders := slices.Collect(maps.Values(c.brokers))
	c.pr.senders.Store(&senders)
}
