package pippin_test

import (
	"bytes"
	"flag"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/circomkeys"
	"github.com/pippin-zk/pippin/prover/circom"
)

var circomRounds = flag.Int("circomrounds", 1, "how often TestCircomStorm kills the plugin twice and swaps it twice")

// circomCallers is how many proofs TestCircomStorm makes at the same time.
const circomCallers = 64

// circomFiles makes a circuit's key and witness with an engine.
func circomFiles(t *testing.T, e *engine.Engine, c backend.Curve, name string) (key []byte, w circom.Witness) {
	t.Helper()
	s, err := circomkeys.ByName(c, name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := circomkeys.Write(t.Context(), e, &b, &s.Circuit, circomkeys.KnownSecrets(c)); err != nil {
		t.Fatal(err)
	}
	if w, err = circom.ParseWitness(circomkeys.Witness(c, s.Values)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w
}

// TestCircomStorm makes 64 proofs of circom's circuits at a time while the plugin is killed and
// swapped. None may be wrong or fail, and nothing may be left.
func TestCircomStorm(t *testing.T) {
	e, err := engine.New(t.Context(), engine.Config{
		Open: opener(t), Backend: *backendName, RetryPause: time.Millisecond, RetryMax: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var keys []*circom.Key
	var witnesses []circom.Witness
	for _, c := range []backend.Curve{backend.BN254, backend.BLS12381} {
		key, w := circomFiles(t, e, c, "bits of 40")
		k, err := circom.ParseKey(key, circom.WithEngine(e), circom.OnEvent(func(ev circom.Event) { t.Error(ev) }))
		if err != nil {
			t.Fatal(err)
		}
		keys, witnesses = append(keys, k), append(witnesses, w)
	}
	var over atomic.Bool
	var made atomic.Int64
	var callers sync.WaitGroup
	for i := range circomCallers {
		callers.Go(func() {
			for !over.Load() && !t.Failed() {
				if _, err := keys[i%2].Prove(t.Context(), witnesses[i%2]); err != nil {
					t.Error(err)
				}
				made.Add(1)
			}
		})
	}
	kill := func() error {
		if pid := e.Info().PID; pid > 0 { // none while a plugin is being opened
			return syscall.Kill(pid, syscall.SIGKILL)
		}
		return nil
	}
	use := func(name string) func() error { return func() error { return e.Use(t.Context(), name) } }
	for range *circomRounds {
		for _, strike := range []func() error{kill, use("cpu"), use(*backendName), kill} {
			before := made.Load()
			if err := strike(); err != nil {
				t.Error(err)
			}
			for made.Load() < before+circomCallers/2 && !t.Failed() {
				time.Sleep(time.Millisecond)
			}
		}
	}
	over.Store(true)
	callers.Wait()
	for _, k := range keys {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
	if st := e.Stats(); st.InFlight != 0 || st.Waiting != 0 || st.Shared != 0 || st.Bases != 0 {
		t.Errorf("left in the engine: %+v", st)
	}
	t.Logf("%d proofs", made.Load())
}
