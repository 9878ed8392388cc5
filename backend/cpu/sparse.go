package cpu

import (
	"context"
	"iter"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
)

// sparse adds up parts of the entries on all processors, whatever rows they have, so that a long row
// takes no longer than many short ones. The first row of a part may begin in another part: what it
// has here is added to dst afterwards.
func (f vectors[E, V, PE, PV]) sparse(ctx context.Context, dst, src []byte, m *entries) (int, error) {
	w := sparseWork[E, V, PE]{entries: m, to: f.view(dst), from: f.view(src), values: f.copied(m.values)}
	n := len(m.rows)
	firsts := make([]firstRow[E], (n+grain-1)/grain)
	defer clear(firsts)
	bad := leastEntry{at: -1}
	err := each(ctx, n, grain, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			if i := w.part(&firsts[lo/grain], lo, hi); i >= 0 {
				bad.note(i)
				return
			}
		}
	})
	if err != nil || bad.at >= 0 {
		return bad.at, err
	}
	for i := range firsts { // a copy of one would stay in memory
		r := &firsts[i]
		PE(&w.to[r.row]).Add(&w.to[r.row], &r.sum)
	}
	return -1, nil
}

// firstRow is the first row of a part of the entries, and what the part has of it.
type firstRow[E any] struct {
	row uint32
	sum E
}

// sparseWork is a product that is being computed.
type sparseWork[E any, V ~[]E, PE curves.Element[E]] struct {
	*entries
	to, from, values V
}

// part adds up the entries lo to hi - 1, which are some. It returns the first that is wrong, or -1.
func (w *sparseWork[E, V, PE]) part(first *firstRow[E], lo, hi int) int {
	to, from, values := w.to, w.from, w.values // not behind a pointer, so that the loop loads them once
	rows := w.rows[lo:hi]
	columns, factors := w.columns[lo:hi][:len(rows)], w.factors[lo:hi][:len(rows)]
	row := rows[0]
	if int64(row) >= int64(len(to)) || lo > 0 && row < w.rows[lo-1] {
		return lo
	}
	first.row = row
	sum, x := &first.sum, new(E)
	var zero E
	defer func() { *x = zero }()
	for i, now := range rows {
		column, factor := columns[i], factors[i]
		if now != row {
			if now < row || int64(now) >= int64(len(to)) {
				return lo + i
			}
			row, sum = now, &to[now]
		}
		if int64(column) >= int64(len(from)) || int64(factor) >= int64(len(values))+backend.FactorValue {
			return lo + i
		}
		switch factor {
		case backend.FactorOne:
			PE(sum).Add(sum, &from[column])
		case backend.FactorMinusOne:
			PE(sum).Sub(sum, &from[column])
		default:
			PE(x).Mul(&from[column], &values[factor-backend.FactorValue])
			PE(sum).Add(sum, x)
		}
	}
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
