package plonk

import (
	"context"
	"errors"
	"math/big"
	"math/bits"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	bls12377 "github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	fft377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr/fft"
	iop377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr/iop"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fft381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	iop381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/iop"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr/iop"
	bw6761 "github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	fft761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr/fft"
	iop761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr/iop"
	gnark "github.com/consensys/gnark/backend"
	stockplonk "github.com/consensys/gnark/backend/plonk"
	stock "github.com/consensys/gnark/backend/plonk/bn254"
	cs "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/internal/solve"
	"github.com/pippin-zk/pippin/prover/internal/transcript"
	"github.com/pippin-zk/pippin/vector"
)

// released is gnark's interface of accelerators for PLONK as of v0.16.4, with D, Q and
// N its types of domains, polynomials and of the numerator's input on a curve.
type released[P, S, D, Q, N any] interface {
	MultiExp(bases []P, scalars []S) (P, error)
	ToCanonical(domain *D, p *Q) error
	ComputeNumerator(in *N) (*Q, error)
}

var (
	_ released[bn254.G1Affine, fr.Element, fft.Domain, iop.Polynomial, BN254NumeratorInput]                = (*BN254Accelerator)(nil)
	_ released[bls12377.G1Affine, fr377.Element, fft377.Domain, iop377.Polynomial, BLS12377NumeratorInput] = (*BLS12377Accelerator)(nil)
	_ released[bls12381.G1Affine, fr381.Element, fft381.Domain, iop381.Polynomial, BLS12381NumeratorInput] = (*BLS12381Accelerator)(nil)
	_ released[bw6761.G1Affine, fr761.Element, fft761.Domain, iop761.Polynomial, BW6761NumeratorInput]     = (*BW6761Accelerator)(nil)
)

// gnarksNumeratorInput is gnark's type with the fields of the page that tells of it, as an
// adapter has to fill ours from it.
type gnarksNumeratorInput struct {
	Domain0, Domain1                           *fft.Domain
	L, R, O, Z, Qk, Ql, Qr, Qm, Qo, S1, S2, S3 *iop.Polynomial
	Qcp, Pi                                    []*iop.Polynomial
	Bl, Br, Bo, Bz                             *iop.Polynomial
	Alpha, Beta, Gamma                         fr.Element
}

// adapter is what a user of gnark v0.16.4 writes around an accelerator.
type adapter struct{ *BN254Accelerator }

var _ released[bn254.G1Affine, fr.Element, fft.Domain, iop.Polynomial, gnarksNumeratorInput] = adapter{}

func (a adapter) ComputeNumerator(in *gnarksNumeratorInput) (*iop.Polynomial, error) {
	ours := BN254NumeratorInput(*in)
	return a.BN254Accelerator.ComputeNumerator(&ours)
}

// TestAccelerator is a prover of somebody else's, which has its sums, transforms and
// the numerator computed by an accelerator, as gnark's does: gnark's verifier takes
// its proofs. What it has of this package is the transcript and the rounds before and
// after the quotient.
func TestAccelerator(t *testing.T) {
	f := faulty.Backends{Elsewhere: true}
	elsewhere, err := engine.New(t.Context(), engine.Config{Open: f.Open, Fallbacks: []string{engine.NoFallback}, Threshold: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { elsewhere.Close() })
	here, err := resident.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close() })
	for _, sample := range []string{"cubic", "commitments"} {
		for name, e := range map[string]*engine.Engine{"this process": here, "vectors": elsewhere} {
			t.Run(sample+"/"+name, func(t *testing.T) {
				before := f.Taken.Load()
				proveBy(t, e, samples.ByName(sample))
				if (e == elsewhere) != (f.Taken.Load() > before) {
					t.Error("computed elsewhere than it should be")
				}
			})
		}
	}
	if n := f.Held(); n != 0 {
		t.Errorf("%d bases and spaces are left", n)
	}
}

