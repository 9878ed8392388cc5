package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/hash"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/std/hash/mimc"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
	"github.com/pippin-zk/pippin/prover/groth16"
)

// TestOverhead measures the duration of a job whose proof takes no time, with witnesses of 1 KiB
// and of 16 MiB. Only a long run, alone on its machine, requires a certain time.
func TestOverhead(t *testing.T) {
	r := newRig(t)
	r.work(func(c *worker.Config) {
		c.Open = fakes(func(_ context.Context, witness []byte) ([]byte, error) { return fakeProof(witness), nil })
	})
	c, w := r.client(), r.fakeWork("overhead")
	for _, k := range []struct{ bytes, jobs int }{{1 << 10, size(10, 300)}, {16 << 20, size(1, 20)}} {
		witness := make([]byte, k.bytes)
		_, _ = rand.NewChaCha8([32]byte{}).Read(witness)
		want := fakeProof(witness)
		var took []float64
		for range k.jobs + 1 {
			began := time.Now()
			proof, err := one(t, c, w, witness)
			if err != nil || !bytes.Equal(proof, want) {
				t.Fatal(err)
			}
			took = append(took, time.Since(began).Seconds()*1e3)
		}
		took = took[1:] // without the first, which opened the prover
		slices.Sort(took)
		measured(t, figure{What: "a job whose proof takes nothing", Workers: 1, Jobs: k.jobs, Bytes: k.bytes,
			Count: k.jobs, Median: took[k.jobs/2], Max: took[k.jobs-1]})
		if *long && took[k.jobs/2] > 10e3 {
			t.Errorf("%d bytes: %v ms", k.bytes, took[k.jobs/2])
		}
	}
}

// TestThroughput compares workers with an equal number of provers that run without a cluster. The
// provers sleep, so that it measures the cluster even with few processors. Each prover makes one
// proof at a time, as a card does; meanwhile the worker fetches its second job. Only a long run,
// alone on its machine, requires a certain share.
func TestThroughput(t *testing.T) {
	type row struct {
		workers, jobs int
		proof         time.Duration
	}
	rows := []row{{4, 40, 50 * time.Millisecond}}
	if *long {
		rows = []row{{4, 1000, 25 * time.Millisecond}, {4, 1000, 50 * time.Millisecond}, {4, 1000, 100 * time.Millisecond}}
		for _, workers := range []int{25, 50, 100, 200} {
			rows = append(rows, row{workers, 10 * workers, 4 * time.Second})
		}
	}
	for _, k := range rows {
		t.Run(fmt.Sprintf("%d workers, %v", k.workers, k.proof), func(t *testing.T) {
			r := newRig(t)
			var ends []func() error
			for i := range k.workers {
				var card sync.Mutex
				ends = append(ends, r.work(func(c *worker.Config) {
					c.Name, c.Log = fmt.Sprint("worker", i), nil
					c.Open = fakes(func(_ context.Context, witness []byte) ([]byte, error) {
						card.Lock()
						defer card.Unlock()
						time.Sleep(k.proof)
						return fakeProof(witness), nil
					})
				}))
			}
			c, w := r.client(), r.fakeWork("throughput")
			r.there(c, k.workers)
			prove := func(jobs int) time.Duration {
				began := time.Now()
				group, ctx := errgroup.WithContext(t.Context())
				group.SetLimit(4 * k.workers)
				for i := range jobs {
					group.Go(func() error {
						id, err := c.Submit(ctx, w, number(i))
						if err != nil {
							return err
						}
						proof, err := c.Wait(ctx, id)
						if err == nil && !bytes.Equal(proof, fakeProof(number(i))) {
							err = errTest
						}
						return err
					})
				}
				if err := group.Wait(); err != nil {
					t.Fatal(err)
				}
				return time.Since(began)
			}
			prove(2 * k.workers) // this opens the provers
			rate := float64(k.jobs) / prove(k.jobs).Seconds()
			share := rate * k.proof.Seconds() / float64(k.workers)
			measured(t, figure{What: "throughput", Workers: k.workers, Jobs: k.jobs, Proof: k.proof.Seconds() * 1e3, Rate: rate, Share: share})
			if *long && share < 0.1 {
				t.Errorf("%.2f of what %d provers reach alone", share, k.workers)
			}
			endAll(t, ends)
		})
	}
}

