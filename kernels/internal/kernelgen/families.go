package main

import (
	"fmt"
	"slices"
)

// A family is a folder of kernels for one purpose: sources that are compiled
// into units, and a Go package with their launch structs, written beside them.
type family struct {
	path    string // of the sources from the root; its last element names the Go package and the units
	goPath  string // of the Go package where it does not lie beside the sources, with the same last element
	doc     string // of the Go package: "Package msm is .."
	layout  string // the header whose constants Go gets; "" when there is none
	sources []source
}

// A source is one .cu file, compiled once for every instance of its axis.
type source struct {
	name string // without .cu
	per  axis
	// twins share the code of another instance: the first is compiled only as
	// the second.
	twins map[string]string
	// waits says that threads wait for each other: barriers, shuffles, ballots.
	// The host then runs them as fibers.
	waits bool
}

// An axis is what sources are compiled for.
type axis struct {
	name      string // of the Go struct of its kernels
	doc       string
	key       []string // parameters of the Go function that finds an instance; their values, joined by _, are its name
	instances []instance
}

// An instance is one compilation: its name, a part of symbols and units, and
// what is defined. The name of what is compiled once is "".
type instance struct {
	name    string
	defines []string
}

var curves = []string{"bn254", "bls12_377", "bls12_381", "bw6_761"}

// unitCurves are those whose G1 has digits modulo six units.
var unitCurves = []string{"bn254", "bls12_381"}

var (
	once   = axis{name: "Common", doc: "what is compiled once, for all curves", instances: []instance{{}}}
	curve  = axis{name: "Curve", doc: "one curve's scalars", key: []string{"curve"}, instances: perCurve()}
	fields = axis{name: "Field", doc: "one curve's scalar field", key: []string{"curve"}, instances: perField()}
	passes = axis{name: "Passes", doc: "one curve's scalar field, a number of elements a thread",
		key: []string{"curve", "elements"}, instances: perPass()}
	binary = axis{name: "Binary", doc: "one field GF(2^bits)", key: []string{"bits"},
		instances: perBits("32", "64", "96", "128", "192", "256", "512", "1024", "2048")}
	short = axis{name: "Short", doc: "elements of GF(2^n) of a fixed number of words, such as w3",
		key: []string{"words"}, instances: perWords("w", "1", "2", "3", "4", "5", "6", "7", "8")}
	narrow = axis{name: "Narrow", doc: "numbers of a fixed number of words, such as n8", key: []string{"words"},
		instances: perWords("n", "1", "2", "4", "8", "16", "32")}
	grouped = axis{name: "Grouped", doc: "numbers of a fixed number of words, each by a number of threads, such as g64 and 4",
		key: []string{"words", "threads"}, instances: perGroupOfThreads()}
	powers = axis{name: "Modulus", doc: "moduli of a fixed number of bits, with a number of threads for each",
		key: []string{"bits", "threads"}, instances: perPower()}
	groups = axis{name: "Group", doc: "one group", key: []string{"curve", "group"}, instances: perGroup()}
	// pairs are the groups for which additions of affine points won: all but BN254's.
	pairs = axis{name: "Pairs", doc: "one group with affine additions", key: []string{"curve", "group"},
		instances: perGroup()[2 : 2*len(curves)]}
	// sums are the groups for which affine sums of tasks won over pairs, or over XYZZ sums.
	sums = axis{name: "Affine", doc: "one group with affine sums of tasks", key: []string{"curve", "group"},
		instances: []instance{perGroup()[1], perGroup()[4], withUnits("bls12_381")}}
	// digits are the ways to cut a curve's scalars.
	digits = axis{name: "Curve", doc: "one curve's scalars, or digits of them modulo six units", key: []string{"curve"},
		instances: append(perCurve(), perUnits(unitDigits)...)}
	// units are the groups whose points have a form for such digits.
	units = axis{name: "Units", doc: "one group with digits modulo six units", key: []string{"curve", "group"},
		instances: perUnits(withUnits)}
	// small are the groups of which small MSMs have a kernel of their own.
	small = axis{name: "Small", doc: "one group whose small MSMs have a kernel of their own",
		key: []string{"curve", "group"}, instances: []instance{perGroup()[0], perGroup()[4], edwards}}
	// affine are the groups whose points spaces have.
	affine = axis{name: "Group", doc: "one group", key: []string{"curve", "group"}, instances: perGroup()[:2*len(curves)]}
	// forms are the groups that have bases in another form than gnark-crypto's.
	forms = axis{name: "Form", doc: "one form of bases", key: []string{"curve", "group"}, instances: []instance{edwards}}
)

