package mpcsetup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/keyfile"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/programs"
)

// Phase1 is a contribution to the powers of tau. It has the contents of gnark's Phase1, which
// exports none of its fields. One goroutine uses it at a time.
type Phase1[P1, P2, U any] struct {
	powers    powers[P1, P2]
	proofs    [3]U // of tau, alpha and beta
	challenge []byte

	curve backend.Curve
}

// The numbers by which gnark distinguishes proofs: of tau, alpha and beta in phase 1, of delta and
// the first sigma in phase 2.
const (
	ofTau = iota
	ofAlpha
	ofBeta

	ofDelta = 0
	ofSigma = 1
)

// largest is the size of the largest domain. Its 2n-1 powers are in one vector.
const largest = backend.MaxCount / 2

// NewPhase1 returns what the first participant contributes to, for circuits of at most n
// constraints. It panics unless n is a power of two and not too large.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) NewPhase1(n int) *Phase1[P1, P2, U] {
	if n < 1 || n > largest || bits.OnesCount(uint(n)) != 1 {
		panic(fmt.Sprintf("mpcsetup: a domain of %d elements: a power of two from 1 to %d is possible", n, largest))
	}
	p := c.emptyPhase1()
	g1, g2 := c.g1.Generator(), c.g2.Generator()
	p.powers = powers[P1, P2]{
		slices.Repeat([]P1{g1}, 2*n-1), slices.Repeat([]P2{g2}, n),
		slices.Repeat([]P1{g1}, n), slices.Repeat([]P1{g1}, n), g2,
	}
	return p
}

func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) emptyPhase1() *Phase1[P1, P2, U] {
	return &Phase1[P1, P2, U]{curve: c.g1.Group.Curve()}
}

// Len returns the size of the domain: the most constraints that a circuit may have.
func (p *Phase1[P1, P2, U]) Len() int { return len(p.powers.tau2) }

// Challenge returns the hash of the contribution before this one, which is empty for the first.
func (p *Phase1[P1, P2, U]) Challenge() []byte { return bytes.Clone(p.challenge) }

// WriteTo writes the contribution in gnark's format. This process compresses the points.
func (p *Phase1[P1, P2, U]) WriteTo(to io.Writer) (int64, error) {
	w := &counting{to: to}
	for i := range p.proofs {
		if _, err := any(&p.proofs[i]).(io.WriterTo).WriteTo(w); err != nil {
			return w.n, err
		}
	}
	v := &p.powers
	w.write(binary.BigEndian.AppendUint64(nil, uint64(len(v.tau2))))
	of1, of2 := backend.PointOf(p.curve, backend.G1), backend.PointOf(p.curve, backend.G2)
	writePoints(w, of2, []P2{v.beta2})
	writePoints(w, of1, v.tau1[1:])
	writePoints(w, of2, v.tau2[1:])
	writePoints(w, of1, v.beta)
	writePoints(w, of1, v.alpha)
	w.write(append([]byte{byte(len(p.challenge))}, p.challenge...))
	return w.n, w.err
}

// counting counts the bytes written. It writes nothing after an error.
type counting struct {
	to  io.Writer
	n   int64
	err error
}

func (w *counting) Write(b []byte) (int, error) {
	w.write(b)
	return len(b), w.err
}

func (w *counting) write(b []byte) {
	if w.err == nil {
		n, err := w.to.Write(b)
		w.n, w.err = w.n+int64(n), err
	}
}

// writePoints writes points compressed. All processors compress them, some thousands at a time.
func writePoints[P any](w *counting, of backend.Element, points []P) {
	const piece = 1 << 16
	size := backend.Compressed.Bytes(of)
	b := make([]byte, min(len(points), piece)*size)
	for some := range slices.Chunk(points, piece) {
		from, err := curves.GroupOf(of.Curve, of.Group).Points(layout.Bytes(some))
		if err != nil {
			w.err = cmp.Or(w.err, err)
			return
		}
		merge.Parallel(len(some), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				from.Encode(i, b[i*size:(i+1)*size], backend.Compressed)
			}
		})
		w.write(b[:len(some)*size])
	}
}

// hashOf returns the hash of a contribution as WriteTo writes it.
func hashOf(p io.WriterTo) ([]byte, error) {
	h := sha256.New()
	if _, err := p.WriteTo(h); err != nil {
		return nil, fmt.Errorf("%w: the contribution: %w", backend.ErrInvalidInput, err)
	}
	return h.Sum(nil), nil
}

