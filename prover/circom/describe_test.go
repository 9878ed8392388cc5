package circom

import (
	"bytes"
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestDescribeKey reads what keys of snarkjs say. Their verifying keys are the ones that it writes.
func TestDescribeKey(t *testing.T) {
	for circuit, want := range map[string]Description{
		"cubic":    {Wires: 6, Public: 2, Domain: 8, Entries: 7, Contributed: true},
		"cubic381": {Wires: 6, Public: 2, Domain: 8, Entries: 7, Contributed: true},
		"silent":   {Wires: 3, Public: 0, Domain: 2, Entries: 3, Contributed: true},
	} {
		b := fileOf(t, circuit, "circuit.zkey")
		d, err := DescribeKey(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(circuit, err)
		}
		vk, err := d.VerifyingKey.JSON()
		if err != nil || !bytes.Equal(vk, fileOf(t, circuit, "verification_key.json")) {
			t.Errorf("%s: the verifying key is %s, %v", circuit, vk, err)
		}
		want.Curve, want.VerifyingKey = d.VerifyingKey.Curve, d.VerifyingKey
		if *d != want {
			t.Errorf("%s: %+v, want %+v", circuit, *d, want)
		}
	}
}

// TestDescribeRefuses damages a point of the verifying key, and the length of a section.
func TestDescribeRefuses(t *testing.T) {
	right := fileOf(t, "cubic", "circuit.zkey")
	ic := bytes.Index(right, g1Memory(t, keyOf(t, "cubic").IC[1]))
	alpha := bytes.Index(right, g1Memory(t, keyOf(t, "cubic").Alpha))
	if ic < 0 || alpha < 0 {
		t.Fatal("the key does not have its points")
	}
	for _, at := range []int{ic, alpha} {
		b := bytes.Clone(right)
		b[at]++
		if _, err := DescribeKey(bytes.NewReader(b), int64(len(b))); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("a point at %d that is not on the curve: %v", at, err)
		}
	}
	if _, err := DescribeKey(bytes.NewReader(right), int64(len(right))-1); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a key that ends early: %v", err)
	}
}

// g1Memory returns a point of BN254 in memory layout.
func g1Memory(t *testing.T, p G1) []byte {
	b, err := pointBytes(backend.BN254, p.coordinates())
	if err != nil {
		t.Fatal(err)
	}
	return b
}
