package pippin_test

import (
	"bytes"
	"context"
	"crypto/rand"
	rand2 "math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	stock "github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
)

// chain is a chain of squares.
type chain struct{ X, Y frontend.Variable }

func (c *chain) Define(api frontend.API) error {
	x := c.X
	for range 1000 {
		x = api.Mul(x, x)
	}
	api.AssertIsEqual(x, c.Y)
	return nil
}

// killer kills a plugin when the n-th program begins on it.
type killer struct {
	mu   sync.Mutex
	left int
	pid  func() int
}

func (k *killer) Begin(ctx context.Context, p engine.Phase) (context.Context, func(error)) {
	if p.Kind != engine.PhaseProgram {
		return ctx, func(error) {}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left--; k.left == 0 {
		_ = syscall.Kill(k.pid(), syscall.SIGKILL)
	}
	return ctx, func(error) {}
}

// TestKilledInSetup kills the plugin's process at each program of a set-up in turn: that
// costs a repeat, and the keys are those that gnark makes of the same randomness.
func TestKilledInSetup(t *testing.T) {
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &chain{})
	if err != nil {
		t.Fatal(err)
	}
	want := setUp(t, func() (stock.ProvingKey, stock.VerifyingKey, error) { return stock.Setup(ccs) })
	for at := 1; ; at++ {
		k := &killer{left: at}
		e, err := engine.New(t.Context(), engine.Config{
			Open: opener(t), Backend: *backendName, Fallbacks: []string{engine.NoFallback}, Observer: k,
			Restarts: 3, RetryPause: time.Millisecond, RetryMax: time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		k.pid = func() int { return e.Info().PID }
		got := setUp(t, func() (stock.ProvingKey, stock.VerifyingKey, error) {
			return groth16.SetupOn(t.Context(), e, ccs)
		})
		deaths := e.Stats().Backends[0].Deaths
		e.Close()
		if !bytes.Equal(got, want) {
			t.Errorf("killed at program %d: other keys", at)
		}
		if k.left > 0 {
			if at < 3 {
				t.Errorf("%d programs were killed", at-1)
			}
			return
		}
		if deaths != 1 {
			t.Errorf("killed at program %d: %d deaths", at, deaths)
		}
	}
}

// setUp returns keys of fixed randomness in bytes.
func setUp(t *testing.T, make func() (stock.ProvingKey, stock.VerifyingKey, error)) []byte {
	t.Helper()
	was := rand.Reader
	rand.Reader = rand2.NewChaCha8([32]byte{1})
	defer func() { rand.Reader = was }()
	pk, vk, err := make()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := pk.WriteRawTo(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := vk.WriteRawTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
