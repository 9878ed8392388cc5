package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/circomkeys"
	"github.com/pippin-zk/pippin/prover/circom"
)

// zkey holds a circuit of circom: its key, and the values of a witness.
type zkey struct {
	on     backend.Curve
	key    []byte
	values []*big.Int
}

func zkeyOf(t *testing.T, on backend.Curve, name string) *zkey {
	t.Helper()
	s, err := circomkeys.ByName(on, name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), engine.Config{Fallbacks: []string{engine.NoFallback},
		Open: func(context.Context, string) (backend.Backend, error) { return cpu.New(cpu.Options{}), nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var key bytes.Buffer
	if _, err := circomkeys.Write(t.Context(), e, &key, &s.Circuit, circomkeys.KnownSecrets(on)); err != nil {
		t.Fatal(err)
	}
	return &zkey{on, key.Bytes(), s.Values}
}

// add makes the key known to the cluster.
func (z *zkey) add(t *testing.T, c *cluster.Client) *cluster.CircomProver {
	t.Helper()
	p, err := c.AddCircom(t.Context(), bytes.NewReader(z.key), int64(len(z.key)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// witness returns the witness, or one whose last wire has another value.
func (z *zkey) witness(t *testing.T, last ...*big.Int) circom.Witness {
	t.Helper()
	values := slices.Concat(z.values[:len(z.values)-len(last)], last)
	w, err := circom.ParseWitness(circomkeys.Witness(z.on, values))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// verifies checks a proof as somebody does who has its JSON and the key's.
func (z *zkey) verifies(t *testing.T, p *circom.Proof) {
	t.Helper()
	key, err := circom.DescribeKey(bytes.NewReader(z.key), int64(len(z.key)))
	if err != nil {
		t.Fatal(err)
	}
	proof, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	public, err := p.PublicJSON()
	if err != nil {
		t.Fatal(err)
	}
	read, err := circom.ParseProof(proof, public)
	if err == nil {
		err = key.VerifyingKey.Verify(read)
	}
	if err != nil || len(read.Public) != key.Public || key.Public > 0 && read.Public[0].Cmp(z.values[1]) != 0 {
		t.Errorf("%v, public signals %v", err, p.Public)
	}
}

// TestCircom makes proofs with keys of snarkjs.
func TestCircom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.work(func(c *worker.Config) { c.Open = worker.Provers(nil) })
	c := r.client()
	jobs, dead := 0, 0
	for _, k := range []struct {
		on   backend.Curve
		name string
	}{{backend.BN254, "product"}, {backend.BLS12381, "many public"}, {backend.BN254, "no public"}} {
		t.Run(k.on.String()+" "+k.name, func(t *testing.T) {
			z := zkeyOf(t, k.on, k.name)
			p := z.add(t, c)
			before, err := c.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if again := z.add(t, c); again.Work() != p.Work() || p.Work().Curve != k.on.String() {
				t.Error(again.Work())
			}
			// meanwhile notes of a few bytes may be stored
			if after, err := c.Status(t.Context()); err != nil || after.Bytes > before.Bytes+uint64(len(z.key)/2) {
				t.Error("the key was uploaded twice", before.Bytes, after.Bytes, err)
			}
			for range 2 {
				proof, err := p.Prove(t.Context(), z.witness(t))
				if err != nil {
					t.Fatal(err)
				}
				z.verifies(t, proof)
				jobs++
			}
			secret, _ := new(big.Int).SetString("31415926535897932384626433", 10)
			_, err = p.Prove(t.Context(), z.witness(t, secret))
			jobs, dead = jobs+1, dead+1
			if !errors.Is(err, cluster.ErrDead) || !errors.Is(err, backend.ErrInvalidInput) ||
				!strings.Contains(err.Error(), "is the witness this circuit's?") || strings.Contains(err.Error(), secret.String()[:8]) {
				t.Error("a wrong witness:", err)
			}
		})
	}
	r.settled(c, jobs)
	eventually(t, "the dead jobs have their reason", func() bool {
		s, err := c.Status(t.Context())
		return err == nil && len(s.Dead) == dead && strings.Contains(s.Dead[0].Reason, "does not verify")
	})
}

// TestCircomRefuses: what is no key, no witness of the circuit, or no work is refused in one line, by the
// client where it can know that, else by the worker.
func TestCircomRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.work(func(c *worker.Config) { c.Open = worker.Provers(nil) })
	c := r.client()
	z := zkeyOf(t, backend.BN254, "product")
	p := z.add(t, c)
	whole, err := z.witness(t).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	// A point of section 9 is damaged: only who reads all of the key finds it.
	damaged := bytes.Clone(z.key)
	damaged[bytes.LastIndex(damaged, circomkeys.Section(10, make([]byte, 64+4)))-1] = 0xff
	refused := func(what, says string, err error) {
		t.Helper()
		if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
	ofClient := func(what, says string, err error) {
		t.Helper()
		refused(what, says, err)
		if errors.Is(err, cluster.ErrDead) {
			t.Errorf("%s came to a worker", what)
		}
	}
	_, err = c.AddCircom(t.Context(), bytes.NewReader(z.key[:100]), 100)
	ofClient("a key that is cut off", "zkey", err)
	_, err = c.AddCircom(t.Context(), bytes.NewReader(whole), int64(len(whole)))
	ofClient("a witness in the place of a key", "not a zkey file", err)
	_, err = p.Prove(t.Context(), zkeyOf(t, backend.BN254, "no public").witness(t))
	ofClient("another circuit's witness", "Invalid witness length. Circuit: 4, witness: 3", err)
	_, err = p.Prove(t.Context(), zkeyOf(t, backend.BLS12381, "product").witness(t))
	ofClient("another curve's witness", "different wtns curve", err)
	_, err = p.Prove(t.Context(), circom.Witness{})
	ofClient("no witness", "no witness", err)

	ofWorker := func(what, says string, w cluster.Work, witness []byte) {
		t.Helper()
		_, err := one(t, c, w, witness)
		refused(what, says, err)
		if !errors.Is(err, cluster.ErrDead) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ofWorker("a longer witness", "the witness has", p.Work(), append(bytes.Clone(whole), 0))
	ofWorker("no wtns", "not a wtns file", p.Work(), make([]byte, len(whole)))
	above := bytes.Clone(whole)
	copy(above[len(above)-32:], bytes.Repeat([]byte{0xff}, 32))
	ofWorker("a value above r", "the value of wire 3 is not below r", p.Work(), above)
	broken, err := c.AddCircom(t.Context(), bytes.NewReader(damaged), int64(len(damaged)))
	if err != nil {
		t.Fatal(err)
	}
	ofWorker("a damaged key", "zkey: section 9", broken.Work(), whole)
	other := p.Work()
	other.Curve = "bls12-381"
	ofWorker("a key on another curve", "a key on bn254", other, whole)
	other = p.Work()
	other.Circuit = other.ProvingKey
	ofWorker("two files", "a proving key and nothing else", other, whole)
	other = p.Work()
	other.System = cluster.Groth16
	ofWorker("gnark's prover", "is no digest", other, whole)
	if _, err := p.Prove(t.Context(), z.witness(t)); err != nil {
		t.Error("after all that:", err)
	}
}

// TestCircomTenants: a client that stores other bytes under the digest of another client's key harms
// only itself, and cannot read the other's proof.
func TestCircomTenants(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *server.Config, _ *server.Manager) { c.Clients = []string{"alice", "eve"} })
	r.work(func(c *worker.Config) { c.Open = worker.Provers(nil) })
	alice, eve := r.clientOf(server.TicketOf("alice")), r.clientOf(server.TicketOf("eve"))
	z := zkeyOf(t, backend.BN254, "product")
	p := z.add(t, alice)
	whole, err := z.witness(t).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	dead := func(what, says string) {
		t.Helper()
		if _, err := one(t, eve, p.Work(), whole); !errors.Is(err, cluster.ErrDead) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	dead("a key that she has not", "the cluster has no object")
	poison := zkeyOf(t, backend.BN254, "no public").key
	link := r.admin()
	if err := wire.PutKey(t.Context(), link, r.tenant(server.TicketOf("eve")), p.Work().ProvingKey, func(w io.Writer) error {
		_, err := w.Write(poison)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	dead("a key that is another one", "damaged")
	id, err := alice.Submit(t.Context(), p.Work(), whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eve.Wait(t.Context(), id); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error("another client's proof:", err)
	}
	text, err := alice.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	proof, err := circom.ParseProof(text, []byte(`["21", "3"]`))
	if err != nil {
		t.Fatal(err)
	}
	z.verifies(t, proof)
}

// TestCircomIsVerified: a client verifies what a worker says, and a worker compares its copy of a key with
// the digest each time that it reads it.
func TestCircomIsVerified(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client()
	z := zkeyOf(t, backend.BN254, "product")
	p := z.add(t, c)
	cache := folder(t)
	stored := filepath.Join(cache, p.Work().ProvingKey)
	if err := os.WriteFile(stored, zkeyOf(t, backend.BN254, "no public").key, 0o600); err != nil {
		t.Fatal(err)
	}
	end := r.work(func(c *worker.Config) { c.Open, c.Cache = worker.Provers(nil), cache })
	right, err := p.Prove(t.Context(), z.witness(t))
	if err != nil {
		t.Fatal("a worker's copy of the key was damaged: ", err)
	}
	if is, err := os.ReadFile(stored); err != nil || !bytes.Equal(is, z.key) {
		t.Error("the damaged copy was kept", err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	wrong := *right
	wrong.A, wrong.C = wrong.C, wrong.A
	answers := make(chan []byte, 2)
	for _, proof := range []*circom.Proof{&wrong, right} {
		text, err := proof.JSON()
		if err != nil {
			t.Fatal(err)
		}
		answers <- text
	}
	r.work(func(c *worker.Config) {
		c.Open = func(context.Context, cluster.Work, worker.Files) (worker.Prover, error) {
			return fake(func(context.Context, []byte) ([]byte, error) { return <-answers, nil }), nil
		}
	})
	if _, err := p.Prove(t.Context(), z.witness(t)); !errors.Is(err, backend.ErrInternal) || !errors.Is(err, circom.ErrNotVerified) {
		t.Error("a wrong proof:", err)
	}
	if _, err := p.Prove(t.Context(), z.witness(t)); err != nil {
		t.Error(err)
	}
}

// TestCircomKilledWorkers kills a worker that has jobs: every job gets its proof from another.
func TestCircomKilledWorkers(t *testing.T) {
	t.Parallel()
	const flying = 6
	r := newRig(t)
	c := r.client()
	z := zkeyOf(t, backend.BN254, "bits of 2000")
	p := z.add(t, c)
	first := workerIn(t, r)
	defer func() { _ = first.Process.Kill(); _ = first.Wait() }()
	var all sync.WaitGroup
	var proofs [flying][]*circom.Proof
	var enough atomic.Bool
	defer enough.Store(true)
	witness := z.witness(t)
	for i := range proofs {
		all.Go(func() {
			for !enough.Load() { // however fast the worker is, it has a job when it is killed
				proof, err := p.Prove(t.Context(), witness)
				if err != nil {
					t.Error(err)
					return
				}
				proofs[i] = append(proofs[i], proof)
			}
		})
	}
	eventually(t, "it has a job", func() bool {
		s, err := c.Status(t.Context())
		return err == nil && len(s.Workers) == 1 && len(s.Workers[0].InHand) > 0
	})
	_ = first.Process.Kill()
	_ = first.Wait()
	enough.Store(true)
	r.work(func(c *worker.Config) { c.Open = worker.Provers(nil) })
	all.Wait()
	jobs := slices.Concat(proofs[:]...)
	for _, proof := range jobs {
		z.verifies(t, proof)
	}
	r.settled(c, len(jobs))
}