// ReadPhase1 reads what WriteTo of this Phase1 or of gnark's has written. The engine decompresses
// the points and checks that they are on the curve and in the group of order r. If anything is
// damaged, the error is backend.ErrInvalidInput and names the place. Memory is taken as bytes
// arrive. No byte after the contribution is read.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) ReadPhase1(ctx context.Context, e *engine.Engine, from io.Reader) (*Phase1[P1, P2, U], error) {
	p := c.emptyPhase1()
	err := on(ctx, e, func(e *engine.Engine) (err error) {
		for i := range p.proofs {
			if err := readProof(from, &p.proofs[i]); err != nil {
				return err
			}
		}
		if p.powers, err = c.readPowers(ctx, e, from); err != nil {
			return err
		}
		p.challenge, err = readChallenge(from)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// ReadCommons reads what WriteTo of gnark's SrsCommons has written. It checks as ReadPhase1 does.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) ReadCommons(ctx context.Context, e *engine.Engine, from io.Reader) (commons *C, err error) {
	err = on(ctx, e, func(e *engine.Engine) error {
		v, err := c.readPowers(ctx, e, from)
		if err == nil {
			commons = c.commons(&v)
		}
		return err
	})
	return commons, err
}

// readPowers reads SrsCommons.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) readPowers(ctx context.Context, e *engine.Engine,
	from io.Reader) (v powers[P1, P2], err error) {
	r := keyfile.New(ctx, e, from, keyfile.PieceBytes)
	defer r.End()
	n := r.Uint64("size of the domain")
	if r.Err() == nil && (n < 1 || n > largest || bits.OnesCount64(n) != 1) {
		r.Refuse("size of the domain: %d, a power of two from 1 to %d is possible", n, largest)
	}
	if r.Err() != nil {
		return v, r.Err()
	}
	r.Form()
	v.beta2 = keyfile.Alone(r, c.g2.Group, "G2.Beta", 1)[0]
	g1, g2 := c.g1.Generator(), c.g2.Generator()
	tau1 := keyfile.Some(r, c.g1.Group, "G1.Tau[1:]", 2*n-2)
	tau2 := keyfile.Some(r, c.g2.Group, "G2.Tau[1:]", n-1)
	v.beta = keyfile.Some(r, c.g1.Group, "G1.BetaTau", n)
	v.alpha = keyfile.Some(r, c.g1.Group, "G1.AlphaTau", n)
	if err := r.End(); err != nil {
		return v, err
	}
	v.tau1, v.tau2 = behind(g1, tau1), behind(g2, tau2)
	return v, nil
}

// behind returns others behind the point first.
func behind[P any](first P, others []P) []P { return append([]P{first}, others...) }

// ContributePhase1 adds a contribution to p: it multiplies tau, alpha and beta by random numbers,
// and proves that it knows these. After an error p is unchanged. The package's documentation says
// what becomes of the numbers.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) ContributePhase1(ctx context.Context, e *engine.Engine,
	p *Phase1[P1, P2, U], opts ...Option) error {
	return on(ctx, e, func(e *engine.Engine) error {
		challenge, err := hashOf(p)
		if err != nil {
			return err
		}
		x := make([]S, 3)
		defer clear(x)
		var proofs [3]U
		for i := range proofs {
			if err := c.draw(x[i : i+1]); err != nil {
				return err
			}
			if proofs[i], err = c.prove(&x[i], challenge, byte(i)); err != nil {
				return err
			}
		}
		v, err := c.multiplied(ctx, e, &p.powers, x, opts)
		if err != nil {
			return err
		}
		p.powers, p.proofs, p.challenge = *v, proofs, challenge
		return nil
	})
}

// multiplied returns the powers with tau, alpha and beta multiplied by x[0], x[1] and x[2].
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) multiplied(ctx context.Context, e *engine.Engine,
	v *powers[P1, P2], x []S, opts []Option) (*powers[P1, P2], error) {
	n := len(v.tau2)
	scalars := make([]S, 2*n-1+2*n)
	defer func() { merge.Wipe(scalars) }()
	tau, alpha, beta := scalars[:2*n-1], scalars[2*n-1:3*n-1], scalars[3*n-1:]
	one := c.fr.One()
	for _, p := range []struct {
		to    []S
		first *S
	}{{tau, &one}, {alpha, &x[ofAlpha]}, {beta, &x[ofBeta]}} {
		if err := c.fr.Powers(ctx, p.to, p.first, &x[ofTau]); err != nil {
			return nil, err
		}
	}
	var all []programs.Program
	to := &powers[P1, P2]{
		tau1: scaled(&all, e, c.g1, v.tau1, tau), tau2: scaled(&all, e, c.g2, v.tau2, tau[:n]),
		alpha: scaled(&all, e, c.g1, v.alpha, alpha), beta: scaled(&all, e, c.g1, v.beta, beta),
	}
	beta2 := scaled(&all, e, c.g2, []P2{v.beta2}, x[ofBeta:ofBeta+1])
	if err := run(ctx, e, opts, all); err != nil {
		return nil, err
	}
	to.beta2 = beta2[0]
	return to, nil
}

