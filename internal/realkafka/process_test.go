package realkafka

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// With this in its environment the test binary is a helper process.
const helperEnv = "REALKAFKA_TEST_HELPER"

// runHelper starts a process that lives for an hour, says so, and hangs. Both
// hold the pipe that the test reads from.
func runHelper() {
	cmd := exec.Command("sleep", "3600")
	cmd.ExtraFiles = []*os.File{os.NewFile(3, "pipe")}
	if _, err := startProcess(cmd, discard{}); err != nil {
		os.Exit(1)
	}
	os.NewFile(3, "pipe").Write([]byte("started"))
	select {}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// A test binary that is killed runs no cleanup.
func TestProcessesDieWithTheTest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the children of a process with it")
	}
	r, w, err := os.Pipe()
	check(t, err)
	defer r.Close()
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), helperEnv+"=1")
	helper.ExtraFiles = []*os.File{w}
	check(t, helper.Start())
	w.Close()
	defer helper.Wait()
	defer helper.Process.Kill()

	started := make([]byte, len("started"))
	if _, err := io.ReadFull(r, started); err != nil {
		t.Fatalf("helper: %v", err)
	}
	check(t, helper.Process.Kill())
	check(t, r.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the child is still there: %v", err)
	}
}

func TestEndReportsAProcessThatStays(t *testing.T) {
	p, err := startProcess(exec.Command("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 3600; done"), discard{})
	check(t, err)
	if err := p.end(0, time.Millisecond); err == nil {
		t.Error("no error for a process that did not end")
	}
	check(t, p.end(syscall.SIGKILL, time.Minute))
	if p.running() {
		t.Error("runs after it was killed")
	}
}

func TestPauseWaitsForRest(t *testing.T) {
	p, err := startProcess(exec.Command("sh", "-c", "while :; do :; done"), discard{})
	check(t, err)
	defer p.end(syscall.SIGKILL, time.Minute)
	for range 3 {
		check(t, p.pause(time.Minute))
		check(t, p.pause(time.Minute)) // nothing to do
		if runtime.GOOS == "linux" {
			state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
			check(t, err)
			if !strings.Contains(string(state), ") T ") {
				t.Errorf("paused, but %s", state)
			}
		}
		check(t, p.signal(sigCont))
	}
	check(t, p.end(syscall.SIGKILL, time.Minute))
	if err := p.pause(time.Minute); err == nil {
		t.Error("no error for a process that has ended")
	}
}
