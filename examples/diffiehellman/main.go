// Command diffiehellman agrees on many secrets at once: batches of Diffie-Hellman keys
// in the 2048-bit group 14 of RFC 3526. Exponents are secret; how long a batch takes
// does not depend on them.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/big"
	"slices"
	"time"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/engine"
)

func main() {
	name := flag.String("backend", "cpu", "cpu, cuda, plugin:NAME")
	count := flag.Int("n", 64, "pairs of keys")
	flag.Parse()
	if err := run(context.Background(), *name, *count); err != nil {
		log.Fatal(err)
	}
}

// bits of the group, and of exponents, which are as strong.
const bits, exponentBits = 2048, 256

// prime is 2^2048 - 2^1984 - 1 + 2^64 (floor(2^1918 pi) + 124476), RFC 3526.
func prime() *big.Int {
	p, ok := new(big.Int).SetString("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74"+
		"020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B"+
		"0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F"+
		"83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3BE39E772C180E8603"+
		"9B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA051015728E5A8AACAA68FFFFFFFFFFFFFFFF", 16)
	if !ok {
		panic("the prime is no number")
	}
	return p
}

func run(ctx context.Context, name string, count int) (err error) {
	e, err := pippin.New(ctx, engine.Config{Backend: name})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	m, err := arith.FromBig(bits, prime())
	if err != nil {
		return err
	}
	g, err := arith.FromBig(bits, big.NewInt(2))
	if err != nil {
		return err
	}
	c := arith.On(e, arith.Options{})
	start := time.Now()
	var secret, public [2]*arith.Numbers
	for i := range secret {
		if secret[i], err = exponents(count); err != nil {
			return err
		}
		defer secret[i].Free()
		if public[i], err = c.ExpMod(ctx, g, secret[i], m); err != nil {
			return err
		}
	}
	a, err := c.ExpMod(ctx, public[1], secret[0], m)
	if err != nil {
		return err
	}
	defer a.Free()
	b, err := c.ExpMod(ctx, public[0], secret[1], m)
	if err != nil {
		return err
	}
	defer b.Free()
	took := time.Since(start)
	if !slices.Equal(a.Words, b.Words) {
		return errors.New("the two sides have other secrets")
	}
	for i := range min(count, 3) { // math/big is the judge of a few
		both := new(big.Int).Mul(secret[0].Big(i), secret[1].Big(i))
		if want := new(big.Int).Exp(big.NewInt(2), both, prime()); a.Big(i).Cmp(want) != 0 {
			return fmt.Errorf("pair %d: not the power that math/big computes", i)
		}
	}
	fmt.Printf("%d pairs agree, 4 exponentiations each, in %v\n", count, took.Round(time.Millisecond))
	return nil
}

// exponents is random ones.
func exponents(count int) (*arith.Numbers, error) {
	n := arith.Make(exponentBits, count)
	limit := new(big.Int).Lsh(big.NewInt(1), exponentBits)
	for i := range count {
		v, err := rand.Int(rand.Reader, limit)
		if err != nil {
			return nil, err
		}
		n.Set(i, v)
	}
	return n, nil
}
