package inspect

import "github.com/twmb/franz-go/pkg/kmsg"

// DescribeProducersKey is the API key of DescribeProducers.
const DescribeProducersKey = 61

// Question collects the partitions of one DescribeProducers request, and whom it is
// about: a broker answers with all producers of a partition, there may be many
// thousands, and nobody else is looked at.
type Question struct {
	req    kmsg.DescribeProducersRequest
	topics map[string]int // where in req
	has    map[Place]bool
	about  map[int64]bool
}

// Add asks for a producer ID in a partition.
func (q *Question) Add(at Place, producerID int64) {
	if q.has == nil {
		q.topics, q.has, q.about = map[string]int{}, map[Place]bool{}, map[int64]bool{}
	}
	q.about[producerID] = true
	if q.has[at] {
		return
	}
	q.has[at] = true
	i, ok := q.topics[at.Topic]
	if !ok {
		i = len(q.req.Topics)
		q.topics[at.Topic] = i
		q.req.Topics = append(q.req.Topics, kmsg.DescribeProducersRequestTopic{Topic: at.Topic})
	}
	t := &q.req.Topics[i]
	t.Partitions = append(t.Partitions, at.Partition)
}

// topic returns the name if it was asked about, else "".
func (q *Question) topic(name []byte) string {
	if i, ok := q.topics[string(name)]; ok {
		return q.req.Topics[i].Topic
	}
	return ""
}

// Has reports whether the partition is asked about.
func (q *Question) Has(at Place) bool { return q.has[at] }

// Places is the number of partitions.
func (q *Question) Places() int { return len(q.has) }

// Request is what is to be sent. Its response is an *Answer.
func (q *Question) Request() kmsg.Request { return request{&q.req, q} }

type request struct {
	*kmsg.DescribeProducersRequest
	q *Question
}

func (r request) ResponseKind() kmsg.Response {
	return &Answer{q: r.q, codes: map[Place]int16{}, entries: map[whose]Entry{}}
}

// Entry is what a broker says of one producer ID in one partition.
type Entry struct {
	Code  int16 // of an error: nothing else counts then
	Known bool
	Epoch int32
	Last  int32 // sequence, -1: none in the epoch
}

// Answer is a response to a Question. It reads those that it was asked about from
// between all others, and keeps nothing else.
type Answer struct {
	kmsg.DescribeProducersResponse // the versions; it is never filled

	q       *Question
	codes   map[Place]int16 // of the partitions that are there
	entries map[whose]Entry
	size    int
}

// Size is that of the response, in bytes.
func (a *Answer) Size() int { return a.size }

type whose struct {
	at         Place
	producerID int64
}

// Find returns the entry of the producer ID, ok false where the response leaves the
// partition out, there is none, or the ID was not asked about.
func (a *Answer) Find(at Place, producerID int64) (e Entry, ok bool) {
	if a == nil || !a.q.about[producerID] {
		return Entry{Last: -1}, false
	}
	code, ok := a.codes[at]
	if e, known := a.entries[whose{at, producerID}]; known && code == 0 {
		return e, true
	}
	return Entry{Code: code, Last: -1}, ok
}

// add takes over what another answer has.
func (a *Answer) add(b *Answer) {
	for at, code := range b.codes {
		a.codes[at] = code
	}
	for w, e := range b.entries {
		a.entries[w] = e
	}
}

// ReadFrom reads a response of version 0, the only one.
func (a *Answer) ReadFrom(src []byte) error {
	a.size = len(src)
	r := reader{src}
	r.skip(4) // how long it was throttled
	for range r.count() {
		topic := a.q.topic(r.text())
		for range r.count() {
			a.partition(&r, topic)
			r.tags()
		}
		r.tags()
	}
	r.tags()
	return r.end()
}

// partition reads one, and keeps it if it was asked for. The last word counts where
// a partition or a producer is there twice.
func (a *Answer) partition(r *reader, topic string) {
	at := Place{topic, r.int32()}
	code := r.int16()
	_ = r.text() // of the error
	asked := a.q.has[at]
	if asked {
		a.codes[at] = code
	}
	for range r.count() {
		id := r.int64()
		e := Entry{Known: true, Epoch: r.int32(), Last: r.int32()}
		r.skip(8 + 4 + 8) // its timestamp, and transactions
		r.tags()
		if asked && a.q.about[id] {
			a.entries[whose{at, id}] = e
		}
	}
}
