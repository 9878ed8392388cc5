// Command longsum adds up a million integers of 65,536 bits, 8 GiB of them: they are
// made in parts, and only the sums of parts leave the backend.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"math/big"
	"math/rand/v2"
	"time"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/engine"
)

func main() {
	name := flag.String("backend", "cpu", "cpu, cuda, plugin:NAME")
	count := flag.Int("n", 1_000_000, "integers")
	flag.Parse()
	if err := run(context.Background(), *name, *count, log.Printf); err != nil {
		log.Fatal(err)
	}
}

const (
	bits    = 65536
	sumBits = bits + 32 // enough for 2^32 of them
	part    = 1 << 12   // integers that are in memory at a time
)

func run(ctx context.Context, name string, count int, say func(string, ...any)) (err error) {
	e, err := pippin.New(ctx, engine.Config{Backend: name})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	numbers, err := arith.New(ctx, e, bits, min(part, count)) // read by the backend where they are
	if err != nil {
		return err
	}
	defer numbers.Free()
	c := arith.On(e, arith.Options{})
	rng := rand.NewPCG(1, 2)
	sum, check := new(big.Int), new(big.Int)
	var adding time.Duration
	for done := 0; done < count; {
		n := min(part, count-done)
		now := &arith.Numbers{Width: numbers.Width, Words: numbers.Words[:n*numbers.Width]}
		for i := range now.Words {
			now.Words[i] = uint32(rng.Uint64())
		}
		start := time.Now()
		s, err := c.Sum(ctx, now, sumBits)
		if err != nil {
			return err
		}
		adding += time.Since(start)
		sum.Add(sum, s.Big(0))
		for i := range n { // and math/big's answer
			check.Add(check, now.Big(i))
		}
		if done += n; done == count || done%(64*part) == 0 {
			say("%d of %d", done, count)
		}
	}
	if sum.Cmp(check) != 0 {
		return errors.New("the sum is not the one that math/big computes")
	}
	say("%d integers of %d bits: a sum of %d bits, %v in the backend", count, bits, sum.BitLen(), adding.Round(time.Millisecond))
	return nil
}
