// Package modelcheck explores every state that a small system can reach, looks
// for one that breaks a property, and for one from which the end cannot be
// reached any more.
package modelcheck

import (
	"fmt"
	"strings"
)

// System is what is explored. States must be values that do not share memory
// which a step changes.
type System[S any] struct {
	Start S

	// Key encodes everything that distinguishes two states, appended to dst.
	Key func(dst []byte, s *S) []byte

	// Steps calls yield for every step that is possible in s, with a fresh
	// state. A step that breaks a property names it; no step is taken from
	// there.
	Steps func(s *S, yield func(label string, next S, broken string))

	// Done tells the states in which everything is over.
	Done func(s *S) bool

	// Limit ends an exploration that would not end; 0 is no limit.
	Limit int
}

// Result is what an exploration found.
type Result struct {
	States, Edges int
	Complete      bool     // every reachable state was seen
	Broken        string   // the first broken property, "" if none
	Trapped       int      // states from which no end can be reached
	Trace         []string // the steps that lead to what was found
}

// Stuck is the property that trapped states break.
const Stuck = "stuck"

// Found is the property that was broken: Broken, or Stuck if states are
// trapped, or "".
func (r Result) Found() string {
	if r.Broken == "" && r.Trapped > 0 {
		return Stuck
	}
	return r.Broken
}

func (r Result) String() string {
	s := fmt.Sprintf("%d states, %d steps", r.States, r.Edges)
	if f := r.Found(); f != "" {
		s += fmt.Sprintf(", %s (%d trapped):\n  %s", f, r.Trapped, strings.Join(r.Trace, "\n  "))
	}
	return s
}

// node is how a state was first reached.
type node struct {
	parent int32
	label  string
}

type explorer[S any] struct {
	sys   System[S]
	ids   map[string]int32
	nodes []node
	next  []S // one step further away than what is being expanded
	ends  []int32
	from  []int32 // edge i leads from from[i] to to[i]
	to    []int32
	key   []byte
}

// Explore visits the states breadth first, so that a trace is a shortest one.
func Explore[S any](sys System[S]) Result {
	e := &explorer[S]{sys: sys, ids: map[string]int32{}}
	e.visit(sys.Start, -1, "")
	var r Result
	at := 0
	for level := []S(nil); len(e.next) > 0 && r.Broken == ""; {
		level, e.next = e.next, level[:0]
		for i := range level {
			if sys.Limit > 0 && at >= sys.Limit {
				r.States, r.Edges = at, len(e.to)
				return r
			}
			if broken, label := e.expand(&level[i], int32(at)); broken != "" {
				r.Broken, r.Trace = broken, append(e.trace(int32(at)), label)
				break
			}
			at++
		}
	}
	r.States, r.Edges = len(e.nodes), len(e.to)
	if r.Broken == "" {
		r.Complete = true
		e.findTrapped(&r)
	}
	return r
}

func (e *explorer[S]) expand(s *S, at int32) (broken, label string) {
	if e.sys.Done(s) {
		e.ends = append(e.ends, at)
	}
	e.sys.Steps(s, func(l string, next S, b string) {
		switch {
		case broken != "":
		case b != "":
			broken, label = b, l
		default:
			e.from = append(e.from, at)
			e.to = append(e.to, e.visit(next, at, l))
		}
	})
	return broken, label
}

func (e *explorer[S]) visit(s S, parent int32, label string) int32 {
	e.key = e.sys.Key(e.key[:0], &s)
	if id, ok := e.ids[string(e.key)]; ok {
		return id
	}
	id := int32(len(e.nodes))
	e.ids[string(e.key)] = id
	e.nodes = append(e.nodes, node{parent, label})
	e.next = append(e.next, s)
	return id
}

// findTrapped walks backwards from the ends.
func (e *explorer[S]) findTrapped(r *Result) {
	into := make([][]int32, len(e.nodes))
	for i, to := range e.to {
		into[to] = append(into[to], e.from[i])
	}
	free := make([]bool, len(e.nodes))
	for stack := e.ends; len(stack) > 0; {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !free[id] {
			free[id] = true
			stack = append(stack, into[id]...)
		}
	}
	for id, ok := range free {
		if ok {
			continue
		}
		if r.Trapped++; r.Trapped == 1 {
			r.Trace = e.trace(int32(id))
		}
	}
}

func (e *explorer[S]) trace(id int32) []string {
	var t []string
	for ; id > 0; id = e.nodes[id].parent {
		t = append(t, e.nodes[id].label)
	}
	for i, j := 0, len(t)-1; i < j; i, j = i+1, j-1 {
		t[i], t[j] = t[j], t[i]
	}
	return t
}
