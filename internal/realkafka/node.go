package realkafka

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// readyMark is what a broker logs once it serves.
const readyMark = "Kafka Server started"

// Hard deadlines, far beyond what a busy machine needs (a node starts in 3 s).
const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 1 * time.Minute
)

// node is one Kafka process and what stays of it while it is down.
type node struct {
	id         int
	dir        string
	java       javaCommand
	client     string // addresses it listens on
	internal   string
	controller string
	advertised string

	mu     sync.Mutex // held while the node changes between up and down
	proc   *process   // nil: never started, or gone
	log    *brokerLog // of the last start
	asleep bool       // paused
}

func (n *node) configPath() string { return filepath.Join(n.dir, "server.properties") }
func (n *node) dataDir() string    { return filepath.Join(n.dir, "data") }
func (n *node) logPath() string    { return filepath.Join(n.dir, "broker.log") }

// format writes what a data directory must hold before the first start.
func (n *node) format(clusterID string, users map[string]string) error {
	args := []string{"format", "-t", clusterID, "-c", n.configPath()}
	for name, password := range users {
		args = append(args, "--add-scram", fmt.Sprintf("SCRAM-SHA-256=[name=%s,password=%s]", name, password))
	}
	cmd := n.command("kafka.tools.StorageTool", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("realkafka: format node %d: %w\n%s", n.id, err, out)
	}
	return nil
}

// command runs in the node's directory, so that what a dying JVM leaves behind
// is with the logs.
func (n *node) command(class string, args ...string) *exec.Cmd {
	cmd := n.java.command(class, args...)
	cmd.Dir = n.dir
	return cmd
}

// start returns when the node serves.
func (n *node) start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc.running() {
		return fmt.Errorf("realkafka: node %d runs already", n.id)
	}
	log, err := openBrokerLog(n.logPath(), readyMark)
	if err != nil {
		return err
	}
	n.log, n.asleep = log, false
	if n.proc, err = startProcess(n.command("kafka.Kafka", n.configPath()), log); err != nil {
		return errors.Join(fmt.Errorf("realkafka: start node %d: %w", n.id, err), log.Close())
	}
	if err := n.awaitReady(); err != nil {
		return fmt.Errorf("realkafka: node %d: %w; its log ends:\n%s", n.id, err, log.Tail())
	}
	return nil
}

func (n *node) awaitReady() error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	select {
	case <-n.log.Marked():
	case <-n.proc.done:
		return fmt.Errorf("ended before it served: %v", n.proc.err) //nolint:errorlint // may be nil
	case <-deadline.C:
		return fmt.Errorf("does not serve after %v", startTimeout)
	}
	conn, err := net.DialTimeout("tcp", n.client, startTimeout)
	if err != nil {
		return fmt.Errorf("says it serves, but: %w", err)
	}
	return conn.Close()
}

func (n *node) kill() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.killLocked()
}

func (n *node) killLocked() error {
	if !n.proc.running() {
		return nil
	}
	return n.proc.end(syscall.SIGKILL, stopTimeout)
}

func (n *node) stop() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.proc.running() {
		return fmt.Errorf("realkafka: stop node %d: it does not run", n.id)
	}
	if err := n.proc.signal(sigCont); err != nil {
		return fmt.Errorf("realkafka: stop node %d: %w", n.id, err)
	}
	if err := n.proc.end(syscall.SIGTERM, stopTimeout); err != nil {
		err = fmt.Errorf("realkafka: stop node %d: %w; its log ends:\n%s", n.id, err, n.log.Tail())
		return errors.Join(err, n.killLocked())
	}
	return nil
}

func (n *node) pause() error {
	return n.whileUp("pause", func(p *process) error {
		n.asleep = true
		return p.pause(stopTimeout)
	})
}

func (n *node) resume() error {
	return n.whileUp("resume", func(p *process) error {
		n.asleep = false
		return p.signal(sigCont)
	})
}

func (n *node) whileUp(what string, do func(*process) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.proc.running() {
		return fmt.Errorf("realkafka: %s node %d: it does not run", what, n.id)
	}
	if err := do(n.proc); err != nil {
		return fmt.Errorf("realkafka: %s node %d: %w", what, n.id, err)
	}
	return nil
}

// running tells whether the process runs now; it may be paused.
func (n *node) running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc.running()
}

// sleeping tells whether the process is paused.
func (n *node) sleeping() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asleep
}

func (n *node) removeData() error { return os.RemoveAll(n.dataDir()) }

func (n *node) logTail() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.log == nil {
		return "(never started)\n"
	}
	return n.log.Tail()
}
