package config

import (
	"slices"
	"strconv"
)

// requestRoom is what a request needs beside its records: headers, client id,
// topic name and partition come to less.
const requestRoom = 1024

// Validate reports every fault as a [*FieldError], all joined, or nil. It reads
// the PEM files that the settings name, and changes nothing.
func (c *Config) Validate() error {
	var faults []*FieldError
	if c.isBare() {
		faults = append(faults, &FieldError{Problem: "start from config.Default(): in a Config made any other way a zero means zero, and here every size and timeout is"})
	}
	bad := make(map[string]bool)
	for i := range table {
		p := &table[i]
		if p.field == "" { // another name of a field, or none
			continue
		}
		for _, f := range p.kind.check(c) {
			faults = append(faults, p.fault(f))
			bad[p.name] = true
		}
	}
	for _, r := range relations {
		if !slices.ContainsFunc(r.names, func(name string) bool { return bad[name] }) {
			faults = append(faults, r.check(c)...)
		}
	}
	if !bad["security.protocol"] {
		faults = append(faults, c.tlsFaults()...)
		if !bad["sasl.mechanism"] {
			faults = append(faults, c.saslFaults()...)
		}
	}
	return join(faults)
}

// isBare recognises a Config that was not made by Default: no program sets all of
// these to zero.
func (c *Config) isBare() bool {
	return c.BatchBytes == 0 && c.MaxRequestBytes == 0 && c.BufferBytes == 0 && c.RetryBackoff == 0 && c.DeliveryTimeout == 0
}

// relation is a rule that one setting must not be below others. Where one of them
// is out of its own range, that is fault enough.
type relation struct {
	names       []string // the last one is the setting that must not be below
	have, least func(c *Config) int64
	why         string
}

var relations = []relation{
	{[]string{"batch.size", "max.request.size"},
		func(c *Config) int64 { return int64(c.MaxRequestBytes) },
		func(c *Config) int64 { return int64(c.BatchBytes) + requestRoom },
		"batch.size + " + strconv.Itoa(requestRoom) + ", so that a full batch fits a request"},
	{[]string{"batch.size", "buffer.memory"},
		func(c *Config) int64 { return c.BufferBytes },
		func(c *Config) int64 { return int64(c.BatchBytes) },
		"batch.size, so that the buffer can hold a batch"},
	{[]string{"max.request.size", "max.in.flight.bytes"},
		func(c *Config) int64 { return c.MaxInFlightBytes },
		func(c *Config) int64 { return int64(c.MaxRequestBytes) },
		"max.request.size, so that every request can be sent"},
	{[]string{"linger.ms", "request.timeout.ms", "delivery.timeout.ms"},
		func(c *Config) int64 { return int64(c.DeliveryTimeout) },
		func(c *Config) int64 { return int64(c.Linger + c.RequestTimeout) },
		"linger.ms + request.timeout.ms, so that one attempt can end (KIP-91)"},
	{[]string{"retry.backoff.ms", "retry.backoff.max.ms"},
		func(c *Config) int64 { return int64(c.RetryBackoffMax) },
		func(c *Config) int64 { return int64(c.RetryBackoff) },
		"retry.backoff.ms"},
	{[]string{"reconnect.backoff.ms", "reconnect.backoff.max.ms"},
		func(c *Config) int64 { return int64(c.ReconnectBackoffMax) },
		func(c *Config) int64 { return int64(c.ReconnectBackoff) },
		"reconnect.backoff.ms"},
}

func (r relation) check(c *Config) []*FieldError {
	if r.have(c) >= r.least(c) {
		return nil
	}
	p := lookup(r.names[len(r.names)-1])
	return []*FieldError{p.fault(fault{p.kind.text(c), "must be at least " + r.why})}
}
