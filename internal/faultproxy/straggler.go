package faultproxy

// Stragglers are connections whose requests are held back on the way to the
// broker, to arrive when their clients have gone on over others. See
// [Proxy.Straggle]. All methods may be called concurrently.
type Stragglers struct {
	proxy *Proxy
	links []*link
}

// Straggle holds back, from now on, what clients send over those connections
// that are open and have carried a Produce request. Responses still flow, and so
// do other and new connections. The usual course is: wait until enough is held,
// Cut, let the clients go on over new connections, Release. What is never
// released is lost when the proxy is closed.
func (p *Proxy) Straggle() *Stragglers {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &Stragglers{proxy: p}
	for l := range p.links {
		if up, _ := l.flows(); up != nil && up.came.produce.Load() > 0 && !l.straggler {
			up.gate.shut()
			s.links = append(s.links, l)
		}
	}
	return s
}

// Held is the number of Produce requests that are held back now, of which no
// more than a few bytes have gone on.
func (s *Stragglers) Held() (n int) {
	for _, l := range s.links {
		up, _ := l.flows()
		n += up.held()
	}
	return n
}

// Cut resets the connections on the clients' side alone. The broker still sees
// them open, and CutAll passes over them. It returns how many there were.
func (s *Stragglers) Cut() int {
	s.proxy.mu.Lock()
	defer s.proxy.mu.Unlock()
	for _, l := range s.links {
		l.straggler = true
		l.desert()
	}
	return len(s.links)
}

// Release lets everything that was held back arrive, in order, each request on
// the connection to the broker that it was sent for. Such a connection is closed
// in order behind the last one if its client is gone.
func (s *Stragglers) Release() {
	for _, l := range s.links {
		up, _ := l.flows()
		up.gate.open()
	}
}
