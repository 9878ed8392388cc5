// Command msm measures and verifies backends, and lists what is there.
// "msm help" has the verbs; docs/bench-protocol.md says what bench measures.
//
// The exit status is
//
//	0    all went well
//	1    a check failed, or something did not work
//	2    the command line was wrong, or asked for more than the machine has
//	128  and the number of the signal that ended it in order: 130 after an interrupt
//
// Environment: PIPPIN_PLUGIN_DIR is a list of folders that are searched for
// plugins first, PIPPIN_CACHE the folder that keeps inputs between runs, TMPDIR
// the folder for plugins' sockets.
//
// What needs gnark's provers, plots or NATS to be compiled is in programs of their own: msm
// becomes msm-prove or msm-cluster for it (internal/cli/elsewhere.go has the list).
package main

import "github.com/pippin-zk/pippin/cmd/msm/internal/cli"

// link is empty, but for the build that writes the manual pages (man.go).
var link []func(*cli.App)

func main() { cli.Main(link...) }
