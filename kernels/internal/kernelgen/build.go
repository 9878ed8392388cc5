package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// flags of every unit. Nothing that depends on the time, the place or the
// order of the build may be among them.
var flags = []string{"-std=c++20", "-O3", "--compress-mode=size"}

const manifestFile = "manifest.json"

// manifest says what the fatbins of an architecture were made from and with.
type manifest struct {
	Digest       string            `json:"digest"` // of all sources
	Compiler     string            `json:"compiler"`
	Flags        []string          `json:"flags"`
	Architecture int               `json:"architecture"`
	Bytes        int               `json:"bytes"` // of all fatbins
	Sources      map[string]string `json:"sources"`
	Units        []unitRecord      `json:"units"`
}

func readManifest(root string, arch int) (m manifest, err error) {
	text, err := os.ReadFile(filepath.Join(root, folder(fatbins, arch), manifestFile))
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}

type unitRecord struct {
	Name    string         `json:"name"`
	Defines []string       `json:"defines,omitempty"`
	SHA256  string         `json:"sha256"`
	Bytes   int            `json:"bytes"`
	Kernels []kernelRecord `json:"kernels"`
}

// kernelRecord is what one kernel takes. Stack is its own
// frame and those of what it calls; spills are parts of it, in bytes.
type kernelRecord struct {
	Symbol       string `json:"symbol"`
	Registers    int    `json:"registers"`
	Stack        int    `json:"stack,omitempty"`
	SpillStores  int    `json:"spill_stores,omitempty"`
	SpillLoads   int    `json:"spill_loads,omitempty"`
	Shared       int    `json:"shared,omitempty"`
	Instructions int    `json:"instructions"` // of its own code, without what it calls
}

type builder struct {
	root, cuda, out string
}

// run compiles all units for an architecture and writes their manifest. A unit
// that the folder's manifest has, from the same sources, by the same compiler,
// is kept.
func (b *builder) run(arch int) error {
	files, err := sources(b.root, allUnits())
	if err != nil {
		return err
	}
	version, err := exec.Command(filepath.Join(b.cuda, "bin/nvcc"), "--version").Output()
	if err != nil {
		return fmt.Errorf("nvcc: %w", err)
	}
	out := folder(b.out, arch)
	us := allUnits()
	m := manifest{Digest: digest(files), Compiler: release(string(version)), Flags: flags,
		Architecture: arch, Sources: files, Units: make([]unitRecord, len(us))}
	var old manifest
	if text, err := os.ReadFile(filepath.Join(out, manifestFile)); err == nil {
		if err := json.Unmarshal(text, &old); err != nil {
			return fmt.Errorf("%s: %w", out, err)
		}
		// A build that does not end leaves none.
		if err := os.Remove(filepath.Join(out, manifestFile)); err != nil {
			return err
		}
	}
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i, u := range us {
		g.Go(func() (err error) {
			var kept bool
			if m.Units[i], kept, err = b.keep(u, old, m); !kept && err == nil {
				m.Units[i], err = b.unit(u, arch)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := removeOthers(out, us); err != nil {
		return err
	}
	for _, u := range m.Units {
		m.Bytes += u.Bytes
	}
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, manifestFile), append(text, '\n'), 0o644)
}

// keep finds a unit in an old manifest, if what it was made from and with is
// still so, and its code is there.
func (b *builder) keep(u unit, old, now manifest) (r unitRecord, kept bool, err error) {
	i := slices.IndexFunc(old.Units, func(r unitRecord) bool { return r.Name == u.id() })
	if i < 0 || old.Compiler != now.Compiler || !slices.Equal(old.Flags, now.Flags) || !slices.Equal(old.Units[i].Defines, u.defines) {
		return r, false, nil
	}
	files, err := sources(b.root, []unit{u})
	if err != nil {
		return r, false, err
	}
	for name, digest := range files {
		if old.Sources[name] != digest {
			return r, false, nil
		}
	}
	image, err := os.ReadFile(filepath.Join(folder(b.out, now.Architecture), u.id()+".fatbin"))
	if err != nil || sum(image) != old.Units[i].SHA256 {
		return r, false, nil // it is compiled again
	}
	return old.Units[i], true, nil
}

// removeOthers removes code in a folder that belongs to none of the units.
func removeOthers(folder string, us []unit) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if slices.ContainsFunc(us, func(u unit) bool { return path == filepath.Join(folder, u.id()+".fatbin") }) {
			return nil
		}
		return os.Remove(path)
	})
}

