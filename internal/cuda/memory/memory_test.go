package memory

import (
	"testing"

	"github.com/pippin-zk/pippin/kernels/grid/msm"
)

// TestCovering checks that for each kernel there is one that overwrites its stack, and no
// more than the next larger one.
func TestCovering(t *testing.T) {
	for _, curve := range []string{"bn254", "bls12-377", "bls12-381", "bw6-761"} {
		for _, group := range []string{"g1", "g2"} {
			g, ok := msm.ForGroup(curve, group)
			if !ok {
				t.Fatalf("no kernels for %s %s", curve, group)
			}
			most := max(g.Accumulate.Stack, g.Fold.Stack, g.Reduce.Stack, g.Planes.Stack, g.Multiples.Stack, g.Check.Stack)
			s, ok := Covering(most)
			if !ok || s.Overwrite.Stack < most {
				t.Errorf("%s %s: stacks of %d bytes, overwritten are %d", curve, group, most, s.Overwrite.Stack)
			}
			if s.Inspect.Stack != s.Overwrite.Stack {
				t.Errorf("inspect has %d bytes of stack, overwrite %d", s.Inspect.Stack, s.Overwrite.Stack)
			}
		}
	}
	small, _ := Covering(1)
	if s, ok := Covering(small.Overwrite.Stack + 1); !ok || s.Overwrite.Stack <= small.Overwrite.Stack {
		t.Errorf("%d bytes for one more than %d", s.Overwrite.Stack, small.Overwrite.Stack)
	}
	if _, ok := Covering(1 << 20); ok {
		t.Error("a kernel for stacks of a MiB")
	}
}
