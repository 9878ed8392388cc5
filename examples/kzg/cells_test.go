package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	bls12381kzg "github.com/consensys/gnark-crypto/ecc/bls12-381/kzg"
	goethkzg "github.com/crate-crypto/go-eth-kzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/kzg"
)

// ethereum is the module of go-eth-kzg: its folder, and Ethereum's setup, which is read once.
var ethereum = sync.OnceValues(func() (dir string, err error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/crate-crypto/go-eth-kzg").Output()
	return strings.TrimSpace(string(out)), err
})

// mainnet is Ethereum's setup.
var mainnet = sync.OnceValues(func() (*kzg.EthereumSetup, error) {
	dir, err := ethereum()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, "trusted_setup.json"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return kzg.ReadEthereumSetup(f)
})

func setup(t testing.TB) *kzg.EthereumSetup {
	t.Helper()
	s, err := mainnet()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onCPU has the tables in this process, for all tests.
var onCPU = sync.OnceValues(func() (*kzg.CellProver, error) {
	s, err := mainnet()
	if err != nil {
		return nil, err
	}
	return kzg.LoadCells(context.Background(), nil, s)
})

func cellProver(t testing.TB) *kzg.CellProver {
	t.Helper()
	c, err := onCPU()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// vector is one of the consensus specification's: the strings and numbers of each key.
type vector map[string][]string

var keys, items = regexp.MustCompile(`[a-z_]+:`), regexp.MustCompile(`0x[0-9a-f]*|[0-9]+|true|false`)

// vectors calls f with every vector of a function.
func vectors(t *testing.T, function string, f func(t *testing.T, v vector)) {
	dir, err := ethereum()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "tests", function, "*", "*", "data.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no vectors", err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(strings.TrimPrefix(name, function+"_case_"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			v, at := vector{}, keys.FindAllIndex(b, -1)
			for i, k := range at {
				end := len(b)
				if i+1 < len(at) {
					end = at[i+1][0]
				}
				v[string(b[k[0]:k[1]-1])] = strings.Fields(string(bytes.Join(items.FindAll(b[k[1]:end], -1), []byte(" "))))
			}
			f(t, v)
		})
	}
}

// read copies the values of a key; false when one has another length than dst has.
func read[T any](v vector, key string, to func(*T) []byte) (all []T, ok bool) {
	for _, text := range v[key] {
		var x T
		b, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
		if err != nil || len(b) != len(to(&x)) {
			return nil, false
		}
		copy(to(&x), b)
		all = append(all, x)
	}
	return all, true
}

func blobBytes(b *kzg.Blob) []byte             { return b[:] }
func cellBytes(c *kzg.Cell) []byte             { return c[:] }
func proofBytes(p *kzg.Proof) []byte           { return p[:] }
func commitmentBytes(c *kzg.Commitment) []byte { return c[:] }

func (v vector) indices(t *testing.T) (all []uint64) {
	for _, text := range v["cell_indices"] {
		i, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, i)
	}
	return all
}

func pointers[T any](all []T) (p []*T) {
	for i := range all {
		p = append(p, &all[i])
	}
	return p
}

// sameExtended wants the cells and proofs of a vector's output, or a refusal where it has none.
func sameExtended(t *testing.T, v vector, got []*kzg.Extended, err error) {
	t.Helper()
	out := v["output"]
	if len(out) == 0 {
		if !errors.Is(err, backend.ErrInvalidInput) {
			t.Fatalf("wrong input: %v", err)
		}
		return
	}
	if err != nil || len(got) != 1 || len(out) != 2*kzg.CellCount {
		t.Fatalf("%d answers, %d strings: %v", len(got), len(out), err)
	}
	for k := range kzg.CellCount {
		if fmt.Sprintf("0x%x", got[0].Cells[k]) != out[k] || fmt.Sprintf("0x%x", got[0].Proofs[k]) != out[kzg.CellCount+k] {
			t.Fatalf("cell or proof %d is wrong", k)
		}
	}
}

