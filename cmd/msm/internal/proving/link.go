// Package proving has the commands of msm that link gnark's provers, or what draws plots.
package proving

import (
	"github.com/consensys/gnark/logger"
	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report/plots"
)

// app is the command, with what is done here.
type app struct{ *cli.App }

// Link gives a program these commands.
func Link(a *cli.App) {
	logger.Disable() // gnark's, which writes to stdout
	a.Draw = &cli.Drawing{MSMs: plots.WritePlot, Numbers: plots.PlotNumbers, CardTable: plots.PlotCardTable}
	a.Link(cli.Plan, app{a}.planCommand)
	a.Link(cli.Key, app{a}.keyCommand)
	a.Link(cli.Circom, app{a}.circomCommand)
	a.Link(cli.BenchPlot, app{a}.plotCommand)
	for part, make := range map[cli.Part]func() cli.Measurement{
		cli.BenchProve: proofMeasurement, cli.BenchSetup: setupMeasurement, cli.BenchCold: coldMeasurement,
		cli.BenchCeremony: ceremonyMeasurement, cli.BenchCells: cellMeasurement, cli.BenchCircom: circomMeasurement,
		cli.BenchTrace: traceMeasurement,
	} {
		a.Link(part, func(c *cobra.Command) { a.Measures(c, make()) })
	}
}
