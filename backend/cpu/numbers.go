package cpu

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math/big"
	"math/bits"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/limbs"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
	"github.com/pippin-zk/pippin/internal/gf2"
	"github.com/pippin-zk/pippin/internal/layout"
)

// operation is a Compute that backend.Check has accepted, with the memory of its batches.
type operation struct {
	backend.Compute
	dst, a, b, m, carry []byte
}

// compute runs one operation on numbers.
func (p *program) compute(ctx context.Context, s *backend.Compute) error {
	o := &operation{Compute: *s, dst: p.at(s.Dst.Range()), a: p.at(s.A.Range())}
	if s.B != (backend.Batch{}) {
		o.b = p.at(s.B.Range())
	}
	if s.M != (backend.Batch{}) {
		o.m = p.at(s.M.Range())
	}
	if s.Carry != (backend.Batch{}) {
		o.carry = p.at(s.Carry.Range())
	}
	return p.operate(ctx, o)
}

// number returns number i of a batch from its memory. A batch of one has the same number for every
// i.
func number(memory []byte, b backend.Batch, i int) []byte {
	if b.Count == 1 {
		i = 0
	}
	size := 4 * b.Words
	return memory[i*size : (i+1)*size]
}

// wrong returns the error of an element.
func wrong(i int, format string, a ...any) error {
	return fmt.Errorf("%w: element %d: %s", backend.ErrInvalidInput, i, fmt.Sprintf(format, a...))
}

// earliest keeps, of several workers' errors, that of the first element.
type earliest struct {
	mu  sync.Mutex
	at  int
	err error
}

func (f *earliest) set(at int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil || at < f.at {
		f.at, f.err = at, err
	}
}

func (f *earliest) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err != nil
}

// longBytes is the size of a number from which all processors work on it together.
const longBytes = 1 << 20

// fastNumbers computes an operation for production. Products of whole numbers are math/big's.
// Residues and binary fields are computed without branches or addresses that depend on values; for
// public operands math/big computes them if it is faster.
func fastNumbers(ctx context.Context, o *operation) error {
	switch o.Op {
	case backend.NumAdd, backend.NumSub:
		if len(o.dst) >= longBytes && 4*o.Dst.Words >= longBytes {
			return o.long(ctx)
		}
	case backend.NumSum:
		if 4*o.A.Words >= longBytes {
			return o.longSum(ctx)
		}
		return o.over(ctx, (*worker).sum, (*worker).addSum)
	case backend.NumDot:
		return o.over(ctx, (*worker).dot, (*worker).addSum)
	case backend.NumDotMod:
		return o.over(ctx, (*worker).dotMod, (*worker).addResidues)
	case backend.NumPowerSums:
		return o.over(ctx, (*worker).powerSums, (*worker).addResidues)
	}
	return o.elements(ctx)
}

// grain returns how many elements a worker takes at a time: many if each is quick.
func (o *operation) grain() int {
	widest := max(o.Dst.Words, o.A.Words, o.B.Words, 1)
	switch o.Op {
	case backend.NumExpMod, backend.NumInvMod, backend.NumGFInv:
		return max(1, 64/widest)
	}
	return max(1, (1<<12)/widest)
}

