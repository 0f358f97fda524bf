package wire

// topicKey tells topics apart: a topic that was deleted and created again has
// another id.
type topicKey struct {
	name string
	id   [16]byte
}

// Reset empties the request for another one and keeps its memory, but no batch.
func (r *ProduceRequest) Reset() {
	for i := range r.Topics {
		t := &r.Topics[i]
		clear(t.Partitions)
		*t = ProduceTopic{Partitions: t.Partitions[:0]}
	}
	r.Topics = r.Topics[:0]
	clear(r.places)
}

// Add puts a batch into the request if the frame then takes at most limit bytes,
// and says whether it did; the sum is exact (K24). A batch within BatchLimit fits
// into an empty request. Batches of one topic may come in any order, the topic
// stands in the request once. Version and ClientID are set before the first Add,
// and between the first Add and Reset Topics is not to be changed in other ways.
func (r *ProduceRequest) Add(topic string, id [16]byte, p ProducePartition, limit int) bool {
	if len(r.Topics) == 0 {
		r.frame = r.Size()
	}
	s := sizer{r.Version}
	key := topicKey{topic, id}
	at, known := r.place(key)

	grow := s.partition(len(p.Records))
	if known {
		n := len(r.Topics[at].Partitions)
		grow += s.count(n+1) - s.count(n)
	} else {
		grow += s.topic(topic) + s.count(1) + s.count(at+1) - s.count(at)
	}
	if r.frame+grow > limit {
		return false
	}
	r.frame += grow
	if !known {
		r.addTopic(key)
	}
	t := &r.Topics[at]
	t.Partitions = append(t.Partitions, p)
	return true
}

// place returns where in Topics the topic stands, or where it would be added.
func (r *ProduceRequest) place(key topicKey) (at int, known bool) {
	end := len(r.Topics)
	if end > 0 && r.Topics[end-1].Name == key.name && r.Topics[end-1].ID == key.id {
		return end - 1, true // the most common case
	}
	if i, ok := r.places[key]; ok {
		return int(i), true
	}
	return end, false
}

func (r *ProduceRequest) addTopic(key topicKey) {
	if r.places == nil {
		r.places = make(map[topicKey]int32)
	}
	at := len(r.Topics)
	r.places[key] = int32(at)
	if at < cap(r.Topics) {
		r.Topics = r.Topics[:at+1] // with the memory of the partitions that were there
	} else {
		r.Topics = append(r.Topics, ProduceTopic{})
	}
	r.Topics[at].Name, r.Topics[at].ID = key.name, key.id
}
