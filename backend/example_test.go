package backend_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/fixtures"
)

// The contract as an engine uses it: bytes in gnark-crypto's memory layout, bases that stay, jobs
// over a range of them. Other capabilities of a backend are found by their type.
func Example() {
	ctx := context.Background()
	var b backend.Backend = cpu.New(cpu.Options{})
	defer b.Close()

	points, err := fixtures.NewPoints(backend.BLS12381, backend.G2, 1)
	if err != nil {
		log.Fatal(err)
	}
	raw, err := points.Bytes(100)
	if err != nil {
		log.Fatal(err)
	}
	id, err := b.LoadBases(ctx, backend.Bases{Curve: backend.BLS12381, Group: backend.G2, Count: 100, Bytes: raw})
	if err != nil {
		log.Fatal(err)
	}
	scalars, err := fixtures.Scalars(backend.BLS12381, fixtures.Uniform, 1, 60)
	if err != nil {
		log.Fatal(err)
	}
	answers, err := b.MSM(ctx, []backend.Job{{Bases: id, Offset: 40, Count: 60, Input: backend.Input{Bytes: scalars}}})
	if err != nil {
		log.Fatal(err)
	}
	want, err := points.Expected(40, scalars)
	if err != nil {
		log.Fatal(err)
	}
	_, programs := backend.As[backend.Programs](b)
	fmt.Println("right:", bytes.Equal(answers[0], want), "programs:", programs)

	err = b.FreeBases(ctx, id+1)
	fmt.Println(errors.Is(err, backend.ErrInvalidInput))
	// Output:
	// right: true programs: true
	// true
}