// elements computes an operation element by element.
func (o *operation) elements(ctx context.Context) error {
	shared, err := o.prepare(ctx)
	if err != nil {
		return err
	}
	var bad earliest
	err = each(ctx, o.Dst.Count, o.grain(), func(parts iter.Seq2[int, int]) {
		w := newWorker(ctx, o, shared)
		defer w.wipe()
		for lo, hi := range parts {
			for i := lo; i < hi; i++ {
				if err := w.element(i); err != nil {
					bad.set(i, err)
					return
				}
			}
			if bad.any() {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return bad.err
}

// over computes an operation over all elements. Each worker adds up its own elements by do; then
// add adds the workers' results.
func (o *operation) over(ctx context.Context, do func(*worker, int) error, add func(*worker)) error {
	shared, err := o.prepare(ctx)
	if err != nil {
		return err
	}
	clear(o.dst)
	var bad earliest
	var mu sync.Mutex
	err = each(ctx, o.A.Count, o.grain(), func(parts iter.Seq2[int, int]) {
		w := newWorker(ctx, o, shared)
		defer w.wipe()
		for lo, hi := range parts {
			for i := lo; i < hi; i++ {
				if err := do(w, i); err != nil {
					bad.set(i, err)
					return
				}
			}
			if bad.any() {
				return
			}
		}
		mu.Lock()
		defer mu.Unlock()
		add(w)
	})
	if err != nil {
		return err
	}
	return bad.err
}

// fixed is what elements share: a field, or a modulus that is the same for all of them.
type fixed struct {
	m     *modulus
	field *gf2.Field

	public *big.Int // the modulus in place of m, if operands are public
	words  []big.Word
}

func (o *operation) prepare(ctx context.Context) (_ *fixed, err error) {
	f := &fixed{}
	if o.Degree > 0 {
		if f.field, err = gf2.Find(ctx, o.Degree); err != nil {
			return nil, cmp.Or(backend.Ended(ctx), err)
		}
	}
	if o.m == nil || o.M.Count != 1 || o.Dst.Count == 0 {
		return f, nil
	}
	if err := f.set(o, 0); err != nil {
		return nil, err
	}
	if (o.Op == backend.NumMulMod || o.Op == backend.NumReduce) && f.m != nil && o.Dst.Count > 2 {
		f.m.divides()
	}
	return f, nil
}

// set prepares the modulus of element i.
func (f *fixed) set(o *operation, i int) (err error) {
	b := number(o.m, o.M, i)
	if o.open() {
		if err := f.setPublic(b); err != nil {
			return wrong(i, "%v", err)
		}
		return nil
	}
	if f.m, err = newModulus(b, o.Op != backend.NumAddMod && o.Op != backend.NumSubMod, o.secretModulus()); err != nil {
		return wrong(i, "%v", err)
	}
	return nil
}

// secretModulus reports whether the modulus is hidden. It is hidden if all elements share it, and
// for powers and inverses, which take far longer than preparing it. It is not if operands are
// public.
func (o *operation) secretModulus() bool {
	return !o.Public && (o.M.Count == 1 || o.Op == backend.NumExpMod || o.Op == backend.NumInvMod)
}

// worker computes elements of an operation, one after the other.
type worker struct {
	*operation
	ctx     context.Context
	shared  *fixed
	k       *fixed // of the current element
	field   *gf2.Field
	views   *[3][]uint64 // of Dst, A and B, if numbers are whole limbs
	x, y, z []uint64
	scratch []uint64
	words   [2][]big.Word
	p, q    big.Int  // operands, as math/big's words
	r, s    big.Int  // a result, and a product to add to it
	sums    []uint64 // residues

	quotient big.Int // for public operands
}

func newWorker(ctx context.Context, o *operation, shared *fixed) *worker {
	w := &worker{operation: o, ctx: ctx, shared: shared, k: shared}
	n := limbsOf(4 * max(o.Dst.Words, o.A.Words))
	switch {
	case o.Degree > 0:
		w.field = shared.field
		w.scratch = make([]uint64, w.field.Scratch())
		w.views = o.views()
	case o.open():
		w.words = o.buffers()
		if shared.public == nil {
			w.k = &fixed{}
		}
		return w
	case o.m != nil:
		w.scratch = make([]uint64, 20*limbsOf(4*o.M.Words)+12)
		switch o.Op {
		case backend.NumDotMod: // room for a sum of products
			w.sums = make([]uint64, 2*limbsOf(4*o.M.Words)+1)
		case backend.NumPowerSums:
			w.sums = make([]uint64, limbsOf(4*o.M.Words)*o.Dst.Count)
		}
	default:
		w.words = o.buffers()
		return w
	}
	w.x, w.y, w.z = make([]uint64, n), make([]uint64, n), make([]uint64, n)
	if o.m != nil && shared.m == nil {
		w.k = &fixed{}
	}
	return w
}

// wipe clears the memory in which the worker computed.
func (w *worker) wipe() {
	for _, s := range [][]uint64{w.x, w.y, w.z, w.scratch, w.sums} {
		clear(s)
	}
	for i := range w.words {
		clear(w.words[i])
	}
	for _, v := range []*big.Int{&w.r, &w.s, &w.quotient} {
		all := v.Bits()
		clear(all[:cap(all)])
	}
}

// element computes element i.
func (w *worker) element(i int) error {
	dst, a := number(w.dst, w.Dst, i), number(w.a, w.A, i)
	switch w.Op {
	case backend.NumResize:
		clear(dst[copy(dst, a):])
		return nil
	case backend.NumAdd, backend.NumSub:
		carry := add
		if w.Op == backend.NumSub {
			carry = sub
		}
		c := carry(dst, a, number(w.b, w.B, i), 0)
		if w.carry != nil {
			binary.LittleEndian.PutUint32(number(w.carry, w.Carry, i), uint32(c))
		}
		return nil
	case backend.NumCompare:
		binary.LittleEndian.PutUint32(dst, uint32(compare(a, number(w.b, w.B, i))))
		return nil
	case backend.NumMul:
		put(dst, w.r.Mul(w.value(&w.p, 0, a), w.value(&w.q, 1, number(w.b, w.B, i))))
		return nil
	case backend.NumSqr:
		w.value(&w.p, 0, a)
		put(dst, w.r.Mul(&w.p, &w.p))
		return nil
	}
	if w.field != nil {
		return w.binary(i, dst, a)
	}
	if w.open() {
		return w.publicResidue(i, dst, a)
	}
	return w.residue(i, dst, a)
}

// binary computes element i of an operation on GF(2^n).
func (w *worker) binary(i int, dst, a []byte) error {
	n := w.field.Limbs()
	x, y, z := w.x[:n], w.y[:n], w.x[:n]
	if v := w.views; v != nil {
		x, z = limbsAt(v[1], n, w.A, i), limbsAt(v[0], n, w.Dst, i)
		if w.b != nil {
			y = limbsAt(v[2], n, w.B, i)
		}
	} else {
		load(x, a)
		if w.b != nil {
			load(y, number(w.b, w.B, i))
		}
	}
	if err := w.member(x, i, "A"); err != nil {
		return err
	}
	if w.b != nil {
		if err := w.member(y, i, "B"); err != nil {
			return err
		}
	}
	switch w.Op {
	case backend.NumGFAdd:
		for k := range z {
			z[k] = x[k] ^ y[k]
		}
	case backend.NumGFMul:
		w.field.Mul(z, x, y, w.scratch)
	case backend.NumGFSqr:
		w.field.Sqr(z, x, w.scratch)
	case backend.NumGFInv:
		w.field.Inv(z, x, w.scratch)
	}
	if w.views == nil {
		store(dst, z)
	}
	return nil
}

// views returns the memory of Dst, A and B as limbs, or nil if numbers are not whole limbs.
func (o *operation) views() *[3][]uint64 {
	var v [3][]uint64
	if o.Dst.Words%2 != 0 {
		return nil
	}
	for i, b := range [][]byte{o.dst, o.a, o.b} {
		var err error
		if v[i], err = layout.View[uint64](b); err != nil {
			return nil
		}
	}
	return &v
}

// limbsAt returns number i of a batch as n limbs. A batch of one has the same number for every i.
func limbsAt(v []uint64, n int, b backend.Batch, i int) []uint64 {
	if b.Count == 1 {
		i = 0
	}
	return v[i*n : (i+1)*n]
}

// member checks that x is an element of the field.
func (w *worker) member(x []uint64, i int, what string) error {
	if !w.field.Has(x) {
		return wrong(i, "%s has bits from x^%d on: it is no element of GF(2^%d)", what, w.field.Degree(), w.field.Degree())
	}
	return nil
}

// ownModulus prepares the modulus of element i, unless all elements share one.
func (w *worker) ownModulus(i int) error {
	if w.k == w.shared {
		return nil
	}
	return w.k.set(w.operation, i)
}

// below loads an operand and checks that it is below the modulus.
func (w *worker) below(k *modulus, x []uint64, b []byte, i int, what string) error {
	load(x, b)
	if top := k.n - 1; w.Public && x[top] < k.m[top] {
		return nil
	}
	if !k.has(x) {
		return wrong(i, "%s is not below the modulus", what)
	}
	return nil
}

// residue computes element i of an operation on residues.
func (w *worker) residue(i int, dst, a []byte) error {
	if err := w.ownModulus(i); err != nil {
		return err
	}
	k := w.k.m
	x, y, z, t := w.x[:k.n], w.y[:k.n], w.z[:k.n], w.scratch
	if w.Op == backend.NumReduce {
		long := w.x[:limbsOf(len(a))]
		load(long, a)
		k.reduce(z, long, t)
		store(dst, z)
		return nil
	}
	if err := w.below(k, x, a, i, "A"); err != nil {
		return err
	}
	if w.b != nil && w.Op != backend.NumExpMod {
		if err := w.below(k, y, number(w.b, w.B, i), i, "B"); err != nil {
			return err
		}
	}
	switch w.Op {
	case backend.NumAddMod:
		k.add(z, x, y)
	case backend.NumSubMod:
		k.sub(z, x, y)
	case backend.NumMulMod:
		k.product(z, x, y, t)
	case backend.NumMontMul:
		k.montgomery(z, x, y, t)
	case backend.NumMontSqr:
		k.sqr(z, x, t)
		k.toNarrow(z, t)
	case backend.NumToMont:
		k.mul(z, x, k.rR, t)
	case backend.NumFromMont:
		clear(y)
		y[0] = 1
		k.montgomery(z, x, y, t)
	case backend.NumExpMod:
		k.exp(w.ctx, z, x, number(w.b, w.B, i), t)
	case backend.NumInvMod:
		k.invert(z, x, t)
	}
	store(dst, z)
	return nil
}

// sum adds element i of A to the worker's sum.
func (w *worker) sum(i int) error {
	w.r.Add(&w.r, w.value(&w.p, 0, number(w.a, w.A, i)))
	return nil
}

// dot adds the product of the elements i of A and B to the worker's sum.
func (w *worker) dot(i int) error {
	w.r.Add(&w.r, w.s.Mul(w.value(&w.p, 0, number(w.a, w.A, i)), w.value(&w.q, 1, number(w.b, w.B, i))))
	return nil
}

// addSum adds the worker's sum to Dst, modulo R.
func (w *worker) addSum() {
	own := make([]byte, len(w.dst))
	put(own, &w.r)
	add(w.dst, w.dst, own, 0)
	clear(own)
}

func (w *worker) dotMod(i int) error {
	k := w.k.m
	x, y := w.x[:k.n], w.y[:k.n]
	if err := w.below(k, x, number(w.a, w.A, i), i, "A"); err != nil {
		return err
	}
	if err := w.below(k, y, number(w.b, w.B, i), i, "B"); err != nil {
		return err
	}
	t := w.scratch[:2*k.n]
	limbs.Mul(t, x, y)
	k.accumulate(w.sums, t)
	return nil
}

func (w *worker) powerSums(i int) error {
	k := w.k.m
	x, y := w.x[:k.n], w.y[:k.n]
	if err := w.below(k, x, number(w.a, w.A, i), i, "A"); err != nil {
		return err
	}
	copy(y, x)
	k.mul(y, y, k.rr, w.scratch) // x R
	for sum := range slices.Chunk(w.sums, k.n) {
		k.add(sum, sum, x)
		k.mul(x, x, y, w.scratch)
	}
	return nil
}

// addResidues adds the worker's sums to Dst. A sum of products is reduced first.
func (w *worker) addResidues() {
	k := w.k.m
	if w.Op == backend.NumDotMod {
		k.reduce(w.y[:k.n], w.sums, w.scratch)
		copy(w.sums, w.y[:k.n])
	}
	for i := range w.Dst.Count {
		sum, dst := w.sums[i*k.n:(i+1)*k.n], number(w.dst, w.Dst, i)
		load(w.x[:k.n], dst)
		k.add(sum, sum, w.x[:k.n])
		store(dst, sum)
	}
}

// wordsOf returns how many of math/big's words a number of size bytes has.
func wordsOf(size int) int { return (8*size + bits.UintSize - 1) / bits.UintSize }

// buffers returns memory for an element of A and of B as math/big's words.
func (o *operation) buffers() [2][]big.Word {
	return [2][]big.Word{make([]big.Word, wordsOf(4*o.A.Words)), make([]big.Word, wordsOf(4*o.B.Words))}
}

// value sets v to the value of b, in the worker's memory.
func (w *worker) value(v *big.Int, which int, b []byte) *big.Int {
	return v.SetBits(wordsInto(w.words[which], b))
}

// wordsInto sets x to the number b, whose bytes are little-endian as this machine's words are
// (package layout).
func wordsInto(x []big.Word, b []byte) []big.Word {
	to := layout.Bytes(x)
	clear(to[copy(to, b):])
	return x
}

// whole returns the number b, little-endian.
func whole(b []byte) *big.Int {
	return new(big.Int).SetBits(wordsInto(make([]big.Word, wordsOf(len(b))), b))
}

// put writes v, which is not negative, to all of b.
func put(b []byte, v *big.Int) { clear(b[copy(b, layout.Bytes(v.Bits())):]) }

// add sets z = x + y + carry and returns the carry. All have one length, a multiple of 4. z may be
// x or y.
func add(z, x, y []byte, carry uint64) uint64 {
	x, y = x[:len(z)], y[:len(z)]
	for len(z) >= 8 {
		var v uint64
		v, carry = bits.Add64(binary.LittleEndian.Uint64(x), binary.LittleEndian.Uint64(y), carry)
		binary.LittleEndian.PutUint64(z, v)
		x, y, z = x[8:], y[8:], z[8:]
	}
	if len(z) > 0 {
		v := uint64(binary.LittleEndian.Uint32(x)) + uint64(binary.LittleEndian.Uint32(y)) + carry
		binary.LittleEndian.PutUint32(z, uint32(v))
		carry = v >> 32
	}
	return carry
}

// sub sets z = x - y - borrow and returns the borrow. Otherwise it is as add.
func sub(z, x, y []byte, borrow uint64) uint64 {
	x, y = x[:len(z)], y[:len(z)]
	for len(z) >= 8 {
		var v uint64
		v, borrow = bits.Sub64(binary.LittleEndian.Uint64(x), binary.LittleEndian.Uint64(y), borrow)
		binary.LittleEndian.PutUint64(z, v)
		x, y, z = x[8:], y[8:], z[8:]
	}
	if len(z) > 0 {
		v := uint64(binary.LittleEndian.Uint32(x)) - uint64(binary.LittleEndian.Uint32(y)) - borrow
		binary.LittleEndian.PutUint32(z, uint32(v))
		borrow = v >> 63
	}
	return borrow
}

// compare returns -1, 0 or 1, as x is below, equal to or above y.
func compare(x, y []byte) int {
	for i := len(x) - 4; i >= 0; i -= 4 {
		if a, b := binary.LittleEndian.Uint32(x[i:]), binary.LittleEndian.Uint32(y[i:]); a != b {
			if a < b {
				return -1
			}
			return 1
		}
	}
	return 0
}

// carryOn adds a carry of 1 to z, or takes a borrow of 1 from it. It returns the carry or borrow
// that z gives.
func carryOn(z []byte, borrow bool) uint64 {
	const step = 4
	for ; len(z) > 0; z = z[step:] {
		v := binary.LittleEndian.Uint32(z)
		next := v + 1
		if borrow {
			next = v - 1
		}
		binary.LittleEndian.PutUint32(z, next)
		if through := next == 0; !borrow && !through || borrow && v != 0 {
			return 0
		}
	}
	return 1
}

// long adds or subtracts long numbers. Each processor does one chunk; then the carries of chunks
// are added to the next ones, which rarely goes far.
func (o *operation) long(ctx context.Context) error {
	for i := range o.Dst.Count {
		c, err := longAdd(ctx, number(o.dst, o.Dst, i), number(o.a, o.A, i), number(o.b, o.B, i), o.Op == backend.NumSub)
		if err != nil {
			return err
		}
		if o.carry != nil {
			binary.LittleEndian.PutUint32(number(o.carry, o.Carry, i), uint32(c))
		}
	}
	return nil
}

// longAdd does what add or sub does, on all processors.
func longAdd(ctx context.Context, z, x, y []byte, borrow bool) (uint64, error) {
	const chunk = 1 << 16
	do := add
	if borrow {
		do = sub
	}
	carries := make([]uint64, (len(z)+chunk-1)/chunk)
	if err := each(ctx, len(carries), 1, func(parts iter.Seq2[int, int]) {
		for k := range parts {
			lo, hi := k*chunk, min((k+1)*chunk, len(z))
			carries[k] = do(z[lo:hi], x[lo:hi], y[lo:hi], 0)
		}
	}); err != nil {
		return 0, err
	}
	for k := 1; k < len(carries); k++ {
		if carries[k-1] == 0 {
			continue
		}
		if err := backend.Ended(ctx); err != nil {
			return 0, err
		}
		// A chunk through which a carry goes has given none itself.
		carries[k] |= carryOn(z[k*chunk:min((k+1)*chunk, len(z))], borrow)
	}
	return carries[len(carries)-1], nil
}

// longSum adds up long numbers, one after the other.
func (o *operation) longSum(ctx context.Context) error {
	local.Parts(len(o.dst), func(lo, hi int) { clear(o.dst[lo:hi]) })
	size := 4 * o.A.Words
	for i := range o.A.Count {
		c, err := longAdd(ctx, o.dst[:size], o.dst[:size], number(o.a, o.A, i), false)
		if err != nil {
			return err
		}
		if c != 0 {
			carryOn(o.dst[size:], false)
		}
	}
	return nil
}
