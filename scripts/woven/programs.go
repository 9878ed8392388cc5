package main

import (
	"embed"
	"strings"
)

//go:embed testdata/real
var realTexts embed.FS

// realProgram is a program of others at a commit, with what builds and proves in it.
type realProgram struct {
	name    string
	source  string // OWNER/NAME of its repository on github.com
	module  string // or the module, of which commit is a version
	commit  string
	folder  string            // of its go.mod, "" for the repository's own
	also    []string          // what it needs from outside of that folder
	without []string          // large files that no step needs
	unfork  bool              // with gnark itself in place of the fork
	empty   []string          // files that must be there and have nothing that a step needs
	drivers map[string]string // files of testdata/real that are put there to call what proves
	builds  [][]string        // arguments of go build, as the program's own build has them
	env     []string          // variables that its steps need
	steps   [][]string        // arguments of go run and go test
	turns   []string          // a package and arguments of its test program, whose proofs are timed
	use     map[string]string // folders where a file says what computes in the imported form, and their packages
}

// what says what was run.
func (p realProgram) what() string {
	var all []string
	for _, step := range append(append([][]string(nil), p.builds...), p.steps...) {
		all = append(all, "go "+strings.Join(step, " "))
	}
	return strings.Join(all, "; ")
}

var realPrograms = []realProgram{
	{
		// Its own command makes the keys of one of its six circuits, and notes their digests in its source. Its tests read
		// those of all six when they begin.
		name: "zk-symmetric-crypto", source: "reclaimprotocol/zk-symmetric-crypto", commit: "d134fefd8effc4ea994cb2c63049b656218e022c",
		folder: "gnark", also: []string{"resources/gnark/r1cs.chacha20"},
		empty: []string{
			"resources/gnark/pk.aes128", "resources/gnark/pk.aes256", "resources/gnark/r1cs.aes128", "resources/gnark/r1cs.aes256",
			"resources/gnark/pk.chacha20_oprf", "resources/gnark/pk.aes128_oprf", "resources/gnark/pk.aes256_oprf",
			"resources/gnark/r1cs.chacha20_oprf", "resources/gnark/r1cs.aes128_oprf", "resources/gnark/r1cs.aes256_oprf",
		},
		builds: [][]string{{"build", "./libraries/prover"}},
		steps: [][]string{
			{"run", "./keygen", "--circuit", "chacha20"},
			{"test", "-run", "^TestFullChaCha20$", "./libraries"},
		},
		turns: []string{"./libraries", "-test.run=^$", "-test.bench=^BenchmarkProveChaCha20$", "-test.benchtime=3x"},
		use:   map[string]string{"keygen": "main", "libraries/prover/impl": "impl"},
	},
	{
		// Its other proving tests download keys, or ask gnark's package test, which proves with a build tag only.
		name: "light", source: "Lightprotocol/light-protocol", commit: "8ddf06ba31d3702d84559078494b533520d5e5d8",
		folder: "prover/server", without: []string{"prover/server/test-data/combined.csv"},
		steps: [][]string{
			{"run", ".", "setup", "--circuit", "inclusion", "--inclusion-tree-height", "32", "--inclusion-compressed-accounts", "1",
				"--output", "inclusion.key", "--output-vkey", "inclusion.vkey"},
			{"test", "-run", "^TestCombinedCircuitManual$/^1_1_ValidProof$", "./prover/v1"},
		},
		turns: []string{"./prover/v1", "-test.run=^TestCombinedCircuitManual$/^1_1_ValidProof$", "-test.v"},
		use:   map[string]string{"prover/common": "common"},
	},
	{
		name: "sp1", source: "succinctlabs/sp1", commit: "f66b4bff51d0ccff51d152e0f7f66b2ffedf3529",
		folder:  "crates/recursion/gnark-ffi/go",
		drivers: map[string]string{"sp1/build_and_prove_test.go": "recursion.txt", "sp1/koalabear/inverse.c": "koalabear.txt"},
		steps:   [][]string{{"test", "-tags=debug", "-run", "^TestBuildAndProve$", "./sp1"}},
		use:     map[string]string{"sp1": "sp1"},
	},
	{
		name: "sp1-unforked", source: "succinctlabs/sp1", commit: "f66b4bff51d0ccff51d152e0f7f66b2ffedf3529",
		folder: "crates/recursion/gnark-ffi/go", unfork: true,
		drivers: map[string]string{"sp1/build_and_prove_test.go": "recursion.txt", "sp1/koalabear/inverse.c": "koalabear.txt"},
		steps:   [][]string{{"test", "-tags=debug", "-run", "^TestBuildAndProve$", "./sp1"}},
		use:     map[string]string{"sp1": "sp1"},
	},
	{
		name: "ziren", source: "ProjectZKM/Ziren", commit: "53a8eff4e716d6091c2ced0401b7b9537535392a",
		folder:  "crates/recursion/gnark-ffi/go",
		drivers: map[string]string{"zkm/build_and_prove_test.go": "recursion.txt", "zkm/koalabear/inverse.c": "koalabear.txt"},
		steps:   [][]string{{"test", "-tags=debug", "-run", "^TestBuildAndProve$", "./zkm"}},
	},
	{
		name: "gnark-plonky2-verifier", source: "succinctlabs/gnark-plonky2-verifier", commit: "7025b2efd67b5ed30bd85f93c694774106d21b3d",
		builds: [][]string{{"build", "."}},
		steps:  [][]string{{"test", "-run", "^TestPoseidonProof$", "./poseidon"}},
		env:    []string{"USE_BIT_DECOMPOSITION_RANGE_CHECK=true"}, // without it small circuits are refused
	},
	{
		// Its tests prove for batches of two, which takes long; this is its own set-up for one.
		name: "semaphore-mtb", source: "worldcoin/semaphore-mtb", commit: "89e38758e4e69566a05d479a00b1a1786a943736",
		steps: [][]string{{"run", ".", "setup", "--mode", "insertion", "--tree-depth", "3", "--batch-size", "1", "--output", "insertion.key"}},
	},
	{
		name: "go-eth-kzg", source: "crate-crypto/go-eth-kzg", commit: "f9fee500d799048a92e0b50123d9ad3a533c76ca",
		builds: [][]string{{"build", "."}},
		steps:  [][]string{{"test", "./..."}},
	},
	{
		name: "go-ethereum", module: "github.com/ethereum/go-ethereum", commit: "v1.17.10",
		builds: [][]string{{"build", "./cmd/geth"}},
		steps:  [][]string{{"test", "./crypto/kzg4844"}},
	},
}
