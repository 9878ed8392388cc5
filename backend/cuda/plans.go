package cuda

import "github.com/pippin-zk/pippin/backend/cuda/internal/msm"

// Plans of MSMs and the tables by which they are made, for who forecasts and tunes.
type (
	Outline = msm.Outline
	Tuning  = msm.Tuning
	Table   = msm.Table
	Costs   = msm.Costs
)

// What makes and reads them.
var (
	Outlined   = msm.Outlined
	OwnFile    = msm.OwnFile
	ParseTable = msm.ParseTable
	ReadTable  = msm.ReadTable
	PlansOf    = msm.PlansOf
	TuningFor  = msm.TuningFor
)
