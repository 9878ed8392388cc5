package clusters

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"
	"github.com/rs/zerolog"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/internal/files/quickdir"
	"github.com/pippin-zk/pippin/prover/circom"
)

// rooted says "I know a root of this number".
type rooted struct {
	Root   frontend.Variable
	Square frontend.Variable `gnark:",public"`
}

func (c *rooted) Define(api frontend.API) error {
	api.AssertIsEqual(c.Square, api.Mul(c.Root, c.Root))
	return nil
}

// clusterFiles are a circuit, its keys, a witness and a wrong one, as gnark writes
// them, and what verifies the proof of the first.
func clusterFiles(t *testing.T, dir string) (flags []string, right, wrong string, verify func(proof string) error) {
	t.Helper()
	write := func(name string, w io.WriterTo) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err == nil {
			_, err = w.WriteTo(f)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, new(rooted))
	if err != nil {
		t.Fatal(err)
	}
	pk, vk, err := groth16.Setup(ccs)
	if err != nil {
		t.Fatal(err)
	}
	witness := func(name string, square int) string {
		w, err := frontend.NewWitness(&rooted{Root: 3, Square: square}, ecc.BN254.ScalarField())
		if err != nil {
			t.Fatal(err)
		}
		return write(name, w)
	}
	flags = []string{"--circuit", write("c.r1cs", ccs), "--proving-key", write("c.pk", pk), "--verifying-key", write("c.vk", vk)}
	return flags, witness("right.wtns", 9), witness("wrong.wtns", 10), func(proof string) error {
		f, err := os.Open(proof)
		if err != nil {
			return err
		}
		defer f.Close()
		p := groth16.NewProof(ecc.BN254)
		if _, err := p.ReadFrom(f); err != nil {
			return err
		}
		public, err := frontend.NewWitness(&rooted{Square: 9}, ecc.BN254.ScalarField(), frontend.PublicOnly())
		if err != nil {
			return err
		}
		return groth16.Verify(p, vk, public)
	}
}

// clusterUp runs msm cluster up with a worker until the test ends, and waits until it
// is up.
func clusterUp(t *testing.T, args ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		a := &cli.App{Stdout: in, Stderr: t.Output(), Getenv: func(string) string { return "" }}
		Link(a)
		ended <- cli.Run(ctx, a, append([]string{"cluster", "up", "--work", "--cache", t.TempDir()}, args...))
		in.Close()
	}()
	lines := bufio.NewReader(out)
	said, _ := lines.ReadString('\n')
	works, _ := lines.ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, out) }()
	t.Cleanup(func() {
		stop()
		if status := <-ended; status != cli.ExitOK {
			t.Errorf("msm cluster up: status %d", status)
		}
	})
	if !strings.HasPrefix(said, "the cluster is up at ") || !strings.HasPrefix(works, "working for ") {
		t.Fatalf("%q, %q", said, works)
	}
}

