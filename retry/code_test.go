package retry

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestCodeError(t *testing.T) {
	for c, want := range map[Code]string{
		NotLeaderOrFollower: "NOT_LEADER_OR_FOLLOWER (6): the broker does not lead this partition",
		UnknownServerError:  "UNKNOWN_SERVER_ERROR (-1): the broker ran into something it did not expect",
		22:                  "ILLEGAL_GENERATION (22)",
		9999:                "unknown error code (9999)",
		math.MinInt16:       "unknown error code (-32768)",
	} {
		if got := c.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCodeIsAnError(t *testing.T) {
	err := fmt.Errorf("orders/3: %w", NotLeaderOrFollower)
	if !errors.Is(err, NotLeaderOrFollower) || errors.Is(err, UnknownTopicOrPartition) {
		t.Error(err)
	}
	var c Code
	if !errors.As(err, &c) || c != 6 {
		t.Error(c)
	}
}

// Another code base knows the same codes by the same names, and none that we
// do not know.
func TestNamesAgreeWithFranzGo(t *testing.T) {
	for c := Code(-1); c < 500; c++ {
		theirs, name := kerr.TypedErrorForCode(int16(c)), c.Name()
		switch {
		case c == None || c == NotLeaderOrFollower: // named differently there
		case theirs == nil || theirs.Code != int16(c):
			if name != "" {
				t.Errorf("%d: %q, unknown to franz-go", c, name)
			}
		case theirs.Message != name:
			t.Errorf("%d: %q, franz-go says %q", c, name, theirs.Message)
		}
	}
}
