// Package vector keeps vectors of gnark-crypto's field elements where a backend
// computes, and runs programs over them: what a prover does between its witness and
// the points and values that it must see, without anything crossing on the way.
//
//	s, err := vector.BN254.Open(ctx, e, 3<<20) // memory for so many elements
//	defer s.Close()
//	a, b := s.New(1<<20), s.New(1<<20)
//	p := s.Program()
//	p.Write(a, left)                                // []fr.Element
//	p.Write(b, right)
//	p.Mul(a, a, b)
//	p.Transform(a, a, vector.Transform[fr.Element]{Inverse: true, To: backend.Reversed})
//	sum := vector.Commit(p, bases, a)               // loaded by package msm
//	err = p.Run(ctx)                                // one request
//	sum.Get()
//
// A session belongs to one opened backend and is lost with it: then Run fails
// with backend.ErrGone, and Field.Repeat does the work again on another.
//
// Nothing here panics on misuse: vectors and programs keep their first error, and
// Run returns it. Vectors are secrets as scalars are: a backend wipes a session's
// memory when it is closed. The elements that a program itself has (coefficients,
// constants, points, shifts) are not wiped everywhere: a secret is written.
package vector
