package plonk

import (
	"context"
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/solve"
	"github.com/pippin-zk/pippin/prover/internal/transcript"
	"github.com/pippin-zk/pippin/vector"
)

// proof is gnark's proof with its types as parameters.
type proof[P, S any] struct {
	wires       [3]P
	ratio       P
	quotient    [3]P
	commitments []P
	opening     P   // of the polynomials below, at zeta
	claimed     []S // the linearised one, L, R, O, S1, S2, and those of commitments
	shifted     P   // opening of Z at zeta times the root
	claimedZ    S
}

// The challenges, in their order.
const (
	gamma = "gamma"
	beta  = "beta"
	alpha = "alpha"
	zeta  = "zeta"
)

// device is where a proof is computed: a session, and a key's vectors and points in
// the same backend.
type device[P any, S comparable] struct {
	session             *vector.Session[S]
	key                 *keyVectors[S]
	vectors             *proofVectors[S]
	canonical, lagrange *msm.Bases[P, S]
}

// rounds makes a proof in the rounds of PlonK's section 8.3. Each round ends with the
// challenge for the next.
type rounds[P any, S comparable] struct {
	*key[P, S]
	*device[P, S]
	st *statement[P, S]
	tr *transcript.Transcript[P, S]
	proof[P, S]

	zero                     S
	secrets                  [][]S // that programs read, or have read
	tops                     []S   // see readTops
	beta, gamma, alpha, zeta S
}

// prove makes the proof of a statement. It is the same on every device.
func (k *key[P, S]) prove(ctx context.Context, d *device[P, S], st *statement[P, S]) (*proof[P, S], error) {
	r := &rounds[P, S]{key: k, device: d, st: st,
		tr: transcript.New(k.g1, k.fr, st.cfg.ChallengeHash, &solve.Hashing, gamma, beta, alpha, zeta)}
	r.commitments = st.commitments
	defer func() {
		for _, s := range r.secrets {
			clear(s)
		}
	}()
	for _, round := range []func(context.Context) error{r.wire, r.permute, r.divide, r.open} {
		if err := round(ctx); err != nil {
			return nil, err
		}
	}
	return &r.proof, nil
}

// wire sends what was solved, puts L, R and O and what the circuit commits to together from that, and commits to
// the three.
func (r *rounds[P, S]) wire(ctx context.Context) error {
	v, used := r.vectors, r.used()
	p := r.session.Program()
	p.Write(v.blinds, r.st.rows)
	at := len(r.st.wires)
	all := v.solved.Slice(0, at)
	p.Write(all, r.st.wires)
	var sums [3]*vector.Answer[P]
	for i := range sums {
		p.Gather(v.polynomial(wireL+i), all, r.device.key.places[i])
		sums[i] = vector.Commit(p, r.lagrange, v.polynomial(wireL+i).Slice(0, used))
	}
	complete := v.polynomial(constant)
	p.Copy(complete, r.device.key.fixed)
	p.Write(complete.Slice(0, len(r.st.public)), r.st.public)
	for i, c := range r.st.committed {
		if c == nil {
			return fmt.Errorf("%w: the circuit never made its commitment %d", backend.ErrInvalidInput, i)
		}
		some := v.solved.Slice(at, at+len(c))
		at += len(c)
		p.Write(some, c)
		p.Gather(v.polynomial(wires+i), some, r.device.key.places[3+i])
		row := r.public + r.info[i].CommitmentIndex
		p.Write(complete.Slice(row, row+1), r.st.hashes[i:i+1])
	}
	if err := p.Run(ctx); err != nil {
		return err
	}
	for i, sum := range sums {
		r.proof.wires[i] = r.hidden(sum.Get(), r.st.b[wireL+i])
		if used < r.n { // in all other rows stands the first wire
			r.proof.wires[i] = r.plus(r.proof.wires[i], r.padding, &r.st.wires[0])
		}
	}
	if err := r.tr.Points(gamma, r.columns...); err != nil {
		return err
	}
	if err := r.tr.Scalars(gamma, r.st.public...); err != nil {
		return err
	}
	if err := r.derive(&r.gamma, gamma, r.proof.wires[:]...); err != nil {
		return err
	}
	return r.derive(&r.beta, beta)
}

// derive binds points to a challenge and derives it.
func (r *rounds[P, S]) derive(c *S, name string, points ...P) (err error) {
	if err := r.tr.Points(name, points...); err != nil {
		return err
	}
	*c, err = r.tr.Challenge(name)
	return err
}

