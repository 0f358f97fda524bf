package realkafka

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sluice-kafka/sluice/internal/faultproxy"
)

func TestNodeBehindAProxy(t *testing.T) {
	var proxy *faultproxy.Proxy
	c := Start(t, Config{
		Properties: map[string]string{"message.max.bytes": "2000"},
		Advertise: func(node int, addr string) string {
			p, err := faultproxy.Listen(addr)
			check(t, err)
			t.Cleanup(func() { p.Close() })
			proxy = p
			return p.Addr()
		},
	})
	if got := c.Addrs(); len(got) != 1 || got[0] != proxy.Addr() {
		t.Errorf("Addrs() = %v, want %s", got, proxy.Addr())
	}
	r := kmsg.NewPtrMetadataRequest()
	r.SetVersion(metadataVersion)
	resp, err := ask[*kmsg.MetadataResponse](proxy.Addr(), r)
	check(t, err)
	b := resp.Brokers[0]
	if addr := net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))); len(resp.Brokers) != 1 || addr != proxy.Addr() {
		t.Errorf("the node says it is at %s, want %s", addr, proxy.Addr())
	}

	l := newLog(t, c, 1, nil)
	l.fill(newProducer(t, c), 3, 1)
	l.expect(refused(messageTooLarge), batch{producer: newProducer(t, c), count: 1, value: strings.Repeat("x", 3000)})
	testDownAndUp(t, c, l)
}

func testDownAndUp(t *testing.T, c *Cluster, l *log) {
	t.Helper()
	if err := c.Restart(0); err == nil {
		t.Error("Restart of a running node: no error")
	}
	check(t, c.Kill(0))
	if conn, err := dial(c.ListenAddr(0)); err == nil {
		conn.close()
		t.Error("a killed node accepts")
	}
	check(t, c.Kill(0))
	for what, do := range map[string]func(int) error{"Stop": c.Stop, "Pause": c.Pause, "Resume": c.Resume} {
		if do(0) == nil {
			t.Errorf("%s of a node that is down: no error", what)
		}
	}
	if c.CreateTopic("nowhere", 1, 1, nil) == nil {
		t.Error("CreateTopic without a node: no error")
	}
	check(t, c.Restart(0))
	l.reopen(t).expectEnd(3)

	check(t, c.Pause(0))
	check(t, c.Stop(0)) // a paused node can be stopped
	check(t, c.Close())
	check(t, c.Close())
}

func TestCreateTopicTwice(t *testing.T) {
	c := stock.Get(t)
	name := fmt.Sprint("twice-", topics.Add(1))
	check(t, c.CreateTopic(name, 3, 1, nil))
	const exists = 36
	if err := c.CreateTopic(name, 3, 1, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprint("code ", exists)) {
		t.Errorf("got %v, want error code %d", err, exists)
	}
}

// A broker that cannot start says why.
func TestStartShowsWhyABrokerDidNot(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // its logs are kept
	_, err := Run(Config{Properties: map[string]string{"authorizer.class.name": "no.such.Authorizer"}})
	if errors.Is(err, ErrUnavailable) {
		require(t, err)
	}
	if err == nil || !strings.Contains(err.Error(), "no.such.Authorizer") {
		t.Errorf("got %v", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, bad := range []Config{{Nodes: 2}, {Nodes: -1}, {SequenceWindow: -1}, {SequenceWindow: 1<<30 + 1}} {
		if _, err := Run(bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// fakeTest records what a test would have been told.
type fakeTest struct {
	testing.TB
	failed   bool
	skipped  bool
	text     string
	cleanups []func()
}

func (f *fakeTest) Helper()                       {}
func (f *fakeTest) Skip(args ...any)              { f.skipped, f.text = true, fmt.Sprint(args...) }
func (f *fakeTest) Fatal(args ...any)             { f.failed, f.text = true, fmt.Sprint(args...) }
func (f *fakeTest) Failed() bool                  { return f.failed }
func (f *fakeTest) Logf(form string, args ...any) { f.text += fmt.Sprintf(form, args...) }
func (f *fakeTest) Cleanup(do func())             { f.cleanups = append(f.cleanups, do) }

func TestSkippedWithAReasonExceptInCI(t *testing.T) {
	unavailable := fmt.Errorf("%w: no mvn", ErrUnavailable)
	broken := errors.New("did not start")
	for _, c := range []struct {
		ci      string
		err     error
		skipped bool
		failed  bool
	}{
		{"", nil, false, false},
		{"", unavailable, true, false},
		{"", broken, false, true},
		{"true", unavailable, false, true},
		{"true", broken, false, true},
	} {
		t.Setenv("CI", c.ci)
		fake := &fakeTest{}
		require(fake, c.err)
		if fake.skipped != c.skipped || fake.failed != c.failed {
			t.Errorf("%+v: skipped %v, failed %v", c, fake.skipped, fake.failed)
		}
		if c.err != nil && fake.text != c.err.Error() {
			t.Errorf("%+v: said %q", c, fake.text)
		}
	}
}

func TestLogsAreKeptForAFailedTest(t *testing.T) {
	for _, failed := range []bool{false, true} {
		c := &Cluster{dir: filepath.Join(t.TempDir(), "cluster")}
		n := &node{dir: filepath.Join(c.dir, "node0")}
		c.nodes = []*node{n}
		check(t, os.MkdirAll(n.dataDir(), 0o755))
		var err error
		n.log, err = openBrokerLog(n.logPath(), readyMark)
		check(t, err)
		fmt.Fprintln(n.log, "the last words")
		check(t, n.log.Close())

		fake := &fakeTest{failed: failed}
		c.explainFailure(fake)
		for _, do := range fake.cleanups {
			do()
		}
		check(t, c.Close())
		if _, err := os.Stat(n.logPath()); (err == nil) != failed {
			t.Errorf("test failed %v: log: %v", failed, err)
		}
		if _, err := os.Stat(n.dataDir()); err == nil {
			t.Errorf("test failed %v: the data is still there", failed)
		}
		said := strings.Contains(fake.text, n.logPath()) && strings.Contains(fake.text, "the last words")
		if said != failed {
			t.Errorf("test failed %v: said %q", failed, fake.text)
		}
	}
}