// proveBy proves a sample on BN254, and verifies.
func proveBy(t *testing.T, e *engine.Engine, sample samples.Sample) {
	ctx := t.Context()
	field := ecc.BN254.ScalarField()
	ccs, err := frontend.Compile(field, scs.NewBuilder, sample.Circuit())
	if err != nil {
		t.Fatal(err)
	}
	srs, lagrange, err := unsafekzg.NewSRS(ccs)
	if err != nil {
		t.Fatal(err)
	}
	key, vk, err := stockplonk.Setup(ccs, srs, lagrange)
	if err != nil {
		t.Fatal(err)
	}
	pk := key.(*stock.ProvingKey)
	w, err := frontend.NewWitness(sample.Assign(field, 3), field)
	if err != nil {
		t.Fatal(err)
	}
	public, err := w.Public()
	if err != nil {
		t.Fatal(err)
	}
	mine, err := NewBN254Accelerator(e, pk)
	if err != nil {
		t.Fatal(err)
	}
	a := adapter{mine}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()

	shape, err := shapeOf(ccs)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := bn254Curve.load(ctx, e, ccs, shape, pk)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	p := loaded.(*prover[bn254.G1Affine, fr.Element])
	sys, err := p.systemOf(ccs)
	if err != nil {
		t.Fatal(err)
	}
	values, _ := sys.Inputs(w)
	cfg, err := gnark.NewProverConfig()
	if err != nil {
		t.Fatal(err)
	}
	st, err := p.newStatement(values[:p.public], &cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.state(ctx, st, sys, w, func() func() { return func() {} }); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if st.mem.Free(); slices.ContainsFunc(slices.Concat(st.committed...), func(e fr.Element) bool { return !e.IsZero() }) {
			t.Error("what the circuit commits to is left")
		}
	}()
	var made *proof[bn254.G1Affine, fr.Element]
	_, count := planProof(p.size, vector.Vector[fr.Element]{})
	_, err = p.vectors.Repeat(ctx, e, count, func(ctx context.Context, s *vector.Session[fr.Element]) (err error) {
		k, release, err := p.polynomials.Beside(ctx, s, p.load)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		d := &device[bn254.G1Affine, fr.Element]{session: s, key: k, canonical: p.canonical.Bases(), lagrange: p.lagrange.Bases()}
		d.vectors, _ = planProof(p.size, s.New(count))
		r := &rounds[bn254.G1Affine, fr.Element]{key: p.key, device: d, st: st,
			tr: transcript.New(p.g1, p.fr, st.cfg.ChallengeHash, &solve.Hashing, gamma, beta, alpha, zeta)}
		r.commitments = st.commitments
		for _, round := range []func(context.Context) error{r.wire,
			r.permute, func(ctx context.Context) error { return divideBy(ctx, t, r, a, pk, ccs.(*cs.SparseR1CS)) }, r.open} {
			if err := round(ctx); err != nil {
				return err
			}
		}
		made = &r.proof
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := stockplonk.Verify(p.proof(made), vk, public); err != nil {
		t.Error(err)
	}
}

// divideBy is the round divide as gnark's prover has it with an accelerator. It leaves
// on the device what the next round wants there.
func divideBy(ctx context.Context, t *testing.T, r *rounds[bn254.G1Affine, fr.Element], a adapter,
	pk *stock.ProvingKey, ccs *cs.SparseR1CS) error {
	v, n := r.vectors, r.n
	p := r.session.Program()
	p.Transform(v.polynomials, v.polynomials, vector.Transform[fr.Element]{From: backend.Reversed, Batch: wires + len(r.commitments)})
	read := p.Read(v.polynomials)
	if err := p.Run(ctx); err != nil {
		return err
	}
	form := iop.Form{Basis: iop.Lagrange, Layout: iop.Regular}
	polynomial := func(c []fr.Element) *iop.Polynomial { return iop.NewPolynomial(&c, form) }
	part := func(i int) *iop.Polynomial { return polynomial(append([]fr.Element{}, read.Get()[i*n:(i+1)*n]...)) }
	in := &gnarksNumeratorInput{
		Domain0: fft.NewDomain(uint64(n)), Domain1: fft.NewDomain(uint64(4*n), fft.WithoutPrecompute()),
		L: part(wireL), R: part(wireR), O: part(wireO), Z: part(ratio), Qk: part(constant),
		Alpha: r.alpha, Beta: r.beta, Gamma: r.gamma,
	}
	hides := [4]**iop.Polynomial{&in.Bl, &in.Br, &in.Bo, &in.Bz}
	for i, to := range hides {
		b := append([]fr.Element{}, r.st.b[i]...)
		*to = iop.NewPolynomial(&b, iop.Form{Basis: iop.Canonical, Layout: iop.Regular})
	}
	trace := stock.NewTrace(ccs, in.Domain0)
	in.Ql, in.Qr, in.Qm, in.Qo, in.S1, in.S2, in.S3, in.Qcp = trace.Ql, trace.Qr, trace.Qm, trace.Qo, trace.S1, trace.S2, trace.S3, trace.Qcp
	for i := range r.commitments {
		in.Pi = append(in.Pi, part(wires+i))
	}
	var want []*iop.Polynomial // what gnark-crypto makes of the polynomials
	polynomials := append([]*iop.Polynomial{in.L, in.R, in.O, in.Z, in.Qk, in.Ql, in.Qr, in.Qm, in.Qo, in.S1, in.S2, in.S3},
		append(in.Qcp, in.Pi...)...)
	for _, q := range polynomials {
		want = append(want, q.Clone().ToCanonical(in.Domain0).ToRegular())
	}

	h, err := a.ComputeNumerator(in)
	if err != nil {
		return err
	}
	for i, q := range polynomials {
		if q.Basis != iop.Canonical || q.Layout != iop.Regular || !equal(q.Coefficients(), want[i].Coefficients()) {
			t.Errorf("polynomial %d is not left canonical and regular", i)
		}
	}
	for i, b := range hides {
		if !equal((*b).Coefficients(), r.st.b[i]) {
			t.Errorf("blinding polynomial %d was changed", i)
		}
	}
	if h.Basis != iop.LagrangeCoset || h.Layout != iop.BitReverse {
		t.Errorf("the numerator is %v", h.Form)
	}
	all := h.Coefficients()
	shift := 64 - bits.TrailingZeros(uint(len(all)))
	large := newDomain(r.fr, size{n: n, pieces: 4}, r.root, r.shift, in.Domain1.Generator)
	for i, c := range large.cosets {
		by := r.fr.Inverse(c.vanishing)
		for j := range n {
			at := &all[bits.Reverse64(uint64(4*j+i))>>shift]
			at.Mul(at, &by)
		}
	}
	if err := a.ToCanonical(in.Domain1, h); err != nil {
		return err
	}
	for _, c := range h.Coefficients()[3*(n+2):] {
		if !c.IsZero() {
			t.Fatal("X^n - 1 does not divide the numerator")
		}
	}
	for i := range r.quotient {
		if r.quotient[i], err = a.MultiExp(pk.Kzg.G1[:n+2], h.Coefficients()[i*(n+2):(i+1)*(n+2)]); err != nil {
			return err
		}
	}

	p = r.session.Program()
	coefficients(p, v.polynomials, wires+len(r.commitments))
	for i := range len(r.cosets) + 1 {
		r.blind(p, i)
	}
	p.Write(v.quotient, h.Coefficients()[:3*(n+2)])
	if err := p.Run(ctx); err != nil {
		return err
	}
	return r.derive(&r.zeta, zeta, r.quotient[:]...)
}

func equal(a, b []fr.Element) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestToCanonical compares with gnark-crypto, from every form.
func TestToCanonical(t *testing.T) {
	const n = 16
	f := faulty.Backends{Elsewhere: true}
	e, err := engine.New(t.Context(), engine.Config{Open: f.Open, Fallbacks: []string{engine.NoFallback}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	one := make([]bn254.G1Affine, n+3)
	_, _, one[0], _ = bn254.Generators()
	pk := &stock.ProvingKey{Vk: new(stock.VerifyingKey)}
	pk.Kzg.G1, pk.KzgLagrange.G1 = one, one[:n]
	a, err := NewBN254Accelerator(e, pk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	domain := fft.NewDomain(n)
	for _, basis := range []iop.Basis{iop.Canonical, iop.Lagrange, iop.LagrangeCoset} {
		for _, layout := range []iop.Layout{iop.Regular, iop.BitReverse} {
			c := make([]fr.Element, n)
			for i := range c {
				c[i].SetBigInt(big.NewInt(int64(i*i*i + 7)))
			}
			p := iop.NewPolynomial(&c, iop.Form{Basis: basis, Layout: layout})
			want := p.Clone().ToCanonical(domain).ToRegular()
			before := f.Taken.Load()
			if err := a.ToCanonical(domain, p); err != nil {
				t.Fatal(err)
			}
			if p.Form != want.Form || !equal(p.Coefficients(), want.Coefficients()) {
				t.Errorf("from %v, %v: another polynomial", basis, layout)
			}
			if there := f.Taken.Load() > before; there != (basis != iop.Canonical) {
				t.Errorf("from %v, %v: on the backend: %v", basis, layout, there)
			}
		}
	}
	short := make([]fr.Element, n/2)
	if err := a.ToCanonical(domain, iop.NewPolynomial(&short, iop.Form{Basis: iop.Canonical, Layout: iop.Regular})); err != nil {
		t.Error(err)
	}
	if _, err := a.ComputeNumerator(&BN254NumeratorInput{Domain0: domain, Domain1: domain}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("no polynomials: %v", err)
	}
}
