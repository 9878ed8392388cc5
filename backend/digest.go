package backend

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// Digest identifies bases by curve, group and content, wherever they lie.
type Digest [sha256.Size]byte

// String is the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// digestPart is what is hashed as one leaf of a digest. It is part of the
// digest's definition.
const digestPart = 1 << 20

// Digest is the SHA-256 of a header (the text "pippin bases 1", a zero byte,
// curve, group, and the count in 8 bytes, little-endian) and of the SHA-256 of
// every MiB of the points, the last of which may be shorter. Memory and files
// are hashed by all processors; Pieces are used up. The caller keeps the
// answer: it is computed anew every time.
func (b *Bases) Digest(ctx context.Context) (Digest, error) {
	if err := b.Validate(); err != nil {
		return Digest{}, err
	}
	leaves := make([][sha256.Size]byte, (b.Size()+digestPart-1)/digestPart)
	hash := b.hashParts
	if b.Pieces != nil {
		hash = b.hashPieces
	}
	if err := hash(ctx, leaves); err != nil {
		return Digest{}, err
	}
	h := sha256.New()
	h.Write(append([]byte("pippin bases 1\x00"), byte(b.Curve), byte(b.Group)))
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(b.Count)))
	for i := range leaves {
		h.Write(leaves[i][:])
	}
	return Digest(h.Sum(nil)), nil
}

// hashParts hashes memory or a file, on all processors.
func (b *Bases) hashParts(ctx context.Context, leaves [][sha256.Size]byte) error {
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
				part, err := b.part(i*digestPart, &buf)
				if err == nil {
					err = Ended(ctx)
				}
				if err != nil {
					next.Store(int64(len(leaves))) // the others stop too
					once.Do(func() { failed = err })
					return
				}
				leaves[i] = sha256.Sum256(part)
			}
		})
	}
	group.Wait()
	return failed
}

// part is the bytes from at on that make one leaf; buf is the caller's, for
// what has to be read.
func (b *Bases) part(at int64, buf *[]byte) ([]byte, error) {
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

// hashPieces hashes what comes in order.
func (b *Bases) hashPieces(ctx context.Context, leaves [][sha256.Size]byte) error {
	h, filled, at := sha256.New(), 0, 0
	for p, err := range b.All() {
		if err == nil {
			err = Ended(ctx)
		}
		if err != nil {
			return err
		}
		for len(p) > 0 {
			n := min(len(p), digestPart-filled)
			h.Write(p[:n])
			if p, filled = p[n:], filled+n; filled == digestPart {
				leaves[at] = [sha256.Size]byte(h.Sum(nil))
				h.Reset()
				filled, at = 0, at+1
			}
		}
	}
	if filled > 0 {
		leaves[at] = [sha256.Size]byte(h.Sum(nil))
	}
	return nil
}
