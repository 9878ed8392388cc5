// Package groth16 proves with pippin what gnark's package of the same name
// proves without: same circuits, keys, witnesses, options and proofs. With one
// changed import line,
//
//	import "github.com/pippin-zk/pippin/prover/groth16"
//
// a program keeps working: everything that gnark's package exports is here too.
// Prove runs its multi-scalar multiplications on the engine that Use named. Without
// one it runs them in this process:
//
//	e, err := pippin.New(ctx, engine.Config{Backend: "cuda"})
//	groth16.Use(e)
//	proof, err := groth16.Prove(ccs, pk, witness) // as before
//
// A server that proves many times makes a Prover: it knows when bases are
// loaded and freed, and takes a context. Setup makes keys on the same engine; SetupOn
// takes an engine and a context.
//
// # What runs where
//
// One proof is three steps. The circuit is solved in this process, by a solver of
// our own that leaves to gnark's what it does not know. Pedersen commitments that a
// circuit makes while it is solved go to the engine. Then come the MSMs over the
// witness: A, B in both groups (its scalars sent once), K, and the proofs of knowledge
// of the commitments. The quotient H and its MSM over Z are computed at the same time
// by a backend with vectors in another process. Otherwise this process computes H:
// beside the MSMs of another process, and before those of its own.
//
// Equal bases of a key are merged when it is loaded, and equal scalars of a
// proof where this process computes the MSMs: see MergeBases and MergeScalars.
//
// # Keys
//
// A set-up is in three steps. This process draws the secret numbers and computes the
// values of the circuit's polynomials at one of them. The engine multiplies the
// generators of both groups by these values: that is nearly all of the time. Then gnark's
// own functions end the verifying key and the domain. The secrets and what is computed
// from them are wiped; SetupOn says what is not constant time. Package mpcsetup makes the
// keys in a ceremony of many, none of whom knows them.
//
// The algorithm is that of Groth (https://eprint.iacr.org/2016/260) in the
// notation of DIZK (https://eprint.iacr.org/2018/691, figure 4), with the
// commitments of https://eprint.iacr.org/2022/1072. Given the same randomness,
// a proof and a key equal gnark's byte for byte.
package groth16