// permute computes Z, which runs over the rows as the product of
//
//	(L + beta X + gamma) (R + beta u X + gamma) (O + beta u^2 X + gamma)
//	--------------------------------------------------------------------
//	(L + beta S1 + gamma) (R + beta S2 + gamma) (O + beta S3 + gamma)
//
// from 1 to 1, and commits to it. Then it turns all polynomials into coefficients.
func (r *rounds[P, S]) permute(ctx context.Context) error {
	v, n := r.vectors, r.n
	ratios := v.on(0)
	p := r.session.Program()
	p.Map(ratios, r.links(v.polynomial, r.moved(func(i int) vector.Vector[S] { return cut(r.device.key.sigma, i, n) })))
	p.Invert(ratios, ratios)
	p.Map(ratios, r.links(v.polynomial, r.position(r.fr.One())).Mul(ratios.Expr()))
	all := p.ProductsBefore(v.polynomial(ratio), ratios)
	sum := vector.Commit(p, r.lagrange, v.polynomial(ratio))
	coefficients(p, v.polynomials, wires+len(r.commitments))
	tops := r.readTops(p)
	if err := p.Run(ctx); err != nil {
		return err
	}
	if tops != nil {
		r.tops = tops.Get()
		r.secrets = append(r.secrets, r.tops)
	}
	if all.Get() != r.fr.One() {
		return fmt.Errorf("%w: the permutation argument's product is not 1", engine.ErrWrongAnswer)
	}
	r.proof.ratio = r.hidden(sum.Get(), r.st.b[ratio])
	return r.derive(&r.alpha, alpha, append(slices.Clone(r.commitments), r.proof.ratio)...)
}

// links multiplies the three wires, each with its x and gamma added.
func (r *rounds[P, S]) links(wire func(int) vector.Vector[S], x func(wire int) vector.Expr[S]) vector.Expr[S] {
	link := func(i int) vector.Expr[S] { return wire(i).Expr().Add(vector.Const(r.gamma)).Add(x(i)) }
	return link(wireL).Mul(link(wireR)).Mul(link(wireO))
}

// moved returns beta times the position to which the permutation moves a wire, of which
// sigma has the values.
func (r *rounds[P, S]) moved(sigma func(wire int) vector.Vector[S]) func(int) vector.Expr[S] {
	return func(i int) vector.Expr[S] { return sigma(i).Expr().Scale(r.beta) }
}

// position returns beta times the position of a wire, on the coset of shift.
func (r *rounds[P, S]) position(shift S) func(int) vector.Expr[S] {
	return func(i int) vector.Expr[S] {
		return r.device.key.roots.Expr().Scale(r.fr.Product(r.beta, shift, r.fr.Power(r.shift, i)))
	}
}

// divide computes the quotient of all constraints by X^n - 1 from its values on
// cosets and its highest coefficients, and commits to its three parts.
func (r *rounds[P, S]) divide(ctx context.Context) error {
	v, n := r.vectors, r.n
	p := r.session.Program()
	for i, c := range r.cosets {
		r.onCoset(p, i, len(r.commitments))
		part := v.part(i)
		p.MapTo(part.Reversed(), n, r.constraints(i).Scale(r.fr.Inverse(c.vanishing)))
		p.Transform(part, part, vector.Transform[S]{Inverse: true, From: backend.Reversed, Shift: c.shift})
	}
	r.blind(p, len(r.cosets))
	r.combine(p, r.overhang(r.tops))
	var sums [3]*vector.Answer[P]
	for i := range sums {
		sums[i] = vector.Commit(p, r.canonical, cut(v.quotient, i, n+2))
	}
	if err := p.Run(ctx); err != nil {
		return err
	}
	for i, sum := range sums {
		r.quotient[i] = sum.Get()
	}
	for i := range r.st.shards {
		// Part i gets a multiple of X^(n+2) more, the next as much less.
		r.quotient[i] = r.plus(r.quotient[i], r.top, &r.st.shards[i])
		r.quotient[i+1] = r.plus(r.quotient[i+1], r.bottom, &r.st.less[i])
	}
	return r.derive(&r.zeta, zeta, r.quotient[:]...)
}

// onCoset computes the values of the proof's blinded polynomials on the i-th coset, and
// adds the circuit's commitments to those of Qk.
func (r *rounds[P, S]) onCoset(p *vector.Program[S], i, commitments int) {
	v, n, shift := r.vectors, r.n, r.cosets[i].shift
	r.blind(p, i)
	values(p, v.values.Slice(0, wires*n), v.polynomials.Slice(0, wires*n), wires, shift)
	for j := range commitments {
		values(p, v.on(wires), v.polynomial(wires+j), 1, shift)
		p.MulAdd(v.on(constant), v.on(wires), r.device.key.on(i, columns+j), v.on(constant))
	}
}

// blind adds a row of the blinding to the polynomials' coefficients.
func (r *rounds[P, S]) blind(p *vector.Program[S], row int) {
	for i, count := range blindCounts {
		at := r.vectors.polynomial(i).Reversed()
		p.MapTo(at, min(count, r.n), at.Expr().Add(r.vectors.blind(row, i).Expr()))
	}
}

