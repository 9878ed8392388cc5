package assignment

// places says where linear expressions begin that follow each other. Most lists have
// one term each, so that nothing has to be kept; of others, where every apart-th begins.
type places struct {
	data  []uint32
	marks []uint32
	apart int
}

func starts(data []uint32, n, apart int) places {
	const term = 3 // words of an expression of one term
	if len(data) >= term*n {
		i := 0
		for i < n && data[term*i] == 1 {
			i++
		}
		if i == n {
			return places{data, nil, 1}
		}
	}
	p := places{data, make([]uint32, 0, n/apart+1), apart}
	next := uint32(0)
	for i := range n {
		if i%apart == 0 {
			p.marks = append(p.marks, next)
		}
		next += 1 + 2*data[next]
	}
	return p
}

// starts returns the places of a system's list, which are looked for once.
func (f *facts) starts(data []uint32, n int) places {
	const apart = 64
	if n < batch {
		return starts(data, n, apart)
	}
	if p, ok := f.places.Load(&data[0]); ok {
		return p.(places)
	}
	p := starts(data, n, apart)
	f.places.Store(&data[0], p)
	return p
}

// from returns the data from the i-th expression on.
func (p places) from(i int) []uint32 {
	if p.marks == nil {
		return p.data[3*i:]
	}
	at := p.marks[i/p.apart]
	for range i % p.apart {
		at += 1 + 2*p.data[at]
	}
	return p.data[at:]
}

// batch is how many elements are a share of work over a list.
const batch = 1 << 11

// quotients has n_i / (x - t_i): its inputs are x, all n_i, and all t_i. A zero divisor is left to
// the hint, which says so.
func (w *worker[S, PS]) quotients(c *call) (bool, error) {
	n := int(c.to - c.from)
	if c.n != 1+2*n {
		return false, nil
	}
	own := *c
	w.put(func() error {
		all := w.facts.starts(own.data, own.n)
		var x S
		first := w.workers[0]
		if _, err := first.sum(&first.pole, own.data); err != nil {
			return err
		}
		x = first.pole
		return w.ranges(n, batch, func(w *worker[S, PS], lo, hi int) error {
			// The dividends are read first, in their order.
			if w.dividends == nil {
				w.dividends = make([]S, batch)
			}
			data := all.from(1 + lo)
			for i := range hi - lo {
				k, err := w.sum(&w.dividends[i], data)
				if err != nil {
					return err
				}
				data = data[k:]
			}
			data = all.from(1 + n + lo)
			inverses, err := w.invertAll(hi-lo, func(to *S) error {
				k, err := w.sum(&w.pole, data)
				if err != nil {
					return err
				}
				data = data[k:]
				w.point = x
				if PS(to).Sub(&w.point, &w.pole); PS(to).IsZero() {
					return ErrUnsatisfied
				}
				return nil
			})
			if err != nil {
				return err
			}
			w.multiplyAll(inverses, inverses, w.dividends[:hi-lo])
			return w.setAll(own.from+uint32(lo), inverses)
		})
	})
	return true, nil
}

// inverses computes a blueprint's list of inverses, 0 for 0: data is its length, the number of them, and linear
// expressions.
func (w *worker[S, PS]) inverses(data []uint32, from uint32) error {
	n := int(data[1])
	all := w.facts.starts(data[2:], n)
	one := func(w *worker[S, PS], lo, hi int) error {
		data := all.from(lo)
		inverses, err := w.invertAll(hi-lo, func(to *S) error {
			k, err := w.sum(to, data)
			data = data[k:]
			return err
		})
		if err != nil {
			return err
		}
		return w.setAll(from+uint32(lo), inverses)
	}
	if n <= batch {
		return one(w, 0, n)
	}
	w.put(func() error { return w.ranges(n, batch, one) })
	return nil
}

// invertAll returns the inverses of n values that get says in order, 0 for 0, in the worker's
// memory.
func (w *worker[S, PS]) invertAll(n int, get func(to *S) error) ([]S, error) {
	width := widthOf(n)
	padded := (n + width - 1) / width * width
	if size := 2*padded + width; cap(w.prefix) < size {
		clear(w.prefix[:cap(w.prefix)])
		w.prefix = make([]S, size)
	}
	room := w.prefix[:2*padded+width]
	values, inverses := room[:padded], room[padded:]
	zeros := w.zeros[:0]
	for i := range values {
		if i >= n {
			values[i] = w.small[1]
			continue
		}
		if err := get(&values[i]); err != nil {
			return nil, err
		}
		if PS(&values[i]).IsZero() {
			zeros = append(zeros, i)
			values[i] = w.small[1]
		}
	}
	w.zeros = zeros
	w.invertEach(values, inverses, width)
	var zero S
	for _, i := range zeros {
		inverses[i] = zero
	}
	return inverses[:n], nil
}
