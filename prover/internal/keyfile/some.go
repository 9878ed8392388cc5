package keyfile

import "github.com/pippin-zk/pippin/msm"

// Some reads points without their number in front. After an error it returns fewer.
func Some[P, S any](r *Reader, g *msm.Group[P, S], what string, n uint64) []P {
	return points(r, g, what, n, r.alone)
}
