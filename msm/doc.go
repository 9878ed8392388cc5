// Package msm computes multi-scalar multiplications of gnark-crypto's own types on a backend that
// can be swapped while the program runs.
//
//	e, err := pippin.New(ctx, engine.Config{Backend: "cuda"})
//	bases, err := msm.BN254G1.Load(ctx, e, points) // once
//	sum, err := bases.MSM(ctx, scalars)            // many times
//
// If a backend dies, the engine opens it again or goes on with the CPU, and repeats the call: the
// caller gets a right answer, and the log has the event. Errors wrap the sentinels of package
// backend. Everything is safe for concurrent use. Scalars are secrets: they are read only during a
// call, and every copy is wiped.
package msm