// constraints returns the sum of all constraints on the i-th coset: that gates hold, that Z
// changes from row to row as it should, and that it begins with 1.
func (r *rounds[P, S]) constraints(i int) vector.Expr[S] {
	v, k := r.vectors, r.device.key
	w := func(polynomial int) vector.Expr[S] { return v.on(polynomial).Expr() }
	q := func(column int) vector.Expr[S] { return k.on(i, column).Expr() }

	gates := q(product).Mul(w(wireR)).Add(q(left)).Mul(w(wireL)).
		Add(q(right).Mul(w(wireR))).Add(q(output).Mul(w(wireO))).Add(w(constant))
	moved := r.links(v.on, r.moved(func(wire int) vector.Vector[S] { return k.on(i, sigma1+wire) }))
	changes := moved.Mul(v.on(ratio).Rotate(1).Expr()).
		Sub(r.links(v.on, r.position(r.cosets[i].shift)).Mul(w(ratio)))
	begins := w(ratio).Sub(vector.Const(r.fr.One())).Mul(cut(k.first, i, r.n).Expr())

	return begins.Scale(r.alpha).Add(changes).Scale(r.alpha).Add(gates)
}

// open proves the value of Z at zeta times the root, and the values at zeta of all other
// polynomials and of the linearised one.
func (r *rounds[P, S]) open(ctx context.Context) error {
	v, n, k := r.vectors, r.n, r.device.key
	polynomials := []vector.Vector[S]{
		v.polynomial(wireL), v.polynomial(wireR), v.polynomial(wireO), k.polynomial(sigma1), k.polynomial(sigma2),
	}
	for i := range r.commitments {
		polynomials = append(polynomials, k.polynomial(columns+i))
	}
	p := r.session.Program()
	evaluated := p.EvaluateIn(backend.Reversed, r.zeta, polynomials...)
	p.MapTo(v.shifted.Slice(0, n).Reversed(), n, v.polynomial(ratio).Expr())
	p.Copy(v.shifted.Slice(n, n+3), v.blind(len(r.cosets)+1, ratio))
	z := r.opening(p, v.shifted, r.fr.Product(r.zeta, r.root))
	if err := p.Run(ctx); err != nil {
		return err
	}
	r.claimedZ, r.shifted = z.value.Get(), z.quotient.Get()
	at := evaluated.Get()
	zetaN := r.fr.Power(r.zeta, n)
	for i := range 3 {
		power := zetaN
		high := r.st.high(wireL + i)
		for j := range high {
			r.fr.AddScaledInto(at[i:i+1], high[j:j+1], power)
			power = r.fr.Product(power, r.zeta)
		}
	}

	lin := r.linear(at, zetaN)
	p = r.session.Program()
	r.linearise(p, lin, at[5:])
	linearised := p.Evaluate(r.zeta, v.opened)
	if err := p.Run(ctx); err != nil {
		return err
	}
	r.claimed = append(linearised.Get(), at...)

	digests := append([]P{r.linearDigest(lin, at[5:])}, r.proof.wires[:]...)
	digests = append(append(digests, r.columns[:2]...), r.columns[8:]...)
	fold, err := transcript.Fold(r.g1, r.fr, r.st.cfg.KZGFoldingHash, &solve.Hashing, r.zeta, digests, r.claimed, r.fr.Marshal(&r.claimedZ))
	if err != nil {
		return err
	}
	p = r.session.Program()
	r.fold(p, polynomials, fold)
	opening := r.opening(p, v.opened, r.zeta)
	if err := p.Run(ctx); err != nil {
		return err
	}
	r.proof.opening = opening.quotient.Get()
	return nil
}

// opening is a polynomial's value at a point, and the commitment that proves it.
type opening[P any, S comparable] struct {
	value    *vector.Answer[S]
	quotient *vector.Answer[P]
}

// opening divides a polynomial of n+3 coefficients by X - point.
func (r *rounds[P, S]) opening(p *vector.Program[S], polynomial vector.Vector[S], point S) opening[P, S] {
	quotient := polynomial.Slice(0, polynomial.Len()-1)
	value := p.Divide(quotient, polynomial, point)
	return opening[P, S]{value, vector.Commit(p, r.canonical, quotient)}
}

