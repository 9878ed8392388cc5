// Command msm-prove is what of msm links gnark's provers, and what draws plots. msm becomes it when
// it is asked for one of these; it answers every other command of msm too.
package main

import (
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/proving"
)

func main() { cli.Main(proving.Link) }
