package cluster_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/std/hash/mimc"
	"github.com/consensys/gnark/test/unsafekzg"
	"github.com/nats-io/nats.go"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// square is the circuit "I know a root of this number, and it hashes well".
type square struct {
	Root   frontend.Variable
	Square frontend.Variable `gnark:",public"`
}

func (c *square) Define(api frontend.API) error {
	h, err := mimc.NewMiMC(api)
	if err != nil {
		return err
	}
	h.Write(c.Root)
	api.AssertIsDifferent(h.Sum(), 0)
	api.AssertIsEqual(c.Square, api.Mul(c.Root, c.Root))
	return nil
}

func witnessOf(t *testing.T, curve ecc.ID, root, square0 any) witness.Witness {
	t.Helper()
	w, err := frontend.NewWitness(&square{Root: root, Square: square0}, curve.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// set holds a circuit and its keys.
type set struct {
	ccs    constraint.ConstraintSystem
	pk, vk cluster.Key
}

func setOf(t *testing.T, system string, curve ecc.ID) (s set) {
	t.Helper()
	var err error
	if system == cluster.Groth16 {
		if s.ccs, err = frontend.Compile(curve.ScalarField(), r1cs.NewBuilder, new(square)); err == nil {
			s.pk, s.vk, err = groth16.Setup(s.ccs)
		}
	} else {
		if s.ccs, err = frontend.Compile(curve.ScalarField(), scs.NewBuilder, new(square)); err != nil {
			t.Fatal(err)
		}
		canonical, lagrange, e := unsafekzg.NewSRS(s.ccs)
		if e != nil {
			t.Fatal(e)
		}
		s.pk, s.vk, err = plonk.Setup(s.ccs, canonical, lagrange)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// known returns the project's name of a curve.
func known(id ecc.ID) string {
	c, _ := curves.WithID(id)
	return c.String()
}

// TestProofs makes real proofs in both systems.
func TestProofs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	end := r.work(func(c *worker.Config) { c.Open = worker.Provers(nil) })
	c := r.client()
	jobs := 0
	for _, k := range []struct {
		system string
		curve  ecc.ID
		o      cluster.Options
	}{{cluster.Groth16, ecc.BN254, cluster.Options{Solidity: true}}, {cluster.Plonk, ecc.BN254,
		cluster.Options{}}, {cluster.Groth16, ecc.BLS12_381, cluster.Options{}}} {
		t.Run(k.system+" "+k.curve.String(), func(t *testing.T) {
			s := setOf(t, k.system, k.curve)
			p, err := c.Add(t.Context(), s.ccs, s.pk, s.vk, k.o)
			if err != nil {
				t.Fatal(err)
			}
			before, err := c.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if name := p.Work().Curve; name != known(k.curve) {
				t.Errorf("a curve is called %s", name)
			}
			again, err := c.Add(t.Context(), s.ccs, s.pk, s.vk, k.o)
			if err != nil || again.Work() != p.Work() {
				t.Fatal(again.Work(), err)
			}
			// meanwhile witnesses may be deleted, and notes of a few bytes may be stored
			if after, err := c.Status(t.Context()); err != nil || after.Bytes > before.Bytes+10_000 {
				t.Error("keys were uploaded twice", before.Bytes, after.Bytes, err)
			}
			for i := range 3 {
				proof, err := p.Prove(t.Context(), witnessOf(t, k.curve, i+2, (i+2)*(i+2)))
				if err != nil {
					t.Fatal(err)
				}
				if k.system == cluster.Groth16 && proof.(groth16.Proof).CurveID() != k.curve {
					t.Error("a proof on another curve")
				}
				jobs++
			}
			secret := "31415926535897932384626433"
			_, err = p.Prove(t.Context(), witnessOf(t, k.curve, secret, 7))
			jobs++
			if !errors.Is(err, cluster.ErrDead) || !errors.Is(err, backend.ErrInvalidInput) || strings.Contains(err.Error(), secret[:8]) {
				t.Error("a wrong witness:", err)
			}
			_, err = p.Prove(t.Context(), witnessOf(t, ecc.BLS12_377, 3, 9))
			if errors.Is(err, cluster.ErrDead) || !errors.Is(err, backend.ErrInvalidInput) {
				t.Error("another curve's witness:", err)
			}
		})
	}
	r.settled(c, jobs)
	eventually(t, "one worker with three circuits, three dead jobs", func() bool { // the manager asks workers only now and then
		s, err := c.Status(t.Context())
		return err == nil && len(s.Workers) == 1 && s.Workers[0].Circuits == 3 && len(s.Dead) == 3 && s.Dead[0].Reason != ""
	})
	if err := end(); err != nil {
		t.Error(err)
	}
}

// TestWitnessesAreSealed searches for a witness in everything that the server stores.
func TestWitnessesAreSealed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client()
	w := r.fakeWork("sealed")
	secret := bytes.Repeat([]byte("very secret "), 100)
	id, err := c.Submit(t.Context(), w, secret)
	if err != nil {
		t.Fatal(err)
	}
	stored := 0
	err = filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if st, err := d.Info(); err == nil && strings.HasSuffix(path, ".json") && st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, st.Mode())
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, secret[:12]) {
			t.Errorf("%s has the witness", path)
		}
		if bytes.Contains(text, []byte(id)) {
			stored++
		}
		return err
	})
	if err != nil || stored == 0 {
		t.Fatal("the job is not stored", err)
	}
	r.work(nil)
	if proof, err := c.Wait(t.Context(), id); err != nil || !bytes.Equal(proof, fakeProof(secret)) {
		t.Error(proof, err)
	}
	r.settled(c, 1)
}

