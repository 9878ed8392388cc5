// Command msm-cluster is "msm cluster", which links NATS's server and gnark's provers. msm becomes
// it.
package main

import (
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/clusters"
)

func main() { cli.Main(clusters.Link) }
