package producer

// ErrNoProduce is that a broker offers no usable version of Produce.
var ErrNoProduce = errNoProduce