// The smallest stacks, in bytes, that cover those of all kernels of BN254 G1, of
// BN254 and BLS12 G1, and of all.
var stacks = axis{name: "Stack", doc: "stacks of a fixed number of bytes", key: []string{"bytes"},
	instances: perStack("512", "1152", "2048")}

func perStack(bytes ...string) (is []instance) {
	for _, b := range bytes {
		is = append(is, instance{b, []string{"PIPPIN_FOR=" + b, "PIPPIN_STACK=" + b}})
	}
	return is
}

// perPower lists samples of 52 bits a thread: all threads' have at least two bits
// more than the modulus. Steps is how many of a product are unrolled, blocks how many
// of them a multiprocessor has at least.
func perPower() (is []instance) {
	for _, p := range []struct{ bits, threads, samples, steps, blocks int }{
		{1024, 1, 20, 2, 2}, {1536, 2, 16, 2, 2}, {2048, 4, 10, 5, 2}, {3072, 4, 16, 2, 2}, {4096, 4, 20, 2, 2},
	} {
		name := fmt.Sprintf("%d_%d", p.bits, p.threads)
		is = append(is, instance{name, []string{"PIPPIN_FOR=" + name, fmt.Sprintf("PIPPIN_BITS=%d", p.bits),
			fmt.Sprintf("PIPPIN_THREADS=%d", p.threads), fmt.Sprintf("PIPPIN_SAMPLES=%d", p.samples),
			fmt.Sprintf("PIPPIN_STEPS=%d", p.steps), fmt.Sprintf("PIPPIN_BLOCKS=%d", p.blocks)}})
	}
	return is
}

func perWords(prefix string, words ...string) (is []instance) {
	for _, w := range words {
		is = append(is, instance{prefix + w, []string{"PIPPIN_FOR=" + prefix + w, "PIPPIN_WORDS=" + w}})
	}
	return is
}

// perGroupOfThreads lists the threads of a number, of 8 to 16 words each: at least four
// blocks of 128 threads a multiprocessor, a quarter of what it can hold, have registers.
func perGroupOfThreads() (is []instance) {
	for _, g := range []struct{ words, threads, blocks int }{
		{32, 4, 4}, {48, 4, 4}, {64, 4, 4}, {64, 8, 6}, {96, 8, 4}, {128, 8, 4}, {128, 16, 6},
	} {
		name := fmt.Sprintf("g%d_%d", g.words, g.threads)
		is = append(is, instance{name, []string{"PIPPIN_FOR=" + name, fmt.Sprintf("PIPPIN_WORDS=%d", g.words),
			fmt.Sprintf("PIPPIN_THREADS=%d", g.threads), fmt.Sprintf("PIPPIN_BLOCKS=%d", g.blocks)}})
	}
	return is
}

func perBits(bits ...string) (is []instance) {
	for _, b := range bits {
		is = append(is, instance{b, []string{"PIPPIN_FOR=" + b, "PIPPIN_BITS=" + b}})
	}
	return is
}

func perCurve() (is []instance) {
	for _, c := range curves {
		is = append(is, instance{c, []string{"PIPPIN_FOR=" + c, "PIPPIN_CURVE=" + c}})
	}
	return is
}

