// Package circom proves circuits of circom with Groth16: from snarkjs's proving keys (.zkey) and
// circom's witnesses (.wtns), on BN254 and BLS12-381. snarkjs and rapidsnark accept the proofs.
//
//	e, err := pippin.New(ctx, engine.Config{Backend: "cuda"})
//	circom.Use(e)
//	key, err := circom.OpenKey("circuit.zkey")
//	witness, err := circom.OpenWitness("witness.wtns")
//	proof, err := key.Prove(ctx, witness)
//
// A Key is read once and stays in the engine until Close; proofs may be made at the same time. Every
// proof is verified before it is returned, with the verifying key that the proving key has.
//
// # What runs where
//
// A backend with vectors in another process computes a proof by one program. It has the key's points
// and the sparse matrices A and B, is sent the witness once, and turns it into Montgomery form. It
// sums up the points A, B in both groups, and C, multiplies the matrices by the witness, does six
// transforms, and sums up the points H, whose scalars never leave it. In this process all MSMs are
// one batch, after the matrices and the transforms.
//
// Points at infinity, which are most of B in real keys, are left out when a key is loaded. Equal
// bases and equal scalars are merged where that pays; see MergeBases and MergeScalars.
//
// # Keys
//
// Nothing in a file is believed: lengths are compared with the file's, coordinates with q, factors
// with r, and the engine checks that every point is in its group. What is refused is refused in one
// line that names the place. Keys for PLONK and FFLONK are refused by name, and so is a domain of
// 2^28 on BN254, for which there are too few roots of unity.
//
// # Secrets
//
// The witness is secret, and so are r and s, which are uniform, and everything computed from them
// but the proof. Prove wipes its copies; Witness.Wipe overwrites the witness itself.
//
// The algorithm is that of Groth (https://eprint.iacr.org/2016/260), with the quotient evaluated on
// a coset as snarkjs does it: key files have the points H for that.
package circom