func specification(t *testing.T, c *kzg.CellProver) {
	t.Run("commit", func(t *testing.T) {
		vectors(t, "blob_to_kzg_commitment", func(t *testing.T, v vector) {
			blobs, ok := read(v, "blob", blobBytes)
			if !ok {
				if len(v["output"]) > 0 {
					t.Fatal("a blob of another length")
				}
				return
			}
			got, err := c.Commit(t.Context(), pointers(blobs)...)
			switch {
			case len(v["output"]) == 0 && !errors.Is(err, backend.ErrInvalidInput):
				t.Fatalf("wrong input: %v", err)
			case len(v["output"]) > 0 && (err != nil || fmt.Sprintf("0x%x", got[0]) != v["output"][0]):
				t.Fatalf("%x, %v", got, err)
			}
		})
	})
	t.Run("compute", func(t *testing.T) {
		vectors(t, "compute_cells_and_kzg_proofs", func(t *testing.T, v vector) {
			blobs, ok := read(v, "blob", blobBytes)
			if !ok {
				if len(v["output"]) > 0 {
					t.Fatal("a blob of another length")
				}
				return
			}
			got, err := c.Compute(t.Context(), pointers(blobs)...)
			sameExtended(t, v, got, err)
		})
	})
	t.Run("recover", func(t *testing.T) {
		vectors(t, "recover_cells_and_kzg_proofs", func(t *testing.T, v vector) {
			cells, ok := read(v, "cells", cellBytes)
			if !ok {
				if len(v["output"]) > 0 {
					t.Fatal("a cell of another length")
				}
				return
			}
			got, err := c.Recover(t.Context(), v.indices(t), pointers(cells))
			sameExtended(t, v, got, err)
		})
	})
}

// TestSpecification runs the consensus specification's vectors, right and wrong ones.
func TestSpecification(t *testing.T) {
	specification(t, cellProver(t))
	t.Run("verify", func(t *testing.T) {
		vectors(t, "verify_cell_kzg_proof_batch", func(t *testing.T, v vector) {
			commitments, ok1 := read(v, "commitments", commitmentBytes)
			cells, ok2 := read(v, "cells", cellBytes)
			proofs, ok3 := read(v, "proofs", proofBytes)
			want := strings.Join(v["output"], "")
			if !ok1 || !ok2 || !ok3 {
				if want != "" {
					t.Fatal("bytes of another length")
				}
				return
			}
			err := setup(t).VerifyCells(commitments, v.indices(t), pointers(cells), proofs)
			switch want {
			case "true":
				if err != nil {
					t.Fatal(err)
				}
			case "false":
				if !errors.Is(err, bls12381kzg.ErrVerifyOpeningProof) {
					t.Fatalf("wrong cells: %v", err)
				}
			default:
				if !errors.Is(err, backend.ErrInvalidInput) {
					t.Fatalf("wrong input: %v", err)
				}
			}
		})
	})
}

func randomBlob(rng *rand.Rand) *kzg.Blob {
	b := new(kzg.Blob)
	for i := 0; i < len(b); i += fr.Bytes {
		var x fr.Element
		x[0], x[1], x[2], x[3] = rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64()>>2
		y := x.Bytes()
		copy(b[i:], y[:])
	}
	return b
}

