package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	core "github.com/pippin-zk/pippin/engine"
)

// RSA measures signatures in batches of every size by a key of every width, on every backend
// and by crypto/rsa. A signature is of a digest, PKCS #1 v1.5, with padding and checks within
// the time. Each is verified by crypto/rsa.
type RSA struct {
	Common
	Bits     []int // of the modulus
	Batches  []int // signatures of a batch
	InFlight int   // batches at a time
	// OpenSSL is the program whose speed is measured beside, if any.
	OpenSSL string
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *RSA) Validate() error {
	if c.InFlight < 1 {
		return Refused("%d batches in flight", c.InFlight)
	}
	for _, b := range c.Bits {
		if b%64 != 0 {
			return Refused("a modulus of %d bits, a multiple of 64 is wanted", b)
		}
	}
	return cmp.Or(c.ValidateCommon(), Within("bits", c.Bits, 1024, 16384), Within("signatures", c.Batches, 1, math.MaxInt32))
}

// CryptoRSA and OpenSSL are who signs beside backends.
const (
	CryptoRSA = "crypto/rsa"
	OpenSSL   = "openssl"
)

// signatures is the figure of signatures a second over all batches, one after the other or in
// flight.
const signatures = "signatures"

// Sheet shows signatures a second, and against the most that crypto/rsa reached.
func (c *RSA) Sheet() report.Sheet {
	return report.Sheet{
		Note: `PKCS #1 v1.5 signatures of SHA-256 digests, of one key, padding and checks within the time. The time of a batch
is its latency. crypto/rsa and OpenSSL sign on all processors, crypto/rsa batches of up to 4096; against crypto/rsa is
to the most signatures a second that it reached.`,
		Before: []report.Column{
			report.ColumnSize("bits", report.Stays, "bits"),
			report.Text("batch", report.Stays, func(r *report.Run) string { return fmt.Sprint(r.N) }),
			report.ColumnBackend(8), report.ColumnSize("in flight", 2, "in_flight"),
		},
		After: []report.Column{
			report.ColumnFigure("signatures/s", 6, signatures, "%.4g"),
			{Head: "against crypto/rsa", Keep: 5, Of: againstCryptoRSA},
		},
	}
}

func againstCryptoRSA(runs []report.Run) func(*report.Run) string {
	best := map[int]float64{} // of each width
	for _, r := range runs {
		if r.Backend == CryptoRSA {
			best[r.Sizes["bits"]] = max(best[r.Sizes["bits"]], r.Value(signatures))
		}
	}
	return func(r *report.Run) string {
		if s := best[r.Sizes["bits"]]; s > 0 && r.Backend != CryptoRSA {
			return fmt.Sprintf("%.2f times", r.Value(signatures)/s)
		}
		return ""
	}
}

