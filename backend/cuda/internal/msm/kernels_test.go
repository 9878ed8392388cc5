package msm

import (
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// eachGroup calls f for every group of every curve.
func eachGroup(f func(c backend.Curve, g backend.Group)) {
	for _, of := range backend.CurveGroups() {
		f(of.Curve, of.Group)
	}
}

// TestKernels checks that every phase of every group has an entry.
func TestKernels(t *testing.T) {
	eachGroup(func(c backend.Curve, g backend.Group) {
		curve, ok1 := kernel.ForCurve(c.String())
		group, ok2 := kernel.ForGroup(c.String(), g.String())
		if !ok1 || !ok2 || curve.BinsScatter.Symbol == "" || group.Accumulate.Threads == 0 {
			t.Errorf("%v %v: no kernels", c, g)
		}
		if want := strings.ReplaceAll(c.String(), "-", "_"); !strings.Contains(group.Check.Symbol, want+"_"+g.String()) {
			t.Errorf("%v %v: checked by %s", c, g, group.Check.Symbol)
		}
	})
	if _, ok := kernel.ForGroup("bn254", "g3"); ok {
		t.Error("kernels for a third group")
	}
}
