package keys

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"

	gnarkgroth16 "github.com/consensys/gnark/backend/groth16"
	gnarkplonk "github.com/consensys/gnark/backend/plonk"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/keyparts"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/kzg"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// reads reads a key of one kind.
type reads func(context.Context, *engine.Engine, io.Reader) (Key, error)

// generator returns the encoding of gnark-crypto's generator of a group.
func generator(c backend.Curve, g backend.Group, as backend.Encoding) []byte {
	b := make([]byte, as.Bytes(backend.PointOf(c, g)))
	curves.GroupOf(c, g).Generator().Encode(0, b, as)
	return b
}

// beginsSRS reports whether a key of KZG begins with head: a dump with the generator of G2, other
// forms with a length and that of G1.
func beginsSRS(c backend.Curve, head []byte) bool {
	if bytes.HasPrefix(head, generator(c, backend.G2, backend.Uncompressed)) {
		return true
	}
	return len(head) > 4 && (bytes.HasPrefix(head[4:], generator(c, backend.G1, backend.Compressed)) ||
		bytes.HasPrefix(head[4:], generator(c, backend.G1, backend.Uncompressed)))
}

// reading hides the type of a key, and that it is nil after an error.
func reading[K Key](read func(context.Context, *engine.Engine, io.Reader) (K, error)) reads {
	return func(ctx context.Context, e *engine.Engine, from io.Reader) (Key, error) {
		k, err := read(ctx, e, from)
		if err != nil {
			return nil, err
		}
		return k, nil
	}
}

// identify tells from the beginning of a file, or from the whole of it, what it is. The
// curve is 0 where reading tells it. What nothing else is may be a verifying key of Groth16,
// which begins with points that only its maker knows.
func identify(head []byte, whole bool) (Kind, backend.Curve) {
	at := func(i int) uint64 {
		if len(head) < i+8 {
			return 0
		}
		return binary.BigEndian.Uint64(head[i:])
	}
	if len(head) >= 8 && binary.LittleEndian.Uint64(head) == keyparts.Marker {
		return Groth16Proving, 0
	}
	for _, c := range backend.Curves() {
		switch {
		// PLONK: a marker, the version, and the size with its inverse.
		case len(head) > 24 && at(0) == 0 && at(8) == 1 && bytes.HasPrefix(head[24:], inverse(c, at(16))):
			if whole {
				if _, err := readAll(gnarkplonk.NewVerifyingKey(curves.ID(c)), head); err == nil {
					return PLONKVerifying, c
				}
			}
			return PLONKProving, c
		case len(head) > 8 && at(0) != 0 && bytes.HasPrefix(head[8:], inverse(c, at(0))):
			return Groth16Proving, 0
		case beginsSRS(c, head):
			return SRS, c
		}
	}
	return Groth16Verifying, 0
}

// inverse returns how gnark-crypto writes 1/size in a curve's field.
func inverse(c backend.Curve, size uint64) []byte {
	r := c.ScalarField()
	n := new(big.Int).ModInverse(new(big.Int).SetUint64(size), r)
	if n == nil {
		n = new(big.Int)
	}
	return n.FillBytes(make([]byte, c.ScalarBytes()))
}

// reader returns what reads a kind of key on a curve, or on one that it tells when that is 0.
func reader(kind Kind, c backend.Curve) reads {
	switch {
	case kind == Groth16Proving:
		return reading(groth16.ReadProvingKey)
	case kind == Groth16Verifying:
		return func(_ context.Context, _ *engine.Engine, from io.Reader) (Key, error) {
			return readVerifying(from, candidates(c), func(c backend.Curve) verifyingKey { return gnarkgroth16.NewVerifyingKey(curves.ID(c)) })
		}
	case kind == PLONKVerifying:
		return func(_ context.Context, _ *engine.Engine, from io.Reader) (Key, error) {
			return readVerifying(from, candidates(c), func(c backend.Curve) verifyingKey { return gnarkplonk.NewVerifyingKey(curves.ID(c)) })
		}
	case !c.Valid():
		return func(context.Context, *engine.Engine, io.Reader) (Key, error) {
			return nil, fmt.Errorf("%w: the curve of the key is not told from its bytes; --curve says it", backend.ErrInvalidInput)
		}
	case kind == PLONKProving:
		return reading(func(ctx context.Context, e *engine.Engine, from io.Reader) (plonk.ProvingKey, error) {
			return plonk.ReadProvingKey(ctx, e, curves.ID(c), from)
		})
	}
	return reading(func(ctx context.Context, e *engine.Engine, from io.Reader) (kzg.SRS, error) {
		return kzg.ReadSRS(ctx, e, curves.ID(c), from)
	})
}
