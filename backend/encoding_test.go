package backend

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// filled returns a step of a type in which every encoded field is set, each to another value.
func filled(s Step) Step {
	v := reflect.New(reflect.TypeOf(s)).Elem()
	next := uint64(100)
	fill(v, &next)
	return v.Interface().(Step)
}

// notEncoded are the fields that encodings leave out.
var notEncoded = map[string]bool{"Bytes": true, "Ready": true, "Indices": true}

func fill(v reflect.Value, next *uint64) {
	*next++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if !notEncoded[v.Type().Field(i).Name] {
				fill(v.Field(i), next)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range v.Len() {
			fill(v.Index(i), next)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(int64(*next))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(*next)
	default:
		panic("a field of a kind that this test does not know: " + v.Type().String())
	}
}

// stepsOf calls f with a step of each type and returns the results.
func stepsOf(f func(Step) Step) (all []Step) {
	for _, s := range stepTypes[1:] {
		all = append(all, f(s))
	}
	return all
}

func same(s Step) Step { return s }

// TestEveryFieldIsEncoded: a step of any type is decoded as it was encoded, alone and among others,
// whichever of its fields are set.
func TestEveryFieldIsEncoded(t *testing.T) {
	all := slices.Concat(stepsOf(filled), stepsOf(same))
	for _, s := range all {
		decoded, err := DecodeSteps(EncodeSteps([]Step{s}))
		if err != nil || !reflect.DeepEqual(decoded, []Step{s}) {
			t.Errorf("%+v is decoded as %+v, %v", s, decoded, err)
		}
	}
	if decoded, err := DecodeSteps(EncodeSteps(all)); err != nil || !reflect.DeepEqual(decoded, all) {
		t.Errorf("all of them: %v", err)
	}
	for _, n := range []int{math.MinInt, -1, 0, 1, math.MaxInt} {
		o := Operand{Stride: n, Rotate: n}
		s := Step(Map{Dst: o, Args: []Operand{o}, Code: []MapCode{{Arg: n}}})
		if decoded, err := DecodeSteps(EncodeSteps([]Step{s})); err != nil || !reflect.DeepEqual(decoded[0], s) {
			t.Errorf("%d as a stride, a rotation and an argument: %+v, %v", n, decoded, err)
		}
	}
	if decoded, err := DecodeSteps(EncodeSteps(nil)); err != nil || len(decoded) != 0 {
		t.Errorf("no steps: %v, %v", decoded, err)
	}
}

// TestEncoding: programs are encoded as docs/protocol.md says.
func TestEncoding(t *testing.T) {
	r := Range{Space: 1, Count: 10}
	steps := []Step{
		Write{Dst: r, Input: Input{Bytes: make([]byte, 320), Check: true}},
		Invert{Dst: r, Src: r},
		Read{Src: Range{Space: 1, Offset: 2, Count: 300}},
	}
	const want = "03" + "01" + "01000a" + "01" + "00" + "08" + "01000a" + "01000a" + "03" + "0102ac02" + "00"
	if got := hex.EncodeToString(EncodeSteps(steps)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestMayRefuse: a step that looks at values of elements may fail by them.
func TestMayRefuse(t *testing.T) {
	for _, s := range stepTypes[1:] {
		want := false
		switch s.(type) {
		case Gather, SparseProduct, Compute:
			want = true
		}
		if MayRefuse(s) != want {
			t.Errorf("%s: %v, want %v", StepName(s), !want, want)
		}
	}
	check := Input{Check: true}
	for _, s := range []Step{Write{Input: check}, Write{Encoding: Compressed}, Job{Input: check}, Job{Input: check, SameAs: 1}} {
		if !MayRefuse(s) {
			t.Errorf("%+v: never", s)
		}
	}
	if MayRefuse(Read{Encoding: Compressed}) || MayRefuse(nil) {
		t.Error("an encoded answer, or no step, may be refused")
	}
}

// TestDecodeRefuses: bytes that EncodeSteps would not write are invalid input, and the error says
// what is wrong.
func TestDecodeRefuses(t *testing.T) {
	read := []byte{3, 1, 2, 10, 0} // its number, the range, the encoding
	program := func(b ...byte) []byte { return append([]byte{1}, b...) }
	with := func(at int, b ...byte) []byte { return program(slices.Replace(slices.Clone(read), at, at+1, b...)...) }
	if _, err := DecodeSteps(program(read...)); err != nil {
		t.Fatal(err)
	}
	huge := binary.AppendUvarint(nil, mostNumber+1)
	for what, c := range map[string]struct {
		b    []byte
		says string
	}{
		"nothing":                   {nil, "too early"},
		"no step":                   {program(), "1 items in 0 bytes"},
		"half a step":               {program(read[:3]...), "too early"},
		"a byte too many":           {program(append(read, 0)...), "1 bytes after"},
		"a step too few":            {append([]byte{2}, read...), "step 1"},
		"a step of no number":       {with(0, 0), "no step of number 0"},
		"a step of a later version": {with(0, byte(len(stepTypes))), "there is no step of number"},
		"a count with a byte more":  {with(3, 0x8a, 0), "too many bytes"},
		"an id with a byte more":    {with(1, 0x81, 0), "too many bytes"},
		"an id of 65 bits":          {with(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2), "too many bytes"},
		"a number that never ends":  {with(1, bytes.Repeat([]byte{0xff}, 20)...), "too many bytes"},
		"a count that is huge":      {with(3, huge...), "out of range"},
		"a count below zero":        {EncodeSteps([]Step{Read{Src: Range{Count: -1}}}), "out of range"},
		"an encoding of nine bits":  {with(4, 0x80, 2), "out of range"},
		"neither yes nor no":        {program(16, 1, 2, 10, 2), "neither yes nor no"},
		"more steps than bytes":     {append([]byte{4}, read...), "4 items in 5 bytes"},
		"a huge number of steps":    {binary.AppendUvarint(nil, 1<<39), "items in 0 bytes"},
		"more ranges than bytes":    {program(10, 2, 1, 1), "2 items in 2 bytes"},
		"more bytes than there are": {program(10, 0, 0, 2, 7), "2 bytes of 1"},
	} {
		steps, err := DecodeSteps(c.b)
		if steps != nil || !errors.Is(err, ErrInvalidInput) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", what, steps, err)
		}
	}
}

// allocated returns how many bytes this process allocates while f runs.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// mostAllocated is how much DecodeSteps may allocate, with room for an error.
func mostAllocated(b []byte) int {
	n, _ := CountSteps(b)
	return 512*n + 24*len(b) + 16<<10
}

// TestDecodeStaysSmall: decoding takes memory in proportion to the bytes, and to the number of
// steps that they claim.
func TestDecodeStaysSmall(t *testing.T) {
	many := map[string][]byte{"a list that is none": append([]byte{1, 6, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x80, 0x1f}, make([]byte, 1<<20-100)...)}
	many["a list that is longer than its bytes"] = append([]byte{1, 10, 0x80, 0x80, 0x80, 2}, make([]byte, 1<<20)...)
	for _, s := range slices.Concat(stepsOf(same), stepsOf(filled)) {
		many[StepName(s)] = EncodeSteps(slices.Repeat([]Step{s}, 1000))
	}
	many["a long Map"] = EncodeSteps([]Step{Map{Args: make([]Operand, 100_000), Code: make([]MapCode, 100_000)}})
	for what, b := range many {
		if took, most := allocated(func() { _, _ = DecodeSteps(b) }), mostAllocated(b); took > most {
			t.Errorf("%s: %d bytes take %d, at most %d are promised", what, len(b), took, most)
		}
	}
}

// FuzzDecodeSteps: any bytes are either refused, in little memory, or are the one encoding of what
// they decode to.
func FuzzDecodeSteps(f *testing.F) {
	f.Add([]byte{})
	f.Add(EncodeSteps(nil))
	f.Add([]byte{2, 10, 0xff, 0xff, 3})
	for _, s := range slices.Concat(stepsOf(filled), stepsOf(same)) {
		f.Add(EncodeSteps([]Step{s}))
	}
	f.Add(EncodeSteps(slices.Concat(stepsOf(filled), stepsOf(same))))
	nowhere := Memory{
		Bases: func(BasesID) (Elements, bool) { return Elements{}, false },
		Space: func(SpaceID) (Elements, bool) { return Elements{PointOf(BN254, G1), 1 << 20}, true },
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var steps []Step
		var err error
		if took, most := allocated(func() { steps, err = DecodeSteps(b) }), mostAllocated(b); took > most {
			t.Errorf("%d bytes take %d, at most %d are promised", len(b), took, most)
		}
		if err != nil {
			if steps != nil || !errors.Is(err, ErrInvalidInput) {
				t.Errorf("%d steps, %v", len(steps), err)
			}
			return
		}
		if n, err := CountSteps(b); err != nil || n != len(steps) {
			t.Errorf("%d steps are counted of %d, %v", n, len(steps), err)
		}
		if again := EncodeSteps(steps); !bytes.Equal(again, b) {
			t.Errorf("%x is decoded to what is encoded as %x", b, again)
		}
		_ = Check(steps, nowhere) // no function may panic on decoded steps
		for _, s := range steps {
			Accesses(s)
			MayRefuse(s)
			AnswerBytes(s, nowhere)
			WithInput(s, func(*Input, int) {})
		}
	})
}

// BenchmarkEncoding measures what encoding adds to a program of seven steps in a lane.
func BenchmarkEncoding(b *testing.B) {
	const n = 1 << 10
	x, y, z := Range{Space: 1, Count: n}, Range{Space: 2, Count: n}, Range{Space: 3, Count: n}
	element := make([]byte, 32)
	steps := []Step{
		Write{Dst: x},
		Transform{Dst: y, Src: x, Inverse: true, To: Reversed},
		Transform{Dst: z, Src: y, From: Reversed, Shift: element},
		Map{
			Count: n, Dst: Operand{Range: x, Stride: 1}, Args: []Operand{{Range: y, Stride: 1}, {Range: z, Stride: 1, Rotate: 1}},
			Constants: element, Code: []MapCode{{Op: MapLoad}, {Op: MapLoad, Arg: 1}, {Op: MapMul}, {Op: MapConst}, {Op: MapAdd}},
		},
		Evaluate{Src: []Range{x, y, z}, Point: element},
		Job{Bases: 1, Count: n, Src: x},
		Read{Src: Range{Space: 1, Count: 8}},
	}
	encoded := EncodeSteps(steps)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			EncodeSteps(steps)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeSteps(encoded); err != nil {
				b.Fatal(err)
			}
		}
	})
}