func sum(image []byte) string {
	s := sha256.Sum256(image)
	return hex.EncodeToString(s[:])
}

// some compiles the units that match a pattern.
func (b *builder) some(archs []int, pattern string) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for _, arch := range archs {
		for _, u := range allUnits() {
			if !re.MatchString(u.id()) {
				continue
			}
			g.Go(func() error {
				r, err := b.unit(u, arch)
				for _, k := range r.Kernels {
					fmt.Printf("%s sm_%d: %d registers, %d stack, %d+%d spills, %d instructions\n", k.Symbol, arch,
						k.Registers, k.Stack, k.SpillStores, k.SpillLoads, k.Instructions)
				}
				return err
			})
		}
	}
	return g.Wait()
}

// unit compiles one unit.
func (b *builder) unit(u unit, arch int) (unitRecord, error) {
	out := filepath.Join(folder(b.out, arch), u.id()+".fatbin")
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return unitRecord{}, err
	}
	args := append([]string{"-fatbin", "-Xptxas", "-v", "-o", out}, flags...)
	args = append(args, fmt.Sprintf("-gencode=arch=compute_%d,code=sm_%d", arch, arch))
	args = append(args, u.flags()...)
	cmd := exec.Command(filepath.Join(b.cuda, "bin/nvcc"), append(args, u.file())...)
	cmd.Dir = b.root
	var report bytes.Buffer
	cmd.Stdout, cmd.Stderr = &report, &report
	if err := cmd.Run(); err != nil {
		return unitRecord{}, fmt.Errorf("%s: %w\n%s", u.id(), err, report.String())
	}
	image, err := os.ReadFile(out)
	if err != nil {
		return unitRecord{}, err
	}
	r := unitRecord{Name: u.id(), Defines: u.defines, SHA256: sum(image), Bytes: len(image), Kernels: resources(report.String())}
	counts, err := b.instructions(out)
	if err != nil {
		return unitRecord{}, err
	}
	for i, k := range r.Kernels {
		r.Kernels[i].Instructions = counts[k.Symbol]
	}
	return r, nil
}

var (
	entryLine  = regexp.MustCompile(`Compiling entry function '(\w+)' for 'sm_\d+'`)
	frameLine  = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	usedLine   = regexp.MustCompile(`Used (\d+) registers`)
	stackPart  = regexp.MustCompile(`(\d+) bytes cumulative stack`)
	sharedPart = regexp.MustCompile(`(\d+) bytes smem`)
	ofFunction = regexp.MustCompile(`Function properties for (\w+)`)
)

// resources reads ptxas's report, in the order of symbols.
func resources(report string) []kernelRecord {
	var ks []kernelRecord
	own := false // the frame that comes next is the kernel's, not a function's
	for _, line := range strings.Split(report, "\n") {
		if m := entryLine.FindStringSubmatch(line); m != nil {
			ks = append(ks, kernelRecord{Symbol: m[1]})
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
	slices.SortFunc(ks, func(a, b kernelRecord) int { return strings.Compare(a.Symbol, b.Symbol) })
	return ks
}

var (
	sassFunction = regexp.MustCompile(`Function : (\w+)`)
	sassLine     = regexp.MustCompile(`^\s+/\*[0-9a-f]{4,}\*/\s+\S`)
)

// instructions counts the instructions of every function in a fatbin.
func (b *builder) instructions(fatbin string) (map[string]int, error) {
	out, err := exec.Command(filepath.Join(b.cuda, "bin/cuobjdump"), "-sass", fatbin).Output()
	if err != nil {
		return nil, fmt.Errorf("cuobjdump %s: %w", fatbin, err)
	}
	counts := make(map[string]int)
	var at string
	for line := range bytes.Lines(out) {
		s := string(line)
		if m := sassFunction.FindStringSubmatch(s); m != nil {
			at = m[1]
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

// release returns the line of `nvcc --version` that names the build.
func release(version string) string {
	for _, line := range strings.Split(version, "\n") {
		if strings.HasPrefix(line, "Cuda compilation tools") {
			return strings.TrimPrefix(line, "Cuda compilation tools, ")
		}
	}
	return strings.TrimSpace(version)
}