// TestSecurity: a client speaks with other machines only by TLS and with an nkey, and it cannot do
// what workers do.
func TestSecurity(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, bad := range []func(*cluster.Ticket){
		func(k *cluster.Ticket) { k.URL = "nats://192.0.2.1:4222" },
		func(k *cluster.Ticket) { k.URL = "ws://192.0.2.1:4222" },
		func(k *cluster.Ticket) { k.URL, k.Seed = "tls://192.0.2.1:4222", "" },
		func(k *cluster.Ticket) { k.URL = "" },
		func(k *cluster.Ticket) { k.Seed = "SUx" },
	} {
		k := r.ticket(server.ClientTicket)
		bad(&k)
		if _, err := cluster.Connect(k); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", k.URL, err)
		}
	}
	k := r.ticket(server.ClientTicket)
	k.Seed = ""
	if _, err := cluster.Connect(k); !errors.Is(err, backend.ErrUnavailable) {
		t.Error("without an nkey:", err)
	}
	if err := worker.Run(t.Context(), worker.Config{Ticket: r.ticket(server.ClientTicket), Open: fakes(nil),
		Cache: t.TempDir()}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error("a client's ticket for a worker:", err)
	}
	if _, err := server.Start(server.Config{Dir: t.TempDir(), Listen: "0.0.0.0:0"}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error("every address, without a name:", err)
	}
	if _, err := server.Start(server.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Clients: []string{"a", "client"}}); !errors.Is(
		err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), `"client" is the name`) {
		t.Error("a client with the name of the common ticket:", err)
	}
	path := filepath.Join(r.dir, server.ClientTicket)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.ReadTicket(path); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error("a ticket that others can read:", err)
	}
	// The server refuses a client all of this.
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	link, err := r.ticket(server.ClientTicket).Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	js := link.JS
	if _, err := r.client().Submit(t.Context(), r.fakeWork("security"), number(1)); err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func(context.Context) error{
		"ended a job": func(ctx context.Context) error {
			_, err := js.Publish(ctx, wire.EndsPrefix+"x", []byte("{}"))
			return err
		},
		"removed a stream":  func(ctx context.Context) error { return js.DeleteStream(ctx, wire.Jobs) },
		"emptied the queue": func(ctx context.Context) error { return link.Purge(ctx, wire.JobsPrefix+">", 0) },
		"took a job": func(ctx context.Context) error {
			m, err := link.Next(ctx, time.Second, time.Second)
			if m == nil && err == nil {
				err = errTest
			}
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := do(ctx); err == nil {
			t.Error("a client " + what)
		}
		cancel()
	}
}

// TestTLS runs a cluster at an address that is not loopback, reached by its name.
func TestTLS(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	r := newRig(t, func(c *server.Config, _ *server.Manager) { c.Hosts = []string{host, "127.0.0.1"} })
	r.cfg.Ticket.Dial = "" // connects by its name
	if k := r.ticket(server.ClientTicket); !strings.HasPrefix(k.URL, "tls://"+host+":") || k.Roots == "" {
		t.Fatal(k.URL)
	}
	c := r.client()
	r.work(nil)
	waitAll(t, c, submitAll(t, c, r.fakeWork("tls"), 3))
	k := r.ticket(server.ClientTicket)
	k.Roots = ""
	if _, err := cluster.Connect(k); !errors.Is(err, backend.ErrUnavailable) {
		t.Error("a certificate that nobody vouches for:", err)
	}
}

// TestHostThatDoesNotResolve: the server's machine need not resolve the name by which others reach
// the server.
func TestHostThatDoesNotResolve(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *server.Config, _ *server.Manager) { c.Hosts = []string{"prover0.invalid"} })
	if k := r.ticket(server.ClientTicket); !strings.HasPrefix(k.URL, "tls://prover0.invalid:") {
		t.Fatal(k.URL)
	}
	r.work(nil)
	c := r.client()
	waitAll(t, c, submitAll(t, c, r.fakeWork("name"), 1))
}

