// Package plonk proves with pippin what gnark's package of the same name proves
// without: same circuits, keys, witnesses, options and proofs. With one changed
// import line,
//
//	import "github.com/pippin-zk/pippin/prover/plonk"
//
// a program keeps working: everything that gnark's package exports is here too. Prove
// runs on the engine that Use named. Without one it runs in this process:
//
//	e, err := pippin.New(ctx, engine.Config{Backend: "plugin:cpu"})
//	plonk.Use(e)
//	proof, err := plonk.Prove(ccs, pk, witness) // as before
//
// A server that proves many times makes a Prover: it knows when a key is loaded and
// freed, and takes a context. Setup makes keys on the same engine; SetupOn takes an engine
// and a context.
//
// # What runs where
//
// The circuit is solved in this process, by a solver of our own that leaves to gnark's
// what it does not know; commitments that a circuit makes while it is solved are MSMs
// on the engine. Then a backend with vectors (package vector) gets the values of the wires,
// and answers points and values only: what is between two challenges is one program there.
// In another process it begins when all wires have values, while this one still checks
// constraints. When the backend dies, another one, or the same when it is back, makes the
// same proof of what was solved.
//
// # Memory
//
// A circuit has n rows (constraints and public values, up to the next power of two) and c
// commitments. Where the backend computes, its key takes 2 n points, one more for each value that
// is committed to, and, from the first proof on, (37 + 4 c) n scalars and (3 + c) n indices of four
// bytes. Each proof in flight takes (13 + c) n scalars and some hundred, and n more if there are
// commitments. So a circuit of 2^20 rows on BN254 without commitments
// takes 1.3 GiB for the key and 0.4 GiB for a proof. What does not fit is an error that wraps
// backend.ErrOutOfMemory and says how much was wanted.
//
// The algorithm is PlonK (https://eprint.iacr.org/2019/953), with the commitments of
// https://eprint.iacr.org/2022/1072. Given the same randomness, a proof equals
// gnark's byte for byte. So does a key, in which nothing is random.
//
// # Files
//
//	plan.go      what lies where
//	rounds.go    the proof
//	quotient.go  the quotient's coefficients
//	setup.go     keys
package plonk
