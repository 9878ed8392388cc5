package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// architectures that the library is compiled for, and the one whose PTX goes
// with it for devices that come later.
var architectures = []int{80, 86, 89, 90, 100, 120}

const ptxArchitecture = 80

// flags of every unit. Nothing that depends on the time, the place or the
// order of the build may be among them.
var flags = []string{"-std=c++20", "-O3", "--compress-mode=size"}

// manifest says what the committed fatbins were made from and with.
type manifest struct {
	Digest        string            `json:"digest"` // of all sources
	Compiler      string            `json:"compiler"`
	Flags         []string          `json:"flags"`
	Architectures []int             `json:"architectures"`
	PTX           int               `json:"ptx"`
	Bytes         int               `json:"bytes"` // of all fatbins
	Sources       map[string]string `json:"sources"`
	Units         []unitRecord      `json:"units"`
}

type unitRecord struct {
	Name    string         `json:"name"`
	SHA256  string         `json:"sha256"`
	Bytes   int            `json:"bytes"`
	Kernels []kernelRecord `json:"kernels"`
}

// kernelRecord is what one kernel takes on one architecture. Stack is its own
// frame and those of what it calls; spills are parts of it, in bytes.
type kernelRecord struct {
	Symbol       string `json:"symbol"`
	Arch         int    `json:"arch"`
	Registers    int    `json:"registers"`
	Stack        int    `json:"stack,omitempty"`
	SpillStores  int    `json:"spill_stores,omitempty"`
	SpillLoads   int    `json:"spill_loads,omitempty"`
	Shared       int    `json:"shared,omitempty"`
	Instructions int    `json:"instructions"`   // of its own code, without what it calls
	Note         string `json:"note,omitempty"` // why it spills
}

// spillNote says why a kernel may spill; "" when it must not.
func spillNote(u unit, k kernelRecord) string {
	if k.SpillStores == 0 && k.SpillLoads == 0 {
		return ""
	}
	switch {
	case u.phase == "sort":
		return "registers are bounded so that four blocks share a multiprocessor, which is worth more than a few words kept in memory"
	case u.curve == "bw6_761":
		return "a point sum is 96 registers, the point to add 48, a product's operands and columns 97: more than the 255 there are"
	case u.group == "g2" && u.curve != "bn254":
		return "a point sum over Fp2 is 96 registers and the point to add 48: more than the 255 there are with a product's columns"
	case u.phase == "reduce" || u.phase == "points":
		return "a few words over calls, in code that is not hot"
	}
	return ""
}

type builder struct {
	root, cuda, out string
	archs           []int
}

func (b *builder) run() error {
	files, err := sources(b.root)
	if err != nil {
		return err
	}
	version, err := exec.Command(filepath.Join(b.cuda, "bin/nvcc"), "--version").Output()
	if err != nil {
		return fmt.Errorf("nvcc: %w", err)
	}
	m := manifest{Digest: digest(files), Compiler: release(string(version)), Flags: flags,
		Architectures: b.archs, PTX: ptxArchitecture, Sources: files, Units: make([]unitRecord, len(units()))}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(b.out, "*.fatbin"))
	if err != nil {
		return err
	}
	for _, f := range old {
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i, u := range units() {
		g.Go(func() (err error) {
			m.Units[i], err = b.unit(u)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, u := range m.Units {
		m.Bytes += u.Bytes
	}
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.out, "manifest.json"), append(text, '\n'), 0o644)
}

// some compiles the units that match a pattern.
func (b *builder) some(pattern string) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for _, u := range units() {
		if !re.MatchString(u.name()) {
			continue
		}
		g.Go(func() error {
			r, err := b.unit(u)
			for _, k := range r.Kernels {
				fmt.Printf("%s sm_%d: %d registers, %d stack, %d+%d spills, %d instructions\n", k.Symbol, k.Arch, k.Registers, k.Stack, k.SpillStores, k.SpillLoads, k.Instructions)
			}
			return err
		})
	}
	return g.Wait()
}

