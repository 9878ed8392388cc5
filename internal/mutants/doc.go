// Package mutants plants faults in the code that runs on the host, where a wrong line costs a
// secret, an answer or a machine: what follows from a failure, which card computes, what a
// plugin believes and what each user may have, in which order a circuit is solved. Each fault
// has a test that must fail of it. The package has no API.
//
// table_test.go has the faults. go test looks whether each still applies and tries a few, by
// an overlay of the go command: no file changes. scripts/test-mutants tries all of them and
// writes a record. kernels/internal/probe does the same for kernels/thread.
package mutants
