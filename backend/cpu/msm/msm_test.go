package msm_test

import (
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/backend/cpu/msm"
)

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(testing.TB) backend.Backend { return msm.New() }, backendtest.Options{
		Curves: []backend.Curve{backend.BN254}, Logs: []int{6},
	})
}

// TestMSMsAlone: nothing says that the backend can do more.
func TestMSMsAlone(t *testing.T) {
	b := msm.New()
	defer b.Close()
	if can := b.Info().Can; len(can.MSM) != len(backend.CurveGroups()) || can.Elements != nil || can.Numbers != nil {
		t.Errorf("%+v", can)
	}
	if _, ok := backend.As[backend.Programs](b); ok {
		t.Error("it has programs")
	}
}
