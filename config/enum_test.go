package config

import (
	"encoding"
	"strings"
	"testing"
)

func TestEnumsAsText(t *testing.T) {
	testEnum[Compression](t, compressionNames)
	testEnum[SecurityProtocol](t, protocolNames)
	testEnum[SASLMechanism](t, mechanismNames)
}

func testEnum[T interface {
	~int8
	String() string
	encoding.TextMarshaler
}, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T, names []string) {
	for i, name := range names {
		v := T(i)
		if v.String() != name {
			t.Errorf("%d: got %q, want %q", i, v.String(), name)
		}
		text, err := v.MarshalText()
		if err != nil || string(text) != name {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		back := T(-1)
		if err := P(&back).UnmarshalText([]byte(strings.ToLower(name))); err != nil || back != v {
			t.Errorf("%s: got %v, %v", name, back, err)
		}
	}
	kept := T(1)
	if err := P(&kept).UnmarshalText([]byte("nonsense")); err == nil || kept != 1 {
		t.Errorf("nonsense: %v, %v", kept, err)
	}
	for _, v := range []T{T(len(names)), -1} {
		if _, err := v.MarshalText(); err == nil {
			t.Errorf("%v marshals", v)
		}
		if !strings.Contains(v.String(), "(") {
			t.Errorf("got %s", v)
		}
	}
}

// The numbers go into the attributes of record batches.
func TestCompressionNumbers(t *testing.T) {
	if CompressionNone != 0 || CompressionGzip != 1 || CompressionSnappy != 2 || CompressionLZ4 != 3 || CompressionZstd != 4 {
		t.Error("a codec id is wrong")
	}
}

func TestProtocolParts(t *testing.T) {
	for p, want := range map[SecurityProtocol][2]bool{
		ProtocolPlaintext: {false, false}, ProtocolSSL: {true, false},
		ProtocolSASLPlaintext: {false, true}, ProtocolSASLSSL: {true, true},
	} {
		if got := [2]bool{p.UsesTLS(), p.UsesSASL()}; got != want {
			t.Errorf("%v: got %v, want %v", p, got, want)
		}
	}
}
