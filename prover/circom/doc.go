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
// This process multiplies the sparse matrices A and B by the witness. A backend with vectors in
// another process computes all else by one program. It is sent the witness once and turns it into
// Montgomery form. While it sums up the key's points A, B in both groups, and C, this process
// computes the products; then come six transforms, and the sum over the points H, whose scalars
// never leave the backend. In this process all MSMs are one batch, after the transforms.
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
