package producer

// Sizes is how much a producer that is at rest keeps of each kind of thing.
func Sizes(pr *Producer) map[string]int {
	c := &pr.control
	c.mu.Lock()
	sizes := map[string]int{
		"fresh": len(c.wanted.fresh), "missed": len(c.wanted.missed), "lanes without an id": len(c.wanted.lanes), "hints": len(c.hints),
	}
	c.mu.Unlock()
	pr.budget.mu.Lock()
	sizes["shares"], sizes["used"] = pr.budget.shares, int(pr.budget.used.Load())
	pr.budget.mu.Unlock()
	sizes["senders"], sizes["brokers"], sizes["shares by broker"] = len(*pr.senders.Load()), len(c.brokers), len(c.shares)
	sizes["known brokers"] = len(c.snap.Brokers())
	pr.lanesMu.Lock()
	sizes["lanes"] = len(pr.lanes)
	pr.lanesMu.Unlock()
	sizes["topics"] = len(*pr.main.topics.Load())
	return sizes
}
