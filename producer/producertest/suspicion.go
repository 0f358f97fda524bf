package producertest

import "slices"

// suspicion is a breach that cannot be told yet from what a correct client does:
// what it sent on another connection, or that it closed one, may not have been
// read. It becomes a violation, or is dropped, when that is known.
type suspicion struct {
	text string

	// open are connections that must prove to be still open. For two of them
	// with unanswered batches of one partition that is enough, whichever was
	// sent first.
	open []*peer

	// silent are connections on which everything sent must have been read,
	// without the batch having been among it, and none of which broke so that
	// it may have been.
	silent    []*peer
	chain     *chain
	base, end int64
	window    bool // it is about the window, not the gate

	need map[*peer]uint64 // connections to hear of, and the look to wait for
}

// limit is the end of what cannot be called new.
func (s *suspicion) limit() int64 {
	if s.window {
		return s.chain.reach
	}
	return s.chain.horizon
}

// suspect notes a possible breach and asks for looks at the connections that
// can prove it. Without any it is a violation at once.
func (w *watch) suspect(s *suspicion) {
	if slices.ContainsFunc(s.open, func(p *peer) bool { return p.ended }) {
		return
	}
	s.need = make(map[*peer]uint64)
	for _, p := range slices.Concat(s.open, s.silent) {
		s.need[p] = p.tap.look()
	}
	if len(s.need) == 0 {
		w.violate(s.text)
		return
	}
	w.suspicions = append(w.suspicions, s)
}

// review goes through the suspicions that wait for a connection; judge says
// whether one need not wait for it any more, and whether it is void.
func (w *watch) review(p *peer, judge func(s *suspicion, look uint64) (through, void bool)) {
	if len(w.suspicions) == 0 {
		return
	}
	kept := w.suspicions[:0]
	for _, s := range w.suspicions {
		through, void := false, false
		if look, ok := s.need[p]; ok {
			through, void = judge(s, look)
		}
		if through {
			delete(s.need, p)
		}
		switch {
		case void:
		case len(s.need) == 0:
			w.violate(s.text)
		default:
			kept = append(kept, s)
		}
	}
	w.keep(kept)
}

func (w *watch) keep(kept []*suspicion) {
	clear(w.suspicions[len(kept):])
	w.suspicions = kept
	if len(kept) == 0 {
		close(w.settled)
		w.settled = make(chan struct{})
	}
}

// quiet is a look: the connection was open, and everything sent had been read,
// but for part of a request if partial.
func (w *watch) quiet(p *peer, look uint64, partial bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.review(p, func(s *suspicion, want uint64) (through, void bool) {
		return look >= want && !(partial && slices.Contains(s.silent, p)), false
	})
}

// ended is the end of a connection; whole says that all that was sent on it has
// been read.
func (w *watch) ended(p *peer, whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.ended = true
	for c := range p.chains {
		c.leave(p, whole)
		delete(c.track.open, p)
	}
	w.review(p, func(s *suspicion, _ uint64) (through, void bool) {
		return true, slices.Contains(s.open, p) || s.chain != nil && s.end <= s.limit()
	})
}

// reappeared drops suspicions that a batch was new, now that it was received on
// another connection of those in question.
func (w *watch) reappeared(c *chain, base int64, from *peer) {
	if len(w.suspicions) == 0 {
		return
	}
	w.keep(slices.DeleteFunc(w.suspicions, func(s *suspicion) bool {
		return s.chain == c && s.base == base && slices.Contains(s.silent, from)
	}))
}
