// Package groth16 proves with pippin what gnark's package of the same name proves without it: with
// the same circuits, keys, witnesses, options and proofs. With one changed import line,
//
//	import "github.com/pippin-zk/pippin/prover/groth16"
//
// a program keeps working, since everything that gnark's package exports is here too. Prove runs
// its multi-scalar multiplications on the engine that Use named. Without one it runs them in this
// process:
//
//	e, err := pippin.New(ctx, engine.Config{Backend: "cuda"})
//	groth16.Use(e)
//	proof, err := groth16.Prove(ccs, pk, witness) // as before
//
// A server that proves many times makes a Prover. It decides when bases are loaded and freed, and
// takes a context. Setup makes keys on the engine of Use; SetupOn takes an engine and a context.
//
// # What runs where
//
// A proof has three steps. First, this process solves the circuit, with a solver of this project
// that leaves to gnark's what it does not know. Pedersen commitments that a circuit makes meanwhile
// are computed by the engine. Second come the MSMs over the witness: A, B in both groups (its
// scalars are sent once), K, and the proofs of knowledge of the commitments. Third come the
// quotient H and its MSM over Z. A backend with vectors in another process is sent the values of
// the wires and nothing else: it multiplies them by the constraints' matrices, which it keeps, and
// computes both steps as one program, while the last constraints are still checked. Otherwise this
// process computes H: beside the MSMs if another process computes them, and before them if this
// one does.
//
// Equal bases of a key are merged when it is loaded. Equal scalars of a proof are merged if this
// process computes the MSMs. See MergeBases and MergeScalars.
//
// # Keys
//
// A set-up has three steps. First, this process draws the secret numbers and computes the values of
// the circuit's polynomials at one of them. Second, the engine multiplies the generators of both
// groups by these values, which takes nearly all of the time. Third, gnark's own functions complete
// the verifying key and the domain. The secrets, and all that is computed from them except the
// keys, are wiped; SetupOn says what is not constant time. Package mpcsetup makes keys in a
// ceremony of many, in which no one learns the secrets.
//
// The algorithm is that of Groth (https://eprint.iacr.org/2016/260) in the notation of DIZK
// (https://eprint.iacr.org/2018/691, figure 4), with the commitments of
// https://eprint.iacr.org/2022/1072. With the same randomness, a proof and a key equal gnark's byte
// for byte.
package groth16
