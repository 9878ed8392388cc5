package vector

import (
	"context"
	"fmt"

	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Field is the scalar field of a curve, with gnark-crypto's type of its elements.
// The four fields are this package's variables; there are no others.
type Field[E comparable] struct {
	curve               backend.Curve
	zero, one, minusOne E
}

// The scalar fields of BN254, BLS12-377, BLS12-381 and BW6-761.
var (
	BN254    = newField[fr254.Element](backend.BN254)
	BLS12377 = newField[fr377.Element](backend.BLS12377)
	BLS12381 = newField[fr381.Element](backend.BLS12381)
	BW6761   = newField[fr761.Element](backend.BW6761)
)

type (
	// BN254Session is a session of BN254's scalar field.
	BN254Session = Session[fr254.Element]
	// BLS12377Session is a session of BLS12-377's scalar field.
	BLS12377Session = Session[fr377.Element]
	// BLS12381Session is a session of BLS12-381's scalar field.
	BLS12381Session = Session[fr381.Element]
	// BW6761Session is a session of BW6-761's scalar field.
	BW6761Session = Session[fr761.Element]
)

func newField[E comparable, P curves.Element[E]](curve backend.Curve) *Field[E] {
	f := &Field[E]{curve: curve}
	P(&f.one).SetOne()
	P(&f.minusOne).Neg(&f.one)
	return f
}

// Curve returns the curve whose scalar field it is.
func (f *Field[E]) Curve() backend.Curve { return f.curve }

// Open opens a session: memory for that many elements, for all that will be there
// at a time, on the engine's first backend that is ready, can and has the room.
// Without room anywhere it is backend.ErrOutOfMemory with what is wanted and what
// there is. Close the session; one that is forgotten is closed by the garbage
// collector, with a warning in the log.
func (f *Field[E]) Open(ctx context.Context, e *engine.Engine, elements int) (*Session[E], error) {
	if err := curves.Check(); err != nil {
		return nil, err
	}
	core, err := e.OpenSession(ctx, f.space(elements))
	if err != nil {
		return nil, err
	}
	s := f.session(e, core)
	s.tend()
	return s, nil
}

// Repeat calls run with a session, and again with another one when the session's
// backend failed: [engine.Engine.Repeat] says when, and what its errors are. run
// begins from its inputs each time. by is the backend of the last session.
func (f *Field[E]) Repeat(ctx context.Context, e *engine.Engine, elements int,
	run func(context.Context, *Session[E]) error) (by string, err error) {
	if err := curves.Check(); err != nil {
		return "", err
	}
	return e.Repeat(ctx, f.space(elements), func(ctx context.Context, core *engine.Session) error {
		return run(ctx, f.session(e, core))
	})
}

func (f *Field[E]) space(elements int) engine.Space {
	return engine.Space{Elements: backend.Elements{Element: backend.ScalarOf(f.curve), Count: elements}, Check: func(answer []byte) error {
		if layout.FirstNotBelow(answer, layout.ScalarField(f.curve)) >= 0 {
			return fmt.Errorf("%w: an element that is not below r of %v", engine.ErrWrongAnswer, f.curve)
		}
		return nil
	}}
}
