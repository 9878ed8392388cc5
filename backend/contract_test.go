package backend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// plain implements only the contract, buffered adds a capability, and wrapped adds nothing and
// hides nothing.
type plain struct{ Backend }

type buffered struct{ Backend }

func (buffered) Alloc(context.Context, int) (Buffer, error) { return nil, io.EOF }

type wrapped struct{ inner Backend }

func (w wrapped) Unwrap() Backend { return w.inner }

type shell struct {
	Backend
	wrapped
}

func TestAsFindsCapabilitiesThroughWrappers(t *testing.T) {
	shelled := func(b Backend) Backend { return shell{Backend: b, wrapped: wrapped{b}} }
	for _, c := range []struct {
		name string
		b    Backend
		want bool
	}{
		{"none", plain{}, false},
		{"own", buffered{}, true},
		{"behind one wrapper", shelled(buffered{}), true},
		{"behind two", shelled(shelled(buffered{})), true},
		{"none behind a wrapper", shelled(plain{}), false},
		{"a wrapper of nothing", shelled(nil), false},
		{"nil", nil, false},
	} {
		a, ok := As[Allocator](c.b)
		if ok != c.want || ok != (a != nil) {
			t.Errorf("%s: found %v, want %v", c.name, ok, c.want)
		}
	}
}

func TestFaultOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Fault
	}{
		{nil, FaultNone},
		{ErrInvalidInput, FaultCaller},
		{ErrClosed, FaultCaller},
		{ErrUnsupported, FaultBackend},
		{ErrOutOfMemory, FaultBackend},
		{ErrInternal, FaultBackend},
		{ErrGone, FaultGone},
		{ErrUnavailable, FaultGone},
		{context.Canceled, FaultContext},
		{context.DeadlineExceeded, FaultContext},
		{errors.New("of no kind"), FaultBackend},
		// What a dying backend says of the arguments accuses nobody.
		{fmt.Errorf("%w: %w", ErrGone, ErrInvalidInput), FaultGone},
		{fmt.Errorf("%w: %w", ErrInternal, ErrInvalidInput), FaultBackend},
		{fmt.Errorf("%w: %w", ErrInternal, context.Canceled), FaultBackend},
		{fmt.Errorf("%w: %w", ErrInvalidInput, context.Canceled), FaultContext},
	} {
		if got := FaultOf(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

func TestEndedKeepsTheCause(t *testing.T) {
	if err := Ended(t.Context()); err != nil {
		t.Error(err)
	}
	cause := errors.New("the user went home")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := Ended(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Error(err)
	}
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	if err := Ended(cancelled); err != context.Canceled {
		t.Errorf("%v, want the context's own error and nothing around it", err)
	}
}

// slowDigest computes a digest by its definition.
func slowDigest(b Bases, points []byte) Digest {
	var all []byte
	all = append(all, "pippin bases 1\x00"...)
	all = append(all, byte(b.Curve), byte(b.Group))
	all = binary.LittleEndian.AppendUint64(all, uint64(b.Count))
	for len(points) > 0 {
		n := min(len(points), 1<<20)
		leaf := sha256.Sum256(points[:n])
		all, points = append(all, leaf[:]...), points[n:]
	}
	return sha256.Sum256(all)
}

func TestDigest(t *testing.T) {
	seen := map[Digest]string{}
	for _, n := range []int{0, 1, 5, 1 << 14, 1<<14 + 1, 3<<14 + 77} {
		b := Bases{Curve: BN254, Group: G1, Count: n}
		points := make([]byte, b.Size())
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for i := range points {
			points[i] = byte(r.Uint32())
		}
		path := filepath.Join(t.TempDir(), "points")
		if err := os.WriteFile(path, append([]byte("head"), points...), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fromBytes, fromFile, fromPieces := b, b, b
		fromBytes.Bytes = points
		fromFile.File, fromFile.FileOffset = f, 4
		fromPieces.Pieces = func(yield func([]byte, error) bool) {
			for rest := points; len(rest) > 0; {
				k := min(len(rest), 1+int(r.Uint32()%300_000))
				if !yield(rest[:k], nil) {
					return
				}
				rest = rest[k:]
			}
		}
		want := slowDigest(b, points)
		for _, s := range []struct {
			name string
			b    Bases
		}{{"bytes", fromBytes}, {"file", fromFile}, {"pieces", fromPieces}} {
			if got, err := s.b.Digest(t.Context()); err != nil || got != want {
				t.Errorf("%d points from %s: %v, %v, want %v", n, s.name, got, err, want)
			}
		}
		other := fromBytes
		other.Curve, other.Group = BN254, G1
		if n%2 == 0 { // the same number of bytes in the other group
			other.Group, other.Count = G2, n/2
		}
		got, err := other.Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []Digest{want, got} {
			if at, twice := seen[d]; twice && at != fmt.Sprint(n) {
				t.Errorf("%d points have the digest of %s", n, at)
			}
			seen[d] = fmt.Sprint(n)
		}
		if n > 0 {
			points[len(points)-1] ^= 1
			if changed, err := fromBytes.Digest(t.Context()); err != nil || changed == want {
				t.Errorf("%d points: one bit changed nothing (%v)", n, err)
			}
		}
	}
}

func TestDigestFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	points := make([]byte, 3<<20)
	b := Bases{Curve: BN254, Group: G1, Count: len(points) / 64, Bytes: points}
	if _, err := b.Digest(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	b.Count++
	if _, err := b.Digest(t.Context()); !errors.Is(err, ErrInvalidInput) {
		t.Errorf("a count that does not fit: %v", err)
	}
	short := Bases{Curve: BN254, Group: G1, Count: 9, Pieces: func(yield func([]byte, error) bool) { yield(bytes.Clone(points[:64]), nil) }}
	if _, err := short.Digest(t.Context()); !errors.Is(err, ErrInvalidInput) {
		t.Errorf("pieces that end early: %v", err)
	}
}