func (c *RSA) Measure(ctx context.Context, r *Runner) error {
	if err := r.Start(ctx, nil); err != nil {
		return err
	}
	for _, bits := range c.Bits {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			return fmt.Errorf("%w: a key of %d bits: %w", backend.ErrInternal, bits, err)
		}
		if c.OpenSSL != "" {
			run, err := openSSL(ctx, c.OpenSSL, bits)
			if err != nil {
				return err
			}
			r.Runs = append(r.Runs, run)
		}
		for _, n := range c.Batches {
			if err := c.batches(ctx, r, key, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// batches measures batches of n signatures by crypto/rsa and on every backend.
func (c *RSA) batches(ctx context.Context, r *Runner, key *rsa.PrivateKey, n int) error {
	run := report.Run{Op: "rsa", N: n, Oracle: CryptoRSA}
	run.Size("bits", key.N.BitLen())
	run.Size("in_flight", c.InFlight)
	if n <= mostStock {
		s := &Series{Run: run.Clone()}
		s.Run.Backend, s.Run.Version, s.Run.Device = CryptoRSA, runtime.Version(), fmt.Sprintf("%d processors", runtime.GOMAXPROCS(0))
		sign := func(digests [][32]byte) ([][]byte, error) { return stockSignatures(ctx, key, digests) }
		if err := c.sign(ctx, r, s, key, sign); err != nil {
			return err
		}
	}
	for _, e := range r.Engines {
		signer, err := batchSigner(e.Engine, key)
		if err != nil {
			return err
		}
		sign := func(digests [][32]byte) ([][]byte, error) { return signer(ctx, digests) }
		if err := c.sign(ctx, r, r.Series(e, run, nil), key, sign); err != nil {
			return err
		}
	}
	return nil
}

// mostStock is the largest batch that crypto/rsa signs too: its rate grows no further.
const mostStock = 1 << 12

// sign times batches, each of other digests, c.InFlight of them at a time. One batch
// warms up before. All signatures are verified afterwards.
func (c *RSA) sign(ctx context.Context, r *Runner, s *Series, key *rsa.PrivateKey,
	signer func([][32]byte) ([][]byte, error)) error {
	rounds := c.Count + 1
	digests, signed := make([][][32]byte, rounds), make([][][]byte, rounds)
	for i := range digests {
		digests[i] = digestsOf(i, s.Run.N)
	}
	batch := func(i int) func() (time.Duration, error) {
		return Clock(func() (err error) {
			signed[i], err = signer(digests[i])
			return err
		})
	}
	s.Once = batch(0)
	t := r.Trial(s.Run.Name(), s)
	t.Timed = 0
	t.After = func() error {
		runtime.GC()
		samples := make([]time.Duration, c.Count)
		start := time.Now()
		err := InFlight(ctx, c.InFlight, c.Count, func(i int) (err error) {
			samples[i], err = batch(1 + i)()
			return err
		})
		s.Samples = samples
		s.Run.Figure(signatures, report.PerSecond, float64(s.Run.N*c.Count)/time.Since(start).Seconds())
		return err
	}
	t.Check = func() error {
		for i := range rounds {
			if err := verifySignatures(ctx, &key.PublicKey, digests[i], signed[i]); err != nil {
				return err
			}
		}
		s.Run.Checked = true
		return nil
	}
	return r.Compare(ctx, t)
}

// digestsOf makes n digests; those of another round are others.
func digestsOf(round, n int) [][32]byte {
	all := make([][32]byte, n)
	for i := range all {
		binary.LittleEndian.PutUint64(all[i][:], uint64(round))
		binary.LittleEndian.PutUint64(all[i][8:], uint64(i))
		h := crypto.SHA256.New()
		h.Write(all[i][:])
		h.Sum(all[i][:0])
	}
	return all
}

// InFlight calls do for 0 to n-1, at most lanes calls at a time, until an error or the end of ctx.
func InFlight(ctx context.Context, lanes, n int, do func(int) error) error {
	var next atomic.Int64
	var mu sync.Mutex
	var failed error
	var workers sync.WaitGroup
	for range min(n, lanes) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	workers.Wait()
	return errors.Join(failed, backend.Ended(ctx))
}

// stockSignatures signs by crypto/rsa, on all processors.
func stockSignatures(ctx context.Context, key *rsa.PrivateKey, digests [][32]byte) ([][]byte, error) {
	out := make([][]byte, len(digests))
	return out, InFlight(ctx, runtime.GOMAXPROCS(0), len(out), func(i int) (err error) {
		out[i], err = rsa.SignPKCS1v15(nil, key, crypto.SHA256, digests[i][:])
		return err
	})
}

// verifySignatures wants all to be right.
func verifySignatures(ctx context.Context, key *rsa.PublicKey, digests [][32]byte, signatures [][]byte) error {
	return InFlight(ctx, runtime.GOMAXPROCS(0), len(digests), func(i int) error {
		if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, digests[i][:], signatures[i]); err != nil {
			return fmt.Errorf("%w: signature %d: %w", ErrWrong, i, err)
		}
		return nil
	})
}

// batchSigner signs by arith.Calculator.ExpModCRT on an engine.
func batchSigner(e *core.Engine, key *rsa.PrivateKey) (func(context.Context, [][32]byte) ([][]byte, error), error) {
	bits := key.N.BitLen()
	number := func(v *big.Int) *arith.Numbers {
		n, err := arith.FromBig((bits+1)/2, v)
		if err != nil {
			return nil
		}
		return n
	}
	k := arith.CRT{P: number(key.Primes[0]), Q: number(key.Primes[1]), DP: number(key.Precomputed.Dp), DQ: number(key.Precomputed.Dq),
		QInv: number(key.Precomputed.Qinv), E: uint32(key.E)}
	// The head of a DigestInfo for SHA-256 (RFC 8017, 9.2).
	head := []byte{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20}
	size := bits / 8
	padded := append(append([]byte{0, 1}, bytes.Repeat([]byte{0xff}, size-3-len(head)-32)...), 0)
	padded = append(append(padded, head...), make([]byte, 32)...)
	return func(ctx context.Context, digests [][32]byte) ([][]byte, error) {
		a, out := arith.Make(bits, len(digests)), make([][]byte, len(digests))
		// On all processors, as crypto/rsa signs.
		const each = 64
		all := func(do func(i int, message []byte) error) error {
			return InFlight(ctx, runtime.GOMAXPROCS(0), (len(out)+each-1)/each, func(part int) error {
				message := bytes.Clone(padded)
				for i := part * each; i < min((part+1)*each, len(out)); i++ {
					if err := do(i, message); err != nil {
						return err
					}
				}
				return nil
			})
		}
		err := all(func(i int, message []byte) error {
			copy(message[size-32:], digests[i][:])
			return a.SetBytes(i, message)
		})
		if err != nil {
			return nil, err
		}
		signed, err := arith.On(e, arith.Options{}).ExpModCRT(ctx, a, k)
		if err != nil {
			return nil, err
		}
		err = all(func(i int, _ []byte) error {
			out[i] = signed.Bytes(i)
			return nil
		})
		if err != nil {
			return nil, err
		}
		return out, nil
	}, nil
}

// openSSL runs its speed on all processors, and takes signatures a second from it.
func openSSL(ctx context.Context, program string, bits int) (report.Run, error) {
	processors := runtime.GOMAXPROCS(0)
	run := report.Run{Op: "rsa", N: 1, Backend: OpenSSL, Device: fmt.Sprintf("%d processors", processors)}
	run.Size("bits", bits)
	run.Size("in_flight", processors)
	version, err := exec.CommandContext(ctx, program, "version").Output()
	if err == nil {
		run.Version = strings.TrimSpace(string(version))
		var text []byte
		speed := exec.CommandContext(ctx, program, "speed", "-seconds", "3", "-multi", fmt.Sprint(processors), fmt.Sprintf("rsa%d", bits))
		if text, err = speed.Output(); err == nil {
			var rate float64
			var line string
			rate, line, err = speedOf(string(text), bits)
			run.Figure(signatures, report.PerSecond, rate)
			run.Note("line", line)
		}
	}
	if err != nil {
		return run, fmt.Errorf("%w: %s: %w", backend.ErrUnsupported, program, err)
	}
	return run, nil
}

// speedOf reads the signatures a second of a width from what openssl speed writes.
func speedOf(text string, bits int) (rate float64, line string, err error) {
	column := -1
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		fields := strings.Fields(s.Text())
		// The head is "sign verify sign/s verify/s", with more columns since OpenSSL 3.2.
		for i, f := range fields {
			if f == "sign/s" {
				column = i
			}
		}
		if len(fields) > 3 && fields[0] == "rsa" && fields[1] == fmt.Sprint(bits) && column >= 0 && column+3 < len(fields) {
			rate, err = strconv.ParseFloat(fields[column+3], 64)
			return rate, strings.Join(fields, " "), err
		}
	}
	return 0, "", fmt.Errorf("no line of rsa %d bits", bits)
}
