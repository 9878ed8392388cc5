// Package msm computes multi-scalar multiplications of gnark-crypto's own types on a
// backend that can be swapped while the program runs.
//
//	e, err := pippin.New(ctx, engine.Config{Backend: "cuda"})
//	bases, err := msm.BN254G1.Load(ctx, e, points) // once
//	sum, err := bases.MSM(ctx, scalars)            // many times
//
// A backend that dies is opened again or replaced by the CPU, and the call is
// repeated: the caller sees a right answer, and the event in the log. Errors
// wrap the sentinels of package backend. Everything is safe for concurrent
// use. Scalars are secrets: they are read during a call only, and every copy
// is wiped.
package msm