// proveByCluster goes through what a user does.
func proveByCluster(t *testing.T, dir string) {
	t.Helper()
	ticket := func(name string) string { return "--ticket=" + filepath.Join(dir, name) }
	flags, right, wrong, verify := clusterFiles(t, t.TempDir())
	prove := append([]string{"cluster", "prove", ticket(server.ClientTicket)}, flags...)
	var said strings.Builder
	logger.Set(zerolog.New(&said))
	defer func() {
		if said.Len() > 0 {
			t.Errorf("gnark's log goes to stdout: %s", said.String())
		}
	}()
	status, out, errs := msm(t, &cli.App{}, append(prove, right)...)
	if status != cli.ExitOK || !strings.HasPrefix(out, right+".proof after ") {
		t.Fatalf("status %d, %s, %s", status, out, errs)
	}
	if err := verify(right + ".proof"); err != nil {
		t.Error(err)
	}
	status, _, errs = msm(t, &cli.App{}, append(prove, "--name", "second", "--after", "first", right)...)
	if status != cli.ExitFailed || !strings.Contains(errs, "knows no job first") {
		t.Errorf("after a job that is not there: status %d, %s", status, errs)
	}
	if status, _, errs = msm(t, &cli.App{}, append(prove, "--name", "both", right, wrong)...); status != cli.ExitUsage {
		t.Errorf("two jobs of one name: status %d, %s", status, errs)
	}
	status, _, errs = msm(t, &cli.App{}, append(prove, wrong)...)
	if _, err := os.Stat(wrong + ".proof"); status != cli.ExitFailed || !strings.Contains(errs, "constraint") || err == nil {
		t.Errorf("a wrong witness: status %d, %s", status, errs)
	}
	// The worker counts a job, and says why it is dead, after the client knows its end.
	var s cluster.Status
	for end := time.Now().Add(time.Minute); len(s.Workers) != 1 || s.Workers[0].Done != 2 || len(s.Dead) != 1; {
		status, out, errs = msm(t, &cli.App{}, "cluster", "status", ticket(server.AdminTicket), "--format", "json")
		s = cluster.Status{}
		if err := json.Unmarshal([]byte(out), &s); err != nil || status != cli.ExitOK || time.Now().After(end) {
			t.Fatalf("status %d, %s, %s", status, out, errs)
		}
	}
	status, out, _ = msm(t, &cli.App{}, "cluster", "status", ticket(server.AdminTicket))
	if status != cli.ExitOK || !strings.Contains(out, s.Workers[0].Name) || !strings.Contains(out, s.Dead[0].Reason) {
		t.Errorf("status %d, %s", status, out)
	}
	if status, _, errs = msm(t, &cli.App{}, "cluster", "drain", ticket(server.AdminTicket), s.Workers[0].Name); status != cli.ExitOK {
		t.Errorf("status %d, %s", status, errs)
	}
	if status, _, errs = msm(t, &cli.App{}, "cluster", "drain", ticket(server.AdminTicket)); status == cli.ExitOK {
		t.Error("nobody is there, and was sent away", errs)
	}
}

// TestClusterNamesTheSilent: who is connected and does not answer is in the table.
func TestClusterNamesTheSilent(t *testing.T) {
	var out strings.Builder
	if err := writeCluster(&out, cluster.Status{Workers: []cluster.Worker{{Name: "near", Jobs: 2}}, Silent: []string{"far"}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"near", "0 of 2", "far (does not answer)", "done", "returned", "handed out"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, out.String())
		}
	}
}

// TestCluster is a cluster on this machine, by command lines.
func TestCluster(t *testing.T) {
	dir := quickdir.New(t)
	clusterUp(t, "--dir", dir, "--listen", "127.0.0.1:0", "--room", "1GiB", "--client", "alice")
	if _, err := os.Stat(filepath.Join(dir, server.TicketOf("alice"))); err != nil {
		t.Error(err)
	}
	proveByCluster(t, dir)
}

