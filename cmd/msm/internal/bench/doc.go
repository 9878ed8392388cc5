// Package bench measures and verifies backends through the typed APIs, as a prover uses
// them. A Workload is a configuration that says what is computed; Measure has one runner time
// it on several backends and compare the answers. Verify and VerifyNumbers try edge and random
// cases without a clock. docs/bench-protocol.md says what is measured and how; package report
// has the rows that are left.
package bench
