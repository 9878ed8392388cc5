package groth16

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/keyfile"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// ReadProvingKey reads a key that gnark's WriteTo, WriteRawTo or WriteDump has written, and returns
// what gnark's ReadFrom or ReadDump does. It tells the curve and the form from the bytes. The
// engine decompresses the points and checks that they are on the curve and in the subgroup of order
// r, even those of a dump. A nil engine is one in this process.
//
// A damaged key is backend.ErrInvalidInput, and the error names the place, such as "G1.A[1234]: not
// in the subgroup of order r". Memory is taken as bytes arrive. Damage that makes another valid key
// is not noticed. Changing a compressed point of BN254 G1 does that in half of the cases, because
// the curve has no other subgroup.
//
// No byte after the key is read. When the context ends, the call returns after the Read of from
// that is under way.
func ReadProvingKey(ctx context.Context, engine *engine.Engine, from io.Reader) (_ ProvingKey, err error) {
	e, end, err := resident.Or(ctx, engine)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	r := keyfile.New(ctx, e, from, keyfile.PieceBytes)
	defer r.End()
	size := r.Start()
	if size == 0 || bits.OnesCount64(size) != 1 || size > maxDomain {
		r.Refuse("Domain: its size is %d", size)
	}
	first := r.Bytes("Domain", 32) // bytes of 1/size, which tell the curve
	if r.Err() != nil {
		return nil, r.Err()
	}
	for _, b := range bindings {
		domain, err := b.domainBytes(size)
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(domain[8:], first) {
			continue
		}
		rest := r.Bytes("Domain", len(domain)-8-len(first))
		last := len(domain) - 1 // says whether there are tables, which are not part of the domain
		tables := rest[len(rest)-1]
		if r.Err() == nil && (tables > 1 || !bytes.HasSuffix(domain[:last], rest[:len(rest)-1])) {
			r.Refuse("Domain: not gnark's of size %d on its curve", size)
		}
		domain[last] = tables
		return b.read(r, size, domain)
	}
	r.Refuse("Domain: not gnark's of size %d on a curve that is supported", size)
	return nil, r.Err()
}

// maxDomain is the size of BN254's largest domain. The other curves have larger ones.
const maxDomain = 1 << 28

// domainBytes returns the bytes that gnark-crypto writes for a domain.
func (c *curve[P1, P2, S]) domainBytes(size uint64) ([]byte, error) {
	var b bytes.Buffer
	if err := c.writeDomain(&b, size); err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	return b.Bytes(), nil
}

// read reads the rest of a key, after its domain.
func (c *curve[P1, P2, S]) read(r *keyfile.Reader, size uint64, domain []byte) (ProvingKey, error) {
	p := parts[P1, P2, S]{size: int(size)}
	var making errgroup.Group
	var key func(*parts[P1, P2, S]) ProvingKey
	defer making.Wait()
	g1 := func(dst *[]P1, what string) { *dst = keyfile.Points(r, c.g1.Group, what) }
	slices := func() {
		g1(&p.a, "G1.A")
		g1(&p.b, "G1.B")
		g1(&p.z, "G1.Z")
		if r.Err() == nil && uint64(len(p.z)) == size-1 && !r.Outline() { // so the bytes of such a large key have arrived
			making.Go(func() (err error) {
				key, err = c.keyOf(bytes.NewReader(domain))
				return err
			})
		}
		g1(&p.k, "G1.K")
	}
	r.Form()
	for _, single := range []struct {
		to   *P1
		what string
	}{{&p.alpha, "G1.Alpha"}, {&p.beta, "G1.Beta"}, {&p.delta, "G1.Delta"}} {
		*single.to = keyfile.Alone(r, c.g1.Group, single.what, 1)[0]
	}
	if !r.Dump() {
		slices()
	}
	p.beta2 = keyfile.Alone(r, c.g2.Group, "G2.Beta", 1)[0]
	p.delta2 = keyfile.Alone(r, c.g2.Group, "G2.Delta", 1)[0]
	if !r.Dump() {
		p.b2 = keyfile.Points(r, c.g2.Group, "G2.B")
	}
	wires := r.Uint64("number of wires")
	noA, noB := r.Uint64("NbInfinityA"), r.Uint64("NbInfinityB")
	p.infiniteA, p.infiniteB = r.Bools("InfinityA", wires), r.Bools("InfinityB", wires)
	commitments := r.Uint32("number of commitment keys")
	if r.Dump() {
		slices()
		p.b2 = keyfile.Points(r, c.g2.Group, "G2.B")
	}
	for i := uint32(0); i < commitments && r.Err() == nil; i++ {
		var k pedersen[P1]
		g1(&k.basis, fmt.Sprintf("CommitmentKeys[%d].Basis", i))
		g1(&k.sigma, fmt.Sprintf("CommitmentKeys[%d].BasisExpSigma", i))
		if len(k.basis) != len(k.sigma) {
			r.Refuse("CommitmentKeys[%d]: %d and %d points", i, len(k.basis), len(k.sigma))
		}
		p.pedersen = append(p.pedersen, k)
	}
	withA, withB := countFalses(p.infiniteA), countFalses(p.infiniteB)
	for _, n := range []struct {
		what      string
		got, want uint64
	}{
		{"NbInfinityA", noA, wires - uint64(withA)},
		{"NbInfinityB", noB, wires - uint64(withB)},
		{"length of G1.A", uint64(len(p.a)), uint64(withA)},
		{"length of G1.B", uint64(len(p.b)), uint64(withB)},
		{"length of G2.B", uint64(len(p.b2)), uint64(withB)},
		{"length of G1.Z", uint64(len(p.z)), size - 1},
	} {
		if n.got != n.want {
			r.Refuse("%s: %d, its other parts want %d", n.what, n.got, n.want)
		}
	}
	if uint64(len(p.k)) > wires {
		r.Refuse("length of G1.K: %d for %d wires", len(p.k), wires)
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	if err := making.Wait(); err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	return key(&p), nil
}
