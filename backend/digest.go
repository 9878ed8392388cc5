package backend

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// Digest identifies bases by curve, group and content, wherever they are stored.
type Digest [sha256.Size]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// digestPart is the size in bytes of one leaf of a digest. It is part of the digest's definition.
const digestPart = 1 << 20

// Memo remembers the digest of bases that do not change. All copies of a Bases share its Memo. It
// is safe for concurrent use.
type Memo struct {
	turn  chan struct{} // held by the one who computes
	known bool
	value Digest
}

// NewMemo returns a Memo that learns the digest when it is first asked for.
func NewMemo() *Memo { return &Memo{turn: make(chan struct{}, 1)} }

// Known returns the Memo of bases whose digest the caller knows and vouches for. A backend that
// holds bases with that digest uses those.
func Known(d Digest) *Memo { return &Memo{turn: make(chan struct{}, 1), known: true, value: d} }

// Digest returns the SHA-256 of a header followed by the SHA-256 of every MiB of the points; the
// last MiB may be shorter. The header is the text "pippin bases 1", a zero byte, the curve, the
// group, and the count in 8 bytes, little-endian. All processors hash memory and files; Pieces are
// used up. A Memo remembers the digest, but no error. Without one the digest is computed each time.
func (b *Bases) Digest(ctx context.Context) (Digest, error) {
	if err := b.Validate(); err != nil {
		return Digest{}, err
	}
	m := b.Memo
	if m == nil {
		return b.compute(ctx)
	}
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return Digest{}, Ended(ctx)
	}
	defer func() { <-m.turn }()
	if !m.known {
		d, err := b.compute(ctx)
		if err != nil {
			return d, err
		}
		m.value, m.known = d, true
	}
	return m.value, nil
}

// KnownDigest returns the digest if it is known without reading the points.
func (b *Bases) KnownDigest() (d Digest, known bool) {
	m := b.Memo
	if m == nil {
		return d, false
	}
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
		return m.value, m.known
	default:
		return d, false // it is being computed just now
	}
}

func (b *Bases) compute(ctx context.Context) (Digest, error) {
	if b.Pieces != nil {
		h := NewHasher(b)
		for p, err := range b.All() {
			if err == nil {
				err = Ended(ctx)
			}
			if err != nil {
				return Digest{}, err
			}
			h.Write(p)
		}
		return h.Digest(), nil
	}
	leaves := make([][sha256.Size]byte, (b.Size()+digestPart-1)/digestPart)
	if err := hashParts(ctx, leaves, b.part); err != nil {
		return Digest{}, err
	}
	return b.top(leaves), nil
}

// top returns the digest of the bases from those of the parts.
func (b *Bases) top(leaves [][sha256.Size]byte) Digest {
	h := sha256.New()
	h.Write(append([]byte("pippin bases 1\x00"), byte(b.Curve), byte(b.Group)))
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(b.Count)))
	for i := range leaves {
		h.Write(leaves[i][:])
	}
	return Digest(h.Sum(nil))
}

// hashParts computes the digests of all parts on all processors. part returns the bytes of a part;
// it may use buf, which belongs to its goroutine, for bytes that it must read.
func hashParts(ctx context.Context, leaves [][sha256.Size]byte, part func(i int64, buf *[]byte) ([]byte, error)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	var once sync.Once
	var failed error
	for range min(runtime.GOMAXPROCS(0), len(leaves)) {
		group.Go(func() {
			var buf []byte
			for {
				i := next.Add(1) - 1
				if i >= int64(len(leaves)) {
					return
				}
				bytes, err := part(i, &buf)
				if err == nil {
					err = Ended(ctx)
				}
				if err != nil {
					next.Store(int64(len(leaves))) // the others stop too
					once.Do(func() { failed = err })
					return
				}
				leaves[i] = sha256.Sum256(bytes)
			}
		})
	}
	group.Wait()
	return failed
}

// part returns the bytes of one leaf.
func (b *Bases) part(i int64, buf *[]byte) ([]byte, error) {
	at := i * digestPart
	n := min(digestPart, b.Size()-at)
	if b.File == nil {
		return b.Bytes[at : at+n], nil
	}
	if *buf == nil {
		*buf = make([]byte, digestPart)
	}
	p := (*buf)[:n]
	if _, err := io.ReadFull(io.NewSectionReader(b.File, b.FileOffset+at, n), p); err != nil {
		return nil, fmt.Errorf("%w: reading bases: %w", ErrInvalidInput, err)
	}
	return p, nil
}

// Hasher computes the digest of points that arrive in pieces, in order and cut anywhere. It is not
// safe for concurrent use.
type Hasher struct {
	bases  Bases // curve, group and count
	part   hash.Hash
	filled int // bytes of the current part so far
	leaves [][sha256.Size]byte
}

// NewHasher returns a Hasher for points with b's curve, group and count. It ignores b's source.
func NewHasher(b *Bases) *Hasher {
	return &Hasher{bases: Bases{Curve: b.Curve, Group: b.Group, Count: b.Count}, part: sha256.New()}
}

// Write adds the next points. Whole MiB within one piece are hashed by all processors.
func (h *Hasher) Write(p []byte) {
	for len(p) > 0 {
		if whole := len(p) / digestPart; h.filled == 0 && whole > 1 {
			at := len(h.leaves)
			h.leaves = append(h.leaves, make([][sha256.Size]byte, whole)...)
			parts := p[:whole*digestPart]
			_ = hashParts(context.Background(), h.leaves[at:], func(i int64, _ *[]byte) ([]byte, error) {
				return parts[i*digestPart:][:digestPart], nil
			})
			p = p[len(parts):]
			continue
		}
		n := min(len(p), digestPart-h.filled)
		h.part.Write(p[:n])
		if p, h.filled = p[n:], h.filled+n; h.filled == digestPart {
			h.endPart()
		}
	}
}

func (h *Hasher) endPart() {
	h.leaves = append(h.leaves, [sha256.Size]byte(h.part.Sum(nil)))
	h.part.Reset()
	h.filled = 0
}

// Digest returns the digest. Call it after the last Write.
func (h *Hasher) Digest() Digest {
	if h.filled > 0 {
		h.endPart()
	}
	return h.bases.top(h.leaves)
}
