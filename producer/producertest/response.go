package producertest

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Response is a response on its way to a client. A hook set by
// [Cluster.OnResponse] may change it.
type Response struct {
	Broker     int32        // node ID
	Connection int64        // number of the connection in the cluster, from 1
	Nth        int64        // number of the response on its connection, from 1
	Request    kmsg.Request // nil if its version is not offered

	// Message is what is answered; its fields may be changed. Produce
	// responses are better made to lie by Cluster.OnProduce.
	Message kmsg.Response

	// CorrelationID is that of the request; a hook may set another.
	CorrelationID int32

	// Raw, if not nil, is written in the place of the response, as it is:
	// there is no size in front of it that is not part of it.
	Raw []byte

	// CutAfter, if not negative, is how many bytes of the response, counted
	// with its size, are written before the connection ends. -1 by default.
	CutAfter int

	// Orderly makes CutAfter end the connection with a FIN, instead of a reset.
	Orderly bool

	// Delay is a pause before the response is written.
	Delay time.Duration

	// Throttle sets the throttle time in the response, which is written at
	// once, and then mutes the connection for that long (KIP-219).
	Throttle time.Duration

	// Repeat is how many times more the response is written.
	Repeat int

	// Withhold drops the response. The connection goes on.
	Withhold bool

	asked int32 // correlation ID of the request
}

func newResponse(c *connection, r *request, m kmsg.Response) *Response {
	return &Response{
		Broker: c.broker.id, Connection: c.id, Nth: c.answered,
		Request: r.body, Message: m,
		CorrelationID: r.correlationID, asked: r.correlationID, CutAfter: -1,
	}
}

func (a *Response) frame() []byte {
	if a.Raw != nil {
		return a.Raw
	}
	return appendFrame(a.CorrelationID, a.Message)
}

// intact reports whether the client will find in frame the answer to its
// request.
func (a *Response) intact(frame []byte) bool {
	whole := a.CutAfter < 0 || a.CutAfter >= len(frame)
	return whole && a.Raw == nil && a.CorrelationID == a.asked
}

// hooks are what a test has put in the way.
type hooks struct {
	mu         sync.Mutex // serialises the calls
	onProduce  func(ProduceAttempt) Fault
	onResponse func(*Response)
}

// OnResponse sets a function that sees, and may change, every response before
// it is encoded and written. It replaces the one set before; nil removes it.
// Calls of hooks come one at a time, in the order in which requests are served
// on each connection. A hook must not block; it may call the methods of
// Cluster, apart from Close and those that set hooks.
func (c *Cluster) OnResponse(hook func(*Response)) {
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	c.hooks.onResponse = hook
}

func (h *hooks) response(r *Response) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.onResponse != nil {
		h.onResponse(r)
	}
}

// produce asks for the fault of one partition of a request.
func (h *hooks) produce(a ProduceAttempt) Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.onProduce == nil {
		return Fault{}
	}
	return h.onProduce(a)
}
