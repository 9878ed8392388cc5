package msm

import "github.com/pippin-zk/pippin/internal/layout"

// resident finds loaded bases whose memory holds pts, or nil. An address is
// proof enough: loaded slices are kept reachable and must not change. The
// caller releases the reference to the result's points.
func (g *Group[P, S]) resident(e *Engine, pts []P) *Bases[P, S] {
	lo, hi := layout.Range(pts)
	e.mu.Lock()
	defer e.mu.Unlock()
	for p := range e.bases {
		if spec := p.Spec(); spec.Curve != g.curve || spec.Group != g.group || lo < p.lo || hi > p.hi {
			continue
		}
		size := g.curve.PointBytes(g.group)
		if at := int(lo - p.lo); at%size == 0 && p.Acquire() {
			return &Bases[P, S]{g: g, e: e, h: &handle{p}, start: at / size, end: at/size + len(pts)}
		}
	}
	return nil
}
