package realkafka

import (
	"sync"
	"testing"
)

// Shared is a cluster that several tests of a package use, started when the
// first asks for it. It is declared as a package variable and closed by
// TestMain, after the tests have run:
//
//	var stock = &realkafka.Shared{Config: realkafka.Config{Nodes: 1}}
//
//	func TestMain(m *testing.M) {
//		code := m.Run()
//		stock.Close()
//		os.Exit(code)
//	}
//
// Tests that stop or pause nodes of it must leave them running.
type Shared struct {
	// Config of the cluster. Not to be changed after the first Get.
	Config Config

	once    sync.Once
	cluster *Cluster
	err     error
}

// Get returns the cluster, starting it if this is the first call. It skips or
// fails t as [Start] does. Safe for concurrent use.
func (s *Shared) Get(t testing.TB) *Cluster {
	t.Helper()
	s.once.Do(func() { s.cluster, s.err = Run(s.Config) })
	require(t, s.err)
	s.cluster.explainFailure(t)
	return s.cluster
}

// Close stops the cluster if it was started. Get must not be called after it.
func (s *Shared) Close() error {
	s.once.Do(func() {})
	if s.cluster == nil {
		return nil
	}
	return s.cluster.Close()
}
