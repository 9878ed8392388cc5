package point

import (
	"errors"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/point"
)

// Transform is backend.Transform over points, 2^LogN in each row.
type Transform struct {
	Dst, Src Points
	LogN     int
	From, To backend.Order
	Inverse  bool
	// Roots writes powers of the root of unity or of its inverse.
	Roots Powers
	// Factors writes the factors of the coefficients, which are the results of an inverse: one for
	// all, or one for each. nil means no factors.
	Factors    Powers
	ManyFactor bool
}

// Powers writes n powers of a scalar to the card: every step-th, from the first on. A rehearsal
// calls it too, so that it can prepare.
type Powers func(to kernels.Pointer, step, n int) error

// lanes is how many threads take a branch together.
const lanes = 32

func (s *Transform) queue(x *queue) error {
	all := s.Dst.Count
	if all == 0 {
		return nil
	}
	n := 1 << s.LogN
	rows := all / n
	data := x.jacobians(all)
	err := launch(x, &x.spread, all, kernel.Spread{From: s.Src.At, Given: s.Src.Count / rows, To: data, Log: s.LogN, N: all})
	if err != nil {
		return err
	}
	if err := s.factors(x, data, !s.Inverse, s.From); err != nil {
		return err
	}
	if err := s.levels(x, data); err != nil {
		return err
	}
	order, logReversed := backend.Natural, 0
	if s.From == backend.Natural {
		order = backend.Reversed
		if s.To == backend.Natural {
			logReversed = s.LogN
		}
	}
	if err := s.factors(x, data, s.Inverse, order); err != nil {
		return err
	}
	return x.affine(data, s.Dst.At, all, logReversed)
}

// levels computes the butterflies. From natural order on the halves of nodes get shorter.
func (s *Transform) levels(x *queue, data kernels.Pointer) error {
	defer func(used int64) { x.used = used }(x.used)
	n, all := 1<<s.LogN, s.Dst.Count
	// If lanes share a root, it pays that few of its digits are not 0; otherwise their digits must
	// have the same places. most is how many roots the longest such level has.
	blocks := func(half int) int { return all / (2 * half) }
	var uniform, mixed level
	for half := 2; half < n; half *= 2 {
		if blocks(half) >= lanes {
			uniform.most = half
		} else {
			mixed.most = half
		}
	}
	tables := x.tables(all / 2)
	uniform.digits.bits, mixed.digits.bits = productBits(1), kernel.WindowBits
	for _, l := range []*level{&uniform, &mixed} {
		if l.most == 0 {
			continue
		}
		used := x.used
		l.digits.x = x
		// The digits stay, the scalars do not.
		x.take(int64(2 * l.digits.places() * l.most))
		scalars := x.take(int64(l.most) * x.scalar)
		if err := s.Roots(scalars, n/2/l.most, l.most); err != nil {
			return err
		}
		x.used = used
		if err := l.digits.recode(scalars, l.most, 0, l.most); err != nil {
			return err
		}
	}
	products := func(half int) error {
		if half == 1 {
			return nil
		}
		l := &uniform
		if blocks(half) < lanes {
			l = &mixed
		}
		p := l.digits.product()
		p.From, p.To, p.Projective, p.Tables = data, data, true, tables
		p.Count, p.Half, p.Blocks, p.Step = (half-1)*blocks(half), half, blocks(half), l.most/half
		return errors.Join(x.multiply(p), x.pace(p.Count))
	}
	for level := range s.LogN {
		down := s.From == backend.Natural
		half := 1 << level
		if down {
			half = n / 2 >> level
		}
		var err error
		if !down {
			err = products(half)
		}
		err = errors.Join(err, launch(x, &x.combine, all/2, kernel.Combine{Data: data, Half: half, Pairs: all / 2}))
		if down {
			err = errors.Join(err, products(half))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// level is the digits of the roots for levels of nodes whose halves have at most most elements.
type level struct {
	digits digits
	most   int
}

// factors multiplies the coefficients, which are in the given order, by Factors if now is set.
func (s *Transform) factors(x *queue, data kernels.Pointer, now bool, order backend.Order) error {
	if s.Factors == nil || !now {
		return nil
	}
	defer func(used int64) { x.used = used }(x.used)
	all, n := s.Dst.Count, 1
	if s.ManyFactor {
		n = 1 << s.LogN
	}
	d := digits{x: x, bits: productBits(n)}
	scalars := x.take(int64(n) * x.scalar)
	if err := s.Factors(scalars, 1, n); err != nil {
		return err
	}
	if err := d.recode(scalars, n, 0, n); err != nil {
		return err
	}
	p := d.product()
	p.From, p.To, p.Projective, p.Points, p.Count = data, data, true, all, all
	p.Tables = x.tables(all)
	if n > 1 && order == backend.Reversed {
		p.LogReversed = s.LogN
	}
	return errors.Join(x.multiply(p), x.pace(all))
}
