// Package circom proves circuits of circom with Groth16: from snarkjs's proving keys (.zkey) and
// circom's witnesses (.wtns), on BN254 and BLS12-381. snarkjs and rapidsnark accept the proofs.
//
//	e, err := pippin.New(ctx, engine.Config{Backend: "cuda"})
//	circom.Use(e)
//	key, err := circom.OpenKey("circuit.zkey")
//	witness, err := circom.OpenWitness("witness.wtns")
//	proof, err := key.Prove(ctx, witness)
package circom
