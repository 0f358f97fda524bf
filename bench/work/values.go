package work

import (
	"fmt"
	"math/rand/v2"
)

// values is how many different values a work has. They are made once and handed
// out in turn, so that making them is not measured.
const values = 4096

// Values returns values of w's size that look like events in JSON: what codecs
// meet, neither zeroes nor noise. They are the same in every process. No one
// may change them.
func (w Work) Values() [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([][]byte, values)
	for i := range out {
		out[i] = event(rng, w.Bytes)
	}
	return out
}

var (
	verbs = []string{"view", "click", "purchase", "refund", "login", "logout", "search", "share"}
	pages = []string{"/home", "/cart", "/item/", "/search?q=", "/account", "/help/contact", "/checkout"}
)

func event(rng *rand.Rand, size int) []byte {
	b := make([]byte, 0, size+128)
	for len(b) < size {
		b = fmt.Appendf(b, `{"id":%d,"user":"u%06x","event":%q,"page":"%s%d","ms":%d},`,
			rng.Uint64(), rng.IntN(1<<24), verbs[rng.IntN(len(verbs))], pages[rng.IntN(len(pages))], rng.IntN(1000), rng.IntN(5000))
	}
	return b[:size:size]
}
