package kernels_test

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/internal/record"
)

var (
	everySecret  = flag.Bool("constant-time", false, "TestConstantTime with every case and every planted leak (minutes)")
	secretRecord = flag.String("record", "", "file for a record of TestConstantTime")
)

// secretCase is a kernel or an operation that takes secrets.
type secretCase struct{ name, of, source, defines string }

// edit is what is changed in a file: in each line the first match of a pattern.
type edit struct{ file, match, with string }

// looked is a run of the record.
type looked struct {
	Op       string `json:"op"` // "constant_time"
	Case     string `json:"case"`
	Fault    string `json:"fault"`
	Leaks    bool   `json:"leaks"`
	Valgrind string `json:"valgrind"`
}

// TestConstantTime runs kernels that take secrets, compiled for the host, under valgrind's
// memcheck with exponents and operands marked as undefined: a branch or an address that
// depends on one is an error. Then the same with leaks that are planted, which must be found.
// Without -constant-time it looks at one case and one leak.
func TestConstantTime(t *testing.T) {
	for _, tool := range []string{"valgrind", "g++"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	cases, leaks := secretCases, plantedLeaks
	if !*everySecret {
		cases, leaks = cases[2:3], leaks[2:3]
	}
	kernels := t.TempDir()
	copyKernels(t, kernels)
	for _, e := range told {
		e.in(t, kernels)
	}
	runs := make([]looked, len(cases)+len(leaks))
	t.Run("all", func(t *testing.T) {
		for i, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				said := c.memcheck(t, kernels)
				if said != "" {
					t.Errorf("something depends on a secret:\n%s", said)
				}
				runs[i] = looked{"constant_time", c.name, "", said != "", version("valgrind")}
			})
		}
		for i, l := range leaks {
			t.Run("leak_in_"+l.of, func(t *testing.T) {
				t.Parallel()
				changed := t.TempDir()
				if err := os.CopyFS(changed, os.DirFS(kernels)); err != nil {
					t.Fatal(err)
				}
				l.in(t, changed)
				said := caseOf(t, l.of).memcheck(t, changed)
				if said == "" {
					t.Error("the planted leak is not found")
				}
				runs[len(cases)+i] = looked{"constant_time", l.of, "in " + l.file, said != "", version("valgrind")}
			})
		}
	})
	if *secretRecord != "" && !t.Failed() {
		writeLooked(t, *secretRecord, runs)
	}
}

// TestEveryCaseHasALeak: a case for which no leak is planted might see nothing.
func TestEveryCaseHasALeak(t *testing.T) {
	planted := make(map[string]bool)
	for _, l := range plantedLeaks {
		caseOf(t, l.of)
		planted[l.of] = true
	}
	for _, c := range secretCases {
		if !planted[c.name] {
			t.Errorf("no leak is planted for %s", c.name)
		}
	}
}