// unit compiles one unit.
func (b *builder) unit(u unit) (unitRecord, error) {
	out := filepath.Join(b.out, u.name()+".fatbin")
	args := append([]string{"-fatbin", "-Xptxas", "-v", "-o", out}, flags...)
	for _, a := range b.archs {
		args = append(args, fmt.Sprintf("-gencode=arch=compute_%d,code=sm_%d", a, a))
	}
	if len(b.archs) > 1 {
		args = append(args, fmt.Sprintf("-gencode=arch=compute_%d,code=compute_%d", ptxArchitecture, ptxArchitecture))
	}
	args = append(args, u.defines()...)
	cmd := exec.Command(filepath.Join(b.cuda, "bin/nvcc"), append(args, u.source())...)
	cmd.Dir = b.root
	var report bytes.Buffer
	cmd.Stdout, cmd.Stderr = &report, &report
	if err := cmd.Run(); err != nil {
		return unitRecord{}, fmt.Errorf("%s: %w\n%s", u.name(), err, report.String())
	}
	image, err := os.ReadFile(out)
	if err != nil {
		return unitRecord{}, err
	}
	sum := sha256.Sum256(image)
	r := unitRecord{Name: u.name(), SHA256: hex.EncodeToString(sum[:]), Bytes: len(image), Kernels: resources(report.String())}
	counts, err := b.instructions(out)
	if err != nil {
		return unitRecord{}, err
	}
	for i, k := range r.Kernels {
		r.Kernels[i].Instructions = counts[codeKey{k.Arch, k.Symbol}]
		r.Kernels[i].Note = spillNote(u, k)
	}
	return r, nil
}

var (
	entryLine  = regexp.MustCompile(`Compiling entry function '(\w+)' for 'sm_(\d+)'`)
	frameLine  = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	usedLine   = regexp.MustCompile(`Used (\d+) registers`)
	stackPart  = regexp.MustCompile(`(\d+) bytes cumulative stack`)
	sharedPart = regexp.MustCompile(`(\d+) bytes smem`)
	ofFunction = regexp.MustCompile(`Function properties for (\w+)`)
)

// resources reads ptxas's report, in the order of architecture and symbol.
func resources(report string) []kernelRecord {
	var ks []kernelRecord
	own := false // the frame that comes next is the kernel's, not a function's
	for _, line := range strings.Split(report, "\n") {
		if m := entryLine.FindStringSubmatch(line); m != nil {
			ks = append(ks, kernelRecord{Symbol: m[1], Arch: number(m[2])})
			continue
		}
		if len(ks) == 0 {
			continue
		}
		k := &ks[len(ks)-1]
		if m := ofFunction.FindStringSubmatch(line); m != nil {
			own = m[1] == k.Symbol
		} else if m := frameLine.FindStringSubmatch(line); m != nil {
			// A function's spills count for the kernels before it in the report,
			// which are those of the unit that call it.
			k.SpillStores += number(m[2])
			k.SpillLoads += number(m[3])
			if own {
				k.Stack = number(m[1])
			}
		} else if m := usedLine.FindStringSubmatch(line); m != nil {
			k.Registers = number(m[1])
			if m := stackPart.FindStringSubmatch(line); m != nil {
				k.Stack = number(m[1])
			}
			if m := sharedPart.FindStringSubmatch(line); m != nil {
				k.Shared = number(m[1])
			}
		}
	}
	sort.Slice(ks, func(i, j int) bool {
		if ks[i].Arch != ks[j].Arch {
			return ks[i].Arch < ks[j].Arch
		}
		return ks[i].Symbol < ks[j].Symbol
	})
	return ks
}

type codeKey struct {
	arch   int
	symbol string
}

var (
	sassArch     = regexp.MustCompile(`code for sm_(\d+)`)
	sassFunction = regexp.MustCompile(`Function : (\w+)`)
	sassLine     = regexp.MustCompile(`^\s+/\*[0-9a-f]{4,}\*/\s+\S`)
)

// instructions counts the instructions of every function in a fatbin.
func (b *builder) instructions(fatbin string) (map[codeKey]int, error) {
	out, err := exec.Command(filepath.Join(b.cuda, "bin/cuobjdump"), "-sass", fatbin).Output()
	if err != nil {
		return nil, fmt.Errorf("cuobjdump %s: %w", fatbin, err)
	}
	counts := make(map[codeKey]int)
	var at codeKey
	for line := range bytes.Lines(out) {
		s := string(line)
		if m := sassArch.FindStringSubmatch(s); m != nil {
			at = codeKey{arch: number(m[1])}
		} else if m := sassFunction.FindStringSubmatch(s); m != nil {
			at.symbol = m[1]
		} else if sassLine.MatchString(s) {
			counts[at]++
		}
	}
	return counts, nil
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // the patterns match digits only
	return n
}

// release is the line of `nvcc --version` with the build.
func release(version string) string {
	for _, line := range strings.Split(version, "\n") {
		if strings.HasPrefix(line, "Cuda compilation tools") {
			return strings.TrimPrefix(line, "Cuda compilation tools, ")
		}
	}
	return strings.TrimSpace(version)
}
