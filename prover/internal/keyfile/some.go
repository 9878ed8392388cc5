package keyfile

import "github.com/pippin-zk/pippin/msm"

// Some reads points without their number in front. They are there after End.
func Some[P, S any](r *Reader, g *msm.Group[P, S], what string, n uint64) []P {
	all, _ := points(r, g, what, n, r.alone)
	return all
}
