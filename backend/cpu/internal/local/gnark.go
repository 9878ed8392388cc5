package local

import (
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
)

// maxTasks is gnark-crypto's own limit.
const maxTasks = 1024

// Fast returns the kernels of all groups, on gnark-crypto's MultiExp. An MSM uses at most tasks
// goroutines, and never more than 1024. With 0 gnark-crypto chooses.
func Fast(tasks int) func(backend.Curve, backend.Group) Kernel {
	tasks = min(max(tasks, 0), maxTasks)
	return func(c backend.Curve, g backend.Group) Kernel { return fast{curves.MSMsOf(c, g), tasks} }
}

// fast is the kernel on gnark-crypto's MultiExp.
type fast struct {
	curves.MSMs
	tasks int
}

func (f fast) NewSum() Sum { return f.NewTotal(f.tasks) }

func (f fast) FirstOffCurve(points []byte) (int, error) {
	n, onCurve, err := f.OnCurve(points)
	if err != nil {
		return 0, err
	}
	return first(n, func(i int) bool { return !onCurve(i) }), nil
}
