package realkafka

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// cached returns the directory of that name in the cache, and has build fill it
// if it is not there. The name must say all that the content depends on. A
// directory that is there is complete: it is built under another name and then
// renamed. Test processes that need it at the same time wait for one of them;
// that one may die in between.
func cached(name string, build func(dir string) error) (string, error) {
	root, err := cacheRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, name)
	if present(dir) {
		return dir, nil
	}
	unlock, err := lockFile(filepath.Join(root, "lock"))
	if err != nil {
		return "", fmt.Errorf("realkafka: lock the cache: %w", err)
	}
	defer unlock()
	if present(dir) {
		return dir, nil
	}
	building, err := os.MkdirTemp(root, "building-")
	if err != nil {
		return "", fmt.Errorf("realkafka: %w", err)
	}
	defer removeAll(building)
	if err := build(building); err != nil {
		return "", err
	}
	if err := os.Chmod(building, 0o755); err != nil {
		return "", fmt.Errorf("realkafka: %w", err)
	}
	if err := os.Rename(building, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("realkafka: %w", err)
	}
	return dir, nil
}

// removeAll removes a directory that nobody misses.
func removeAll(dir string) { _ = os.RemoveAll(dir) }

func present(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// cacheRoot is the user's cache, or the temporary directory where the user has
// none (no HOME).
func cacheRoot() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	root := filepath.Join(base, "sluice-realkafka")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("realkafka: %w", err)
	}
	return root, nil
}
