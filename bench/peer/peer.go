// Package peer puts producer clients behind one small interface, so that the
// same work can be given to each. All are asked for the same: acks=all,
// idempotence where the client has it, linger, batch size, buffer and codec.
// Everything else stays at the client's own default.
package peer

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Config is what all peers are asked for.
type Config struct {
	Addrs       []string
	Topic       string
	Codec       string // none, lz4, zstd, snappy, gzip
	Linger      time.Duration
	BatchBytes  int
	BufferBytes int64
	ValueBytes  int  // of a record, for clients that count a batch in records
	Spread      bool // Produce says the partition; otherwise the client's default partitioner does

	// Done is called once for every record, one call at a time. stamp is what
	// Produce was given.
	Done func(stamp *int64, err error)
}

// Client is a producer under test.
type Client interface {
	// Produce hands a record over, and waits while the buffer is full. The
	// value must not change until its Done. partition counts with
	// Config.Spread only. One goroutine at a time.
	Produce(ctx context.Context, value []byte, partition int32, stamp *int64)
	// Flush waits until everything produced has had its Done.
	Flush(ctx context.Context) error
	// Close ends the client, with or without what is still buffered.
	Close()
}

// Caller is a Client with a call that waits for the outcome of its record. Any
// number of goroutines may call it at once. Done is not called.
type Caller interface {
	Call(ctx context.Context, value []byte) error
}

// Peer is a client library.
type Peer struct {
	Name string
	// Idempotent says whether the library can write idempotently. One that
	// cannot does less work for its numbers and promises less.
	Idempotent bool
	// Note says in what the settings could not be the same.
	Note string
	// Module is where the version is read.
	Module string
	Open   func(Config) (Client, error)
	// version overrides what the build says of Module.
	version func() string
}

var all = []Peer{sluicePeer, kgoPeer, saramaPeer, kafkaGoPeer, rawPeer, nullPeer}

// Names returns the peers of this build.
func Names() []string {
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

// Find returns the peer of that name.
func Find(name string) (Peer, error) {
	i := slices.IndexFunc(all, func(p Peer) bool { return p.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	hint := ""
	if name == "librdkafka" {
		hint = " (build with -tags librdkafka and cgo)"
	}
	return Peer{}, fmt.Errorf("peer: no %q%s, there are %s", name, hint, strings.Join(Names(), ", "))
}

// FindAll returns the peers of a list with commas.
func FindAll(list string) ([]Peer, error) {
	var peers []Peer
	for name := range strings.SplitSeq(list, ",") {
		p, err := Find(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		peers = append(peers, p)
	}
	return peers, nil
}

// Version returns the version of the library in this build.
func (p Peer) Version() string {
	if p.version != nil {
		return p.version()
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == p.Module {
			if m.Replace != nil {
				return "tree"
			}
			return m.Version
		}
	}
	return "unknown"
}

func unknownCodec(name string) error { return fmt.Errorf("peer: no codec %q", name) }