// TestTenants: a client cannot hear or read another client's jobs, nor harm them. A client that is
// no longer listed is not let in.
func TestTenants(t *testing.T) {
	t.Parallel()
	var cfg server.Config
	r := newRig(t, func(c *server.Config, _ *server.Manager) { c.Clients = []string{"alice", "eve"}; cfg = *c })
	alice, eve := server.TicketOf("alice"), server.TicketOf("eve")
	link, err := r.ticket(eve).Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	nc, admin := link.Conn, r.admin()
	var heard atomic.Uint64
	for _, subject := range []string{">", "_INBOX.>", wire.EndedPrefix + ">", wire.EndsPrefix + ">",
		wire.JobsPrefix + ">", wire.WitnessesPrefix + ">"} {
		if _, err := nc.Subscribe(subject, func(m *nats.Msg) { heard.Add(1) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}

	// Eve stores other bytes under the digest of Alice's key, and asks for its removal.
	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	digest, err := wire.Digest(write("alice's key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.PutKey(t.Context(), link, r.tenant(eve), digest, write("poison")); err != nil {
		t.Fatal(err)
	}
	if err := wire.PutKey(t.Context(), admin, r.tenant(alice), digest, write("alice's key")); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{r.tenant(alice), r.tenant(eve)} {
		if err := nc.Publish(wire.ForgetPrefix+"keys."+tenant+"."+digest, nil); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "Eve's own key is forgotten", func() bool {
		_, has, err := wire.HasKey(t.Context(), admin, r.tenant(eve), digest)
		return err == nil && !has
	})
	if err := wire.PutKey(t.Context(), link, r.tenant(eve), digest, write("poison")); err != nil {
		t.Fatal(err)
	}

	r.work(func(c *worker.Config) { c.Jobs = 8 })
	a, e := r.clientOf(alice), r.clientOf(eve)
	w := cluster.Work{System: "fake", Circuit: digest, ProvingKey: digest, VerifyingKey: digest}
	if _, err := one(t, e, w, number(0)); !errors.Is(err, cluster.ErrDead) || !strings.Contains(err.Error(), "damaged") {
		t.Error("a key that is none:", err)
	}
	ids := submitAll(t, a, w, 5)
	waitAll(t, a, ids)
	if s, err := a.Status(t.Context()); err != nil || len(s.Dead) != 0 {
		t.Errorf("another client's dead jobs: %+v, %v", s.Dead, err)
	}
	if s, err := e.Status(t.Context()); err != nil || len(s.Dead) != 1 {
		t.Errorf("a client's own dead job: %+v, %v", s.Dead, err)
	}
	if _, err := e.Wait(t.Context(), ids[0]); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error("another client's end:", err)
	}
	for what, do := range map[string]func(context.Context) error{
		"read an end": func(ctx context.Context) error {
			_, err := link.Last(ctx, wire.EndsPrefix+ids[0])
			return err
		},
		"read an end by number": func(ctx context.Context) error {
			_, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+wire.Of(wire.Ends, r.tenant(alice)), []byte(`{"seq":1}`))
			return err
		},
		"submitted a job": func(ctx context.Context) error {
			_, err := link.JS.Publish(ctx, wire.JobsPrefix+ids[0]+"x", []byte("{}"))
			return err
		},
		"stored a key": func(ctx context.Context) error {
			return wire.PutKey(ctx, link, r.tenant(alice), strings.Repeat("ab", 32), write("poison"))
		},
		"removed keys": func(ctx context.Context) error { return link.Purge(ctx, wire.KeysPrefix+r.tenant(alice)+".>", 0) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := do(ctx); err == nil {
			t.Error("a client " + what + " as another one")
		}
		cancel()
	}
	if n := heard.Load(); n != 0 {
		t.Errorf("a client heard %d messages of others", n)
	}

	r.down()
	evil := r.ticket(eve)
	cfg.Listen, cfg.Clients = r.listen, []string{"alice"}
	r.start(cfg)
	if _, err := cluster.ReadTicket(filepath.Join(r.dir, eve)); err == nil {
		t.Error("the ticket of who is not listed any more is there")
	}
	if _, err := cluster.Connect(evil); !errors.Is(err, backend.ErrUnavailable) {
		t.Error("who is not listed any more is let in:", err)
	}
	if _, err := cluster.Connect(r.ticket(alice)); err != nil {
		t.Error(err)
	}
}

// TestWitnessesThatClaimMuch: a witness that claims more values than its circuit has is refused
// before it is unpacked.
func TestWitnessesThatClaimMuch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.work(func(c *worker.Config) { c.Open = worker.Provers(nil) })
	c := r.client()
	for _, system := range []string{cluster.Groth16, cluster.Plonk} {
		s := setOf(t, system, ecc.BN254)
		p, err := c.Add(t.Context(), s.ccs, s.pk, s.vk, cluster.Options{})
		if err != nil {
			t.Fatal(err)
		}
		right, err := witnessOf(t, ecc.BN254, 3, 9).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := one(t, c, p.Work(), right); err != nil {
			t.Error(err)
		}
		header := bytes.Clone(right)
		binary.BigEndian.PutUint32(header[8:], 1<<27)
		for what, witness := range map[string][]byte{"a header": header, "a length": make([]byte, 64<<20)} {
			if _, err := one(t, c, p.Work(), witness); !errors.Is(err, cluster.ErrDead) ||
				!errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "circuit") {
				t.Errorf("%s, %s: %v", system, what, err)
			}
		}
	}
}
