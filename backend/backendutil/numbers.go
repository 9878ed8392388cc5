package backendutil

import (
	"fmt"
	"math"

	"github.com/pippin-zk/pippin/backend"
)

// NumberRule is what an operation takes, beside A and Dst.
type NumberRule struct {
	B, M, Carry bool // operands; Carry is optional where it is possible
	Field       bool // Degree, of GF(2^n)
	Over        bool // over all elements: counts of A and B are equal, and free
	Powers      bool // Dst has several numbers although Over
	Long        bool // widths up to backend.MaxLong

	fits func(s *backend.Compute) bool
	want string // that fits
}

func equal(n int, others ...int) bool {
	for _, o := range others {
		if o != n {
			return false
		}
	}
	return true
}

var (
	sameAB  = NumberRule{B: true, Carry: true, Long: true, want: "one width", fits: func(s *backend.Compute) bool { return equal(s.Dst.Words, s.A.Words, s.B.Words) }}
	sameM   = NumberRule{M: true, want: "one width", fits: func(s *backend.Compute) bool { return equal(s.Dst.Words, s.A.Words, s.M.Words) }}
	sameABM = NumberRule{B: true, M: true, want: "one width", fits: func(s *backend.Compute) bool {
		return equal(s.Dst.Words, s.A.Words, s.B.Words, s.M.Words)
	}}
	fieldA  = NumberRule{Field: true, want: "as many words as Degree takes", fits: func(s *backend.Compute) bool { return equal((s.Degree+31)/32, s.Dst.Words, s.A.Words) }}
	fieldAB = NumberRule{Field: true, B: true, want: fieldA.want, fits: func(s *backend.Compute) bool { return fieldA.fits(s) && s.B.Words == s.A.Words }}
)

// NumberRules by operation.
var NumberRules = [...]NumberRule{
	backend.NumResize:  {Long: true, want: "any width", fits: func(*backend.Compute) bool { return true }},
	backend.NumAdd:     sameAB,
	backend.NumSub:     sameAB,
	backend.NumCompare: {B: true, Long: true, want: "one width in A and B, and one word in Dst", fits: func(s *backend.Compute) bool { return s.Dst.Words == 1 && s.A.Words == s.B.Words }},
	backend.NumMul:     {B: true, want: "the width of A and of B together in Dst", fits: func(s *backend.Compute) bool { return s.Dst.Words == s.A.Words+s.B.Words }},
	backend.NumSqr:     {want: "twice the width of A in Dst", fits: func(s *backend.Compute) bool { return s.Dst.Words == 2*s.A.Words }},

	backend.NumAddMod:   sameABM,
	backend.NumSubMod:   sameABM,
	backend.NumReduce:   {M: true, want: "the width of M in Dst", fits: func(s *backend.Compute) bool { return s.Dst.Words == s.M.Words }},
	backend.NumMulMod:   sameABM,
	backend.NumMontMul:  sameABM,
	backend.NumMontSqr:  sameM,
	backend.NumToMont:   sameM,
	backend.NumFromMont: sameM,
	backend.NumExpMod:   {B: true, M: true, want: "one width, but for the exponent's", fits: sameM.fits},
	backend.NumInvMod:   sameM,

	backend.NumGFAdd: fieldAB,
	backend.NumGFMul: fieldAB,
	backend.NumGFSqr: fieldA,
	backend.NumGFInv: fieldA,

	backend.NumSum:       {Over: true, Long: true, want: "at least the width of A in Dst", fits: func(s *backend.Compute) bool { return s.Dst.Words >= s.A.Words }},
	backend.NumDot:       {B: true, Over: true, want: "at least the width of A and of B together in Dst", fits: func(s *backend.Compute) bool { return s.Dst.Words >= s.A.Words+s.B.Words }},
	backend.NumDotMod:    {B: true, M: true, Over: true, want: "one width", fits: sameABM.fits},
	backend.NumPowerSums: {M: true, Over: true, Powers: true, want: "one width", fits: sameM.fits},
}

