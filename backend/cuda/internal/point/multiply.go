package point

import (
	"errors"
	"math"

	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/point"
)

// Multiply is backend.MultiplyPoints. If Scalars has no elements, all scalars are one.
type Multiply struct {
	Dst, Src, Scalars Points
	Terms             int
	Memory            int64 // the most work memory that it may take
}

// mostProducts is how many products are computed at a time. leastProducts are computed at a time
// even if that exceeds Memory.
const mostProducts, leastProducts = 1 << 20, 1 << 10

// manyOfBase is from how many products of one point on a table pays.
const manyOfBase = 256

// halfWindows gives the bits of half a window by the number of products, from which on they are
// used.
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
	// A product takes its point, its digits, and room for sums and for making it affine.
	each := 6*x.coordinate + int64(2*x.facts.nafs)
	chunk := mostProducts
	for chunk > leastProducts && int64(chunk)*each > s.Memory/2 {
		chunk /= 2
	}
	if bits := s.shared(x, terms, chunk); bits > 0 {
		return s.rows(x, bits, terms, chunk)
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

// sharedBits are the bits of the digits with which rows may share multiples of their points. Digits
// are bytes with a sign.
const leastSharedBits, mostSharedBits = kernel.WindowBits, 7

// shared returns the bits of the digits with which the products of rows are summed up by places, or
// 0 if every product is computed alone, where that is shorter. A doubling is 7 products of the field
// then, an addition 11 and a table 100, and a sum of 16 of them 16 each.
func (s *Multiply) shared(x *queue, terms, chunk int) (bits int) {
	if terms > chunk || x.sharedBits > 0 {
		return x.sharedBits
	}
	products := s.Dst.Count * terms
	least := float64(7*x.facts.nafs+21*x.facts.places(kernel.WindowBits)+100)*x.latency(products) +
		float64(16*min(terms, 16))*x.latency((products+15)/16)
	for w := leastSharedBits; w <= mostSharedBits; w++ {
		memory := 6 * x.coordinate * int64(s.Src.Count) << (w - 1)
		if p := s.plan(x, s.Dst.Count, w, terms); memory <= s.Memory/2 && p.latency < least {
			bits, least = w, p.latency
		}
	}
	return bits
}

// latency returns how long a product of the field by each of so many threads takes, in units of what a
// single one takes: a warp alone waits for its own product for half of the time.
func (x *queue) latency(threads int) float64 {
	const busy = 224 // threads of a multiprocessor, whose multipliers they keep busy
	return max(1, float64(threads)/float64(x.processors*busy))
}

// rowPlan is how rows share multiples of their points.
type rowPlan struct {
	entries, places int
	each            int     // multiples of a point by a thread
	parts           int     // threads that share the terms of a row and digit
	latency         float64 // in products of the field
}

// plan plans rows with digits of so many bits. A multiple is 11 products of the field and 7 to become
// affine, the way to the first of a thread 18 a bit at most, an addition 10. By lanes of four a sum is 4,
// and a doubling 3.
func (s *Multiply) plan(x *queue, rows, bits, terms int) rowPlan {
	p := rowPlan{entries: 1 << (bits - 1), places: x.facts.places(bits)}
	multiples, sums := math.Inf(1), math.Inf(1)
	for each := p.entries; each > 0; each /= 2 {
		products := 18 * each
		if each < p.entries {
			products += 18 * (bits - 1)
		}
		if l := float64(products) * x.latency(s.Src.Count*p.entries/each); l < multiples {
			p.each, multiples = each, l
		}
	}
	for parts := 1; parts < 2*terms; parts *= 2 {
		l := 10*float64((terms+parts-1)/parts)*x.latency(rows*2*p.places*parts) + 4*float64(2*parts-1)*x.latency(4*rows*p.places)
		if l < sums {
			p.parts, sums = parts, l
		}
	}
	p.latency = multiples + sums + float64((3*bits+4)*p.places)*x.latency(4*rows)
	return p
}

// rows computes rows from a table of multiples of their points. For each digit of the scalars it
// adds up the multiples of a row; a Horner scheme joins these sums.
func (s *Multiply) rows(x *queue, bits, terms, chunk int) error {
	p := s.plan(x, s.Dst.Count, bits, terms)
	n, places, windows := s.Src.Count*p.entries, p.places, 2*p.places
	table := x.take(int64(n) * 2 * x.coordinate)
	used := x.used
	sums := x.jacobians(n)
	if err := errors.Join(
		launch(x, &x.rowMultiples, n/p.each, kernel.RowMultiples{Points: s.Src.At, N: s.Src.Count, To: sums, Entries: p.entries, Each: p.each}),
		x.affine(sums, table, n, 0),
	); err != nil {
		return err
	}
	x.used = used
	by, err := s.recoded(x, bits, chunk)
	if err != nil {
		return err
	}
	// After period rows the points of the first one come again, if that row begins where a row of
	// points does.
	period := max(s.Src.Count/terms, 1)
	return s.each(x, max(chunk/max(terms, windows), 1), func(row, n int) error {
		d, firstScalar, err := by(row*terms, n*terms)
		if err != nil {
			return err
		}
		every := period
		if n%period != 0 {
			every = n
		}
		parts := s.plan(x, n, bits, terms).parts
		ofParts, ofPlaces, to := x.sums(n*windows*parts), x.sums(n*places), x.jacobians(n)
		if err := errors.Join(
			launch(x, &x.rowWindows, n*windows*parts, kernel.RowWindows{
				Table: table, Entries: p.entries, Points: s.Src.Count, To: ofParts, Digits: d.at, Scalars: d.scalars, Windows: windows,
				Beta:  x.fact(x.Resources, x.facts.beta),
				First: row * terms, FirstScalar: firstScalar, Rows: n, Terms: terms, Parts: parts, Period: every,
			}),
			launch(x, &x.joinSums, 4*n*places, kernel.JoinSums{From: ofParts, Terms: 2 * parts, To: ofPlaces, Count: n * places}),
			launch(x, &x.joinSums, 4*n, kernel.JoinSums{From: ofPlaces, Terms: places, Bits: bits, Last: true, To: to, Count: n}),
		); err != nil {
			return err
		}
		return s.store(x, to, row, n, n*terms)
	})
}

// each calls f for rows of Dst, some at a time. Each call starts with the work memory that was
// there before.
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

// long computes rows whose products do not fit the work memory, one part of a row after the other.
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

// products returns a function that computes n products, at most chunk, from the product first on.
func (s *Multiply) products(x *queue, chunk int) (func(first, n int) (kernels.Pointer, error), error) {
	all := s.Dst.Count * max(s.Terms, 1)
	if s.Src.Count == 1 && min(all, s.Scalars.Count) >= manyOfBase {
		return s.fixed(x, all)
	}
	by, err := s.recoded(x, productBits(s.Scalars.Count), chunk)
	if err != nil {
		return nil, err
	}
	tables := x.tables(min(all, chunk))
	return func(first, n int) (kernels.Pointer, error) {
		to := x.jacobians(n)
		d, firstScalar, err := by(first, n)
		if err != nil {
			return 0, err
		}
		p := d.product()
		p.From, p.Points, p.To, p.Tables, p.First, p.FirstScalar, p.Count = s.Src.At, s.Src.Count, to, tables, first, firstScalar, n
		return to, x.multiply(p)
	}, nil
}

// recoded returns a function that makes the digits of n scalars, at most chunk, from the scalar
// first on. The function also returns the index at which their digits begin.
func (s *Multiply) recoded(x *queue, bits, chunk int) (func(first, n int) (digits, int, error), error) {
	whole := digits{x: x, bits: bits}
	if s.Scalars.Count <= chunk {
		err := whole.recode(s.Scalars.At, s.Scalars.Count, 0, s.Scalars.Count)
		return func(first, _ int) (digits, int, error) { return whole, first, nil }, err
	}
	return func(first, n int) (digits, int, error) {
		d := digits{x: x, bits: bits}
		err := d.recode(s.Scalars.At, s.Scalars.Count, first, n)
		return d, 0, err
	}, nil
}

// fixed makes the table of a fixed base and returns a function that computes its products.
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

// windows returns how many windows of twice half bits a scalar has, with a bit for the signs, and
// how many entries each has.
func (x *queue) windows(half int) (windows, entries int) {
	return x.scalarBits/(2*half) + 1, 1 << (2*half - 1)
}

// digits are the digits of scalars, on the card.
type digits struct {
	x       *queue
	bits    int // of a digit; 1 means a non-adjacent form
	at      kernels.Pointer
	scalars int
}

// recode makes the digits of n scalars from first on. There are all scalars, which are repeated.
func (d *digits) recode(scalars kernels.Pointer, all, first, n int) error {
	places := d.places()
	d.at, d.scalars = d.x.take(int64(2*places*n)), n
	return launch(d.x, &d.x.Group.recode, n, kernel.Recode{
		Scalars: scalars, All: all, First: first, N: n, Lattice: d.x.fact(d.x.Resources, d.x.facts.lattice),
		Digits: d.at, Places: places, Window: d.bits,
	})
}

// places returns how many digits a half of a scalar has.
func (d *digits) places() int { return d.x.facts.places(d.bits) }

// productBits returns the bits of the digits for products by scalars scalars: lanes with one common
// scalar skip the digits that are 0.
func productBits(scalars int) int {
	if scalars == 1 {
		return 1
	}
	return kernel.WindowBits
}

// product returns the parameters of products by these digits, without their points.
func (d *digits) product() kernel.Product {
	return kernel.Product{Digits: d.at, Scalars: d.scalars, Places: d.places(), Each: d.bits, Beta: d.x.fact(d.x.Resources, d.x.facts.beta)}
}

// blocks returns how many blocks compute products products.
func (x *queue) blocks(products int) int {
	return min((products+x.product.Threads-1)/x.product.Threads, x.productBlocks)
}

// tables takes room for the tables of the threads that compute products products.
func (x *queue) tables(products int) kernels.Pointer {
	return x.take(int64(x.blocks(products)*x.product.Threads) * kernel.ProductEntries * kernel.EntryElements * x.coordinate)
}

// multiply launches products on threads with tables.
func (x *queue) multiply(p kernel.Product) error {
	if x.rehearsal || p.Count == 0 {
		return nil
	}
	return x.product.LaunchShaped(x.Stream, driver.Launch{
		Grid: driver.Dim{X: x.blocks(p.Count)}, Block: driver.Dim{X: x.product.Threads},
	}, p)
}
