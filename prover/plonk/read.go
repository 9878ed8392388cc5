package plonk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/keyfile"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// ReadProvingKey reads a key on a curve that gnark's WriteTo or WriteRawTo has written, and
// returns what gnark's ReadFrom does; the form is told from the bytes. The points are
// decompressed, and checked to be on the curve and in the subgroup of order r, on the
// engine. A nil engine is one in this process. gnark has no dump of PLONK's keys.
//
// A key that is damaged is backend.ErrInvalidInput, and the error names the place, such as
// "KzgLagrange.G1[1234]: not in the subgroup of order r". Memory is taken as bytes arrive.
// Bytes that are another valid key are not noticed. Such are some changes of compressed
// points, of the number of public values and of the constraints of commitments; the last two
// are compared with the constraint system when a prover is made.
//
// No byte behind the key is read. When the context ends, the call returns after a Read of
// from that is under way. A curve without a prover here is backend.ErrUnsupported.
func ReadProvingKey(ctx context.Context, engine *engine.Engine, curve ecc.ID, from io.Reader) (_ ProvingKey, err error) {
	b, ok := bindings[curve]
	if !ok {
		return nil, fmt.Errorf("%w: PLONK on the curve %s", backend.ErrUnsupported, curve)
	}
	e, end, err := resident.Or(ctx, engine)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	r := keyfile.New(ctx, e, from, keyfile.PieceBytes)
	defer r.End()
	return b.read(r)
}

// A key's file begins with the marker and the version. Those of gnark below v0.15, which had no
// versions, begin with the size, which is not 0; all points before Kzg.G1 are compressed in them.
const (
	versionMarker = 0
	version       = 1
)

// columnNames are those of the commitments that all keys have, in a file's order.
var columnNames = [...]string{"S[0]", "S[1]", "S[2]", "Ql", "Qr", "Qm", "Qo", "Qk"}

func (c *curve[P, S]) read(r *keyfile.Reader) (ProvingKey, error) {
	size := r.Uint64("Vk.Size")
	versioned := size == versionMarker
	if versioned {
		if v := r.Uint64("Vk's version"); v != version {
			r.Refuse("Vk: version %d, this program knows %d", v, version)
		}
		size = r.Uint64("Vk.Size")
	}
	k := &parts[P, S]{n: int(size)}
	var err error
	if k.root, err = c.generator(size); err != nil || size < 2 || bits.OnesCount64(size) != 1 {
		r.Refuse("Vk.Size: no domain has %d elements", size)
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	inverse, shift := c.fr.Inverse(c.fr.Number(k.n)), c.coset(size)
	r.Expect("Vk.SizeInv", c.fr.Marshal(&inverse))
	r.Expect("Vk.Generator", c.fr.Marshal(&k.root))
	public := r.Uint64("Vk.NbPublicVariables")
	if public > size {
		r.Refuse("Vk.NbPublicVariables: %d in %d rows", public, size)
	}
	k.public = int(public)
	r.Expect("Vk.CosetShift", c.fr.Marshal(&shift))
	r.Form()
	for _, name := range columnNames {
		k.columns = append(k.columns, keyfile.Alone(r, c.g1.Group, "Vk."+name, 1)...)
	}
	committed := keyfile.Points(r, c.g1.Group, "Vk.Qcp")
	srs := c.readSetup(r)
	if n := r.Uint32("Vk.CommitmentConstraintIndexes"); int64(n) != int64(len(committed)) {
		r.Refuse("Vk.CommitmentConstraintIndexes: %d for %d commitments", n, len(committed))
	}
	k.commitments = make([]uint64, len(committed))
	for i := range k.commitments {
		what := fmt.Sprintf("Vk.CommitmentConstraintIndexes[%d]", i)
		if k.commitments[i] = r.Uint64(what); k.commitments[i] >= size {
			r.Refuse("%s: %d in %d rows", what, k.commitments[i], size)
		}
	}
	if !versioned {
		r.AnyForm()
	}
	k.canonical = keyfile.Points(r, c.g1.Group, "Kzg.G1")
	if r.Err() == nil && len(k.canonical) != k.n+3 {
		r.Refuse("Kzg.G1: %d points for %d rows", len(k.canonical), k.n)
	}
	k.lagrange = keyfile.Points(r, c.g1.Group, "KzgLagrange.G1")
	if r.Err() == nil && len(k.lagrange) != k.n {
		r.Refuse("KzgLagrange.G1: %d points for %d rows", len(k.lagrange), k.n)
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	k.columns = append(k.columns, committed...)
	pk, _, err := c.keys(k, srs)
	return pk, err
}
