package conn

import "github.com/twmb/franz-go/pkg/kmsg"

const apiVersionsKey = 18

// Decode reads body, as ReadFrame returned it, into resp, whose version must be
// set to the one asked with. It skips the header tags, and refuses a response that
// lies about what it holds, or whose form would take much more memory than bytes
// came, before that memory is spent: limit is what the frame was held against, see
// ProduceLimit and Limit, and what decoding takes is twice the body, and a quarter
// of the limit. resp shares memory with body where it holds bytes or tags, not where
// it holds strings.
//
// Any goroutine may call it. The error has ErrProtocol in its chain; after it
// the connection should be abandoned, and what was asked is unanswered.
func Decode(resp kmsg.Response, body []byte, limit int) error {
	body, wrong := look(resp, body, limit)
	if wrong != "" {
		return protocolErrorf("%s %d: %s", kmsg.NameForKey(resp.Key()), resp.GetVersion(), wrong)
	}
	if err := resp.ReadFrom(body); err != nil {
		return protocolErrorf("%s %d: %v", kmsg.NameForKey(resp.Key()), resp.GetVersion(), err)
	}
	return nil
}

// look walks through a response, and returns what is behind its header.
func look(resp kmsg.Response, body []byte, limit int) (rest []byte, wrong string) {
	key := resp.Key()
	s, ok := shapes[key]
	if !ok {
		return nil, "a response of a kind that the client does not know"
	}
	w := newWalker(resp, body, limit)
	if key != apiVersionsKey { // its header is always the old one, KIP-511
		w.tags(nil)
	}
	rest = w.b
	w.walk(s)
	return rest, w.bad
}

func newWalker(resp kmsg.Response, body []byte, limit int) walker {
	return walker{
		b: body, version: resp.GetVersion(), flexible: resp.IsFlexible(),
		tagsLeft: maxUnknownTags, room: 2*int64(len(body)) + int64(limit)/4,
	}
}
