// Package bench measures and verifies backends through the typed API of package msm,
// as a prover uses them. MSM, Prove and Numbers time alternating runs of several
// backends on inputs with known answers; Verify and VerifyNumbers try edge and random
// cases. docs/bench-protocol.md says what is measured and how; package record has what
// is left.
package bench
