package producer

// MaxBehind is how many records may wait for their callbacks.
const MaxBehind = maxBehind

// PretendBehind makes it look as if callbacks were behind by n records more.
func (pr *Producer) PretendBehind(n int64) { pr.delivery.behind.Add(n) }
