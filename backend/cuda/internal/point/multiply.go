package point

import (
	"errors"

	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/point"
)

// Multiply is backend.MultiplyPoints. Scalars of no elements are ones.
type Multiply struct {
	Dst, Src, Scalars Points
	Terms             int
	Memory            int64 // that it may take
}

// mostProducts is how many products are computed at a time, and leastProducts how many
// even if they take more memory than they may.
const mostProducts, leastProducts = 1 << 20, 1 << 10

// manyOfBase is how many products of one point are worth a table.
const manyOfBase = 256

// halfWindows has from how many products on half a window has so many bits.
var halfWindows = []struct{ products, bits int }{{1 << 18, 8}, {1 << 13, 6}, {0, 4}}

func (s *Multiply) queue(x *queue) error {
	if s.Dst.Count == 0 {
		return nil
	}
	terms := max(s.Terms, 1)
	if s.Scalars.Count == 0 {
		return s.each(x, mostProducts, func(row, n int) error {
			sums, err := x.sum(s.Src.At, s.Src.Count, row*terms, false, n, terms)
			if err != nil {
				return err
			}
			return s.store(x, sums, row, n, 0)
		})
	}
	// A product takes its point, digits, and room for sums and for becoming affine.
	each := 6*x.coordinate + int64(2*x.facts.nafs)
	chunk := mostProducts
	for chunk > leastProducts && int64(chunk)*each > s.Memory/2 {
		chunk /= 2
	}
	of, err := s.products(x, chunk)
	if err != nil {
		return err
	}
	if terms > chunk {
		return s.long(x, of, terms, chunk)
	}
	return s.each(x, chunk/terms, func(row, n int) error {
		products, err := of(row*terms, n*terms)
		if err != nil {
			return err
		}
		sums, err := x.sum(products, n*terms, 0, true, n, terms)
		if err != nil {
			return err
		}
		return s.store(x, sums, row, n, n*terms)
	})
}

// each calls f for rows of Dst, some at a time, with the work memory that there was.
func (s *Multiply) each(x *queue, rows int, f func(row, n int) error) error {
	used := x.used
	for row := 0; row < s.Dst.Count; row += rows {
		x.used = used
		if err := f(row, min(rows, s.Dst.Count-row)); err != nil {
			return err
		}
	}
	return nil
}

// long computes rows whose products do not fit the work memory: parts of each, one after
// the other.
func (s *Multiply) long(x *queue, of func(first, n int) (kernels.Pointer, error), terms, chunk int) error {
	parts := (terms + chunk - 1) / chunk
	sums := x.jacobians(parts)
	return s.each(x, 1, func(row, _ int) error {
		used := x.used
		for part := range parts {
			x.used = used
			n := min(chunk, terms-part*chunk)
			products, err := of(row*terms+part*chunk, n)
			if err != nil {
				return err
			}
			sum, err := x.sum(products, n, 0, true, 1, n)
			if err != nil {
				return err
			}
			size := kernel.JacobianElements * x.coordinate
			to := sums + kernels.Pointer(int64(part)*size)
			if err := errors.Join(launch(x, &x.sumRows, 1, kernel.SumRows{
				From: sum, Points: 1, Projective: true, To: to, Rows: 1, Terms: 1, Parts: 1,
			}), x.pace(n)); err != nil {
				return err
			}
		}
		x.used = used
		sum, err := x.sum(sums, parts, 0, true, 1, parts)
		if err != nil {
			return err
		}
		return s.store(x, sum, row, 1, 0)
	})
}

// store writes sums to rows of Dst.
func (s *Multiply) store(x *queue, sums kernels.Pointer, row, n, products int) error {
	return errors.Join(x.affine(sums, s.Dst.At+kernels.Pointer(row*x.of.Bytes()), n, 0), x.pace(products))
}

