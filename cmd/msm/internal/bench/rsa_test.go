package bench

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
)

func TestRSA(t *testing.T) {
	cfg := RSA{Common: Common{Open: numbersOpener(false), Backends: []string{"a"}, Count: 2},
		Bits: []int{1024}, Batches: []int{1, 3}, InFlight: 2}
	runs, infos, err := Measure(t.Context(), &cfg)
	if err != nil || len(runs) != 4 || len(infos) != 1 {
		t.Fatalf("%d runs on %d backends: %v", len(runs), len(infos), err)
	}
	for _, r := range runs {
		if !r.Checked || r.Value(signatures) <= 0 || r.Median <= 0 || len(r.Samples) != 2 || r.Sizes["in_flight"] != 2 {
			t.Errorf("%+v", r)
		}
	}
	var b bytes.Buffer
	if err := cfg.Sheet().Write(&b, table.Form{}, record.Record[report.Run]{Runs: runs}); err != nil ||
		!strings.Contains(b.String(), "crypto/rsa") || !strings.Contains(b.String(), "times") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestRSAThatIsWrong: a backend with wrong products is found by ExpModCRT itself.
func TestRSAThatIsWrong(t *testing.T) {
	cfg := RSA{Common: Common{Open: numbersOpener(true), Backends: []string{"odd"}, Count: 1},
		Bits: []int{1024}, Batches: []int{2}, InFlight: 1}
	if runs, _, err := Measure(t.Context(), &cfg); err == nil || len(runs) != 1 || runs[0].Backend != CryptoRSA {
		t.Errorf("%v, %+v", err, runs)
	}
	for _, wrong := range []func(*RSA){
		func(c *RSA) { c.Bits = []int{100} }, func(c *RSA) { c.Batches = []int{0} },
		func(c *RSA) { c.InFlight = 0 }, func(c *RSA) { c.Backends = nil },
	} {
		c := cfg
		wrong(&c)
		if _, _, err := Measure(t.Context(), &c); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestSpeedOfOpenSSL reads what versions 3.0 and 3.3 write.
func TestSpeedOfOpenSSL(t *testing.T) {
	for _, text := range []string{
		"version: 3.0.19\n                  sign    verify    sign/s verify/s\nrsa 2048 bits 0.000497s 0.000022s   2012.5  45469.0\n",
		"                   sign    verify    encrypt   decrypt   sign/s verify/s  encr./s  decr./s\nrsa " +
			" 2048 bits 0.000497s 0.000022s 0.000023s 0.000500s   2012.5  45469.0  42000.0   2000.1\n",
	} {
		rate, line, err := speedOf(text, 2048)
		if err != nil || rate != 2012.5 || !strings.HasPrefix(line, "rsa 2048 bits") {
			t.Errorf("%v, %q, %v", rate, line, err)
		}
		if _, _, err := speedOf(text, 3072); err == nil {
			t.Error("a width that is not there was found")
		}
	}
}

// TestVerifySignatures finds the one bit that is wrong.
func TestVerifySignatures(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	digests := digestsOf(1, 3)
	signatures, err := stockSignatures(t.Context(), key, digests)
	if err != nil || verifySignatures(t.Context(), &key.PublicKey, digests, signatures) != nil {
		t.Fatal(err)
	}
	signatures[2][7] ^= 1
	if err := verifySignatures(t.Context(), &key.PublicKey, digests, signatures); !errors.Is(err, ErrWrong) {
		t.Error(err)
	}
}
