// Package auto is what "msm weave" links into programs: it has gnark-crypto's
// MultiExp, BatchScalarMultiplication and ToLagrangeG1 ask an engine of pippin, and in
// programs with a gnark that fits Prove, Setup and ReadFrom of proving keys pippin's
// provers. A program imports it through the compiler, not in its source; compiled without
// "msm weave" it does nothing.
//
// Points have to be in the subgroup of order r: others give another answer than
// gnark-crypto's, for a device rewrites scalars with r P = 0.
//
// The environment configures the engine, which is opened by the first MSM that
// is large enough:
//
//	PIPPIN_BACKEND          cpu (the default), plugin:cpu, cuda, plugin:NAME,
//	                        plugin:PATH; none leaves everything to gnark-crypto.
//	                        Where it is not set, gnark proves
//	PIPPIN_PLUGIN_DIR       folders searched for plugins first
//	PIPPIN_WEAVE_THRESHOLD  points below which gnark-crypto computes (4096), and
//	                        constraints below which gnark does
//	PIPPIN_WEAVE_CACHE      most bytes of bases that stay with the backend, such
//	                        as 512MiB or 8GiB (half of the device's memory)
//	PIPPIN_WEAVE_IDLE       how long unused bases stay there (10m)
//	PIPPIN_WEAVE_KNOWN      0: backends compute no MSM whose answer is known,
//	                        by which one that computes wrongly is found
//	PIPPIN_WEAVE_STRICT     1: Prove, Setup, ReadFrom, MultiExp and ToLagrangeG1
//	                        fail where gnark would otherwise compute in the
//	                        engine's place, which
//	                        also has no fall-back then; BatchScalarMultiplication,
//	                        which has no error, panics
//	PIPPIN_WEAVE_TRACE      a file to which a line of JSON is added for every
//	                        call that was answered; "stderr" is the standard error
package auto

import (
	// What is woven in uses these, and a package can use only what the go
	// command saw it import.
	_ "github.com/consensys/gnark-crypto/ecc/bls12-377"
	_ "github.com/consensys/gnark-crypto/ecc/bls12-381"
	_ "github.com/consensys/gnark-crypto/ecc/bn254"
	_ "github.com/consensys/gnark-crypto/ecc/bw6-761"

	_ "github.com/pippin-zk/pippin/msm"
	_ "github.com/pippin-zk/pippin/weave/internal/hook"
)