// VerifyPhase1Step does what gnark's Phase1.Verify does: it checks that next is a contribution to
// p, which must be correct. If not, the error is backend.ErrInvalidInput. It sets the challenge of
// next if next has none, as gnark does.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) VerifyPhase1Step(ctx context.Context, e *engine.Engine,
	p, next *Phase1[P1, P2, U], opts ...Option) error {
	return on(ctx, e, func(e *engine.Engine) error {
		challenge, err := hashOf(p)
		if err != nil {
			return err
		}
		if err := follows(next.challenge, challenge); err != nil {
			return err
		}
		v, w := &p.powers, &next.powers
		if len(v.tau2) != len(w.tau2) {
			return fmt.Errorf("%w: a domain of %d elements after one of %d", backend.ErrInvalidInput, len(w.tau2), len(v.tau2))
		}
		var tau []update[P1] // in a domain of one element no point has a factor of tau
		if len(v.tau2) > 1 {
			tau = []update[P1]{{v.tau1[1], w.tau1[1]}}
		}
		for i, of := range []struct {
			what string
			one  []update[P1]
			two  []update[P2]
		}{
			{"tau", tau, nil},
			{"alpha", []update[P1]{{v.alpha[0], w.alpha[0]}}, nil},
			{"beta", []update[P1]{{v.beta[0], w.beta[0]}}, []update[P2]{{v.beta2, w.beta2}}},
		} {
			if err := c.verify(&next.proofs[i], challenge, byte(i), of.one, of.two); err != nil {
				return wrong(of.what, err)
			}
		}
		if err := c.geometric(ctx, e, w, opts); err != nil {
			return err
		}
		next.challenge = challenge
		return nil
	})
}

// geometric checks that each vector is the powers of one number, times a factor. With random r and
// d, and sums over all vectors k of a group and over all i except the last,
//
//	T = sum d_k r^i A_k[i]  and  R = sum d_k r^i A_k[i+1]
//
// must have the same ratio in both groups. One MSM for each vector is enough: R is T without its
// first terms and with one more at the end, divided by r. Vectors of one point are always powers.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) geometric(ctx context.Context, e *engine.Engine, v *powers[P1, P2], opts []Option) error {
	if len(v.tau1) == 1 {
		return nil
	}
	by, err := c.random(ctx, len(v.tau1))
	if err != nil {
		return err
	}
	d, err := c.random(ctx, 3)
	if err != nil {
		return err
	}
	var all []programs.Program
	one := [][]P1{v.tau1, v.alpha, v.beta}
	ts := make([]P1, len(one))
	for k, points := range one {
		all = append(all, summed(e, c.g1, points[:len(points)-1], by, &ts[k]))
	}
	var t2 P2
	all = append(all, summed(e, c.g2, v.tau2[:len(v.tau2)-1], by, &t2))
	if err := run(ctx, e, opts, all); err != nil {
		return err
	}
	t1, shifted1 := ratio(c.g1, c.fr, one, ts, by, d)
	t2, shifted2 := ratio(c.g2, c.fr, [][]P2{v.tau2}, []P2{t2}, by, d)
	if err := c.sameRatio([]P1{t1, shifted1}, []P2{t2, shifted2}); err != nil {
		return wrong("the powers", err)
	}
	return nil
}

// ratio returns T and R of some vectors. sums has each vector's sum.
func ratio[P, S any](ops *group.Ops[P, S], fr *group.Field[S], vectors [][]P, sums []P, by, d []S) (t, shifted P) {
	inverse := fr.Inverse(by[1])
	var all, others []group.Term[P]
	term := func(p P, factors ...S) group.Term[P] {
		k := fr.Product(factors...)
		return group.Term[P]{Point: p, K: fr.Big(&k)}
	}
	for k, a := range vectors {
		all = append(all, term(sums[k], d[k]))
		minus := fr.Product(inverse, d[k])
		fr.Neg(&minus, &minus)
		others = append(others, term(a[0], minus), term(a[len(a)-1], d[k], by[len(a)-2]))
	}
	t = ops.Sum(all...)
	return t, ops.Sum(append(others, term(t, inverse))...)
}

// SealPhase1 returns the powers with which phase 2 of every circuit begins: it multiplies the
// numbers of the last contribution by those that a beacon gives, as gnark's Phase1.Seal does. p is
// unchanged. The beacon is public, and from a time after the last contribution.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) SealPhase1(ctx context.Context, e *engine.Engine,
	p *Phase1[P1, P2, U], beacon []byte, opts ...Option) (commons *C, err error) {
	err = on(ctx, e, func(e *engine.Engine) error {
		h, err := hashOf(p)
		if err != nil {
			return err
		}
		v, err := c.multiplied(ctx, e, &p.powers, c.beacon(h, []byte("Groth16 MPC Setup - Phase 1"), beacon, 3), opts)
		if err == nil {
			commons = c.commons(v)
		}
		return err
	})
	return commons, err
}

// VerifyPhase1 does what gnark's VerifyPhase1 does: it checks all contributions to a new phase with
// a domain of n elements, in their order, and seals the last. OnPoints reports each contribution
// and the seal.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) VerifyPhase1(ctx context.Context, e *engine.Engine,
	n int, beacon []byte, contributions []*Phase1[P1, P2, U], opts ...Option) (commons *C, err error) {
	err = on(ctx, e, func(e *engine.Engine) error {
		p := c.NewPhase1(n)
		for i, next := range contributions {
			if err := c.VerifyPhase1Step(ctx, e, p, next, opts...); err != nil {
				return fmt.Errorf("contribution %d: %w", i, err)
			}
			p = next
		}
		commons, err = c.SealPhase1(ctx, e, p, beacon, opts...)
		return err
	})
	return commons, err
}
