package cpu

import (
	"context"
	"iter"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
)

// sparse adds up parts of the entries on all processors, whatever rows they have, so that a long row
// takes no longer than many short ones. What a part has of its first and its last row is added to
// dst afterwards.
func (f vectors[E, V, PE, PV]) sparse(ctx context.Context, dst, src []byte, m *entries) (int, error) {
	w := sparseWork[E, V, PE]{entries: m, to: f.view(dst), from: f.view(src), values: f.copied(m.values)}
	n := len(m.rows)
	of := make([]edges[E], (n+grain-1)/grain)
	defer clear(of)
	bad := leastEntry{at: -1}
	err := each(ctx, n, grain, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			if i := w.part(&of[lo/grain], lo, hi); i >= 0 {
				bad.note(i)
				return
			}
		}
	})
	if err != nil || bad.at >= 0 {
		return bad.at, err
	}
	for i := range of { // a copy of it would stay in memory
		for k, row := range of[i].rows {
			PE(&w.to[row]).Add(&w.to[row], &of[i].sums[k])
		}
	}
	return -1, nil
}

// edges are the first and the last row of a part of the entries, and what the part has of them. If
// they are one row, the first sum is zero.
type edges[E any] struct {
	rows [2]uint32
	sums [2]E
}

// sparseWork is a product that is being computed.
type sparseWork[E any, V ~[]E, PE curves.Element[E]] struct {
	*entries
	to, from, values V
}

// part adds up the entries lo to hi - 1, which are some. It returns the first that is wrong, or -1.
func (w *sparseWork[E, V, PE]) part(e *edges[E], lo, hi int) int {
	var sum, x, zero E
	defer func() { sum, x = zero, zero }()
	first := w.rows[lo]
	row := first
	for i := lo; i < hi; i++ {
		now, column, factor := w.rows[i], w.columns[i], w.factors[i]
		if now < row || int64(now) >= int64(len(w.to)) || int64(column) >= int64(len(w.from)) ||
			int64(factor) >= int64(len(w.values))+backend.FactorValue || i == lo && i > 0 && now < w.rows[i-1] {
			return i
		}
		if now != row {
			if row == first {
				e.sums[0] = sum
			} else {
				w.to[row] = sum
			}
			row, sum = now, zero
		}
		switch factor {
		case backend.FactorOne:
			PE(&sum).Add(&sum, &w.from[column])
		case backend.FactorMinusOne:
			PE(&sum).Sub(&sum, &w.from[column])
		default:
			PE(&x).Mul(&w.from[column], &w.values[factor-backend.FactorValue])
			PE(&sum).Add(&sum, &x)
		}
	}
	e.rows = [2]uint32{first, row}
	e.sums[1] = sum
	return -1
}

// leastEntry is the least of the entries that are noted, or -1.
type leastEntry struct {
	mu sync.Mutex
	at int
}

func (l *leastEntry) note(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at < 0 || i < l.at {
		l.at = i
	}
}
