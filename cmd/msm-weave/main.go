// Command msm-weave is "msm weave" alone, for builds that start it for every package: it
// has nothing to initialise, where msm has provers and servers.
//
//	go build -toolexec=msm-weave ./...
package main

import (
	"fmt"
	"os"

	"github.com/pippin-zk/pippin/cmd/internal/weave"
)

func main() {
	self, err := os.Executable()
	if err != nil {
		fail(err)
	}
	status, err := weave.Run(os.Args[1:], weave.Options{
		Self: []string{self}, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ(),
	})
	if err != nil {
		fail(err)
	}
	os.Exit(status)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "msm-weave:", err)
	os.Exit(1)
}
