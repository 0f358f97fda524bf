package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// maxFile bounds a .properties file, so that a wrong path cannot fill the memory.
const maxFile = 1 << 20

// FromMap returns the defaults with the given properties set. All faults of the
// properties one by one are reported together as [*FieldError]s: unknown names
// (with the known one that was meant, if that is certain), values that cannot be
// read, values out of range. What has another effect than with the client that it
// is from, or none, is in Warnings. What concerns the whole, a missing bootstrap.servers for one, is left to
// [Config.Validate], since more may be set in Go before the Config is used. With
// an error the Config is zero.
func FromMap(m map[string]string) (Config, error) {
	entries := make([]entry, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		entries = append(entries, entry{name: name, value: m[name]})
	}
	return fromEntries(entries, nil)
}

// Parse does what FromMap does for the content of a .properties file in UTF-8.
// Lines that cannot be read and properties given twice are faults as well.
func Parse(data []byte) (Config, error) {
	return parse(data, func(number int) string { return fmt.Sprintf("line %d", number) })
}

// Load does what Parse does for a file of at most 1 MiB. An error to read the
// file unwraps to that of package os.
func Load(path string) (Config, error) {
	data, err := readFile(path, maxFile)
	if err != nil {
		return Config{}, fmt.Errorf("config: %w", err)
	}
	return parse(data, func(number int) string { return fmt.Sprintf("%s:%d", path, number) })
}

func parse(data []byte, origin func(number int) string) (Config, error) {
	entries, faults := entriesOf(string(data), origin)
	return fromEntries(entries, faults)
}

// readFile reads a file of at most most bytes.
func readFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = &os.PathError{Op: "read", Path: path, Err: fmt.Errorf("larger than %d bytes", most)}
	}
	return data, err
}