func caseOf(t *testing.T, name string) secretCase {
	t.Helper()
	for _, c := range secretCases {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("no case %s", name)
	return secretCase{}
}

// copyKernels copies the sources of kernels. It reads each, so that go test runs this again
// when one changes.
func copyKernels(t *testing.T, to string) {
	t.Helper()
	for _, dir := range []string{"thread", "warp", "block", "grid", "host"} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() {
				return os.MkdirAll(filepath.Join(to, path), 0o700)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, path), text, 0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// in makes the edit in a folder of kernels.
func (e edit) in(t *testing.T, kernels string) {
	t.Helper()
	name := filepath.Join(kernels, e.file)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	match, lines, changed := regexp.MustCompile(e.match), strings.Split(string(text), "\n"), false
	for i, line := range lines {
		if at := match.FindStringSubmatchIndex(line); at != nil {
			lines[i] = line[:at[0]] + string(match.ExpandString(nil, e.with, line, at)) + line[at[1]:]
			changed = true
		}
	}
	if !changed {
		t.Fatalf("no line of %s is %s any more", e.file, e.match)
	}
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// undefined finds what memcheck says of a place that depends on a secret.
var undefined = regexp.MustCompile(`depends on uninitialised|Use of uninitialised`)

// memcheck compiles a case of a folder of kernels and runs it under valgrind. It returns what
// that says when something depends on a secret, else "".
func (c secretCase) memcheck(t *testing.T, kernels string) string {
	t.Helper()
	dir := t.TempDir()
	program, log := filepath.Join(dir, "program"), filepath.Join(dir, "log")
	args := []string{
		"-std=c++20", "-O1", "-g", "-fno-inline", "-w", "-I" + kernels, "-I../internal/cuda/driver/fakecuda",
		"-DPIPPIN_SOURCE=\"" + c.source + "\"", "-DPIPPIN_CASE_" + c.of,
		"testdata/constant_time.cc", "host/launch.cc", "-o", program,
	}
	for _, d := range strings.Fields(c.defines) {
		args = append(args, "-D"+d)
	}
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Fatalf("wrong without valgrind: %v\n%s", err, out)
	}
	// Its exit status is the program's, which a leak may change.
	_, _ = exec.Command("valgrind", "--quiet", "--log-file="+log, program).CombinedOutput()
	said, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if !undefined.Match(said) {
		return ""
	}
	return string(said[:min(len(said), 4<<10)])
}

// version returns the first line that a program says of its version.
func version(program string) string {
	out, _ := exec.Command(program, "--version").Output()
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}

func writeLooked(t *testing.T, name string, runs []looked) {
	t.Helper()
	machine := map[string]string{"cpu": record.ThisMachine("").CPU, "compiler": version("g++")}
	text, err := json.MarshalIndent(map[string]any{"machine": machine, "runs": runs}, "", "  ")
	if err == nil {
		err = os.WriteFile(name, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// told are the edits by which kernels are looked through: told() around each comparison whose
// result the answer tells, and the host's forms of instructions that have no branch on a GPU
// without one too. Nothing is suppressed.
var told = []edit{
	{"grid/number/narrow.cu", `if \((!mp::less\(x, m\.p\))\)`,
		`if (told(${1}))`},
	{"grid/number/grouped.cu", `if \((!at\.g\.below\(x\))\)`,
		`if (told(${1}))`},
	{"grid/number/wide.cu", `if \((on\.sum<true>.* == 0) \|\| (above != 0)\)`,
		`if (told((${1}) | (${2})))`},
	{"grid/number/field.cu", `\((x\[k\]|y\[k\]|x|y) & wrong\)`,
		`told((${1} & wrong) != 0)`},
	{"grid/number/short.cu", `if \((w\[.*\] & wrong) && i \+ k < n\)`,
		`if (i + k < n && told((${1}) != 0))`},
	{"thread/mp.cuh", `return which \? a : b;`,
		`return b ^ ((a ^ b) & (0u - (uint32_t)which));`},
	{"thread/mp.cuh", `r\[i\] = which \? a\[i\] : b\[i\];`,
		`r[i] = b[i] ^ ((a[i] ^ b[i]) & (0u - (uint32_t)which));`},
	{"thread/binary.cuh", `c \^= b >> i & 1 \? (.*) : 0;`,
		`c ^= (0 - (b >> i & 1)) & (${1});`},
}

// secretCases are the kernels and operations: a case of testdata/constant_time.cc, its source
// and what it is compiled for.
var secretCases = []secretCase{
	{"power", "power", "grid/number/power.cu",
		"PIPPIN_FOR=c PIPPIN_BITS=1024 PIPPIN_THREADS=1 PIPPIN_SAMPLES=20 PIPPIN_STEPS=2 PIPPIN_BLOCKS=1"},
	{"power_of_two_threads", "power", "grid/number/power.cu",
		"PIPPIN_FOR=c PIPPIN_BITS=1024 PIPPIN_THREADS=2 PIPPIN_SAMPLES=10 PIPPIN_STEPS=2 PIPPIN_BLOCKS=1"},
	{"narrow_power", "narrow_power", "grid/number/narrow.cu", "PIPPIN_FOR=c PIPPIN_WORDS=8"},
	{"wide_power", "wide_power", "grid/number/wide.cu", ""},
	{"narrow_mul", "narrow_residue", "grid/number/narrow.cu", "PIPPIN_FOR=c PIPPIN_WORDS=8 PIPPIN_OP=number_mul"},
	{"narrow_sub", "narrow_residue", "grid/number/narrow.cu", "PIPPIN_FOR=c PIPPIN_WORDS=8 PIPPIN_OP=number_sub"},
	{"wide_mul", "wide_residue", "grid/number/wide.cu", "PIPPIN_OP=number_mul"},
	{"wide_add", "wide_residue", "grid/number/wide.cu", "PIPPIN_OP=number_add"},
	{"wide_reduce", "wide_residue", "grid/number/wide.cu", "PIPPIN_OP=number_reduce"},
	{"wide_inverse", "wide_residue", "grid/number/wide.cu", "PIPPIN_OP=number_inverse"},
	{"binary_mul", "binary", "grid/number/binary.cu", "PIPPIN_FOR=c PIPPIN_BITS=128 PIPPIN_OP=binary_mul PIPPIN_B=y.data(),"},
	{"binary_sqr", "binary", "grid/number/binary.cu", "PIPPIN_FOR=c PIPPIN_BITS=128 PIPPIN_OP=binary_sqr PIPPIN_B="},
	{"binary_inverse", "binary", "grid/number/binary.cu", "PIPPIN_FOR=c PIPPIN_BITS=64 PIPPIN_OP=binary_inverse PIPPIN_B="},
	{"wide_binary_mul", "wide_binary", "grid/number/field.cu", "PIPPIN_OP=number_binary_mul"},
	{"wide_binary_inverse", "wide_binary", "grid/number/field.cu", "PIPPIN_OP=number_binary_inverse"},
	{"short_binary_mul", "short_binary", "grid/number/short.cu", "PIPPIN_FOR=c PIPPIN_WORDS=3 PIPPIN_OP=number_binary_mul"},
	{"short_binary_sqr", "short_binary", "grid/number/short.cu", "PIPPIN_FOR=c PIPPIN_WORDS=3 PIPPIN_OP=number_binary_sqr"},
	{"short_binary_inverse", "short_binary", "grid/number/short.cu", "PIPPIN_FOR=c PIPPIN_WORDS=3 PIPPIN_OP=number_binary_inverse"},
	{"grouped_mul", "grouped_residue", "grid/number/grouped.cu",
		"PIPPIN_FOR=c PIPPIN_WORDS=32 PIPPIN_THREADS=4 PIPPIN_BLOCKS=1 PIPPIN_OP=number_mul"},
	{"grouped_power", "grouped_power", "grid/number/grouped.cu", "PIPPIN_FOR=c PIPPIN_WORDS=32 PIPPIN_THREADS=4 PIPPIN_BLOCKS=1"},
}

// plantedLeaks are faults that leak a secret, at least one for each case.
var plantedLeaks = []struct {
	of string // a case
	edit
}{
	{"power", edit{"grid/number/power.cu", `for \(uint32_t e = 0; e < entries; e\+\+\) \{`,
		`for (uint32_t e = entry; e <= entry; e++) {`}},
	{"power_of_two_threads", edit{"grid/number/power.cu", `t\.get\(y, (.*)\);$`,
		`if ((${1}) == 0) continue; t.get(y, ${1});`}},
	{"narrow_power", edit{"grid/number/narrow.cu", `x = mp::mont_mul\(x, t\.get\((.*)\), m\);`,
		`if (uint32_t v = ${1}) x = mp::mont_mul(x, t.get(v), m);`}},
	{"wide_power", edit{"grid/number/wide.cu", `v \|= state\[j \* words . k\] . .*`,
		`if (j == entry) v = state[j * words + k];`}},
	{"wide_inverse", edit{"block/integer.cuh", `(delta2 = mp::detail::divsteps<)`,
		"if (g[0] == 0) continue;\n      ${1}"}},
	{"grouped_power", edit{"grid/number/grouped.cu", `for \(uint32_t e = 0; e < power_entries; e\+\+\) \{`,
		`for (uint32_t e = entry; e <= entry; e++) {`}},
	{"narrow_mul", edit{"grid/number/narrow.cu", `(const num x = load_words<N>\(a\);)$`,
		"${1}\n    if (x[0] == 0) return x;"}},
	{"narrow_sub", edit{"grid/number/narrow.cu", `(x = mp::mod_sub\(x, y, m\);)`,
		`if (x[0] != y[0]) ${1}`}},
	{"wide_mul", edit{"grid/number/wide.cu", `(uint32_t above = 0;)$`,
		"${1}\n    if (to[0] == 0) return;"}},
	{"wide_add", edit{"grid/number/wide.cu", `(if \(op == number_add\)) \{`,
		"${1} {\n        if (x[0] == 0) continue;"}},
	{"wide_reduce", edit{"grid/number/wide.cu", `(m\.montgomery\(y, y, s\.factor\);)`,
		`if (y[0] != 0) ${1}`}},
	{"binary_mul", edit{"thread/binary.cuh", `(PIPPIN_HD uint64_t clmad_lo\(uint64_t a, uint64_t b, uint64_t c\) \{)`,
		`${1} if (b == 0) return c;`}},
	{"binary_sqr", edit{"thread/binary.cuh", `(PIPPIN_HD uint64_t clmad_lo\(uint64_t a, uint64_t b, uint64_t c\) \{)`,
		`${1} if (a == 0) return c;`}},
	{"binary_inverse", edit{"thread/binary.cuh", `(PIPPIN_HD uint64_t clmad_hi\(uint64_t a, uint64_t b, uint64_t c\) \{)`,
		`${1} if (b == 0) return c;`}},
	{"wide_binary_mul", edit{"grid/number/field.cu", `(f\.product\(x, y\);)`,
		`if (x[0] != 0) ${1}`}},
	{"wide_binary_inverse", edit{"grid/number/field.cu", `^( *)(square\(squares\);)$`,
		"${1}if (y[0] == 0) return;\n${1}${2}"}},
	{"short_binary_mul", edit{"grid/number/short.cu", `(f\.mul\(p, p, q\);)`,
		`if (p[0] != 0) ${1}`}},
	{"short_binary_sqr", edit{"grid/number/short.cu", `(f\.sqr\(p, p\);)`,
		`if (p[0] != 0) ${1}`}},
	{"short_binary_inverse", edit{"thread/binary.cuh", `(f\.mul\(c, c, was\);)`,
		`if (was[0] != 0) ${1}`}},
	{"grouped_mul", edit{"grid/number/grouped.cu", `(const num x = load\(at\.g, a\);)`,
		"${1}\n    if (x[0] == 0) return x;"}},
	{"grouped_power", edit{"warp/integer.cuh", `(const uint32_t keep = .*)`,
		"${1}\n    if (keep) return v;"}},
}
