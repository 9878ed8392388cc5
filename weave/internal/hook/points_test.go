package hook

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/kzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/msm"
)

// openWhole opens a backend that has programs over points too, as plugins have.
func openWhole(ctx context.Context, name string) (backend.Backend, error) {
	if name == "whole" {
		return cpu.New(cpu.Options{}), nil
	}
	return nil, fmt.Errorf("%w: %s", backend.ErrUnavailable, name)
}

// TestPoints compares products and a key in Lagrange form with gnark-crypto's.
func TestPoints(t *testing.T) {
	b := newBench(t, Options{Backend: "whole", Strict: true})
	b.o.Open = openWhole
	_, _, g1, g2 := bn254.Generators()
	s := scalars(300)
	s[7].SetZero()
	if got := MultiplesOf(b.Runtime, msm.BN254G1)(&g1, s); !slices.Equal(got, bn254.BatchScalarMultiplicationG1(&g1, s)) {
		t.Error("other products in G1")
	}
	if got := MultiplesOf(b.Runtime, msm.BN254G2)(&g2, s[:99]); !slices.Equal(got, bn254.BatchScalarMultiplicationG2(&g2, s[:99])) {
		t.Error("other products in G2")
	}
	srs, err := kzg.NewSRS(64, big.NewInt(1234567))
	if err != nil {
		t.Fatal(err)
	}
	was := slices.Clone(srs.Pk.G1)
	want, err := kzg.ToLagrangeG1(srs.Pk.G1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ToLagrangeOf(b.Runtime, msm.BN254G1)(srs.Pk.G1)
	if err != nil || !slices.Equal(got, want) || !slices.Equal(srs.Pk.G1, was) {
		t.Errorf("another key: %v", err)
	}
	trace := b.trace.String()
	for _, wants := range []string{
		`{"call":"BatchScalarMultiplication","curve":"bn254","group":"g1","points":300,"backend":"whole","ms":`,
		`{"call":"BatchScalarMultiplication","curve":"bn254","group":"g2","points":99,"backend":"whole","ms":`,
		`{"call":"ToLagrangeG1","curve":"bn254","group":"g1","points":64,"backend":"whole","ms":`,
	} {
		if strings.Count(trace, wants) != 1 {
			t.Errorf("%s is not in\n%s", wants, trace)
		}
	}
}

// TestPointsDeclined leaves to gnark-crypto what is small, of no size that the stock
// function takes, or for the backend in this process.
func TestPointsDeclined(t *testing.T) {
	_, _, g, _ := bn254.Generators()
	for _, c := range []struct {
		backend  string
		products int
		key      int
	}{{"whole", 9, 8}, {"whole", 0, 0}, {"whole", 0, 24}, {"cpu", 50, 64}} {
		b := newBench(t, Options{Backend: c.backend, Threshold: 10, Strict: true})
		b.o.Open = func(context.Context, string) (backend.Backend, error) {
			t.Error("a backend is opened")
			return nil, backend.ErrUnavailable
		}
		if got := MultiplesOf(b.Runtime, msm.BN254G1)(&g, scalars(c.products)); got != nil {
			t.Errorf("%+v: %d products", c, len(got))
		}
		if got, err := ToLagrangeOf(b.Runtime, msm.BN254G1)(points(c.key)); got != nil || err != nil {
			t.Errorf("%+v: %d points, %v", c, len(got), err)
		}
	}
}

// TestNoPoints has a backend without programs over points: gnark-crypto computes, a line
// says why, and a strict program fails.
func TestNoPoints(t *testing.T) {
	_, _, g, _ := bn254.Generators()
	b := newBench(t, Options{})
	for range 3 {
		if got := MultiplesOf(b.Runtime, msm.BN254G1)(&g, scalars(50)); got != nil {
			t.Errorf("%d products", len(got))
		}
	}
	if got, err := ToLagrangeOf(b.Runtime, msm.BN254G1)(points(64)); got != nil || err != nil {
		t.Errorf("%d points, %v", len(got), err)
	}
	if len(b.report) != 3 || !strings.HasPrefix(b.report[0], "BatchScalarMultiplication: ") || b.trace.Len() > 0 {
		t.Errorf("reported %q, traced %s", b.report, b.trace)
	}
	strict := newBench(t, Options{Strict: true})
	if _, err := ToLagrangeOf(strict.Runtime, msm.BN254G1)(points(64)); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, backend.ErrUnsupported) {
			t.Errorf("panics with %v", err)
		}
	}()
	MultiplesOf(strict.Runtime, msm.BN254G1)(&g, scalars(50))
	t.Error("strict, and no panic")
}
