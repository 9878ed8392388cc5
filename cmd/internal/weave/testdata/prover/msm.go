package main

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
)

func init() {
	cases["msm"], cases["errors"], cases["mutate"] = msmCase, errorsCase, mutateCase
	cases["parts"], cases["gc"], cases["concurrent"] = partsCase, gcCase, concurrentCase
}

type affine[P, J, S any] interface {
	*P
	MultiExp([]P, []S, ecc.MultiExpConfig) (*P, error)
	ScalarMultiplication(*P, *big.Int) *P
	FromJacobian(*J) *P
	Equal(*P) bool
}

type jacobian[P, J, S any] interface {
	*J
	MultiExp([]P, []S, ecc.MultiExpConfig) (*J, error)
}

type scalar[S any] interface {
	*S
	SetBigInt(*big.Int) *S
}

// group is a group and the methods under test.
type group interface {
	// sums makes n points and scalars and checks both methods.
	sums(n int) error
	// points makes n points, multiples[i]*G.
	points(n int) points
	String() string
}

// points can be changed and summed up.
type points interface {
	// change makes another point of number i.
	change(i int)
	// check sums points lo up to but not including hi and checks the result.
	check(lo, hi int) error
}

type typed[P, J, S any, AP affine[P, J, S], JP jacobian[P, J, S], SP scalar[S]] struct {
	name  string
	g     P
	order *big.Int
}

type typedPoints[P, J, S any, AP affine[P, J, S], JP jacobian[P, J, S], SP scalar[S]] struct {
	group     typed[P, J, S, AP, JP, SP]
	at        []P
	multiples []int64
}

func groups() []group {
	_, _, a1, a2 := bn254.Generators()
	_, _, b1, b2 := bls12377.Generators()
	_, _, c1, c2 := bls12381.Generators()
	_, _, d1, d2 := bw6761.Generators()
	return []group{
		typed[bn254.G1Affine, bn254.G1Jac, fr254.Element, *bn254.G1Affine, *bn254.G1Jac, *fr254.Element]{"bn254 g1", a1, fr254.Modulus()},
		typed[bn254.G2Affine, bn254.G2Jac, fr254.Element, *bn254.G2Affine, *bn254.G2Jac, *fr254.Element]{"bn254 g2", a2, fr254.Modulus()},
		typed[bls12377.G1Affine, bls12377.G1Jac, fr377.Element, *bls12377.G1Affine, *bls12377.G1Jac, *fr377.Element]{"bls12-377 g1", b1, fr377.Modulus()},
		typed[bls12377.G2Affine, bls12377.G2Jac, fr377.Element, *bls12377.G2Affine, *bls12377.G2Jac, *fr377.Element]{"bls12-377 g2", b2, fr377.Modulus()},
		typed[bls12381.G1Affine, bls12381.G1Jac, fr381.Element, *bls12381.G1Affine, *bls12381.G1Jac, *fr381.Element]{"bls12-381 g1", c1, fr381.Modulus()},
		typed[bls12381.G2Affine, bls12381.G2Jac, fr381.Element, *bls12381.G2Affine, *bls12381.G2Jac, *fr381.Element]{"bls12-381 g2", c2, fr381.Modulus()},
		typed[bw6761.G1Affine, bw6761.G1Jac, fr761.Element, *bw6761.G1Affine, *bw6761.G1Jac, *fr761.Element]{"bw6-761 g1", d1, fr761.Modulus()},
		typed[bw6761.G2Affine, bw6761.G2Jac, fr761.Element, *bw6761.G2Affine, *bw6761.G2Jac, *fr761.Element]{"bw6-761 g2", d2, fr761.Modulus()},
	}
}

func (g typed[P, J, S, AP, JP, SP]) String() string { return g.name }

func (g typed[P, J, S, AP, JP, SP]) multiple(k int64) (p P) {
	AP(&p).ScalarMultiplication(&g.g, big.NewInt(k))
	return p
}

func (g typed[P, J, S, AP, JP, SP]) make(n int) *typedPoints[P, J, S, AP, JP, SP] {
	t := &typedPoints[P, J, S, AP, JP, SP]{g, make([]P, n), make([]int64, n)}
	for i := range t.at {
		if few := 64; i >= few { // scalar multiplications are slow
			t.at[i], t.multiples[i] = t.at[i-few], t.multiples[i-few]
			continue
		}
		t.multiples[i] = rand.Int64N(1 << 40)
		t.at[i] = g.multiple(t.multiples[i])
	}
	return t
}

func (g typed[P, J, S, AP, JP, SP]) points(n int) points { return g.make(n) }

func (g typed[P, J, S, AP, JP, SP]) sums(n int) error { return g.make(n).check(0, n) }

