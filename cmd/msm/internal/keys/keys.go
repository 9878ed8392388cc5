// Package keys tells what is in files of gnark's keys, checks them, and writes them in
// another form.
package keys

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/outfile"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/keyparts"
)

// Kind is what a key is for.
type Kind string

const (
	Groth16Proving   Kind = "groth16-proving"
	Groth16Verifying Kind = "groth16-verifying"
	PLONKProving     Kind = "plonk-proving"
	PLONKVerifying   Kind = "plonk-verifying"
	SRS              Kind = "kzg-srs"
)

// Kinds lists all.
func Kinds() []Kind {
	return []Kind{Groth16Proving, Groth16Verifying, PLONKProving, PLONKVerifying, SRS}
}

// Form is how a key's points are written.
type Form string

const (
	Compressed Form = "compressed" // WriteTo
	Raw        Form = "raw"        // WriteRawTo
	Dump       Form = "dump"       // WriteDump
)

// Forms lists all.
func Forms() []Form { return []Form{Compressed, Raw, Dump} }

// Part is some points of a key.
type Part struct {
	Name   string `json:"name"`
	Group  string `json:"group"`
	Points int    `json:"points"`
	Bytes  int64  `json:"bytes"`
}

// Description is what there is to say of a key's file.
type Description struct {
	Kind   Kind   `json:"kind"`
	Curve  string `json:"curve"`
	Form   Form   `json:"form"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Parts  []Part `json:"parts"` // in the file's order; other bytes are in none
}

// As says what a file is, where that is not told from its bytes. Zero values are.
type As struct {
	Kind  Kind
	Curve backend.Curve
}

// Key is one of gnark's.
type Key interface {
	io.WriterTo
	WriteRawTo(io.Writer) (int64, error)
}

// Describe reads over a key: lengths must fit each other, points are neither decoded nor
// checked, but those of a verifying key. What is no key is backend.ErrInvalidInput.
func Describe(ctx context.Context, from io.Reader, as As) (*Description, error) {
	_, d, err := read(ctx, nil, from, as, true)
	return d, err
}

// Read reads a key, whose points are checked to be on the curve and in the subgroup of order
// r, on an engine; those of a verifying key in this process. The error names the first that
// is not. A key that is no key, or has bytes behind it, is backend.ErrInvalidInput.
func Read(ctx context.Context, e *engine.Engine, from io.Reader, as As) (Key, *Description, error) {
	return read(ctx, e, from, as, false)
}

// Write writes a key in a form. What gnark has no such form of is backend.ErrUnsupported.
func Write(k Key, form Form, to io.Writer) (err error) {
	switch form {
	case Compressed:
		_, err = k.WriteTo(to)
	case Raw:
		_, err = k.WriteRawTo(to)
	case Dump:
		switch k := k.(type) {
		case interface{ WriteDump(io.Writer) error }: // Groth16's proving keys
			err = k.WriteDump(to)
		case interface {
			WriteDump(io.Writer, ...int) error
		}: // KZG's
			err = k.WriteDump(to)
		default:
			err = fmt.Errorf("%w: gnark has no dump of such a key, only of Groth16's proving keys and of KZG's", backend.ErrUnsupported)
		}
	default:
		err = fmt.Errorf("%w: no form %q", backend.ErrInvalidInput, form)
	}
	return err
}

// ahead is how much of a file is looked at to tell what it is: more than a verifying key of
// PLONK has.
const ahead = 1 << 20

// mostVerifying bounds a verifying key of Groth16: it has a point for each public value.
const mostVerifying = 256 << 20

func read(ctx context.Context, e *engine.Engine, from io.Reader, as As, outline bool) (Key, *Description, error) {
	hash := sha256.New()
	var size outfile.Counter
	b := bufio.NewReaderSize(io.TeeReader(from, io.MultiWriter(hash, &size)), ahead)
	head, err := b.Peek(ahead)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	kind, curve := identify(head, err == io.EOF)
	kind, curve = cmp.Or(as.Kind, kind), cmp.Or(as.Curve, curve)
	d := &Description{Kind: kind}
	watched := keyparts.With(ctx, &keyparts.Watch{Outline: outline, Part: func(p keyparts.Part) {
		curve = p.Element.Curve
		if form := formOf(p.Encoding); d.Form == "" || form == Dump {
			d.Form = form // a dump has encoded points too
		}
		d.Parts = append(d.Parts, Part{Name: p.Name, Group: p.Element.Group.String(), Points: p.Points, Bytes: p.Bytes})
	}})
	k, err := reader(kind, curve)(watched, e, b)
	if err != nil && !(outline && errors.Is(err, keyparts.ErrOutline)) {
		return nil, nil, err
	}
	if v, ok := k.(*verifying); ok {
		k, curve, d.Form = v.Key, v.curve, v.form
	}
	switch behind, err := io.Copy(io.Discard, b); {
	case err != nil:
		return nil, nil, err
	case behind > 0:
		return nil, nil, fmt.Errorf("%w: %d bytes are behind the key", backend.ErrInvalidInput, behind)
	}
	d.Curve, d.Bytes, d.SHA256 = curve.String(), int64(size), hex.EncodeToString(hash.Sum(nil))
	return k, d, nil
}

func formOf(e backend.Encoding) Form {
	switch e {
	case backend.Compressed:
		return Compressed
	case backend.Uncompressed:
		return Raw
	}
	return Dump
}

// verifying is a verifying key with what is known after it was read.
type verifying struct {
	Key
	curve backend.Curve
	form  Form
}

// readVerifying reads a verifying key that is all there is to read.
func readVerifying(from io.Reader, curves []backend.Curve, empty func(backend.Curve) verifyingKey) (Key, error) {
	content, err := io.ReadAll(io.LimitReader(from, mostVerifying))
	if err != nil {
		return nil, err
	}
	var why error
	for _, c := range curves {
		k := empty(c)
		if _, err := readAll(k, content); err != nil {
			why = cmp.Or(why, err)
			continue
		}
		var compressed bytes.Buffer
		if _, err := k.WriteTo(&compressed); err != nil {
			return nil, err
		}
		form := Raw
		if bytes.Equal(compressed.Bytes(), content) {
			form = Compressed
		}
		return &verifying{k, c, form}, nil
	}
	if len(curves) > 1 {
		return nil, fmt.Errorf("%w: no key that is known; --kind and --curve say what it is", backend.ErrInvalidInput)
	}
	return nil, fmt.Errorf("%w: the key: %w", backend.ErrInvalidInput, why)
}

type verifyingKey interface {
	Key
	io.ReaderFrom
}

// readAll reads a key that has all bytes.
func readAll(k io.ReaderFrom, b []byte) (io.ReaderFrom, error) {
	r := bytes.NewReader(b)
	if _, err := k.ReadFrom(r); err != nil {
		return nil, err
	}
	if n := r.Len(); n > 0 {
		return nil, fmt.Errorf("%d bytes are behind it", n)
	}
	return k, nil
}

// candidates returns the curve that is known, or all.
func candidates(known backend.Curve) []backend.Curve {
	if slices.Contains(backend.Curves(), known) {
		return []backend.Curve{known}
	}
	return backend.Curves()
}
