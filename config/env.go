package config

import (
	"errors"
	"os"
	"slices"
	"strings"
)

// FromEnv does what FromMap does for the environment variables whose names begin
// with prefix. The rest of a name is that of a property in upper case, with _ for
// dots and hyphens: with the prefix ORDERS_KAFKA_ the variable
// ORDERS_KAFKA_LINGER_MS is linger.ms. Every variable with the prefix has to be a
// property, so choose one that nothing else uses; it must not be empty.
func FromEnv(prefix string) (Config, error) {
	return fromEnviron(prefix, os.Environ())
}

func fromEnviron(prefix string, environ []string) (Config, error) {
	if prefix == "" {
		return Config{}, errors.New("config: FromEnv needs a prefix, or it would read the whole environment")
	}
	names := make(map[string]string, len(table))
	for _, p := range table {
		names[envName(p.name)] = p.name
	}
	var entries []entry
	for _, variable := range slices.Sorted(slices.Values(environ)) {
		whole, value, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(whole, prefix)
		if !ours {
			continue
		}
		name, known := names[envName(rest)]
		if !known {
			name = rest
		}
		entries = append(entries, entry{name: name, value: value, origin: "environment variable " + plainName(whole)})
	}
	return fromEntries(entries, nil)
}

// envName is a property name as the end of the name of an environment variable.
func envName(name string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(name))
}
