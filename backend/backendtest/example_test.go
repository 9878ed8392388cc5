package backendtest_test

import (
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/backend/cpu"
)

// An author tests a new backend so: the suite makes all of its checks, and the backend is compared
// with the CPU in 100 random cases.
func Example() {
	mine := func(testing.TB) backend.Backend { return cpu.New(cpu.Options{}) } // yours
	TestMine := func(t *testing.T) {
		backendtest.Run(t, mine, backendtest.Options{Curves: []backend.Curve{backend.BN254}, Logs: []int{6, 9}})
		backendtest.Difference(t, mine(t), cpu.New(cpu.Options{}), 1, 100)
	}
	_ = TestMine // go test runs it in your package
}
