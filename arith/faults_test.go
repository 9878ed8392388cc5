package arith_test

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"math/big"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/record"
)

// faulty is the CPU backend with one bit of one step flipped: of what the step wrote, or
// answers.
type faulty struct {
	backend.Backend
	backend.Programs
	rng *rand.Rand
}

func (f *faulty) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	at := f.rng.IntN(len(steps))
	flip := func(b []byte) { b[f.rng.IntN(len(b))] ^= 1 << f.rng.IntN(8) }
	out := make([][]byte, len(steps))
	for i, s := range steps {
		answers, err := f.Programs.Run(ctx, []backend.Step{s})
		if err != nil {
			return nil, err
		}
		out[i] = answers[0]
		if i != at {
			continue
		}
		if len(out[i]) > 0 {
			flip(out[i])
		}
		for _, a := range backend.Accesses(s) {
			if !a.Writes {
				continue
			}
			was, err := f.Programs.Run(ctx, []backend.Step{backend.Read{Src: a.Range}})
			if err != nil {
				return nil, err
			}
			flip(was[0])
			if _, err := f.Programs.Run(ctx, []backend.Step{backend.Write{Dst: a.Range, Input: backend.Input{Bytes: was[0]}}}); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// rsaKey makes a key of two primes of so many bits each, with its modulus and d.
func rsaKey(t testing.TB, bits int) (k arith.CRT, m, d *big.Int) {
	t.Helper()
	one, e := big.NewInt(1), big.NewInt(65537)
	for {
		p, err1 := crand.Prime(crand.Reader, bits)
		q, err2 := crand.Prime(crand.Reader, bits)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		p1, q1 := new(big.Int).Sub(p, one), new(big.Int).Sub(q, one)
		if d = new(big.Int).ModInverse(e, new(big.Int).Mul(p1, q1)); d == nil || p.Cmp(q) == 0 {
			continue
		}
		number := func(v *big.Int) *arith.Numbers {
			n, err := arith.FromBig(bits, v)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		return arith.CRT{P: number(p), Q: number(q), DP: number(new(big.Int).Mod(d, p1)), DQ: number(new(big.Int).Mod(d, q1)),
			QInv: number(new(big.Int).ModInverse(q, p)), E: 65537}, new(big.Int).Mul(p, q), d
	}
}

// scripts/long fault-signatures is the test with keys as they are in use.
var (
	faultCount  = flag.Int("faults", 1000, "faults of TestFaultsOfSignatures")
	faultBits   = flag.Int("fault-bits", 256, "bits of its key")
	faultRecord = flag.String("fault-record", "", "file for a record of it")
)

// faulted is the run of that record.
type faulted struct {
	Op     string `json:"op"` // "faults"
	Bits   int    `json:"bits"`
	N      int    `json:"n"` // signatures of a batch
	Faults int    `json:"faults"`
	Found  int    `json:"found"` // the others changed what nothing reads any more
	Left   int    `json:"left"`  // wrong signatures that were answered
}

// TestFaultsOfSignatures injects 1,000 random faults into the steps of batches of RSA
// signatures: the next backend's right ones are answered, or an error without one, but
// never a wrong signature, which would give the key away.
func TestFaultsOfSignatures(t *testing.T) {
	const batch = 9 // eight that are checked together, and one
	bits, faults := *faultBits/2, *faultCount
	k, m, d := rsaKey(t, bits)
	a := random(rand.New(rand.NewPCG(7, 7)), m, 2*bits, batch)
	var want []*big.Int
	for i := range batch {
		want = append(want, new(big.Int).Exp(a.Big(i), d, m))
	}
	found := 0
	for i := range faults {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		var once sync.Once
		cfg := engine.Config{Backend: "faulty", Open: func(context.Context, string) (b backend.Backend, err error) {
			b = cpu.New(cpu.Options{})
			once.Do(func() {
				p, _ := backend.As[backend.Programs](b)
				b = &faulty{b, p, rng}
			})
			return b, nil
		}}
		if i%4 == 0 {
			cfg.Fallbacks = []string{engine.NoFallback}
		}
		e, err := engine.New(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		got, err := arith.On(e, arith.Options{}).ExpModCRT(t.Context(), a, k)
		refused := e.Stats().Refused
		e.Close()
		switch {
		case err != nil && i%4 == 0 && errors.Is(err, engine.ErrWrongAnswer) && got == nil:
			found++
			continue
		case err != nil:
			t.Fatalf("fault %d: %v", i, err)
		}
		found += int(refused)
		for j := range batch {
			if got.Big(j).Cmp(want[j]) != 0 {
				t.Fatalf("fault %d: a wrong signature left", i)
			}
		}
	}
	if found < faults*9/10 {
		t.Errorf("%d of %d faults were found: are they injected?", found, faults)
	}
	t.Logf("%d of %d faults were found", found, faults)
	if *faultRecord == "" || t.Failed() {
		return
	}
	text, err := json.MarshalIndent(record.Record[faulted]{Machine: record.ThisMachine(""),
		Runs: []faulted{{"faults", 2 * bits, batch, faults, found, 0}}}, "", "  ")
	if err == nil {
		err = os.WriteFile(*faultRecord, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}
