package arith

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pippin-zk/pippin/backend"
)

// rule says what an operation takes, for Calculator and Program alike.
type rule struct {
	b, m bool // operands beside A
	over bool // over all elements of A, and of B as many
	// same are operands that have A's width; widest is the most bits of A, 0 is
	// backend.MaxNumber's.
	same   string
	widest int
	field  bool // A, and B, are elements of GF(2^n)
}

const mostBits, longest = 32 * backend.MaxNumber, 32 * backend.MaxLong

var rules = map[backend.NumberOp]rule{
	backend.NumResize:    {widest: longest},
	backend.NumAdd:       {b: true, same: "B", widest: longest},
	backend.NumSub:       {b: true, same: "B", widest: longest},
	backend.NumCompare:   {b: true, same: "B", widest: longest},
	backend.NumMul:       {b: true},
	backend.NumSqr:       {},
	backend.NumAddMod:    {b: true, m: true, same: "BM"},
	backend.NumSubMod:    {b: true, m: true, same: "BM"},
	backend.NumReduce:    {m: true, widest: 2 * mostBits},
	backend.NumMulMod:    {b: true, m: true, same: "BM"},
	backend.NumMontMul:   {b: true, m: true, same: "BM"},
	backend.NumMontSqr:   {m: true, same: "M"},
	backend.NumToMont:    {m: true, same: "M"},
	backend.NumFromMont:  {m: true, same: "M"},
	backend.NumExpMod:    {b: true, m: true, same: "M"},
	backend.NumInvMod:    {m: true, same: "M"},
	backend.NumGFAdd:     {b: true, same: "B", field: true},
	backend.NumGFMul:     {b: true, same: "B", field: true},
	backend.NumGFSqr:     {field: true},
	backend.NumGFInv:     {field: true},
	backend.NumSum:       {over: true, widest: longest},
	backend.NumDot:       {b: true, over: true},
	backend.NumDotMod:    {b: true, m: true, over: true, same: "BM"},
	backend.NumPowerSums: {m: true, over: true, same: "M"},
}

// shape is the width in words and the length of an operand; none is nil.
type shape struct{ words, count int }

func invalid(format string, a ...any) error {
	return fmt.Errorf("%w: %s", backend.ErrInvalidInput, fmt.Sprintf(format, a...))
}

// elements checks what an operation is given and returns of how many elements it is. degree
// is n of GF(2^n), else 0.
func (r *rule) elements(degree int, a, b, m *shape) (int, error) {
	if r.field && (degree < 2 || degree > backend.MaxDegree) {
		return 0, invalid("GF(2^%d): n is from 2 to %d", degree, backend.MaxDegree)
	}
	count := a.count
	for _, o := range []struct {
		name byte
		of   *shape
	}{{'A', a}, {'B', b}, {'M', m}} {
		switch {
		case o.of == nil:
			continue
		case r.over && o.name == 'M':
			if o.of.count != 1 {
				return 0, invalid("%d numbers in M, want one", o.of.count)
			}
		case count == 1 && !r.over && o.of.count > 0:
			count = o.of.count
		case o.of.count != count && (r.over || o.of.count != 1):
			return 0, invalid("%d numbers in %c, of %d elements", o.of.count, o.name, count)
		}
		most := mostBits
		if r.widest != 0 && (o.name == 'A' || contains(r.same, o.name)) {
			most = r.widest
		}
		switch bits := 32 * o.of.words; {
		case bits > most:
			return 0, invalid("%c has %d bits, at most %d are possible", o.name, bits, most)
		case o.name != 'A' && contains(r.same, o.name) && o.of.words != a.words:
			return 0, invalid("A has %d bits, %c has %d: they must have as many", 32*a.words, o.name, bits)
		case r.field && o.of.words != (degree+31)/32:
			return 0, invalid("%c has %d bits, an element of GF(2^%d) takes %d", o.name, bits, degree, (degree+31)/32*32)
		}
	}
	return count, nil
}

func contains(all string, c byte) bool { return strings.IndexByte(all, c) >= 0 }

// told is an error in the caller's words.
type told struct {
	text  string
	cause error
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.cause }

var (
	inStep    = regexp.MustCompile(`step \d+ \([^)]*\): `)
	inElement = regexp.MustCompile(`element (\d+): `)
)

// inWords makes of a backend's error what a caller of one operation understands: without
// steps, which it never saw, and with the number of an element in the caller's batch, of
// which the backend had the numbers from lo on.
func inWords(err error, lo int) error {
	if err == nil {
		return nil
	}
	text := inStep.ReplaceAllString(err.Error(), "")
	if errors.Is(err, backend.ErrInvalidInput) && lo > 0 {
		text = inElement.ReplaceAllStringFunc(text, func(s string) string {
			i, err := strconv.Atoi(inElement.FindStringSubmatch(s)[1])
			if err != nil {
				return s
			}
			return fmt.Sprintf("element %d: ", lo+i)
		})
	}
	return &told{text, err}
}
