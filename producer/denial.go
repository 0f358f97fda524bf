package producer

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/retry"
	"go.uber.org/atomic"
)

// denial is a refusal that holds: of the login, of a certificate, of rights, of
// every version that is spoken here. Time does not mend it, somebody may. So
// whoever was refused goes on asking, and records are failed after a grace, as
// rights take time to spread (sluice.refusal.grace.ms).
type denial struct {
	since time.Time
	err   error
}

// denials is the one that holds, if one does.
type denials struct{ now atomic.Pointer[denial] }

// note takes what the latest attempt came to.
func (d *denials) note(err error, now time.Time) {
	was := d.now.Load()
	switch {
	case !final(err):
		if was != nil {
			d.now.Store(nil)
		}
	case was == nil:
		d.now.Store(&denial{now, err})
	default:
		d.now.Store(&denial{was.since, err})
	}
}

// of returns why a record that came at the given time is not waited for any
// longer, nil if it is.
func (d *denials) of(came, now time.Time, grace time.Duration) error {
	held := d.now.Load()
	if held == nil || now.Sub(held.since) < grace || now.Sub(came) < grace {
		return nil
	}
	return held.err
}

// errNoProduce: the broker is too old, or so new that it has forgotten us.
var errNoProduce = errors.New("the broker offers no usable version of Produce")

// refusedID is why there will be no producer ID.
type refusedID struct{ code retry.Code }

func (e *refusedID) Error() string { return "producer: no producer id: " + e.code.Error() }
func (e *refusedID) Unwrap() error { return e.code }

func isRefusedID(err error) bool {
	var refused *refusedID
	return errors.As(err, &refused)
}

// final says whether the reason is one that time does not mend.
func final(err error) bool {
	if err == nil {
		return false
	}
	var cert *tls.CertificateVerificationError
	for _, what := range []error{
		conn.ErrAuth, conn.ErrNotOffered, ErrOtherCluster, errNoProduce,
		retry.ClusterAuthorizationFailed, retry.TopicAuthorizationFailed, retry.UnsupportedVersion,
	} {
		if errors.Is(err, what) {
			return true
		}
	}
	return errors.As(err, &cert) || isRefusedID(err) || refusedByAlert(err)
}

// refusedByAlert reports whether the broker ended TLS with an alert about what we
// are, and not about the bytes. The type of alerts is not exported.
func refusedByAlert(err error) bool {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return false
	}
	text := op.Err.Error()
	for _, what := range []string{"certificate", "access denied", "protocol version", "handshake failure"} {
		if strings.Contains(text, what) {
			return true
		}
	}
	return false
}

// endDenied gives up the records whose grace is over. Only what was never in doubt
// can be told so; the rest waits. A lane stops.
func (p *partition) endDenied(now time.Time, fx *effects) {
	err := p.denied(now)
	if err == nil || p.fatal != nil {
		return
	}
	if p.shared {
		p.stopFor(err, fx)
		return
	}
	if p.win.Outstanding() > 0 || p.win.InDoubt() || p.encoding > 0 {
		return
	}
	for p.head() != nil && p.denied(now) != nil {
		p.giveUpHead(fx, err)
	}
}

// denied is why the oldest record is not waited for any longer, nil if it is.
func (p *partition) denied(now time.Time) error {
	b := p.head()
	if b == nil {
		return nil
	}
	grace := p.pr.cfg.RefusalGrace
	switch {
	case p.topic.lane.identity.Load() == nil || p.win.NeedsProducerID() || p.target == nil:
		return p.pr.control.refused.of(b.created, now, grace)
	case p.target.link.Load() == nil:
		return p.target.refused.of(b.created, now, grace)
	case now.Sub(b.created) >= grace && lacksRights(b.trouble.cause()):
		return b.trouble.cause()
	}
	return nil
}

// lacksRights reports whether the latest answer to a batch was that.
func lacksRights(err error) bool {
	return errors.Is(err, retry.TopicAuthorizationFailed) || errors.Is(err, retry.ClusterAuthorizationFailed)
}

// endDenied gives up the records that wait for the topic and whose grace is over.
func (t *topic) endDenied(now time.Time) {
	if t.idle() {
		return
	}
	grace := t.pr.cfg.RefusalGrace
	for _, d := range []*denials{&t.refused, &t.pr.control.refused} {
		if err := d.of(time.Time{}, now, grace); err != nil {
			t.fail(now.Add(-grace), err)
		}
	}
}
