package config

import (
	"crypto/tls"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDefaultNeedsOnlyServers(t *testing.T) {
	c := Default()
	wantFaults(t, c.Validate(), "bootstrap.servers: required")
	c.BootstrapServers = []string{"broker:9092"}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestZeroMeansZero(t *testing.T) {
	c := valid()
	c.Linger, c.MaxBlock, c.MaxInFlightBatches, c.ClientID = 0, 0, 0, ""
	before := c
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c, before) {
		t.Error("Validate changed the Config")
	}

	c, err := FromMap(map[string]string{"linger.ms": "0", "max.block.ms": "0", "client.id": ""})
	if err != nil || c.Linger != 0 || c.MaxBlock != 0 || c.ClientID != "" {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestValidateChangesNothing(t *testing.T) {
	c := Config{BootstrapServers: []string{" bad "}, Linger: -1, Compression: 9}
	before := c.Clone()
	if c.Validate() == nil {
		t.Fatal("no fault")
	}
	if !reflect.DeepEqual(c, before) {
		t.Error("Validate changed the Config")
	}
}

func TestCloneSharesNothingThatChanges(t *testing.T) {
	c := valid()
	c.TLS = &tls.Config{ServerName: "a"}
	c.SASLPassword = NewSecret("pw")
	clone := c.Clone()
	clone.BootstrapServers[0] = "other:1"
	clone.TLS.ServerName = "b"
	clone.Linger = time.Hour
	if c.BootstrapServers[0] != "127.0.0.1:9092" || c.TLS.ServerName != "a" || c.Linger != 5*time.Millisecond {
		t.Error("a change of the clone reached the original")
	}
	if clone.SASLPassword.Reveal() != "pw" || clone.ClientID != "sluice" {
		t.Error("the clone lacks a value")
	}
	empty := Config{}
	if clone = empty.Clone(); clone.TLS != nil || clone.BootstrapServers != nil {
		t.Error("nil became something")
	}
}

// A new field must be reachable by a property, or be listed as Go-only.
func TestEveryFieldHasItsProperty(t *testing.T) {
	fields := map[string]int{}
	for _, p := range Properties() {
		if p.Field != "" {
			fields[p.Field]++
		}
	}
	for _, name := range goOnly {
		fields[name]++
	}
	for f := range reflect.TypeFor[Config]().Fields() {
		if !f.IsExported() {
			continue
		}
		if fields[f.Name] != 1 {
			t.Errorf("field %s: %d properties or entries in goOnly, want 1", f.Name, fields[f.Name])
		}
		delete(fields, f.Name)
	}
	for name := range fields {
		t.Errorf("there is no field %s", name)
	}
}

// The comment of a field names its property, or says that it is Go-only.
func TestFieldCommentsNameTheirProperty(t *testing.T) {
	comments := fieldComments(t)
	for _, p := range Properties() {
		if p.Field != "" && !strings.Contains(comments[p.Field], "("+p.Name) {
			t.Errorf("the comment of %s does not name %s", p.Field, p.Name)
		}
	}
	for _, name := range goOnly {
		if !strings.HasPrefix(comments[name], name+", in Go only,") {
			t.Errorf("the comment of %s does not say that it is Go-only", name)
		}
	}
}

func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok && s.Name.Name == "Config" {
			for _, f := range s.Type.(*ast.StructType).Fields.List {
				comments[f.Names[0].Name] = f.Doc.Text()
			}
		}
		return true
	})
	return comments
}

func TestGoOnlyIsSorted(t *testing.T) {
	// In the order of the struct, which is that of every listing.
	var inOrder []string
	for f := range reflect.TypeFor[Config]().Fields() {
		if slices.Contains(goOnly, f.Name) {
			inOrder = append(inOrder, f.Name)
		}
	}
	if !slices.Equal(inOrder, goOnly) {
		t.Errorf("got %v, want %v", goOnly, inOrder)
	}
}
