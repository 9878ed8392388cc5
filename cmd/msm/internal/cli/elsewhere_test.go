package cli

import (
	"strings"
	"testing"
)

// TestMismatch: programs of two commits are noticed, where both are known.
func TestMismatch(t *testing.T) {
	for _, c := range []struct{ msm, this string }{{"", "a"}, {"a", ""}, {"", ""}, {"a", "a"}} {
		if said := mismatch(c.msm, c.this); said != "" {
			t.Errorf("%q, %q: %s", c.msm, c.this, said)
		}
	}
	if said := mismatch("a", "a+dirty"); !strings.Contains(said, "commit a,") || !strings.Contains(said, "a+dirty") {
		t.Error(said)
	}
}
