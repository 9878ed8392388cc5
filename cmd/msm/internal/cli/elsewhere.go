package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/internal/build"
	"github.com/pippin-zk/pippin/plugin"
)

// The programs behind msm. They have commands that need much to be compiled: gnark's provers and
// what draws plots, or NATS's server.
const (
	inProve   = "msm-prove"
	inCluster = "msm-cluster"
)

// Part is a command that only one of the programs behind msm is linked with. msm knows no more of
// it than this, and becomes that program when it is called: with the same arguments, in the same
// process, so that signals, terminals and exit statuses are those of the command.
type Part struct {
	program    string
	parent     string // "" is the root
	use, short string
}

// What is in the programs behind msm.
var (
	BenchProve    = Part{inProve, "bench", "prove", "Time proofs of one or more backends and of gnark, in alternating runs"}
	BenchSetup    = Part{inProve, "bench", "setup", "Time how long the keys of circuits take to make on one or more backends"}
	BenchCeremony = Part{inProve, "bench", "ceremony", "Time the parts of a ceremony for Groth16's keys (gnark's mpcsetup)"}
	BenchCold     = Part{inProve, "bench", "cold", "Time first proofs, from a proving key in a file or from the program's start"}
	BenchTrace    = Part{inProve, "bench", "trace", "Time proofs, and tell what the prover, a plugin and its device did when"}
	BenchCircom   = Part{inProve, "bench", "circom", "Time proofs of circom's circuits, beside rapidsnark's"}
	BenchCells    = Part{inProve, "bench", "cells", "Time EIP-7594's cells and KZG proofs of blobs"}
	BenchPlot     = Part{inProve, "bench", "plot RECORD...",
		"Draw the MSMs of records, other libraries' beside them, proofs beside gnark's, or the parts of one"}
	Plan    = Part{inProve, "", "plan", "Say how MSMs, or those of a proof, would be computed on a card, and what they take"}
	Key     = Part{inProve, "", "key", "Tell what gnark's key files are, check them, write them in another form"}
	Circom  = Part{inProve, "", "circom", "Prove circuits of circom, from snarkjs's keys and witnesses"}
	Cluster = Part{inCluster, "", "cluster", "Prove on several machines"}

	parts = []Part{BenchProve, BenchSetup, BenchCeremony, BenchCold, BenchTrace, BenchCells, BenchCircom, BenchPlot,
		Plan, Key, Circom, Cluster}
)

// Link has this program be linked with a part, of which fill makes the command.
func (a *App) Link(p Part, fill func(*cobra.Command)) {
	if a.linked == nil {
		a.linked = map[Part]func(*cobra.Command){}
	}
	a.linked[p] = fill
}

// addParts gives a command the parts that belong below it: whole where this program has them,
// else as doors to the program that does.
func (a *App) addParts(c *cobra.Command, parent string) {
	for _, p := range parts {
		if p.parent != parent {
			continue
		}
		sub := &cobra.Command{Use: p.use, Short: p.short}
		if fill := a.linked[p]; fill != nil {
			fill(sub)
		} else {
			a.leadTo(sub, p.program)
		}
		c.AddCommand(sub)
	}
}

// program is the annotation of a command that another program has.
const program = "program"

// leadTo makes a command a door. It parses nothing: help, completion and what is wrong with flags
// are the other program's too.
func (a *App) leadTo(c *cobra.Command, to string) {
	c.Annotations = map[string]string{program: to}
	c.DisableFlagParsing = true
	c.RunE = func(*cobra.Command, []string) error { return a.handOver(to) }
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var done exited
		if errors.As(a.handOver(to), &done) {
			os.Exit(int(done)) // it has written the choices, where a process cannot become another
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// handOver continues as another program, with the arguments of this one. It returns if it cannot.
func (a *App) handOver(program string) error {
	path, err := a.findProgram(program)
	if err != nil {
		return err
	}
	return become(path, a.args, append(os.Environ(), builtFrom+"="+build.This().Commit))
}

// builtFrom is the variable by which msm tells a program behind it of which commit it is.
const builtFrom = "MSM_BUILT_FROM"

// mismatch returns a warning where msm is of another commit than this program, as one is that was
// built again without the other. "" is not known.
func mismatch(msm, this string) string {
	if msm == "" || this == "" || msm == this {
		return ""
	}
	return fmt.Sprintf("msm was built from commit %s, the program behind it from %s: \"make build\" builds both", msm, this)
}

// findProgram returns the path of a program behind msm: beside msm, or else in PATH. It is
// trusted as plugins are.
func (a *App) findProgram(name string) (string, error) {
	file := name
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	dirs, err := a.programDirs()
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, file)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		found, err := plugin.Find(name, plugin.Search{File: path})
		if err != nil {
			return "", fmt.Errorf("this command is in the program %s: %w", name, err)
		}
		return found.Path, nil
	}
	return "", fmt.Errorf("this command is in the program %s, which is neither beside this one nor in PATH: "+
		"\"make build\" in the sources of pippin makes bin/msm and bin/%s", name, name)
}

// programDirs returns the folders for programs, that of msm first. A relative entry of PATH would
// make what is executed depend on where one stands, so it is left out.
func (a *App) programDirs() ([]string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return nil, err
	}
	inPath := slices.DeleteFunc(filepath.SplitList(a.Getenv("PATH")), func(dir string) bool { return !filepath.IsAbs(dir) })
	return append([]string{filepath.Dir(self)}, inPath...), nil
}

// exited is the exit status of the program that did this one's work, and has said why.
type exited int

func (e exited) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
