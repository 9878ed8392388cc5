package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"testing"

	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/text"
)

func TestErrorsCross(t *testing.T) {
	for _, k := range kinds {
		e := fmt.Errorf("job 3: %w: \xff with words", k.err)
		got, ok := FromStatus(ToStatus(e))
		if !ok || !errors.Is(got, k.err) || got.Error() != "job 3: "+k.err.Error()+": ? with words" {
			t.Errorf("%v: %v", e, got)
		}
		for _, other := range kinds {
			if other.err != k.err && errors.Is(got, other.err) {
				t.Errorf("%v became also %v", e, other.err)
			}
		}
	}
	both, ok := FromStatus(ToStatus(fmt.Errorf("%w: %w", backend.ErrUnavailable, backend.ErrOutOfMemory)))
	if !ok || !errors.Is(both, backend.ErrUnavailable) || !errors.Is(both, backend.ErrOutOfMemory) {
		t.Errorf("%v", both)
	}
	if got, ok := FromStatus(ToStatus(errors.New("odd"))); !ok || !errors.Is(got, backend.ErrGone) {
		t.Errorf("an error of no kind: %v", got)
	}
	long, ok := FromStatus(ToStatus(fmt.Errorf("%w: %s", backend.ErrGone, bytes.Repeat([]byte("x"), 1<<20))))
	if !ok || len(long.Error()) > text.Max {
		t.Errorf("a long error: %v, %d bytes", ok, len(long.Error()))
	}
	if ToStatus(nil) != nil {
		t.Error("no error became one")
	}
	for _, e := range []error{errors.New("x"), grpc.ErrServerStopped, context.Canceled} {
		if got, ok := FromStatus(e); ok {
			t.Errorf("%v taken for a plugin's: %v", e, got)
		}
	}
}

// TestEveryKindCrosses reads the kinds of errors in package backend: one that kinds lacks
// would arrive as the death of its plugin.
func TestEveryKindCrosses(t *testing.T) {
	source, err := os.ReadFile("../../../backend/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^\tErr\w+ += errors\.New\("([^"]+)"\)`).FindAllSubmatch(source, -1)
	if len(all) < 7 {
		t.Fatalf("only %d kinds in backend/errors.go", len(all))
	}
	known := map[string]bool{}
	for _, k := range kinds {
		known[k.err.Error()] = true
	}
	for _, m := range all {
		if !known[string(m[1])] {
			t.Errorf("no kind of package proto for %q", m[1])
		}
	}
}
