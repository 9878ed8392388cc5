package backend

import (
	"fmt"
	"math"
)

// numberRule says which fields an operation takes beside A and Dst, and of what size.
type numberRule struct {
	B, M, Carry bool // operands; Carry is optional even if it is possible
	Field       bool // Degree of GF(2^n)
	Over        bool // over all elements: A and B have one count, which may be any
	Powers      bool // Dst has several numbers, although Over is set
	Long        bool // widths may be up to MaxLong

	fits func(s *Compute) bool
	want string // the sizes that fit
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
	sameAB = numberRule{
		B: true, Carry: true, Long: true, want: "one width", fits: func(s *Compute) bool { return equal(s.Dst.Words, s.A.Words, s.B.Words) },
	}
	sameM   = numberRule{M: true, want: "one width", fits: func(s *Compute) bool { return equal(s.Dst.Words, s.A.Words, s.M.Words) }}
	sameABM = numberRule{B: true, M: true, want: "one width", fits: func(s *Compute) bool {
		return equal(s.Dst.Words, s.A.Words, s.B.Words, s.M.Words)
	}}
	fieldA = numberRule{
		Field: true, want: "as many words as Degree takes",
		fits: func(s *Compute) bool { return equal((s.Degree+31)/32, s.Dst.Words, s.A.Words) },
	}
	fieldAB = numberRule{
		Field: true, B: true, want: fieldA.want, fits: func(s *Compute) bool { return fieldA.fits(s) && s.B.Words == s.A.Words },
	}
)

// numberRules has the rule of each operation.
var numberRules = [...]numberRule{
	NumResize: {Long: true, want: "any width", fits: func(*Compute) bool { return true }},
	NumAdd:    sameAB,
	NumSub:    sameAB,
	NumCompare: {B: true, Long: true, want: "one width in A and B, and one word in Dst",
		fits: func(s *Compute) bool { return s.Dst.Words == 1 && s.A.Words == s.B.Words }},
	NumMul: {B: true, want: "the width of A and of B together in Dst", fits: func(s *Compute) bool {
		return s.Dst.Words == s.A.Words+s.B.Words
	}},
	NumSqr: {want: "twice the width of A in Dst", fits: func(s *Compute) bool { return s.Dst.Words == 2*s.A.Words }},

	NumAddMod:   sameABM,
	NumSubMod:   sameABM,
	NumReduce:   {M: true, want: "the width of M in Dst", fits: func(s *Compute) bool { return s.Dst.Words == s.M.Words }},
	NumMulMod:   sameABM,
	NumMontMul:  sameABM,
	NumMontSqr:  sameM,
	NumToMont:   sameM,
	NumFromMont: sameM,
	NumExpMod:   {B: true, M: true, want: "one width, but for the exponent's", fits: sameM.fits},
	NumInvMod:   sameM,

	NumGFAdd: fieldAB,
	NumGFMul: fieldAB,
	NumGFSqr: fieldA,
	NumGFInv: fieldA,

	NumSum: {Over: true, Long: true, want: "at least the width of A in Dst", fits: func(s *Compute) bool {
		return s.Dst.Words >= s.A.Words
	}},
	NumDot: {B: true, Over: true, want: "at least the width of A and of B together in Dst",
		fits: func(s *Compute) bool { return s.Dst.Words >= s.A.Words+s.B.Words }},
	NumDotMod:    {B: true, M: true, Over: true, want: "one width", fits: sameABM.fits},
	NumPowerSums: {M: true, Over: true, Powers: true, want: "one width", fits: sameM.fits},
}

func (s Compute) visit(v visitor) Step {
	for _, o := range []struct {
		of     *Batch
		writes bool
	}{{&s.Dst, true}, {&s.Carry, true}, {&s.A, false}, {&s.B, false}, {&s.M, false}} {
		v.batch(o.of, o.writes)
	}
	v.number((*int)(&s.Op))
	v.number(&s.Degree)
	v.flag(&s.Public)
	v.refuses()
	return s
}

// batch visits numbers if there are any.
func (v visitor) batch(b *Batch, writes bool) {
	if v.access != nil && *b != (Batch{}) {
		a := Access{Range: b.Range(), Writes: writes}
		v.access(&a)
		b.Space = a.Space
	}
	v.id((*uint64)(&b.Space))
	v.number(&b.Offset)
	v.number(&b.Words)
	v.number(&b.Count)
}

func (s Compute) answer(Memory) Elements { return Elements{} }

// check checks everything except the values.
func (s Compute) check(c *checker) error {
	if !s.Op.Valid() {
		return fmt.Errorf("there is no operation %d", s.Op)
	}
	r := &numberRules[s.Op]
	if r.Field && (s.Degree < 2 || s.Degree > MaxDegree) {
		return fmt.Errorf("the Degree is %d, from 2 to %d are possible", s.Degree, MaxDegree)
	}
	if !r.Field && s.Degree != 0 {
		return fmt.Errorf("the Degree is %d where no field is", s.Degree)
	}
	none := Batch{}
	for _, o := range []struct {
		what string
		b    Batch
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
		most := MaxNumber
		switch {
		case r.Long || o.what == "Dst":
			most = MaxLong
		case s.Op == NumReduce && o.what == "A":
			most = 2 * MaxNumber
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
func (r *numberRule) counts(s *Compute) error {
	fits := func(count int) bool { return count == s.Dst.Count || count == 1 }
	want := "as many in A, B and M as in Dst, or one"
	ok := fits(s.A.Count) && (!r.B || fits(s.B.Count)) && (!r.M || fits(s.M.Count))
	if r.Over {
		want = "as many in A as in B, one in M and in Dst"
		ok = (!r.B || s.B.Count == s.A.Count) && (!r.M || s.M.Count == 1) && s.Dst.Count == 1
	}
	if r.Powers {
		want = fmt.Sprintf("one in M, and from 1 to %d in Dst", MaxPowers)
		ok = s.M.Count == 1 && s.Dst.Count >= 1 && s.Dst.Count <= MaxPowers
	}
	if !ok {
		return fmt.Errorf("%d numbers in Dst, %d in A, %d in B, %d in M, want %s", s.Dst.Count, s.A.Count, s.B.Count, s.M.Count, want)
	}
	return nil
}

// batch checks a batch: its width is at most most, and it lies within a space of words.
func (c *checker) batch(what string, b Batch, most int) error {
	if b.Words < 1 || b.Words > most {
		return fmt.Errorf("%s: %d words a number, from 1 to %d are possible", what, b.Words, most)
	}
	if b.Count < 0 || b.Count > math.MaxInt/b.Words {
		return fmt.Errorf("%s: %d numbers", what, b.Count)
	}
	return c.inside(what, b.Range(), Words)
}
