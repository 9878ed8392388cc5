package bounded

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestLog: a party that has used up its lines gets no more written until the window is over. Its
// next line then tells how many were held back. Lines of others are written all the same. However
// many parties there are, the memory for them is bounded.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	l, now := New(slog.New(slog.NewTextHandler(&out, nil))), time.Unix(1e9, 0)
	lines := func() int { n := strings.Count(out.String(), "\n"); out.Reset(); return n }
	for range 1000 {
		l.warn(now, "eve", "spam")
	}
	if n := lines(); n != mostLines {
		t.Errorf("%d lines of 1000", n)
	}
	l.warn(now, "alice", "a problem")
	if n := lines(); n != 1 {
		t.Errorf("%d lines of another one", n)
	}
	l.warn(now.Add(window), "eve", "spam")
	if said, want := out.String(), fmt.Sprintf("not_shown=%d", 1000-mostLines); !strings.Contains(said, want) {
		t.Errorf("after the window: %q", said)
	}
	lines()
	l.warn(now.Add(window), "eve", "spam")
	if said := out.String(); strings.Contains(said, "not_shown") {
		t.Errorf("the next one: %q", said)
	}
	lines()
	for i := range 3 * mostParties {
		l.warn(now, fmt.Sprint(i), "spam")
	}
	if n := lines(); n > mostParties+mostLines || len(l.parties) > mostParties+1 {
		t.Errorf("%d lines of many parties, %d remembered", n, len(l.parties))
	}
}
