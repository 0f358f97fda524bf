package producer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-kafka/sluice/internal/cluster"
	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// target is a broker that can be asked about the cluster.
type target struct {
	id   int32 // -1: not known
	addr string
}

// mostTargets is how many are tried in a round. The next round tries others.
const mostTargets = 16

// targets are those to be tried, in that order: brokers that metadata named and
// bootstrap servers by turns, for the brokers known may all be gone (KIP-899). The
// first of both is another one in each round.
// Whoever served last comes last: it may take everything and answer nothing (K19).
func targets(known []cluster.Broker, servers []string, first, turn int, last string) []target {
	var list []target
	seen := map[string]bool{last: true}
	add := func(t target) {
		if !seen[t.addr] {
			seen[t.addr] = true
			list = append(list, t)
		}
	}
	final, found := target{-1, last}, false
	for i := range max(len(known), len(servers)) {
		if i < len(known) {
			b := known[(first+turn+i)%len(known)]
			t := target{b.ID, b.Addr()}
			if add(t); t.addr == last {
				final, found = t, true
			}
		}
		if i < len(servers) {
			t := target{-1, servers[(turn+i)%len(servers)]}
			if add(t); t.addr == last {
				found = true
			}
		}
	}
	if len(list) > mostTargets-1 {
		list = list[:mostTargets-1]
	}
	if found {
		list = append(list, final)
	}
	return list
}

// connect has a connection to some broker in the end, or says why to none.
func (c *control) connect(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	list := targets(c.snap.Brokers(), c.pr.cfg.BootstrapServers, c.first, c.turn, c.last)
	c.turn++
	addrs := make([]string, len(list))
	for i := range list {
		addrs[i] = list[i].addr
	}
	opened, i, err := c.pr.guarded(ctx, addrs[0], func() (*conn.Conn, int, error) {
		return conn.DialAny(ctx, addrs, c.pr.connOptions(c.pr.cfg.CheckCluster))
	})
	if err != nil {
		var at *conn.Error
		if errors.Is(err, conn.ErrAuth) && errors.As(err, &at) {
			c.last, _, _ = strings.Cut(at.Addr, " ") // another one is asked first next time
		}
		return err
	}
	c.conn, c.connID, c.last = opened, list[i].id, list[i].addr
	return nil
}

// identifyBroker finds out who is at the other end of a connection to a bootstrap
// server, if metadata names its address.
func (c *control) identifyBroker() {
	if c.connID >= 0 {
		return
	}
	for _, b := range c.snap.Brokers() {
		if b.Addr() == c.conn.Addr() {
			c.connID = b.ID
		}
	}
}

// met remembers that brokers answer in the modern form: one that is cut off while
// it says what it speaks is not taken for an old one then.
func (pr *Producer) met(c *conn.Conn) {
	if c.Modern() {
		pr.modern.Store(true)
	}
}

func (pr *Producer) connOptions(check bool) conn.Options {
	o := conn.Options{
		ClientID: pr.cfg.ClientID, SoftwareName: "sluice", SoftwareVersion: softwareVersion(),
		Modern: pr.modern.Load(), Secrets: []string{pr.cfg.SASLPassword.Reveal()},
		Dial: pr.cfg.Dialer, TLS: pr.tls, SASL: pr.sasl, Timeout: pr.cfg.DialTimeout,
	}
	if check {
		o.Check = pr.sameCluster
	}
	return o
}

// sameCluster refuses a broker of another cluster than the one that this producer
// works with: an address may have been given to it, or the cluster was built anew,
// and there records would be taken as if nothing had happened. A broker that names
// no cluster passes (before Kafka 0.10.1).
func (pr *Producer) sameCluster(ctx context.Context, c *conn.Conn) error {
	const namesCluster = 2 // from this version of Metadata on
	ours := pr.clusterID.Load()
	req := kmsg.NewPtrMetadataRequest()
	if v, ok := c.Version(req.Key(), req.MaxVersion()); !ok || v < namesCluster || ours == "" {
		return nil
	}
	req.Topics = []kmsg.MetadataRequestTopic{} // none
	resp, err := c.Do(ctx, req)
	if err != nil {
		return err
	}
	theirs := resp.(*kmsg.MetadataResponse).ClusterID
	if theirs == nil || *theirs == "" || *theirs == ours {
		return nil
	}
	return &conn.Error{Addr: c.Addr(), Op: "cluster check", Err: otherCluster(*theirs, ours)}
}

// otherCluster says what is wrong, and what to do.
func otherCluster(theirs, ours string) error {
	return fmt.Errorf("%w: the broker is of cluster %s, and this producer has worked with %s: "+
		"close it and begin a new one, or let it go on there with metadata.cluster.check.enable=false",
		ErrOtherCluster, strconv.Quote(oneLine(theirs, 100)), strconv.Quote(ours))
}

// said keeps a log from being told the same thing again and again.
type said struct {
	text string
	at   time.Time
}

// anew reports whether err is news: another than the last one, or a minute has gone.
func (s *said) anew(err error, now time.Time) bool {
	if text := err.Error(); text != s.text || now.Sub(s.at) >= time.Minute {
		s.text, s.at = text, now
		return true
	}
	return false
}