// endAll ends all workers at once.
func endAll(t *testing.T, ends []func() error) {
	group := new(errgroup.Group)
	for _, end := range ends {
		group.Go(end)
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// chain is the circuit "I know what gives this when it is hashed again and again". Each hash has
// about 330 constraints.
type chain struct {
	links int
	From  frontend.Variable
	To    frontend.Variable `gnark:",public"`
}

func (c *chain) Define(api frontend.API) error {
	h, err := mimc.NewMiMC(api)
	if err != nil {
		return err
	}
	at := c.From
	for range c.links {
		h.Reset()
		h.Write(at)
		at = h.Sum()
	}
	api.AssertIsEqual(c.To, at)
	return nil
}

// TestRealThroughput compares workers that make real proofs, by Groth16 on the CPU, with an equal
// number of provers that make and verify the same proofs without a cluster, in turns. Both share
// all processors, so that the processor time of the cluster counts too. Each worker has one job at
// a time: with a second one, more proofs would share the processors.
func TestRealThroughput(t *testing.T) {
	const workers = 4
	links, jobs := size(1, 4), size(20, 1000)
	field := ecc.BN254.ScalarField()
	ccs, err := frontend.Compile(field, r1cs.NewBuilder, &chain{links: links})
	if err != nil {
		t.Fatal(err)
	}
	pk, vk, err := groth16.Setup(ccs)
	if err != nil {
		t.Fatal(err)
	}
	witnesses := make([]witness.Witness, jobs)
	for i := range witnesses {
		to := new(big.Int).SetInt64(int64(i)).FillBytes(make([]byte, 32))
		for range links {
			h := hash.MIMC_BN254.New()
			h.Write(to)
			to = h.Sum(nil)
		}
		if witnesses[i], err = frontend.NewWitness(&chain{From: i, To: to}, field); err != nil {
			t.Fatal(err)
		}
	}

	provers := make([]*groth16.Prover, workers)
	for k := range provers {
		if provers[k], err = groth16.NewProver(nil, ccs, pk); err != nil {
			t.Fatal(err)
		}
		defer provers[k].Close()
	}
	alone := func(group *errgroup.Group, witnesses []witness.Witness) {
		for k, p := range provers {
			group.Go(func() error {
				for i := k; i < len(witnesses); i += workers {
					proof, err := p.Prove(t.Context(), witnesses[i])
					if err != nil {
						return err
					}
					public, err := witnesses[i].Public()
					if err != nil {
						return err
					}
					if err := groth16.Verify(proof, vk, public); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}

	r := newRig(t, func(_ *server.Config, m *server.Manager) {
		if *long {
			m.Every = 0 // as in a real cluster; the rig's ten looks a second take 8 ms more of a processor
		}
	})
	var ends []func() error
	for i := range workers {
		ends = append(ends, r.work(func(c *worker.Config) {
			c.Name, c.Log, c.Open, c.Jobs = fmt.Sprint("worker", i), nil, worker.Provers(nil), 1
		}))
	}
	p, err := r.client().Add(t.Context(), ccs, pk, vk, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	together := func(group *errgroup.Group, witnesses []witness.Witness) {
		group.SetLimit(4 * workers)
		for _, w := range witnesses {
			group.Go(func() error { _, err := p.Prove(t.Context(), w); return err })
		}
	}
	rate := func(prove func(*errgroup.Group, []witness.Witness), witnesses []witness.Witness) float64 {
		began := time.Now()
		group := new(errgroup.Group)
		prove(group, witnesses)
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		return float64(len(witnesses)) / time.Since(began).Seconds()
	}
	rate(alone, witnesses[:workers]) // this loads the keys
	rate(together, witnesses[:4*workers])
	var rates, shares []float64
	const rounds = 5
	for k := range rounds { // in turns, because the machine's speed varies
		part := witnesses[k*jobs/rounds : (k+1)*jobs/rounds]
		of := rate(alone, part)
		rates = append(rates, rate(together, part))
		shares = append(shares, rates[k]/of)
	}
	endAll(t, ends)
	t.Log(shares)
	slices.Sort(rates)
	slices.Sort(shares)
	share := shares[rounds/2]
	measured(t, figure{What: "throughput of real proofs", Workers: workers, Jobs: jobs,
		Constraints: ccs.GetNbConstraints(), Rate: rates[rounds/2], Share: share})
	if share < 0.1 {
		t.Errorf("%.2f of what %d provers reach alone", share, workers)
	}
}
