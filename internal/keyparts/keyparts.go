// Package keyparts is what readers of key files tell of the parts that they read.
package keyparts

import (
	"context"
	"errors"

	"github.com/pippin-zk/pippin/backend"
)

// Marker is how a dump begins, of gnark-crypto's utils/unsafe on a little-endian machine.
const Marker = 0xdeadbeef

// Part is some points of a key's file.
type Part struct {
	Name     string
	Element  backend.Element // points of one group
	Encoding backend.Encoding
	Points   int
	Bytes    int64 // in the file
}

// Watch follows the reading of a key.
type Watch struct {
	// Part is called with each part when its bytes have been read.
	Part func(Part)
	// Outline leaves points as they are, neither decoded nor checked. The reader returns
	// ErrOutline in place of a key.
	Outline bool
}

// ErrOutline says that the file is a key's as far as an outline tells.
var ErrOutline = errors.New("an outline has no key")

type watching struct{}

// With has readers that get the context tell w.
func With(ctx context.Context, w *Watch) context.Context {
	return context.WithValue(ctx, watching{}, w)
}

// From returns what With was given, or one that nobody hears of.
func From(ctx context.Context) *Watch {
	if w, ok := ctx.Value(watching{}).(*Watch); ok {
		return w
	}
	return &Watch{}
}
