// Package mpcsetup is gnark's backend/groth16/CURVE/mpcsetup on an engine: the set-up of
// Groth16 as a ceremony of many, of whom one honest is enough. Contributions, keys and files
// are gnark's, so that each participant may use either.
//
//	p := mpcsetup.BN254.NewPhase1(1 << 20)                     // or ReadPhase1, from a file
//	err := mpcsetup.BN254.ContributePhase1(ctx, engine, p)     // then p.WriteTo a file
//	commons, err := mpcsetup.BN254.VerifyPhase1(ctx, engine, 1<<20, beacon, contributions...)
//	q, evaluations, err := mpcsetup.BN254.InitializePhase2(ctx, engine, r1cs, commons)
//	err = mpcsetup.BN254.ContributePhase2(ctx, engine, q)      // then q.WriteTo a file
//	pk, vk, err := mpcsetup.BN254.VerifyPhase2(ctx, engine, r1cs, commons, beacon, contributions2...)
//
// Phase 1, the powers of tau, is for all circuits up to a size; phase 2 is for one circuit.
// gnark's Phase1 shows none of its fields, so that there is a type Phase1 here with its file
// format: WriteTo of the one is for ReadFrom, or ReadPhase1, of the other. All other types
// are gnark's own.
//
// # What runs where
//
// The engine multiplies the points of a contribution, computes the sums of a verification and
// the Lagrange forms for a circuit, and decompresses and checks the points of a file. This
// process hashes, proves that it knows its numbers, adds up the points of a circuit's wires,
// and checks some pairings. A nil
// engine is one in this process.
//
// # Secrets
//
// A contribution draws numbers that nobody may know afterwards. All copies of them are wiped,
// those of the backend too, but for what gnark-crypto's products leave of them. Nothing that
// multiplies points takes a time independent of them, neither here nor in gnark: contribute
// where nobody can measure it.
//
// # Trust
//
// Verify functions want contributions of which each point is in its group of order r. That
// is what ReadPhase1, ReadPhase2 and gnark's ReadFrom see to.
//
// The protocol is that of Bowe, Gabizon and Miers (https://eprint.iacr.org/2017/1050) as
// gnark has it.
package mpcsetup
