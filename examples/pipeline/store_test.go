package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/producer"
)

var someState = State{Offset: 1 << 40, Checkpoint: producer.Checkpoint{
	ProducerID: 9, Taken: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	Topics:     []producer.TopicCheckpoint{{Topic: "words", Partitions: 4}},
	Partitions: []producer.PartitionCheckpoint{{Topic: "words", Partition: 1, Next: 7, Offset: 70}},
}}

func openStore(t *testing.T, dir string) *FileStore {
	t.Helper()
	s, err := OpenFileStore(dir, "sentences")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoreKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	s := openStore(t, dir)
	if _, found, err := s.Load(3); found || err != nil {
		t.Fatalf("found something in an empty store: %v", err)
	}
	first, second := someState, someState
	second.Offset++
	for _, state := range []State{first, second} {
		if err := s.Save(3, state); err != nil {
			t.Fatal(err)
		}
		got, found, err := openStore(t, dir).Load(3)
		if !found || err != nil || !reflect.DeepEqual(got, state) {
			t.Errorf("loaded %+v, %v, %v", got, found, err)
		}
	}
	if _, found, err := s.Load(4); found || err != nil {
		t.Errorf("found the state of another partition: %v", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("left %v, %v", files, err)
	}
	if info, err := files[0].Info(); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestStoreRefusesDamage(t *testing.T) {
	s := openStore(t, t.TempDir())
	if err := s.Save(3, someState); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(s.path(3))
	if err != nil {
		t.Fatal(err)
	}
	load := func(partition int32, data []byte) error {
		if err := os.WriteFile(s.path(partition), data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, found, err := s.Load(partition)
		if found && err != nil {
			t.Error("found, and an error")
		}
		return err
	}
	for cut := range good {
		if err := load(3, good[:cut]); !errors.Is(err, errTorn) {
			t.Errorf("torn after %d bytes: %v", cut, err)
		}
	}
	for bit := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		if err := load(3, bad); !errors.Is(err, errTorn) {
			t.Errorf("bit %d flipped: %v", bit, err)
		}
	}
	if err := load(3, append(bytes.Clone(good), 0)); !errors.Is(err, errTorn) {
		t.Errorf("with more behind it: %v", err)
	}
	if err := load(4, good); err == nil {
		t.Error("the file of another partition was taken")
	}
}

// What cannot be saved leaves the old state alone, and no file behind.
func TestStoreSavesWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	if err := s.Save(3, someState); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(3, State{Offset: 5}); !errors.Is(err, producer.ErrCheckpoint) {
		t.Errorf("a checkpoint that nobody took: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(s.path(4), "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(4, someState); err == nil {
		t.Error("saved over a directory")
	}
	if got, _, err := s.Load(3); err != nil || !reflect.DeepEqual(got, someState) {
		t.Errorf("loaded %+v, %v", got, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*"+unfinished)); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestStoreTidiesUp(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "1"+unfinished), filepath.Join(dir, "2"+unfinished)
	for _, file := range []string{old, fresh} {
		if err := os.WriteFile(file, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	openStore(t, dir)
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an old one is still there: %v", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("one that may be in use is gone: %v", err)
	}
}
