// Package attack holds the tests that attack a daemon. The daemon has the CPU backend and
// 600 MiB of memory. Hosts that another user runs do what no host of this project does; a
// well-behaved session beside them must get right answers, and soon. scripts/long attack runs
// the long form. The package has no code of its own.
package attack
