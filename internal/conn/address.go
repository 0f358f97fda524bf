package conn

import (
	"context"
	"net"
	"net/netip"
)

// addresses are those behind host:port, each of which Options.Dial can open. Where
// the dialer is the user's the name is left to it: it may be known only behind a
// proxy.
func (o *Options) addresses(ctx context.Context, host, port string) ([]string, error) {
	if _, err := netip.ParseAddr(host); err == nil || o.Dial != nil && o.Lookup == nil {
		return []string{net.JoinHostPort(host, port)}, nil
	}
	lookup := o.Lookup
	if lookup == nil {
		lookup = resolve
	}
	found, err := lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	addrs := make([]string, 0, len(found))
	for _, a := range alternate(found) {
		addrs = append(addrs, net.JoinHostPort(a.String(), port))
	}
	return addrs, nil
}

func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found, err
}

// alternate puts the families in turn, that of the first one first: where one of
// them goes nowhere, as it does on many hosts, half of the addresses do not.
func alternate(found []netip.Addr) []netip.Addr {
	var first, second []netip.Addr
	for _, a := range found {
		if a.Is4() == found[0].Is4() {
			first = append(first, a)
		} else {
			second = append(second, a)
		}
	}
	all := make([]netip.Addr, 0, len(found))
	for i := range max(len(first), len(second)) {
		if i < len(first) {
			all = append(all, first[i])
		}
		if i < len(second) {
			all = append(all, second[i])
		}
	}
	return all
}