func perField() (is []instance) {
	for _, i := range perCurve() {
		i.defines = append(i.defines, "PIPPIN_ROOTS="+i.name+"_roots")
		is = append(is, i)
	}
	return is
}

func perPass() (is []instance) {
	for _, f := range perField() {
		for log, elements := range []string{1: "2", 2: "4", 3: "8"} {
			if elements == "" {
				continue
			}
			is = append(is, instance{f.name + "_" + elements, append([]string{"PIPPIN_FOR=" + f.name + "_" + elements},
				append(f.defines[1:], fmt.Sprintf("PIPPIN_LOG_EACH=%d", log))...)})
		}
	}
	return is
}

func perGroup() (is []instance) {
	for _, c := range curves {
		for _, g := range []string{"g1", "g2"} {
			i := instance{c + "_" + g, []string{"PIPPIN_FOR=" + c + "_" + g, "PIPPIN_CURVE=" + c, "PIPPIN_GROUP=" + g}}
			if g == "g1" && slices.Contains(unitCurves, c) {
				i.defines = append(i.defines, "PIPPIN_ROWS=1")
			}
			is = append(is, i)
		}
	}
	return append(append(is, edwards), perUnits(withUnits)...)
}

// perUnits returns an instance of each curve with digits modulo six units.
func perUnits(of func(curve string) instance) (is []instance) {
	for _, c := range unitCurves {
		is = append(is, of(c))
	}
	return is
}

// withUnits is G1 of a curve with digits modulo six units, unitDigits these digits.
func withUnits(curve string) instance {
	name := curve + "_g1_units"
	return instance{name, []string{"PIPPIN_FOR=" + name, "PIPPIN_CURVE=" + curve, "PIPPIN_GROUP=g1", "PIPPIN_UNITS=" + curve + "_units"}}
}

func unitDigits(curve string) instance {
	name := curve + "_units"
	return instance{name, []string{"PIPPIN_FOR=" + name, "PIPPIN_CURVE=" + curve, "PIPPIN_UNITS=" + name}}
}

// edwards is G1 of BLS12-377 in twisted Edwards form.
var edwards = instance{
	"bls12_377_g1_edwards", []string{"PIPPIN_FOR=bls12_377_g1_edwards", "PIPPIN_CURVE=bls12_377", "PIPPIN_GROUP=g1", "PIPPIN_EDWARDS=1"},
}

// bothOverFp: both groups of BW6-761 are over one field, so that the sums of
// either are the same code; only the check of points knows the equation's b, and
// the decoding of points is told it.
// added: of BLS12-381 G1 affine sums alone read points in the form for digits modulo six units.
// sameSums: sums do not depend on the digits that points were added up by either.
// asLoaded: what is done to bases before they take another form. sameCurve is both.
var (
	bothOverFp = map[string]string{"bw6_761_g2": "bw6_761_g1"}
	added      = map[string]string{"bw6_761_g2": "bw6_761_g1", "bls12_381_g1_units": "bls12_381_g1"}
	sameSums   = map[string]string{"bw6_761_g2": "bw6_761_g1", "bn254_g1_units": "bn254_g1", "bls12_381_g1_units": "bls12_381_g1"}
	asLoaded   = map[string]string{edwards.name: "bls12_377_g1", "bn254_g1_units": "bn254_g1", "bls12_381_g1_units": "bls12_381_g1"}
	sameCurve  = map[string]string{"bw6_761_g2": "bw6_761_g1", edwards.name: "bls12_377_g1", "bn254_g1_units": "bn254_g1",
		"bls12_381_g1_units": "bls12_381_g1"}
)

