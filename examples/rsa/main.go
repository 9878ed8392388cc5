// Command rsa signs a batch with one RSA-2048 key: by the Chinese remainder theorem,
// as one program over numbers that stay where the backend computes. crypto/rsa
// verifies every signature.
package main

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/big"
	"time"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/engine"
)

func main() {
	name := flag.String("backend", "cpu", "cpu, cuda, plugin:NAME")
	count := flag.Int("n", 256, "signatures")
	flag.Parse()
	if err := run(context.Background(), *name, *count); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, name string, count int) (err error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	e, err := pippin.New(ctx, engine.Config{Backend: name})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	digests := make([][sha256.Size]byte, count)
	for i := range digests {
		digests[i] = sha256.Sum256(fmt.Appendf(nil, "message %d", i))
	}
	start := time.Now()
	signatures, err := sign(ctx, e, key, digests)
	if err != nil {
		return err
	}
	took := time.Since(start)
	for i, s := range signatures {
		if err := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, digests[i][:], s); err != nil {
			return fmt.Errorf("signature %d: %w", i, err)
		}
	}
	fmt.Printf("%d signatures in %v, all verified by crypto/rsa\n", count, took.Round(time.Millisecond))
	return nil
}

// sign is PKCS #1 v1.5 signatures of SHA-256 digests.
func sign(ctx context.Context, e *engine.Engine, key *rsa.PrivateKey, digests [][sha256.Size]byte) ([][]byte, error) {
	bits, half, n := 8*key.Size(), 4*key.Size(), len(digests)
	messages := arith.Make(bits, n)
	for i, d := range digests {
		messages.Set(i, new(big.Int).SetBytes(pad(d[:], key.Size())))
	}
	var secrets [5]*arith.Numbers
	for i, v := range []*big.Int{key.Primes[0], key.Primes[1], key.Precomputed.Dp, key.Precomputed.Dq, key.Precomputed.Qinv} {
		var err error
		if secrets[i], err = arith.FromBig(half, v); err != nil {
			return nil, err
		}
		defer secrets[i].Free()
	}
	crt := arith.CRT{P: secrets[0], Q: secrets[1], DP: secrets[2], DQ: secrets[3], QInv: secrets[4]}
	signed, err := arith.On(e, arith.Options{}).ExpModCRT(ctx, messages, crt)
	if err != nil {
		return nil, err
	}
	signatures := make([][]byte, n)
	for i := range signatures {
		signatures[i] = signed.Big(i).FillBytes(make([]byte, key.Size()))
	}
	return signatures, nil
}

// pad is a digest as PKCS #1 v1.5 has it signed.
func pad(digest []byte, size int) []byte {
	prefix := []byte{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20}
	em := make([]byte, size)
	em[1] = 1
	end := size - len(digest) - len(prefix)
	for i := 2; i < end-1; i++ {
		em[i] = 0xff
	}
	copy(em[end:], prefix)
	copy(em[size-len(digest):], digest)
	return em
}
