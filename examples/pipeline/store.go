package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sluice-kafka/sluice/producer"
)

// State is what the pipeline remembers of an input partition.
type State struct {
	Offset     int64               // of the input record to go on with
	Checkpoint producer.Checkpoint // everything made of the records before it is written
}

// Store keeps the states. Save must have put a state where a crash cannot reach
// it before it returns, whole or not at all. A database does as well as a
// directory; what a transform remembers can go into the same transaction.
type Store interface {
	Load(partition int32) (s State, found bool, err error)
	Save(partition int32, s State) error
}

// FileStore keeps each state in a file of one directory.
type FileStore struct{ dir, input string }

// OpenFileStore makes the directory if need be. input is the input topic.
func OpenFileStore(dir, input string) (*FileStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"+unfinished))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > time.Hour {
			os.Remove(file) // of a process that was killed
		}
	}
	return &FileStore{dir, input}, err
}

const unfinished = ".unfinished"

func (s *FileStore) path(partition int32) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s-%d.state", s.input, partition))
}

// Load reads a state, and refuses one that is not exactly as it was saved.
func (s *FileStore) Load(partition int32) (State, bool, error) {
	data, err := os.ReadFile(s.path(partition))
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, false, nil
	}
	if err != nil {
		return State{}, false, err
	}
	state, err := decode(partition, data)
	if err != nil {
		return State{}, false, fmt.Errorf("%s: %w", s.path(partition), err)
	}
	return state, true, nil
}

// Save writes the state beside the old one, and puts it into its place when it
// is on the disk.
func (s *FileStore) Save(partition int32, state State) (err error) {
	data, err := encode(partition, state)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, "*"+unfinished) // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.path(partition))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return s.syncDir()
}

// syncDir makes the new name last, too.
func (s *FileStore) syncDir() error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced there
	}
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// A file holds the input partition, the offset, the checkpoint in its binary
// form, and a checksum of all that.
const stateHead, stateTail = 4 + 8, 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encode(partition int32, s State) ([]byte, error) {
	checkpoint, err := s.Checkpoint.MarshalBinary()
	if err != nil {
		return nil, err
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(partition))
	b = binary.BigEndian.AppendUint64(b, uint64(s.Offset))
	b = append(b, checkpoint...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)), nil
}

var errTorn = errors.New("the state is torn or damaged")

func decode(partition int32, data []byte) (s State, err error) {
	end := len(data) - stateTail
	if end < stateHead || binary.BigEndian.Uint32(data[end:]) != crc32.Checksum(data[:end], castagnoli) {
		return s, errTorn
	}
	if p := int32(binary.BigEndian.Uint32(data)); p != partition {
		return s, fmt.Errorf("the state is that of partition %d", p)
	}
	s.Offset = int64(binary.BigEndian.Uint64(data[4:]))
	return s, s.Checkpoint.UnmarshalBinary(data[stateHead:end])
}