// TestClusterCircom has a cluster prove with files of snarkjs.
func TestClusterCircom(t *testing.T) {
	dir, files := quickdir.New(t), t.TempDir()
	clusterUp(t, "--dir", dir, "--listen", "127.0.0.1:0", "--room", "1GiB")
	const example = "../../../../examples/circom/"
	right, err := os.ReadFile(example + "witness.wtns")
	if err != nil {
		t.Fatal(err)
	}
	wrong := bytes.Clone(right)
	wrong[len(wrong)-32] ^= 1
	for name, b := range map[string][]byte{"right.wtns": right, "wrong.wtns": wrong, "short.wtns": right[:90]} {
		if err := os.WriteFile(filepath.Join(files, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prove := func(name string, more ...string) (status int, out, errs string) {
		line := []string{"cluster", "prove", "--ticket", filepath.Join(dir, server.ClientTicket), "--zkey", example + "circuit.zkey"}
		return msm(t, &cli.App{}, append(append(line, more...), filepath.Join(files, name))...)
	}
	status, out, errs := prove("right.wtns")
	if status != cli.ExitOK || !strings.HasPrefix(out, filepath.Join(files, "right.wtns.proof.json after ")) {
		t.Fatalf("status %d, %s, %s", status, out, errs)
	}
	var text [3][]byte
	for i, name := range []string{example + "verification_key.json", filepath.Join(files, "right.wtns.proof.json"),
		filepath.Join(files, "right.wtns.public.json")} {
		if text[i], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	vk, err := circom.ParseVerifyingKey(text[0])
	if err != nil {
		t.Fatal(err)
	}
	proof, err := circom.ParseProof(text[1], text[2])
	if err == nil {
		err = vk.Verify(proof)
	}
	if err != nil {
		t.Error(err)
	}
	for name, says := range map[string]string{
		"wrong.wtns": "is the witness this circuit's?", "short.wtns": "short.wtns: invalid input: wtns: ", "none.wtns": "none.wtns",
	} {
		status, _, errs := prove(name)
		if status != cli.ExitFailed || !strings.Contains(errs, says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %s", name, status, errs)
		}
		if left, _ := filepath.Glob(filepath.Join(files, name+".*")); len(left) > 0 {
			t.Errorf("%s: there is %v", name, left)
		}
	}
	for _, more := range [][]string{{"--curve", "bn254"}, {"--system", "groth16"}, {"--circuit", "x"}, {"--solidity"}} {
		if status, _, errs := prove("right.wtns", more...); status != cli.ExitUsage || !strings.Contains(errs, "leave out "+more[0]) {
			t.Errorf("%v: status %d, %s", more, status, errs)
		}
	}
}

// TestClusterUpByName: the name by which others reach the server need not resolve here, and
// the server starts again without --room when others have taken the disk's room.
func TestClusterUpByName(t *testing.T) {
	dir := quickdir.New(t)
	for range 2 {
		t.Run("up", func(t *testing.T) {
			clusterUp(t, "--dir", dir, "--listen", "127.0.0.1:0", "--host", "prover0.invalid")
		})
	}
}

// TestClusterJoins is a cluster on a NATS server that is there.
func TestClusterJoins(t *testing.T) {
	there, dir := quickdir.New(t), quickdir.New(t)
	s, err := server.Start(server.Config{Dir: there, Listen: "127.0.0.1:0", Room: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	clusterUp(t, "--dir", dir, "--join", filepath.Join(there, server.AdminTicket), "--room", "512MiB")
	proveByCluster(t, dir)
}

func TestClusterRefuses(t *testing.T) {
	ticket := filepath.Join(t.TempDir(), "worker.json")
	if err := os.WriteFile(ticket, []byte(`{"url": "nats://192.0.2.1:4222", "open": "x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		args   string
		status int
		says   string
	}{
		{"up extra", cli.ExitUsage, "unexpected argument"},
		{"up --room much --dir " + t.TempDir(), cli.ExitUsage, "--room"},
		{"up --listen 0.0.0.0:0 --dir " + t.TempDir(), cli.ExitFailed, "say by which names"},
		{"up --join /nowhere --dir " + t.TempDir(), cli.ExitUsage, "no ticket /nowhere"},
		{"work --jobs 0", cli.ExitUsage, "--jobs"},
		{"work --ticket /nowhere", cli.ExitUsage, "no ticket /nowhere"},
		{"work --backend cpu --cache " + t.TempDir() + " --ticket " + ticket, cli.ExitFailed, "only tls:// is spoken there"},
		{"prove", cli.ExitUsage, "no witness"},
		{"prove a.wtns", cli.ExitUsage, "--circuit"},
		{"prove --zkey /nowhere.zkey --in-flight 0 a.wtns", cli.ExitUsage, "--in-flight"},
		{"prove --circuit a --proving-key b --verifying-key c --curve x a.wtns", cli.ExitUsage, "--curve"},
		{"status --format x", cli.ExitUsage, "--format"},
		{"drain a b", cli.ExitUsage, "one worker"},
	} {
		status, _, errs := msm(t, &cli.App{}, append([]string{"cluster"}, strings.Fields(k.args)...)...)
		if status != k.status || !strings.Contains(errs, k.says) {
			t.Errorf("%s: status %d, %s", k.args, status, errs)
		}
	}
}