// families are all kernels there are. A new kernel of an old source needs no
// row; a new source, axis or family does.
var families = []family{
	{
		path: "kernels/grid/msm", doc: "the kernels of multi-scalar multiplication: the parameters of each,\n// and tables of them.",
		layout: "layout.cuh",
		sources: []source{
			{name: "sort", per: once, waits: true},
			{name: "buckets", per: once, waits: true},
			{name: "digits", per: digits, waits: true},
			{name: "accumulate", per: groups, twins: added},
			{name: "pairs", per: pairs, twins: bothOverFp},
			{name: "affine", per: sums, waits: true},
			{name: "direct", per: small, waits: true},
			{name: "reduce", per: groups, twins: sameSums},
			{name: "planes", per: groups, twins: sameSums, waits: true},
			{name: "joins", per: groups, twins: sameSums, waits: true},
			{name: "multiples", per: groups, twins: sameCurve},
			{name: "points", per: groups, twins: asLoaded},
			{name: "prepare", per: forms},
			{name: "units", per: units},
		},
	},
	{
		path: "kernels/grid/ntt", doc: "the kernels of number-theoretic transforms: the parameters of each, and\n// tables of them.",
		layout: "layout.cuh",
		sources: []source{
			{name: "transform", per: passes, waits: true},
			{name: "tables", per: fields},
		},
	},
	{
		path: "kernels/grid/vector", doc: "the kernels of vectors of field elements: the parameters of each, and tables\n// of them.",
		layout: "layout.cuh",
		sources: []source{
			{name: "elements", per: fields},
			{name: "scan", per: fields, waits: true},
			{name: "map", per: fields, waits: true},
			{name: "sparse", per: fields, waits: true},
		},
	},
	{
		path: "kernels/grid/point", doc: "the kernels over points of spaces: the parameters of each, and tables of them.",
		layout: "layout.cuh",
		sources: []source{
			{name: "scalars", per: curve},
			{name: "product", per: affine, twins: bothOverFp},
			{name: "fixed", per: affine, twins: bothOverFp},
			{name: "rows", per: affine, twins: bothOverFp, waits: true},
			{name: "sums", per: affine, twins: bothOverFp},
			{name: "check", per: affine},
			{name: "encode", per: affine, twins: bothOverFp},
		},
	},
	{
		path: "kernels/grid/number", doc: "the kernels over batches of numbers: the parameters of each, and tables of\n// them.",
		layout: "layout.cuh",
		sources: []source{
			{name: "long", per: once, waits: true},
			{name: "words", per: once, waits: true},
			{name: "wide", per: once, waits: true},
			{name: "field", per: once, waits: true},
			{name: "narrow", per: narrow},
			{name: "grouped", per: grouped, waits: true},
			{name: "binary", per: binary, waits: true},
			{name: "short", per: short},
			{name: "one", per: once},
			{name: "power", per: powers, waits: true},
		},
	},
	{
		// Only programs with the tag measured have their code.
		path: "kernels/grid/measured", goPath: "kernels/internal/measured",
		doc: "kernels that are kept to be measured beside those in use: the parameters\n// of each, and tables of them.",
		sources: []source{
			{name: "reference", per: once, waits: true},
			{name: "sliced", per: binary, waits: true},
		},
	},
	{
		// Only the driver's side needs it.
		path: "kernels/grid/memory", goPath: "internal/cuda/memory", doc: "the kernels that overwrite what others leave on a device.",
		sources: []source{{name: "overwrite", per: stacks}},
	},
}

// An architecture is the machine code of one compute capability, as a number
// such as 90; it runs on devices of the same major number and a minor one that
// is not less.
type architecture struct {
	number int
	inGit  bool   // compiled code is committed
	cards  string // for the documents
}

var architectures = []architecture{
	{80, true, "A100, A30; and all of 8.x: A10, A40, RTX 30, L4, L40S, RTX 40"},
	{86, false, "A10, A40, RTX 30, a little faster than 80"},
	{89, false, "L4, L40S, RTX 40, a little faster than 80"},
	{90, true, "H100, H200"},
	{100, false, "B200, B300"},
	{120, false, "RTX 50, RTX PRO Blackwell"},
}

// committed returns the architectures whose code is in the repository.
func committed() (numbers []int) {
	for _, a := range architectures {
		if a.inGit {
			numbers = append(numbers, a.number)
		}
	}
	return numbers
}
