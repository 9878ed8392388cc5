package probe

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
)

var (
	countFlag = flag.Int("probe.count", 50, "items an operation, where operands are drawn")
	fullFlag  = flag.Bool("probe.full", false, "every argument of every operation, and every mutant")
	seedFlag  = flag.Uint64("probe.seed", 1, "seed of the operands")
)

// needCompiler returns the compiler. If there is none it skips the test or, if
// PIPPIN_REQUIRE_CXX=1 says that this machine has one, fails it.
func needCompiler(t *testing.T) string {
	t.Helper()
	cxx := compiler()
	if cxx == "" {
		if os.Getenv("PIPPIN_REQUIRE_CXX") == "1" {
			t.Fatal("no C++ compiler, although PIPPIN_REQUIRE_CXX=1")
		}
		t.Skip("no C++ compiler: install g++ or set CXX")
	}
	return cxx
}

// allOps returns the operations by name. The Edwards ones stay in their order.
func allOps() []op {
	var all []op
	for _, table := range [][]op{mpOps, montOps, fieldOps, curveOps, edwardsOps} {
		all = append(all, table...)
	}
	return all
}

// resolver finds arguments by name.
type resolver struct {
	fields map[string]field
	groups map[string]group
}

func newResolver() resolver { return resolver{fields(), groups()} }

func (r resolver) arg(name string) (*arg, bool) {
	if n, err := strconv.Atoi(name); err == nil {
		return &arg{name: name, n: n}, true
	}
	if f, ok := r.fields[name]; ok {
		return &arg{name: name, field: f}, true
	}
	if g, ok := r.groups[name]; ok {
		return &arg{name: name, group: g, field: g.f}, true
	}
	return nil, false
}

// TestProbe compares every entry of the probe with its model. An entry without a
// model and a model without an entry are failures too.
func TestProbe(t *testing.T) {
	path := os.Getenv("PIPPIN_PROBE")
	if path == "" {
		var err error
		flags := inShort
		if *fullFlag {
			flags = inFull
		}
		if path, err = buildHost(needCompiler(t), t.TempDir(), flags); err != nil {
			t.Fatal(err)
		}
	}
	c, err := start(path)
	if err != nil {
		t.Fatal(err)
	}
	args := newResolver()
	modelled := map[string]bool{}
	for _, o := range allOps() {
		modelled[o.name] = true
		t.Run(o.name, func(t *testing.T) {
			entries := 0
			for entry := range c.table {
				name, argument, _ := strings.Cut(entry, "/")
				if name != o.name {
					continue
				}
				entries++
				a, ok := args.arg(argument)
				if !ok {
					t.Fatalf("%s: no such argument", entry)
				}
				if err := o.run(c, a, items(&o, *countFlag), *seedFlag); err != nil {
					t.Error(err)
				}
			}
			if entries == 0 {
				t.Error("the probe has no entry for it")
			}
		})
	}
	for entry := range c.table {
		if name, _, _ := strings.Cut(entry, "/"); !modelled[name] {
			t.Errorf("%s has no model", entry)
		}
	}
	if err := c.close(); err != nil {
		t.Errorf("the probe ended with %v", err)
	}
}

// items returns how many of count items an operation gets.
func items(o *op, count int) int {
	if o.slow {
		return count/8 + 1
	}
	return count
}
