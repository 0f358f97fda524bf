package conn

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestErrorText(t *testing.T) {
	err := fmt.Errorf("outer: %w", &Error{Addr: "h:1", Op: "read", Err: io.EOF})
	if err.Error() != "outer: conn: h:1: read: EOF" || !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if got := quote("a\nb" + strings.Repeat("x", 1000)); len(got) > 220 || strings.Contains(got, "\n") {
		t.Error(got)
	}
}
