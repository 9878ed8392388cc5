package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// program is a source file that changed its imports, and has metrics and a cluster's client and worker.
const program = `package main

import (
	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/frontend"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/worker"
	"github.com/pippin-zk/pippin/observe/metrics"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/plonk"
)

var _, _, _, _, _ = ecc.BN254, frontend.Compile, pippin.Use, groth16.Prove, plonk.Prove
var _, _, _ = cluster.Connect, worker.Run, metrics.New

func main() {}
`

// kept fails unless go mod tidy leaves a program's gnark and gnark-crypto as they are when it imports
// pippin, and the program compiles.
func (p pair) kept(root, work string) error {
	fmt.Printf("== gnark %v: go mod tidy\n", p)
	dir := filepath.Join(work, "program-"+p.Gnark+"-"+p.Crypto)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	mod := fmt.Sprintf("module example.com/prover\n\ngo 1.24.0\n\nrequire (\n\t%s %s\n\t%s %s\n)\n\nreplace %s => %s\n",
		gnark, p.Gnark, crypto, p.Crypto, pippin, root)
	for _, module := range []string{"cluster", "observe"} {
		mod += fmt.Sprintf("replace %s/%s => %s\n", pippin, module, filepath.Join(root, module))
	}
	for name, text := range map[string]string{"go.mod": mod, "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "-o", os.DevNull, "."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("gnark %v: go %s: %w\n%s", p, strings.Join(args, " "), err, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	return p.stands(string(text))
}

const (
	gnark  = "github.com/consensys/gnark"
	crypto = "github.com/consensys/gnark-crypto"
	pippin = "github.com/pippin-zk/pippin"
)

// stands fails unless a go.mod asks for the pair.
func (p pair) stands(mod string) error {
	for module, version := range map[string]string{gnark: p.Gnark, crypto: p.Crypto} {
		if !strings.Contains(mod, "\t"+module+" "+version+"\n") {
			return fmt.Errorf("gnark %v: go mod tidy changes %s:\n%s", p, module, mod)
		}
	}
	return nil
}