// compute checks all of a Compute but the values.
func (c *checker) compute(s backend.Compute) error {
	if !s.Op.Valid() {
		return fmt.Errorf("there is no operation %d", s.Op)
	}
	r := &NumberRules[s.Op]
	if r.Field && (s.Degree < 2 || s.Degree > backend.MaxDegree) {
		return fmt.Errorf("the Degree is %d, from 2 to %d are possible", s.Degree, backend.MaxDegree)
	}
	if !r.Field && s.Degree != 0 {
		return fmt.Errorf("the Degree is %d where no field is", s.Degree)
	}
	none := backend.Batch{}
	for _, o := range []struct {
		what string
		b    backend.Batch
		used bool
	}{
		{"Dst", s.Dst, true}, {"A", s.A, true}, {"B", s.B, r.B}, {"M", s.M, r.M}, {"Carry", s.Carry, r.Carry && s.Carry != none},
	} {
		if !o.used {
			if o.b != none {
				return fmt.Errorf("%s is given, but has no use", o.what)
			}
			continue
		}
		most := backend.MaxNumber
		switch {
		case r.Long || o.what == "Dst":
			most = backend.MaxLong
		case s.Op == backend.NumReduce && o.what == "A":
			most = 2 * backend.MaxNumber
		}
		if err := c.batch(o.what, o.b, most); err != nil {
			return err
		}
		if o.what == "Dst" {
			continue
		}
		inPlace := !r.Over && o.b == s.Dst && (o.what == "A" || o.what == "B")
		if !inPlace {
			if err := apart("Dst and "+o.what, s.Dst.Range(), o.b.Range()); err != nil {
				return err
			}
		}
		if s.Carry != none && o.what != "Carry" {
			if err := apart("Carry and "+o.what, s.Carry.Range(), o.b.Range()); err != nil {
				return err
			}
		}
	}
	if s.Carry != none && (s.Carry.Words != 1 || s.Carry.Count != s.Dst.Count) {
		return fmt.Errorf("in Carry, %d times %d words, want one for each of %d elements", s.Carry.Count, s.Carry.Words, s.Dst.Count)
	}
	if err := r.counts(&s); err != nil {
		return err
	}
	if !r.fits(&s) {
		return fmt.Errorf("%v: %d words in Dst, %d in A, %d in B, %d in M, want %s", s.Op, s.Dst.Words, s.A.Words, s.B.Words, s.M.Words, r.want)
	}
	return nil
}

// counts checks how many numbers the operands have.
func (r *NumberRule) counts(s *backend.Compute) error {
	fits := func(count int) bool { return count == s.Dst.Count || count == 1 }
	want := "as many in A, B and M as in Dst, or one"
	ok := fits(s.A.Count) && (!r.B || fits(s.B.Count)) && (!r.M || fits(s.M.Count))
	if r.Over {
		want = "as many in A as in B, one in M and in Dst"
		ok = (!r.B || s.B.Count == s.A.Count) && (!r.M || s.M.Count == 1) && s.Dst.Count == 1
	}
	if r.Powers {
		want = fmt.Sprintf("one in M, and from 1 to %d in Dst", backend.MaxPowers)
		ok = s.M.Count == 1 && s.Dst.Count >= 1 && s.Dst.Count <= backend.MaxPowers
	}
	if !ok {
		return fmt.Errorf("%d numbers in Dst, %d in A, %d in B, %d in M, want %s", s.Dst.Count, s.A.Count, s.B.Count, s.M.Count, want)
	}
	return nil
}

// batch wants numbers of at most a width, within a space of words.
func (c *checker) batch(what string, b backend.Batch, most int) error {
	if b.Words < 1 || b.Words > most {
		return fmt.Errorf("%s: %d words a number, from 1 to %d are possible", what, b.Words, most)
	}
	if b.Count < 0 || b.Count > math.MaxInt/b.Words {
		return fmt.Errorf("%s: %d numbers", what, b.Count)
	}
	if err := c.inside(what, b.Range()); err != nil {
		return err
	}
	if c.curve != backend.Words {
		return fmt.Errorf("%s: the elements of its space are of %v, words are wanted", what, c.curve)
	}
	return nil
}
