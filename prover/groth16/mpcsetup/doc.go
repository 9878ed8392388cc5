// Package mpcsetup is gnark's backend/groth16/CURVE/mpcsetup on an engine: the set-up of Groth16 as
// a ceremony of many participants, of whom one honest one is enough. Contributions, keys and files
// are gnark's, so that each participant may use either.
//
//	p := mpcsetup.BN254.NewPhase1(1 << 20)            // or ReadPhase1, from a file
//	err := mpcsetup.BN254.ContributePhase1(ctx, e, p) // then p.WriteTo a file
//	commons, err := mpcsetup.BN254.VerifyPhase1(ctx, e, 1<<20, beacon, phase1)
//	q, _, err := mpcsetup.BN254.InitializePhase2(ctx, e, r1cs, commons)
//	err = mpcsetup.BN254.ContributePhase2(ctx, e, q) // then q.WriteTo a file
//	pk, vk, err := mpcsetup.BN254.VerifyPhase2(ctx, e, r1cs, commons, beacon, phase2)
//
// Here phase1 and phase2 are all contributions to a phase, in order. Phase 1, the powers of tau, is
// for all circuits up to a size. Phase 2 is for one circuit. gnark's Phase1 exports none of its
// fields, so this package has a type Phase1 with the same file format: what one writes by WriteTo,
// the other reads by ReadFrom or ReadPhase1. All other types are gnark's own.
//
// # What runs where
//
// The engine multiplies the points of a contribution, computes the sums of a verification and the
// Lagrange forms for a circuit, and decompresses and checks the points of a file. This process
// hashes, proves that it knows its numbers, adds up the points of a circuit's wires, and checks
// some pairings. A nil engine is one in this process.
//
// # Secrets
//
// A contribution draws numbers that nobody may know afterwards. All copies of them are wiped, also
// those of the backend, except for what gnark-crypto's products leave behind. Products by points
// are not constant time, neither here nor in gnark: contribute where nobody can measure the time.
//
// # Trust
//
// The functions that verify need contributions whose points are all in their group of order r.
// ReadPhase1, ReadPhase2 and gnark's ReadFrom check that.
//
// The protocol is that of Bowe, Gabizon and Miers (https://eprint.iacr.org/2017/1050), as
// implemented by gnark.
package mpcsetup
