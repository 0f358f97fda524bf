package realkafka

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestBrokerLogFindsTheMarkWhereverItIsCut(t *testing.T) {
	text := strings.Repeat("noise\n", 10*tailBytes/6) + "[main] INFO " + readyMark + " here\n"
	for _, size := range []int{1, 7, 100, tailBytes, len(text)} {
		l, err := openBrokerLog(filepath.Join(t.TempDir(), "log"), readyMark)
		check(t, err)
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			if strings.Index(text, readyMark)+len(readyMark) > len(text)-len(rest) {
				select {
				case <-l.Marked():
					t.Fatalf("pieces of %d: marked too early", size)
				default:
				}
			}
			_, err := l.Write(rest[:n])
			check(t, err)
			rest = rest[n:]
		}
		select {
		case <-l.Marked():
		default:
			t.Errorf("pieces of %d: not marked", size)
		}
		tail := l.Tail()
		if len(tail) > tailBytes || !strings.HasPrefix(tail, "noise\n") || !strings.HasSuffix(text, tail) {
			t.Errorf("pieces of %d: tail of %d bytes: %.20q...", size, len(tail), tail)
		}
		check(t, l.Close())
	}
}

// The log of a restarted node holds the mark of its first start.
func TestBrokerLogOfASecondStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for range 2 {
		l, err := openBrokerLog(path, readyMark)
		check(t, err)
		select {
		case <-l.Marked():
			t.Fatal("marked by an earlier start")
		default:
		}
		fmt.Fprintln(l, readyMark)
		<-l.Marked()
		check(t, l.Close())
	}
	got, err := os.ReadFile(path)
	check(t, err)
	if want := readyMark + "\n" + readyMark + "\n"; string(got) != want {
		t.Errorf("file holds %q", got)
	}
}

func TestFreeAddrsAreHandedOutOnce(t *testing.T) {
	seen := make(map[string]bool)
	for range 10 {
		addrs, err := freeAddrs(9)
		check(t, err)
		for _, addr := range addrs {
			if seen[addr] {
				t.Errorf("%s twice", addr)
			}
			seen[addr] = true
		}
	}
}

func TestUsedPortIsNotFree(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	if free(l.Addr().String()) {
		t.Error("said to be free")
	}
}

func TestPropertiesText(t *testing.T) {
	got := propertiesText(map[string]string{"b": `C:\logs`, "a": "1"})
	if want := "a=1\nb=C:\\\\logs\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPropertiesOfTheCallerWin(t *testing.T) {
	n := &node{}
	p := serverProperties(n, []*node{n}, map[string]string{"offsets.topic.num.partitions": "50", "x": "y"})
	if p["offsets.topic.num.partitions"] != "50" || p["x"] != "y" || p["node.id"] != "0" {
		t.Errorf("%v", p)
	}
}

func TestClusterIDIsFitForACommandLine(t *testing.T) {
	for range 1000 {
		if id := newClusterID(); len(id) != 22 || id[0] == '-' {
			t.Fatalf("cluster id %q", id)
		}
	}
}

// withCache gives the test a cache of its own.
func withCache(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv("HOME", dir) // where macOS has it
	t.Setenv("XDG_CACHE_HOME", dir)
	root, err := cacheRoot()
	check(t, err)
	if !strings.HasPrefix(root, dir) {
		t.Skipf("the cache is in %s", root)
	}
	return root
}

func TestCacheIsFilledOnce(t *testing.T) {
	withCache(t)
	var builds atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			dir, err := cached("thing", func(dir string) error {
				builds.Add(1)
				return os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o644)
			})
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := os.ReadFile(filepath.Join(dir, "file")); string(got) != "content" {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
	wg.Wait()
	if n := builds.Load(); n != 1 {
		t.Errorf("built %d times", n)
	}
}

func TestCacheKeepsNothingOfAFailure(t *testing.T) {
	root := withCache(t)
	broken := errors.New("no network")
	_, err := cached("thing", func(dir string) error {
		check(t, os.WriteFile(filepath.Join(dir, "half"), nil, 0o644))
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(root)
	check(t, err)
	if len(entries) != 1 || entries[0].Name() != "lock" {
		t.Errorf("left behind: %v", entries)
	}
}

func TestToolFailureShowsItsOutput(t *testing.T) {
	err := runTool(t.TempDir(), "sh", "-c", "echo what went wrong; exit 3")
	if err == nil || !strings.Contains(err.Error(), "what went wrong") || !strings.Contains(err.Error(), "3") {
		t.Errorf("got %v", err)
	}
}

func TestSkipTags(t *testing.T) {
	for _, c := range []struct {
		in, want string
		err      error
	}{
		{"\x00body", "body", nil},
		{"\x02\x05\x03abc\x07\x00body", "body", nil},
		{"", "", io.ErrUnexpectedEOF},
		{"\x80", "", io.ErrUnexpectedEOF},
		{"\x01\x05\x04abc", "", io.ErrUnexpectedEOF},
		{"\x01\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "", io.ErrUnexpectedEOF},
	} {
		rest, err := skipTags([]byte(c.in))
		if err != c.err || err == nil && string(rest) != c.want {
			t.Errorf("%q leaves %q, %v; want %q, %v", c.in, rest, err, c.want, c.err)
		}
	}
}

func FuzzDecodeResponse(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2})
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, body []byte) {
		decode(apiVersions(4), body)
		decode(kmsg.NewPtrMetadataRequest(), body)
		if rest, err := skipTags(body); err == nil && !bytes.HasSuffix(body, rest) {
			t.Errorf("% x leaves % x", body, rest)
		}
	})
}
