package faultproxy

// HalfOpenRequests makes all connections half-open that are open now: what
// clients send over them vanishes from now on, what brokers send arrives, and
// neither side is told. New connections are served as ever. It returns how many
// there were.
func (p *Proxy) HalfOpenRequests() int { return p.halfOpen(requests) }

// HalfOpenResponses does the same the other way: requests arrive and are
// executed, what brokers send vanishes.
func (p *Proxy) HalfOpenResponses() int { return p.halfOpen(responses) }

func (p *Proxy) halfOpen(dir direction) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		up, down := l.flows()
		if up == nil || l.straggler {
			continue
		}
		if dir == requests {
			up.dead.Store(true)
		} else {
			down.dead.Store(true)
		}
		p.faults.halfOpened()
		n++
	}
	return n
}
