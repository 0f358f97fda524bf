package conn

import (
	"errors"
	"io"
	"syscall"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sluice-kafka/sluice/retry"
)

// firstVersion is the version of ApiVersions asked first: the oldest with the
// software's name and with tags. Later ones tell a producer nothing more, and
// every one of them costs a round trip, or a connection, at brokers that are
// older than it (K63).
const firstVersion = 3

const versionsOp = "ApiVersions"

// maxAPIKey is above any API of Kafka's; a broker that lists more is not
// believed, so that the table stays small.
const maxAPIKey = 255

type versionRange struct{ min, max int16 }

// Version returns the highest version of the API key that both the broker and
// this client, which speaks ourMax and less, know. False: there is none. Any
// goroutine may call it.
func (c *Conn) Version(key, ourMax int16) (int16, bool) {
	r, ok := c.versions[key]
	v := min(r.max, ourMax)
	if !ok || v < r.min {
		return 0, false
	}
	return v, true
}

// Modern reports whether the broker answered ApiVersions in version 3 or later,
// the ones that can name a sequence window. Any goroutine may call it.
func (c *Conn) Modern() bool { return c.modern }

// learnVersions asks what the broker speaks, beginning with the given version
// of the question. A broker that does not know that version answers in the
// form of version 0 and says, if it is not too old for it, which ones it knows;
// each further question is of a lower version, so this ends.
func (c *Conn) learnVersions(o *Options, version int16) error {
	for {
		resp, err := c.askVersions(o, version)
		if err != nil {
			return err
		}
		switch code := retry.Code(resp.ErrorCode); {
		case code == retry.UnsupportedVersion && version > 0:
			version = nextVersion(resp, version)
			continue
		case code != retry.None:
			return c.fail(versionsOp, code)
		}
		c.versions, c.modern = versionTable(resp.ApiKeys), version >= firstVersion
		c.window, c.windowErr = SequenceWindowTag(&resp.UnknownTags)
		return nil
	}
}

func (c *Conn) askVersions(o *Options, version int16) (*kmsg.ApiVersionsResponse, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = version
	req.ClientSoftwareName = softwareToken(o.SoftwareName)
	req.ClientSoftwareVersion = softwareToken(o.SoftwareVersion)
	body, err := c.ask(req)
	if err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = version
	if inOldForm(body) {
		resp.Version = 0
		if Decode(resp, body, Limit(req)) != nil { // before Kafka 2.4 there is nothing but the code
			resp.ErrorCode, resp.ApiKeys = int16(retry.UnsupportedVersion), nil
		}
		return resp, nil
	}
	if err := Decode(resp, body, Limit(req)); err != nil {
		return nil, c.fail(versionsOp, err)
	}
	return resp, nil
}

// inOldForm reports whether body begins with UNSUPPORTED_VERSION: whatever the
// version asked, that comes in the form of version 0.
func inOldForm(body []byte) bool {
	return len(body) >= 2 && body[0] == 0 && body[1] == byte(retry.UnsupportedVersion)
}

// nextVersion picks the version to ask with after refused was: the highest
// that the broker says it knows below that, else 0.
func nextVersion(resp *kmsg.ApiVersionsResponse, refused int16) int16 {
	if r, ok := versionTable(resp.ApiKeys)[apiVersionsKey]; ok {
		return max(0, min(r.max, refused-1))
	}
	return 0
}

// versionTable keeps the ranges that make sense.
func versionTable(keys []kmsg.ApiVersionsResponseApiKey) map[int16]versionRange {
	table := make(map[int16]versionRange)
	for _, k := range keys {
		if k.ApiKey >= 0 && k.ApiKey <= maxAPIKey && k.MinVersion >= 0 {
			table[k.ApiKey] = versionRange{k.MinVersion, k.MaxVersion}
		}
	}
	return table
}

// hungUpOnVersions reports whether the peer hung up when it was asked what it
// speaks: some services do when they meet a version of ApiVersions that they do
// not know, instead of saying so (K63).
func hungUpOnVersions(err error) bool { return stage(err, "") == versionsOp && hungUp(err) }

// hungUp reports whether err is the peer's end of the connection, rather than
// anything that it or this side said.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
