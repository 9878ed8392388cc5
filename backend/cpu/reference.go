package cpu

import (
	"math/big"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
	"github.com/pippin-zk/pippin/internal/curves"
)

// reference returns the kernel of a group for NewReference.
func reference(c backend.Curve, g backend.Group) local.Kernel {
	return doubleAndAdd{numbersOf(c), curves.GroupOf(c, g)}
}

// doubleAndAdd is the reference kernel. Scalars are math/big's numbers, and points are added one at
// a time by the group's own formulas.
type doubleAndAdd struct {
	numbers
	group curves.Group
}

func (k doubleAndAdd) NewSum() local.Sum { return &doubleAndAddSum{k, k.group.Sums(1)} }

func (k doubleAndAdd) FirstOffCurve(points []byte) (int, error) {
	p, err := k.group.Points(points)
	if err != nil {
		return 0, err
	}
	for i := range p.Len() {
		if !p.OnCurve(i) {
			return i, nil
		}
	}
	return -1, nil
}

type doubleAndAddSum struct {
	doubleAndAdd
	total curves.Sums
}

func (t *doubleAndAddSum) Add(points, scalars []byte) error {
	p, err := t.group.Points(points)
	if err != nil {
		return err
	}
	product := t.group.Sums(1)
	for i, k := range t.list(scalars) {
		addTimes(t.total, product, p, i, k)
	}
	return nil
}

func (t *doubleAndAddSum) Affine() []byte { return t.total.Point(0) }

// addTimes adds k times point i to the first of sums, by doubling and adding. product is memory for
// one point.
func addTimes(sum, product curves.Sums, points curves.Points, i int, k *big.Int) {
	product.Clear()
	for bit := k.BitLen() - 1; bit >= 0; bit-- {
		product.Double(0)
		if k.Bit(bit) == 1 {
			product.Add(0, points, i)
		}
	}
	sum.AddSum(0, product, 0)
}
