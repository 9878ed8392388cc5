// Package bench measures and verifies backends through the typed API of
// package msm, as a prover uses them, and reads and writes the records of
// measurements.
//
// MSM times alternating runs of several backends on inputs with known
// answers; Verify tries edge and random cases; Record is a measurement with
// the machine it was taken on, written as JSON, as a table, in the format of
// Go benchmarks and as a plot. docs/bench-protocol.md says what is measured
// and how.
package bench
