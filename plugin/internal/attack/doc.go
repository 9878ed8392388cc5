// Package attack holds the tests that attack a daemon: hosts that another user runs do
// what no host of this project does, in a daemon of the CPU backend that has 600 MiB of
// memory, and a well-behaved session beside them is to be answered, rightly and soon.
// scripts/attack runs the long form. It has no code of its own.
package attack
