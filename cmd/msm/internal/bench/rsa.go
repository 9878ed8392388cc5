package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"errors"
	"fmt"
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
	"github.com/pippin-zk/pippin/internal/record"
)

// RSAConfig says what RSA measures: signatures in batches of every size by a key of every
// width, on every backend and by crypto/rsa.
type RSAConfig struct {
	Open     core.Opener
	Backends []string
	Bits     []int // of the modulus
	Batches  []int // signatures of a batch
	Count    int   // timed batches, after one that is not
	InFlight int   // batches at a time
	// OpenSSL is the program whose speed is measured beside, if any.
	OpenSSL string

	Progress Progress
	Note     func(string)
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *RSAConfig) Validate() error {
	if c.Open == nil || len(c.Backends) == 0 || len(c.Bits) == 0 || len(c.Batches) == 0 || c.Count < 1 || c.InFlight < 1 {
		return fmt.Errorf("%w: nothing to measure: backends, widths, batches, a count and batches in flight must be given", backend.ErrInvalidInput)
	}
	for _, b := range c.Bits {
		if b < 1024 || b > 16384 || b%64 != 0 {
			return fmt.Errorf("%w: a modulus of %d bits, a multiple of 64 from 1024 to 16384 is wanted", backend.ErrInvalidInput, b)
		}
	}
	for _, n := range c.Batches {
		if n < 1 {
			return fmt.Errorf("%w: a batch of %d signatures", backend.ErrInvalidInput, n)
		}
	}
	return nil
}

// RSA measures what cfg says, and answers as MSM does. A signature is of a digest, PKCS #1
// v1.5, with padding and checks within the time. Each is verified by crypto/rsa.
func RSA(ctx context.Context, cfg RSAConfig) (runs []report.RSARun, infos []record.BackendInfo, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	infos = all.describe()
	for _, bits := range cfg.Bits {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			return runs, infos, fmt.Errorf("%w: a key of %d bits: %w", backend.ErrInternal, bits, err)
		}
		if cfg.OpenSSL != "" {
			run, err := openSSL(ctx, cfg.OpenSSL, bits)
			if err != nil {
				return runs, infos, err
			}
			runs = append(runs, run)
		}
		for _, n := range cfg.Batches {
			var signers []*signer
			stock := &signer{run: report.RSARun{By: report.CryptoRSA, Version: runtime.Version(), Device: fmt.Sprintf("%d processors", runtime.GOMAXPROCS(0))}}
			stock.sign = func(ctx context.Context, digests [][32]byte) ([][]byte, error) {
				return stockSignatures(ctx, key, digests)
			}
			if n <= mostStock {
				signers = append(signers, stock)
			}
			for _, e := range all {
				one := &signer{run: report.RSARun{By: e.name, Version: e.info.Version, Device: e.device()}}
				if one.sign, err = batchSigner(e.Engine, key); err != nil {
					return runs, infos, err
				}
				signers = append(signers, one)
			}
			for _, s := range signers {
				s.run.Op, s.run.Bits, s.run.N, s.run.InFlight = "rsa", bits, n, cfg.InFlight
				if err := s.measure(ctx, &cfg, key); err != nil {
					return runs, infos, fmt.Errorf("%s, %d signatures of %d bits: %w", s.run.By, n, bits, err)
				}
				runs = append(runs, s.run)
			}
		}
	}
	return runs, infos, nil
}

// mostStock is the largest batch that crypto/rsa signs too: its rate grows no further.
const mostStock = 1 << 12

// signer signs batches of digests.
type signer struct {
	run  report.RSARun
	sign func(context.Context, [][32]byte) ([][]byte, error)
}

// measure times batches of other digests each, and verifies all signatures afterwards.
func (s *signer) measure(ctx context.Context, cfg *RSAConfig, key *rsa.PrivateKey) error {
	r := &s.run
	stage := fmt.Sprintf("%s, RSA-%d, %d signatures", r.By, r.Bits, r.N)
	rounds := cfg.Count + 1 // the first is not timed
	digests, signatures := make([][][32]byte, rounds), make([][][]byte, rounds)
	for i := range digests {
		digests[i] = digestsOf(i, r.N)
	}
	samples := make([]time.Duration, rounds)
	once := func(i int) (err error) {
		start := time.Now()
		signatures[i], err = s.sign(ctx, digests[i])
		samples[i] = time.Since(start)
		return err
	}
	cfg.Progress.tell(stage, 0, rounds)
	if err := once(0); err != nil {
		return err
	}
	cfg.Progress.tell(stage, 1, rounds)
	runtime.GC()
	start := time.Now()
	if err := inFlight(ctx, cfg.InFlight, cfg.Count, func(i int) error { return once(i + 1) }); err != nil {
		return err
	}
	took := time.Since(start)
	for i := range rounds {
		if err := verifySignatures(ctx, &key.PublicKey, digests[i], signatures[i]); err != nil {
			return err
		}
	}
	cfg.Progress.tell(stage, rounds, rounds)
	samples = samples[1:]
	r.Count, r.Min, r.Median, r.Samples = cfg.Count, record.Millis(record.Min(samples)), record.Millis(record.Median(samples)), record.AllMillis(samples)
	r.Rate = float64(r.N*r.Count) / took.Seconds()
	r.Checked = true
	return nil
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

// inFlight calls do for 0 to n-1, so many at a time, until an error or the end of ctx.
func inFlight(ctx context.Context, lanes, n int, do func(int) error) error {
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
	return out, inFlight(ctx, runtime.GOMAXPROCS(0), len(out), func(i int) (err error) {
		out[i], err = rsa.SignPKCS1v15(nil, key, crypto.SHA256, digests[i][:])
		return err
	})
}

// verifySignatures wants all to be right.
func verifySignatures(ctx context.Context, key *rsa.PublicKey, digests [][32]byte, signatures [][]byte) error {
	return inFlight(ctx, runtime.GOMAXPROCS(0), len(digests), func(i int) error {
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
			return inFlight(ctx, runtime.GOMAXPROCS(0), (len(out)+each-1)/each, func(part int) error {
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
func openSSL(ctx context.Context, program string, bits int) (run report.RSARun, err error) {
	processors := runtime.GOMAXPROCS(0)
	run = report.RSARun{Op: "rsa", Bits: bits, N: 1, By: report.OpenSSL, Device: fmt.Sprintf("%d processors", processors), InFlight: processors}
	version, err := exec.CommandContext(ctx, program, "version").Output()
	if err == nil {
		run.Version = strings.TrimSpace(string(version))
		var text []byte
		if text, err = exec.CommandContext(ctx, program, "speed", "-seconds", "3", "-multi", fmt.Sprint(processors), fmt.Sprintf("rsa%d", bits)).Output(); err == nil {
			run.Rate, run.Line, err = speedOf(string(text), bits)
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
