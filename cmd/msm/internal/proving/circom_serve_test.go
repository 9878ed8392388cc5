package proving

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/prover/circom"
)

// written is what a command says, while it says it.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(b)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// TestCircomServe serves two circuits, proves with both and ends in order.
func TestCircomServe(t *testing.T) {
	dir := t.TempDir()
	for _, circuit := range []string{"cubic", "silent"} {
		b, err := os.ReadFile(circomFile(circuit, "circuit.zkey"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, circuit+".zkey"), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var said written
	status := make(chan int, 1)
	go func() {
		a := &cli.App{Stdout: io.Discard, Stderr: &said, Getenv: clitest.Getenv}
		Link(a)
		status <- cli.Run(ctx, a, []string{"circom", "serve", filepath.Join(dir, "cubic.zkey"), filepath.Join(dir, "silent.zkey"),
			"--listen", ":0", "--metrics", ":0"})
	}()
	address := regexp.MustCompile(`msg=serving address=(\S+)`)
	var at []string
	for wait := time.Now().Add(30 * time.Second); at == nil && time.Now().Before(wait); time.Sleep(5 * time.Millisecond) {
		at = address.FindStringSubmatch(said.String())
	}
	if at == nil || !strings.HasPrefix(at[1], "127.0.0.1:") {
		t.Fatalf("it says %s", said.String())
	}
	for circuit, want := range map[string]string{"cubic": `["35","5"]`, "silent": `[]`} {
		witness, err := os.ReadFile(circomFile(circuit, "witness.wtns"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Post("http://"+at[1]+"/prove/"+circuit, "application/octet-stream", bytes.NewReader(witness))
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		err = json.NewDecoder(answer.Body).Decode(&fields)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || string(fields["pub_signals"]) != want {
			t.Fatalf("%s: %s, %v, %s", circuit, answer.Status, err, fields)
		}
		p, err := circom.ParseProof(fields["proof"], fields["pub_signals"])
		if err != nil {
			t.Fatal(err)
		}
		vk, err := readVerifyingKey(circomFile(circuit, "verification_key.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := vk.Verify(p); err != nil {
			t.Errorf("%s: %v", circuit, err)
		}
	}
	end()
	select {
	case s := <-status:
		if s != cli.ExitOK {
			t.Errorf("status %d, it says %s", s, said.String())
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("it does not end, and says %s", said.String())
	}
}

// TestCircomServeFails has keys and flags that are wrong.
func TestCircomServeFails(t *testing.T) {
	key := circomFile("cubic", "circuit.zkey")
	for _, c := range []struct {
		status int
		want   string
		args   []string
	}{
		{cli.ExitUsage, "no key", nil},
		{cli.ExitUsage, "--body", []string{key, "--body", "much"}},
		{cli.ExitUsage, "--jobs", []string{key, "--jobs", "0"}},
		{cli.ExitUsage, "two keys are named circuit.zkey", []string{key, circomFile("silent", "circuit.zkey"), "--listen", ":0"}},
		{cli.ExitFailed, "--listen", []string{key, "--listen", "nowhere:x"}},
		{cli.ExitFailed, "witness.wtns", []string{circomFile("cubic", "witness.wtns"), "--listen", ":0"}},
	} {
		status, out, errs := msm(t, &cli.App{}, append([]string{"circom", "serve"}, c.args...)...)
		last := errs[strings.LastIndex(strings.TrimSpace(errs), "\n")+1:]
		if status != c.status || out != "" || !strings.HasPrefix(last, "msm: ") || !strings.Contains(last, c.want) {
			t.Errorf("%q: status %d, %s%s", c.args, status, errs, out)
		}
	}
}
