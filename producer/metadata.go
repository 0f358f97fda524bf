package producer

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-kafka/sluice/internal/cluster"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metadata asks for topics, those that are new or all in use, and acts on the
// answers. It returns those of which something is still missing, a leader or all.
func (c *control) metadata(ctx context.Context, w *work) (gaps []string, err error) {
	topics := c.inUse(w)
	var create, only []string
	for name, users := range topics {
		// A topic that nobody has a record for is not created: somebody may have
		// deleted it.
		if c.pr.cfg.AllowAutoCreateTopics && anyWaits(users) {
			create = append(create, name)
		} else {
			only = append(only, name)
		}
	}
	if len(create) > 0 {
		if gaps, err = c.ask(ctx, create, true, topics, gaps); err != nil {
			return nil, err
		}
	}
	if len(only) > 0 || w.all && len(create) == 0 {
		if gaps, err = c.ask(ctx, only, false, topics, gaps); err != nil {
			return nil, err
		}
	}
	c.identifyBroker()
	return gaps, nil
}

// ask puts one request.
func (c *control) ask(ctx context.Context, names []string, create bool, topics map[string][]*topic, gaps []string) ([]string, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = create
	req.Topics = make([]kmsg.MetadataRequestTopic, 0, len(names))
	for i := range names {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = &names[i]
		req.Topics = append(req.Topics, rt)
	}
	resp, err := c.do(ctx, req)
	if err != nil {
		return gaps, err
	}
	changes, err := c.merge(resp.(*kmsg.MetadataResponse), names)
	if err != nil {
		return gaps, err
	}
	for _, name := range changes.Recreated {
		c.pr.log.Warn("a topic was recreated", "topic", name)
		for _, t := range topics[name] {
			t.each((*partition).recreated)
		}
	}
	for _, name := range names {
		missing := false
		for _, t := range topics[name] {
			missing = c.apply(t) || missing
		}
		if missing {
			gaps = append(gaps, name)
		}
	}
	c.letGo()
	return gaps, nil
}

// merge takes an answer over.
func (c *control) merge(resp *kmsg.MetadataResponse, asked []string) (cluster.Changes, error) {
	snap, changes := c.snap.Merge(resp, asked)
	if changes.OtherCluster {
		if c.pr.cfg.CheckCluster {
			return changes, otherCluster(*resp.ClusterID, c.snap.ClusterID)
		}
		c.moveTo(*resp.ClusterID)
		snap, changes = c.snap.Merge(resp, asked)
	}
	for _, problem := range changes.Problems {
		c.pr.log.Warn("metadata is odd", "problem", problem)
	}
	c.snap = snap
	c.pr.clusterID.Store(snap.ClusterID)
	c.readdress()
	return changes, nil
}

// inUse are the topics to ask for: by their name, for each lane that uses one.
func (c *control) inUse(w *work) map[string][]*topic {
	topics := map[string][]*topic{}
	c.pr.eachLane(func(l *Lane) {
		if w.all {
			for name, t := range *l.topics.Load() {
				topics[name] = append(topics[name], t)
			}
			return
		}
		for _, name := range w.topics {
			if t := l.topics.find(name); t != nil {
				topics[name] = append(topics[name], t)
			}
		}
	})
	return topics
}

// anyWaits reports whether somebody waits for the topic: a record, or the first
// checkpoint of a lane that was made for it.
func anyWaits(users []*topic) bool {
	for _, t := range users {
		if t.isWaitedFor() || t.hasUnsettled() {
			return true
		}
	}
	return false
}

// follow acts on a leader hint.
func (c *control) follow(h cluster.LeaderHint) {
	snap, better := c.snap.Hint(h)
	if !better {
		return
	}
	c.snap = snap
	c.readdress()
	c.pr.eachLane(func(l *Lane) {
		if t := l.topics.find(h.Topic); t != nil {
			c.apply(t)
		}
	})
}

// apply tells a topic and its partitions what is known of them now. It reports
// whether something is missing.
func (c *control) apply(t *topic) (missing bool) {
	known, ok := c.snap.Topic(t.name)
	if !ok || len(known.Partitions) == 0 {
		code := retry.UnknownTopicOrPartition
		if ok && known.Err != 0 {
			code = retry.Code(known.Err)
		}
		t.refused.note(code, time.Now())
		if !final(code) { // see denial
			t.unknown(code, code == retry.InvalidTopic)
		}
		return t.isWaitedFor()
	}
	t.refused.note(nil, time.Now())
	if known.ID != ([16]byte{}) {
		id := known.ID
		t.id.Store(&id)
	}
	leaders := c.leaders(known)
	for i := range leaders {
		missing = missing || leaders[i].broker == nil
	}
	t.lead(leaders)
	t.grow(len(leaders))
	if !t.idle() {
		t.unknown(fmt.Errorf("%w: %q has %d partitions", ErrUnknownPartition, t.name, len(known.Partitions)), false)
	}
	return missing || !t.idle()
}

// isWaitedFor reports whether a record waits for the topic to be known, or the first
// checkpoint of a lane that was made for it.
func (t *topic) isWaitedFor() bool {
	return !t.idle() || t.declared.Load() && t.lane.awaiting.Load() > 0
}

// hasUnsettled reports whether a partition has a record without an outcome.
func (t *topic) hasUnsettled() bool {
	parts := t.parts.Load()
	if parts == nil {
		return false
	}
	for i := range *parts {
		if p := (*parts)[i].Load(); p != nil && p.unsettled(p.mark()) {
			return true
		}
	}
	return false
}
