// Package weave is the -toolexec side of "msm weave": it stands between the go
// command and its tools and compiles gnark-crypto so that MultiExp asks an
// engine first, and gnark so that its provers ask pippin's.
//
//	go build -toolexec="msm weave" ./...     or -toolexec=msm-weave
//
// What it changes, and nothing else:
//
//   - In the packages of the four curves, MultiExp of G1Jac and G2Jac becomes
//     PippinStockMultiExp, and a new MultiExp asks a hook before it. The methods
//     of the affine types call those and are left alone. Without a hook the cost
//     is one atomic load.
//   - BatchScalarMultiplicationG1 and G2 there, and ToLagrangeG1 in the packages kzg
//     of these curves, become pippinStock..., and new ones ask a hook before them.
//   - In gnark's packages groth16 and plonk, Prove and Setup become pippinStock..., and in
//     those of the curves below them ReadFrom of proving keys; new ones ask a hook before
//     them. A gnark that is not as expected stays as it is.
//   - In pippin's internal/curves, calls of MultiExp become calls of
//     PippinStockMultiExp, so that an engine never asks itself.
//   - In a program whose gnark is older than the provers' sources, names in these sources
//     that it lacks, and scalars' vectors, which get the operations that they lack (older.go).
//   - Package weave/auto gets an init function that installs the hooks.
//   - Every package main that depends on a curve, those of tests included,
//     imports weave/auto, and is linked with what that needs.
//
// Source is changed by position, never printed anew, and a version of
// gnark-crypto or pippin in which the expected functions are missing is refused.
//
// Packages are marked on the way: a woven package's archive has an extra member,
// and a package that imports a marked one is marked. So package main knows that
// it depends on a curve, also when the curve comes out of the build cache.
//
// A program that is linked with one of gnark's packages gets a weave/auto with the provers,
// if its gnark is one that they are for; others get one without.
//
// The packages of weave/auto are built by the go command itself, in the folder
// and with the flags of the build that is going on, and in the versions that the
// program has: the linker accepts only packages that were compiled against each
// other. The program's go.mod needs no pippin for that and is not changed; a
// copy with pippin in it lies in the build cache.
package weave
