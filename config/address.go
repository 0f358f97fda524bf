package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// addressProblem says what is wrong with a bootstrap server, or nothing.
func addressProblem(s string) string {
	bracketed := strings.HasPrefix(s, "[")
	switch {
	case s == "":
		return "an entry is empty"
	case strings.Contains(s, "://"):
		return "has a scheme: write host:port, and name the protocol in security.protocol"
	case strings.Contains(s, "@"):
		return "has a user name: write host:port, and name the user in sasl.username"
	case !bracketed && strings.Count(s, ":") > 1:
		return "is not host:port (an IPv6 address needs brackets, [::1]:9092)"
	}
	host, port, err := net.SplitHostPort(s)
	switch {
	case err != nil && !bracketed:
		return "has no port: write host:port, the usual port of Kafka is 9092"
	case err != nil:
		return "is not [IPv6 address]:port"
	case !isPort(port):
		return "needs a port from 1 to 65535"
	case bracketed:
		return ipv6Problem(host)
	}
	return hostProblem(host)
}

func isPort(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

func ipv6Problem(host string) string {
	if ip, err := netip.ParseAddr(host); err != nil || !ip.Is6() {
		return "has no IPv6 address in its brackets"
	}
	return ""
}

// hostProblem accepts host names as they occur in practice: with underscores
// (container networks) and with a dot at the end (absolute names).
func hostProblem(host string) string {
	if host == "" {
		return "has no host"
	}
	if len(host) > 253 {
		return "has a host name of more than 253 bytes"
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 {
			return "has a host name with an empty part, or one of more than 63 bytes"
		}
		for i := range len(label) {
			if c := label[i]; !isAlphanumeric(c) && c != '-' && c != '_' {
				return "has a character in its host name that is not a letter, digit, hyphen, underscore or dot"
			}
		}
	}
	// A name whose last part is a number is taken for an IPv4 address everywhere.
	if _, err := strconv.ParseUint(labels[len(labels)-1], 10, 64); err == nil {
		if _, err := netip.ParseAddr(host); err != nil {
			return "is not an IPv4 address"
		}
	}
	return ""
}
