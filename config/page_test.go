package config

import (
	goflag "flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = goflag.Bool("update", false, "write docs/properties.md anew")

const pagePath = "../docs/properties.md"

// The page is the table of this package, so it cannot say anything else.
func TestThePageOfPropertiesIsTrue(t *testing.T) {
	want := page(t)
	if *update {
		if err := os.WriteFile(pagePath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table says: run go test ./config -run Page -update", pagePath)
	}
}

const pageHead = `# Properties

This page is written by a test, from the table that the parser reads: ` + "`go test ./config -run Page -update`" + `.

` + "`config.Load`, `Parse`, `FromMap` and `FromEnv`" + ` take the names of the Java client, of librdkafka and of Spring, as they are found in
files. Each name is one of three:

- **mapped**: it sets a field of ` + "`config.Config`" + `, in the unit of its client;
- **ignored**: it has no effect, and ` + "`Config.Warnings`" + ` says what is different. ` + "`config.Strict`" + ` makes errors of warnings;
- **refused**: an error that says why and what to do. What is about TLS, logins, the choice of partitions, and transactional.id, is never ignored.

A name that is not here is an error. Two names of one setting are an error, too. ` + "`Config.Explain`" + ` lists every setting with its
value and its origin. No value that may be a secret is shown anywhere, and no line that may be a part of one.

A value ends with its line, unless the line ends with a backslash. A PEM text in a ` + "`.properties`" + ` file needs ` + "`\\n\\`" + ` at the end
of each of its lines; a path is easier (` + "`ssl.truststore.location`, `ssl.keystore.location`, `ssl.key.location`" + `).

Clients: J is the Java producer (4.4.0), R is librdkafka (2.15), C are consumers and admin clients, S is Spring, + is Sluice's own, O is old or of an
add-on.

`

func page(t *testing.T) string {
	t.Helper()
	java, rdkafka := namesOf(t, "java-producer"), namesOf(t, "librdkafka")
	clients := func(name string) string {
		var s string
		for _, c := range []struct {
			letter string
			has    bool
		}{
			{"J", slices.Contains(java, name)}, {"R", slices.Contains(rdkafka, name)},
			{"C", slices.ContainsFunc(consumerProperties, func(p property) bool { return p.name == name })}, {"S", strings.HasPrefix(name, "spring.")},
		} {
			if c.has {
				s += c.letter
			}
		}
		switch {
		case s != "":
			return s
		case lookup(name).field != "":
			return "+"
		}
		return "O"
	}
	var rows [3][]string
	for i, p := range Properties() {
		cells := []string{"`" + p.Name + "`", clients(p.Name)}
		switch k := table[i].kind.(type) {
		case ignored:
			cells = append(cells, strings.Join(k.silent, ", "), k.note)
		case refused:
			cells = append(cells, strings.Join(k.accepts, ", "), k.why)
		case function:
			cells = append(cells, "", k.why)
		case tlsVersions:
			cells = append(cells, p.Default, "must be a list with TLSv1.2: TLS 1.2 and newer are offered")
		case alias:
			cells = append(cells, k.unset, p.Doc)
			if p.Use == Mapped {
				cells[2] = lookup(p.SameAs).field
			}
		default:
			cells = append(cells, p.Field, withDefault(p))
		}
		rows[p.Use] = append(rows[p.Use], "| "+strings.Join(cells, " | ")+" |\n")
	}
	var b strings.Builder
	b.WriteString(pageHead)
	fmt.Fprintf(&b, "%d names: %d mapped, %d ignored, %d refused. A name that ends in `.*` stands for all that begin so.\n",
		len(table), len(rows[Mapped]), len(rows[Ignored]), len(rows[Refused]))
	for use, head := range []string{
		"## Mapped\n\n| name | of | field | what |\n|---|---|---|---|\n",
		"## Ignored, with a warning\n\n| name | of | no warning for | why |\n|---|---|---|---|\n",
		"## Refused\n\n| name | of | accepted | why |\n|---|---|---|---|\n",
	} {
		b.WriteString("\n" + head + strings.Join(rows[use], ""))
	}
	return b.String()
}

func withDefault(p Property) string {
	if p.Default == "" {
		return p.Doc
	}
	return p.Doc + " (default " + p.Default + ")"
}
