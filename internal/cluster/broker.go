package cluster

import "strings"

const (
	maxBrokers   = 10_000
	maxHostBytes = 255
)

// valid reports whether b can be dialled. A host is a name or an address, and
// nothing that could forge a log line.
func (b Broker) valid() bool {
	if b.ID < 0 || b.Port < 1 || b.Port > 65535 || b.Host == "" || len(b.Host) > maxHostBytes {
		return false
	}
	return strings.IndexFunc(b.Host, notInHost) < 0
}

func notInHost(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("-._:%", r) // : and % for IPv6 with a zone
}