// products returns what computes n products from one on, n at most chunk.
func (s *Multiply) products(x *queue, chunk int) (func(first, n int) (kernels.Pointer, error), error) {
	all := s.Dst.Count * max(s.Terms, 1)
	if s.Src.Count == 1 && min(all, s.Scalars.Count) >= manyOfBase {
		return s.fixed(x, all)
	}
	d := digits{x: x, naf: s.Scalars.Count == 1}
	whole := s.Scalars.Count <= chunk
	if whole {
		if err := d.recode(s.Scalars.At, s.Scalars.Count, 0, s.Scalars.Count); err != nil {
			return nil, err
		}
	}
	tables := x.tables(min(all, chunk))
	return func(first, n int) (kernels.Pointer, error) {
		to := x.jacobians(n)
		by, firstScalar := d, first
		if !whole {
			by, firstScalar = digits{x: x, naf: d.naf}, 0
			if err := by.recode(s.Scalars.At, s.Scalars.Count, first, n); err != nil {
				return 0, err
			}
		}
		p := by.product()
		p.From, p.Points, p.To, p.Tables, p.First, p.FirstScalar, p.Count = s.Src.At, s.Src.Count, to, tables, first, firstScalar, n
		return to, x.multiply(p)
	}, nil
}

// fixed makes the table of a fixed base and returns what computes its products.
func (s *Multiply) fixed(x *queue, all int) (func(first, n int) (kernels.Pointer, error), error) {
	half := 0
	for _, w := range halfWindows {
		half = w.bits
		windows, entries := x.windows(half)
		if all >= w.products && int64(windows*entries)*8*x.coordinate < s.Memory/2 {
			break
		}
	}
	windows, entries := x.windows(half)
	table := x.take(int64(windows*entries) * 2 * x.coordinate)
	used := x.used
	seeds := x.jacobians(windows << (half + 1))
	sums := x.jacobians(windows * entries)
	err := errors.Join(
		launch(x, &x.seeds, windows<<(half+1), kernel.Seeds{Base: s.Src.At, To: seeds, Windows: windows, H: half}),
		launch(x, &x.table, windows*entries, kernel.Table{Seeds: seeds, To: sums, Count: windows * entries, H: half}),
		x.affine(sums, table, windows*entries, 0),
	)
	x.used = used
	return func(first, n int) (kernels.Pointer, error) {
		to := x.jacobians(n)
		return to, launch(x, &x.Group.fixed, n, kernel.Fixed{
			Table: table, Windows: windows, H: half, Scalars: s.Scalars.At, All: s.Scalars.Count, To: to, First: first, Count: n,
		})
	}, err
}

// windows returns how many windows of twice half bits a scalar has, with a bit for signs,
// and the entries of each.
func (x *queue) windows(half int) (windows, entries int) {
	return x.scalarBits/(2*half) + 1, 1 << (2*half - 1)
}

// digits is those of scalars, on the card.
type digits struct {
	x       *queue
	naf     bool
	at      kernels.Pointer
	scalars int
}

// recode makes the digits of n scalars from one on, of `all` again and again.
func (d *digits) recode(scalars kernels.Pointer, all, first, n int) error {
	places, _ := d.places()
	d.at, d.scalars = d.x.take(int64(2*places*n)), n
	return launch(d.x, &d.x.Group.recode, n, kernel.Recode{
		Scalars: scalars, All: all, First: first, N: n, Lattice: d.x.fact(d.x.Resources, d.x.facts.lattice), Digits: d.at, Places: places, Naf: d.naf,
	})
}

// places returns how many digits a half has, and the bits of each.
func (d *digits) places() (n, bits int) {
	if d.naf {
		return d.x.facts.nafs, 1
	}
	return d.x.facts.windows, kernel.WindowBits
}

// product returns the launch of products by these digits, without its points.
func (d *digits) product() kernel.Product {
	places, bits := d.places()
	return kernel.Product{Digits: d.at, Scalars: d.scalars, Places: places, Each: bits, Beta: d.x.fact(d.x.Resources, d.x.facts.beta)}
}

// blocks returns how many blocks compute so many products.
func (x *queue) blocks(products int) int {
	return min((products+x.product.Threads-1)/x.product.Threads, x.productBlocks)
}

// tables takes room for the tables of the threads that compute so many products.
func (x *queue) tables(products int) kernels.Pointer {
	return x.take(int64(x.blocks(products)*x.product.Threads) * kernel.ProductEntries * kernel.EntryElements * x.coordinate)
}

// multiply launches products on threads that have tables.
func (x *queue) multiply(p kernel.Product) error {
	if x.rehearsal || p.Count == 0 {
		return nil
	}
	return x.product.LaunchShaped(x.Stream, driver.Launch{
		Grid: driver.Dim{X: x.blocks(p.Count)}, Block: driver.Dim{X: x.product.Threads},
	}, p)
}