// TestCellsEqualGoEthKZG compares a batch of random blobs, recovers and verifies them.
func TestCellsEqualGoEthKZG(t *testing.T) {
	c := cellProver(t)
	theirs, err := goethkzg.NewContext4096Secure()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	blobs := []*kzg.Blob{randomBlob(rng), new(kzg.Blob), randomBlob(rng)}
	all, err := c.Compute(t.Context(), blobs...)
	if err != nil {
		t.Fatal(err)
	}
	commitments, err := c.Commit(t.Context(), blobs...)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range blobs {
		cells, proofs, err := theirs.ComputeCellsAndKZGProofs((*goethkzg.Blob)(b), 0)
		if err != nil {
			t.Fatal(err)
		}
		for k := range cells {
			if kzg.Cell(*cells[k]) != all[i].Cells[k] || kzg.Proof(proofs[k]) != all[i].Proofs[k] {
				t.Fatalf("cell or proof %d of blob %d differs", k, i)
			}
		}
		if want, err := theirs.BlobToKZGCommitment((*goethkzg.Blob)(b), 0); err != nil || kzg.Commitment(want) != commitments[i] {
			t.Fatalf("commitment %d differs: %v", i, err)
		}
	}
	var indices []uint64
	rows := make([][]*kzg.Cell, len(blobs))
	var of []kzg.Commitment
	var repeated []uint64
	var cells []*kzg.Cell
	var proofs []kzg.Proof
	for _, k := range rng.Perm(kzg.CellCount)[:kzg.LeastCells] {
		indices = append(indices, uint64(k))
	}
	slices.Sort(indices)
	for _, k := range indices {
		for i := range rows {
			rows[i] = append(rows[i], &all[i].Cells[k])
			of, repeated = append(of, commitments[i]), append(repeated, k)
			cells, proofs = append(cells, &all[i].Cells[k]), append(proofs, all[i].Proofs[k])
		}
	}
	got, err := c.Recover(t.Context(), indices, rows...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if *got[i] != *all[i] {
			t.Errorf("blob %d recovered from %d cells differs", i, len(indices))
		}
	}
	s := setup(t)
	if err := s.VerifyCells(of, repeated, cells, proofs); err != nil {
		t.Error(err)
	}
	// A cell of another blob, a proof of another cell, another index and another commitment.
	for what, wrong := range map[string]func() error{
		"cell": func() error {
			defer func(was *kzg.Cell) { cells[0] = was }(cells[0])
			cells[0] = cells[2]
			return s.VerifyCells(of, repeated, cells, proofs)
		},
		"proof": func() error {
			defer func(was kzg.Proof) { proofs[5] = was }(proofs[5])
			proofs[5] = proofs[2]
			return s.VerifyCells(of, repeated, cells, proofs)
		},
		"index": func() error {
			defer func(was uint64) { repeated[0] = was }(repeated[0])
			repeated[0]++
			return s.VerifyCells(of, repeated, cells, proofs)
		},
		"commitment": func() error {
			defer func(was kzg.Commitment) { of[3] = was }(of[3])
			of[3] = of[2]
			return s.VerifyCells(of, repeated, cells, proofs)
		},
	} {
		if err := wrong(); !errors.Is(err, bls12381kzg.ErrVerifyOpeningProof) {
			t.Errorf("another %s: %v", what, err)
		}
	}
	if _, err := c.Compute(t.Context(), blobs[0], nil); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("no blob: %v", err)
	}
	if _, err := c.Recover(t.Context(), indices, rows[0], rows[1][1:]); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("rows of two lengths: %v", err)
	}
	if none, err := c.Compute(t.Context()); err != nil || len(none) != 0 {
		t.Errorf("no blobs: %v", err)
	}
}

func BenchmarkCells(b *testing.B) {
	c := cellProver(b)
	rng := rand.New(rand.NewPCG(1, 2))
	var blobs []*kzg.Blob
	for range 16 {
		blobs = append(blobs, randomBlob(rng))
	}
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Compute(b.Context(), blobs[:n]...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	theirs, err := goethkzg.NewContext4096Secure()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("go-eth-kzg", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := theirs.ComputeCellsAndKZGProofs((*goethkzg.Blob)(blobs[0]), 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// idle is a CPU that answers zeros to programs with rows, so that what is left of a call
// is this process's part.
type idle struct {
	backend.Backend
	backend.Programs
}

func (b idle) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	computes := slices.ContainsFunc(steps, func(s backend.Step) bool { m, ok := s.(backend.MultiplyPoints); return ok && m.Terms > 1 })
	if !computes {
		return b.Programs.Run(ctx, steps)
	}
	out := make([][]byte, len(steps))
	for i, s := range steps {
		if r, ok := s.(backend.Read); ok {
			size := fr.Bytes
			if r.Encoding == backend.Compressed {
				size = len(kzg.Proof{})
			}
			out[i] = make([]byte, r.Src.Count*size)
		}
	}
	return out, nil
}

// BenchmarkCellsHost is what a call takes beside its backend.
func BenchmarkCellsHost(b *testing.B) {
	e, err := engine.New(b.Context(), engine.Config{Fallbacks: []string{engine.NoFallback},
		Open: func(context.Context, string) (backend.Backend, error) {
			c := cpu.New(cpu.Options{})
			p, _ := backend.As[backend.Programs](c)
			return idle{c, p}, nil
		}})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	c, err := kzg.LoadCells(b.Context(), e, setup(b))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	var blobs []*kzg.Blob
	for range 64 {
		blobs = append(blobs, randomBlob(rng))
	}
	for _, n := range []int{1, 8, 64} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Compute(b.Context(), blobs[:n]...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