// linearise computes the linearised polynomial in opened.
func (r *rounds[P, S]) linearise(p *vector.Program[S], lin *linear[S], committed []S) {
	v, n, k := r.vectors, r.n, r.device.key
	terms := []vector.Term[S]{
		v.polynomial(ratio).Times(lin.ratio),
		k.polynomial(sigma3).Times(lin.sigma),
		k.polynomial(fixed).Times(r.fr.One()),
	}
	for i, by := range lin.selectors {
		terms = append(terms, k.polynomial(i).Times(by))
	}
	for i, by := range committed {
		terms = append(terms, v.polynomial(wires+i).Times(by))
	}
	p.Sum(v.sum, terms...)
	p.MapTo(v.opened.Slice(0, n).Reversed(), n, v.sum.Expr())
	p.Scale(v.opened.Slice(n, n+3), v.blind(len(r.cosets)+1, ratio), lin.ratio)
	low := v.opened.Slice(0, n+2)
	terms = []vector.Term[S]{low.Times(r.fr.One())}
	for i, by := range lin.quotient {
		terms = append(terms, cut(v.quotient, i, n+2).Times(by))
	}
	p.Sum(low, terms...)
	if s := r.st.shards; len(s) > 0 {
		two := r.secret(2)
		for i := range s {
			r.fr.AddScaledInto(two[:1], r.st.less[i:i+1], lin.quotient[i+1])
			r.fr.AddScaledInto(two[1:], s[i:i+1], lin.quotient[i])
		}
		r.addTo(p, v.opened.Every(n+2), two)
	}
}

// fold adds the other polynomials times powers of a challenge to opened.
func (r *rounds[P, S]) fold(p *vector.Program[S], polynomials []vector.Vector[S], challenge S) {
	v, n := r.vectors, r.n
	var terms []vector.Term[S]
	high := r.secret(2)
	power := r.fr.One()
	for i, polynomial := range polynomials {
		power = r.fr.Product(power, challenge)
		terms = append(terms, polynomial.Times(power))
		if i < 3 {
			r.fr.AddScaledInto(high, r.st.high(wireL+i), power)
		}
	}
	p.Sum(v.sum, terms...)
	low := v.opened.Slice(0, n).Reversed()
	p.MapTo(low, n, low.Expr().Add(v.sum.Expr()))
	r.addTo(p, v.opened.Slice(n, n+2).View(), high)
}

// addTo adds a few secrets to the first elements of a view.
func (r *rounds[P, S]) addTo(p *vector.Program[S], to vector.View[S], secrets []S) {
	from := r.vectors.blinds.Slice(0, len(secrets)) // which were used
	p.Write(from, secrets)
	p.MapTo(to, len(secrets), to.Expr().Add(from.Expr()))
}

// secret returns n zeros, which are wiped when the proof ends.
func (r *rounds[P, S]) secret(n int) []S {
	s := make([]S, n)
	r.secrets = append(r.secrets, s)
	return s
}

// linear has the factors of the linearised polynomial. That is the sum of all constraints,
// where in each product all polynomials but one are replaced by their values at zeta.
type linear[S any] struct {
	selectors [4]S
	sigma     S // of S3
	ratio     S // of Z
	quotient  [3]S
}

// linear computes the factors from the values of L, R, O, S1 and S2.
func (r *rounds[P, S]) linear(at []S, zetaN S) *linear[S] {
	fr, u := r.fr, r.shift
	lz, rz, oz := at[0], at[1], at[2]
	link := func(wire, x S) S { return fr.Sum(wire, fr.Product(r.beta, x), r.gamma) }
	moved := fr.Product(link(lz, at[3]), link(rz, at[4]), r.alpha)
	positions := fr.Product(link(lz, r.zeta), link(rz, fr.Product(u, r.zeta)), link(oz, fr.Product(u, u, r.zeta)), r.alpha)
	vanishing := fr.Minus(zetaN, fr.One())
	first := fr.Product(vanishing, fr.Inverse(fr.Product(fr.Number(r.n), fr.Minus(r.zeta, fr.One()))))
	apart := fr.Product(zetaN, r.zeta, r.zeta)
	minus := fr.Minus(r.zero, vanishing)
	return &linear[S]{
		selectors: [...]S{left: lz, right: rz, product: fr.Product(lz, rz), output: oz},
		sigma:     fr.Product(moved, r.beta, r.claimedZ),
		ratio:     fr.Minus(fr.Product(r.alpha, r.alpha, first), positions),
		quotient:  [...]S{minus, fr.Product(minus, apart), fr.Product(minus, apart, apart)},
	}
}

// linearDigest returns the commitment to the linearised polynomial: the sum of the
// commitments to its terms, which saves an MSM.
func (r *rounds[P, S]) linearDigest(lin *linear[S], committed []S) P {
	terms := []group.Term[P]{{Point: r.columns[7]}}
	add := func(p P, k S) { terms = append(terms, group.Term[P]{Point: p, K: r.fr.Big(&k)}) }
	for i, k := range lin.selectors {
		add(r.columns[3+i], k)
	}
	add(r.columns[2], lin.sigma)
	add(r.proof.ratio, lin.ratio)
	for i, k := range lin.quotient {
		add(r.quotient[i], k)
	}
	for i, k := range committed {
		add(r.commitments[i], k)
	}
	return r.g1.Sum(terms...)
}