func (t *typedPoints[P, J, S, AP, JP, SP]) change(i int) {
	t.multiples[i] = rand.Int64N(1 << 40)
	t.at[i] = t.group.multiple(t.multiples[i])
}

func (t *typedPoints[P, J, S, AP, JP, SP]) check(lo, hi int) error {
	scalars := make([]S, hi-lo)
	total := new(big.Int)
	for i := range scalars {
		k := new(big.Int).Rsh(t.group.order, uint(rand.IntN(8)))
		k.Sub(k, big.NewInt(rand.Int64()))
		SP(&scalars[i]).SetBigInt(k)
		total.Add(total, k.Mul(k, big.NewInt(t.multiples[lo+i])))
	}
	var want, fromAffine, fromJac P
	AP(&want).ScalarMultiplication(&t.group.g, total.Mod(total, t.group.order))
	if _, err := AP(&fromAffine).MultiExp(t.at[lo:hi], scalars, ecc.MultiExpConfig{}); err != nil {
		return err
	}
	var j J
	if _, err := JP(&j).MultiExp(t.at[lo:hi], scalars, ecc.MultiExpConfig{NbTasks: 2}); err != nil {
		return err
	}
	AP(&fromJac).FromJacobian(&j)
	if !AP(&want).Equal(&fromAffine) || !AP(&want).Equal(&fromJac) {
		return fmt.Errorf("%w: %v, points %d to %d", errWrong, t.group, lo, hi)
	}
	return nil
}

// msmCase is every group, below and above a threshold of 100.
func msmCase() error {
	for _, g := range groups() {
		for _, n := range []int{1, 5, 99, 100, 1000} {
			if err := g.sums(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// errorsCase is arguments that MultiExp refuses, and the empty sum.
func errorsCase() error {
	_, _, g, _ := bn254.Generators()
	pts, s := []bn254.G1Affine{g, g}, make([]fr254.Element, 3)
	var p bn254.G1Affine
	if _, err := p.MultiExp(pts, s, ecc.MultiExpConfig{}); err == nil || err.Error() != "len(points) != len(scalars)" {
		return fmt.Errorf("lengths that differ: %v", err)
	}
	if _, err := p.MultiExp(pts, s[:2], ecc.MultiExpConfig{NbTasks: 1025}); err == nil || err.Error() != "invalid config: config.NbTasks > 1024" {
		return fmt.Errorf("too many tasks: %v", err)
	}
	p = g
	if _, err := p.MultiExp(nil, nil, ecc.MultiExpConfig{}); err != nil || !p.IsInfinity() {
		return fmt.Errorf("empty sum: %v, %v", p, err)
	}
	return nil
}

// mutateCase changes points in place, one at a time, in every part of a slice.
func mutateCase() error {
	for _, g := range groups()[:2] {
		const n = 5000
		p := g.points(n)
		for _, at := range []int{0, n - 1, 1023, 1024, 2500} {
			for range 3 {
				if err := p.check(0, n); err != nil {
					return err
				}
			}
			p.change(at)
			if err := p.check(0, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// partsCase uses parts of a slice, growing and shrinking, and changes points
// within and without them.
func partsCase() error {
	const n = 4000
	p := groups()[0].points(n)
	for _, r := range [][2]int{{0, 2000}, {0, 2000}, {0, n}, {0, n}, {0, 1025}, {7, 3000}, {3999, n}, {0, n - 1}, {1024, 2048}} {
		for range 2 {
			if err := p.check(r[0], r[1]); err != nil {
				return err
			}
		}
	}
	p.change(3000)
	for _, r := range [][2]int{{0, 2000}, {2999, n}, {0, n}} {
		if err := p.check(r[0], r[1]); err != nil {
			return err
		}
	}
	return nil
}

// gcCase has slices come and go, so that later ones lie where earlier ones did.
func gcCase() error {
	g := groups()[0]
	for range 15 {
		p := g.points(1000)
		for range 3 {
			if err := p.check(0, 1000); err != nil {
				return err
			}
		}
		runtime.GC()
	}
	return nil
}

// concurrentCase is many goroutines on few slices, some of which only they use
// and change.
func concurrentCase() error {
	gs := groups()
	shared := []points{gs[0].points(3000), gs[1].points(500)}
	var wg sync.WaitGroup
	failed := make(chan error, 100)
	for w := range 8 {
		wg.Go(func() {
			own := gs[w%len(gs)].points(400)
			for i := range 10 {
				for _, p := range shared {
					if err := p.check(0, 200+50*(i%4)); err != nil {
						failed <- err
					}
				}
				if err := own.check(0, 400); err != nil {
					failed <- err
				}
				own.change(i * 17)
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}
