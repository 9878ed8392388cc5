package number

import (
	kernel "github.com/pippin-zk/pippin/kernels/grid/number"
)

// mostBlock bounds what one block computes in a launch of powers, in products of words, so that a
// cancelled program ends soon.
const (
	mostBlock  = 1 << 29
	perElement = 1 << 10 // products of words by the card that take as long as an element of a vector
)

// powered queues powers modulo numbers, by the engine for their width.
func (x *queue) powered(dst, a, e, m batch) error {
	by := x.engines[dst.words].slow
	if x.quickDoubles() {
		by = x.engines[dst.words].powers
	}
	if by == inDoubles {
		p, err := x.powers(dst.words)
		if err != nil {
			return err
		}
		return x.doublePowers(p, dst, a, e, m)
	}
	k, err := x.held(dst.words, by)
	if err != nil {
		return err
	}
	if k != nil {
		return x.heldPowers(k, dst, a, e, m)
	}
	return x.widePowers(dst, a, e, m)
}

// quickDoubles reports whether the card has at least half as many units for double precision as for
// integers. Cards for data centres have; others have one for 32 or 64.
func (c *Computer) quickDoubles() bool {
	on := c.info.Compute
	return on.Minor == 0 && on.Major >= 8 && on.Major <= 10
}

// doublePowers queues powers in double precision.
func (x *queue) doublePowers(p *powers, dst, a, e, m batch) (err error) {
	if a, err = x.plain(a, dst.count); err != nil { // one for each number
		return err
	}
	if err := launch(x, &x.below, dst.count, kernel.WordsBelow{
		A: a.at, AStep: a.words, Moduli: m.at, ModulusStep: m.step(), Length: dst.words, N: dst.count, Bad: x.Refused,
	}); err != nil {
		return err
	}
	ones := x.take(m.words, m.count)
	if err := launch(x, &x.powerOne, m.count, kernel.PowerOne{
		P: m.at, One: ones.at, N: m.count, Length: m.words, Bits: kernel.PowerSampleBits * p.threads * p.samples,
	}); err != nil {
		return err
	}
	resident, err := p.Occupancy(p.Threads, 0)
	if err != nil {
		return err
	}
	wave := max(resident, 1) * x.info.Multiprocessors * p.Threads / p.threads // numbers that the card computes at a time
	blocks := (min(wave, dst.count)*p.threads + p.Threads - 1) / p.Threads
	table := x.take(2*kernel.PowerEntries*p.samples, blocks*p.Threads)
	return x.waves(dst, e, wave, func(from, n int) error {
		e, m, ones := e.from(from, n), m.from(from, n), ones.from(from, n)
		return shaped(x, &p.Kernel, blocks, p.Threads, 0, kernel.Power{
			X: part(a, from, n).at, E: e.at, P: m.at, One: ones.at, R: part(dst, from, n).at, N: n,
			ExponentWords: e.words, ExponentStep: e.step(), ModulusStep: m.step(), Table: table.at,
		})
	})
}

// waves calls f to queue powers. Each call is for some multiple of wave numbers, which the card
// computes at a time.
func (x *queue) waves(dst, e batch, wave int, f func(from, n int) error) error {
	const waves = 4
	for from := 0; from < dst.count; from += waves * wave {
		n := min(waves*wave, dst.count-from)
		if err := f(from, n); err != nil {
			return err
		}
		if err := x.pace(int(products(e.words, dst.words) * float64(n) / perElement)); err != nil {
			return err
		}
	}
	return nil
}

// heldPowers queues powers in registers, one thread or several for each number.
func (x *queue) heldPowers(k *held, dst, a, e, m batch) error {
	if err := x.straight(&a, &m); err != nil {
		return err
	}
	factors, err := x.factors(m, 0)
	if err != nil {
		return err
	}
	f, threads := k.ofPowers()
	resident, err := f.Occupancy(threads, 0)
	if err != nil {
		return err
	}
	wave := max(resident, 1) * x.info.Multiprocessors * threads / k.threads()
	blocks := (min(wave, dst.count)*k.threads() + threads - 1) / threads
	table := x.take(kernel.PowerEntries*dst.words/k.threads(), blocks*threads)
	return x.into(dst, func(dst batch) error {
		return x.waves(dst, e, wave, func(from, n int) error {
			a, e, m, factors := a.from(from, n), e.from(from, n), m.from(from, n), factors.from(from, n)
			return k.powers(x, blocks, kernel.NarrowPower{
				A: a.at, AStep: a.step(), E: e.at, ExponentWords: e.words, ExponentStep: e.step(), Moduli: m.at,
				ModulusStep: m.step(), Factors: factors.at,
				R: part(dst, from, n).at, N: n, Element: from, Table: table.at, Bad: x.Refused,
			})
		})
	})
}

// products returns about how many products of words a power takes.
func products(exponent, words int) float64 {
	return float64(windows(exponent)) * (kernel.PowerWindow + 1) * 2.5 * float64(words) * float64(words)
}

// windows returns how many windows an exponent of that many words has.
func windows(words int) int { return words * (32 / kernel.PowerWindow) }

// widePowers queues powers of any width. A launch computes some windows of some numbers; their
// state stays in scratch.
func (x *queue) widePowers(dst, a, e, m batch) error {
	shared := sharedFor(kernel.WideArrays, dst.words)
	all := windows(e.words)
	each := max(int(mostBlock/products(1, dst.words)*float64(windows(1))), 1) // of a launch
	state := (kernel.PowerEntries + 1) * dst.words
	return x.chunks(dst.count, 4*int64(state), func(at, n int) error {
		states := x.take(state, n)
		a, e, m, dst := a.from(at, n), e.from(at, n), m.from(at, n), dst.from(at, n)
		if err := wide(x, &x.powerBegin, n, dst.words, shared, kernel.WidePowerBegin{
			A: a.at, AStep: a.step(), Moduli: m.at, ModulusStep: m.step(), Length: dst.words, N: n, Element: at, States: states.at, Bad: x.Refused,
		}); err != nil {
			return err
		}
		for left := all; left > 0; {
			now := min(each, left)
			if err := wide(x, &x.power, n, dst.words, shared, kernel.WidePower{
				E: e.at, ExponentWords: e.words, ExponentStep: e.step(), Moduli: m.at, ModulusStep: m.step(), R: dst.at, Length: dst.words, N: n,
				From: left, Windows: now, Last: now == left, States: states.at,
			}); err != nil {
				return err
			}
			left -= now
			cost := float64(now) / float64(windows(1)) * products(1, dst.words) * float64(max(n, 4*x.info.Multiprocessors)) / perElement
			if err := x.pace(int(cost)); err != nil || x.rehearsal {
				return err
			}
		}
		return nil
	})
}
