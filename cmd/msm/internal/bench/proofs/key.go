package proofs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/consensys/gnark"
	"github.com/consensys/gnark-crypto/kzg"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/outfile"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/files"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/units"
)

// keyFormat is part of the names of kept keys. It must change whenever a
// circuit or what is written does.
const keyFormat = 1

// key is a compiled circuit with its keys, from a setup that nobody may rely
// on for anything but measurements.
type key struct {
	ccs constraint.ConstraintSystem
	proofsystem.Keys
	// setUp is how long the keys took to make here, without the circuit's compilation.
	setUp time.Duration
}

// keyFor reads the key kept for a circuit and curve, or makes and keeps one, as setUp does.
func keyFor(ctx context.Context, cfg *Statements, s *circuits.Statement, curve backend.Curve, maker *engine.Engine) (*key, error) {
	what := fmt.Sprintf("%s %v", s.Name, curve)
	dir := cfg.keyDir(s, curve)
	cfg.Progress.Tell(what+": reading the key", 0, 1)
	scheme, err := cfg.system().On(curve)
	if err != nil {
		return nil, err
	}
	k := &key{ccs: scheme.NewConstraints(), Keys: scheme.NewKeys()}
	if cfg.NoKeep {
		err = fs.ErrNotExist
	} else {
		err = k.read(dir)
	}
	if err == nil {
		now := time.Now()
		_ = os.Chtimes(dir, now, now) // when it was used last; not in a folder that is read only
		return k, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		cfg.Notef("%s: the key in %s is not usable, another one takes its place: %v", what, dir, err)
	}
	start := time.Now()
	if k, err = setUp(ctx, cfg, s, scheme, what, maker); err != nil {
		return nil, err
	}
	cfg.Notef("%s: set up in %v", what, time.Since(start).Round(time.Second/10))
	if cfg.NoKeep {
		return k, ctx.Err()
	}
	if err := k.keep(cfg, what, dir); err != nil {
		cfg.Notef("%s: the key is not kept for the next run: %v", what, err)
	}
	return k, ctx.Err()
}

// keyDir is the folder of a circuit's key.
func (c *Statements) keyDir(s *circuits.Statement, curve backend.Curve) string {
	return filepath.Join(c.CacheDir, string(c.system()), fmt.Sprintf("%s-%v-gnark-%s-%d", s.Name, curve, gnark.Version, keyFormat))
}

// keep writes the key where there is room, and says where and how much before.
func (k *key) keep(cfg *Statements, what, dir string) error {
	var size outfile.Counter
	for _, f := range k.files() {
		if err := f.Write(&size); err != nil {
			return err
		}
	}
	if free, known := files.Free(dir); known && free < uint64(size) {
		return fmt.Errorf("%s in %s, and %s are free there; msm cache clear removes what is kept",
			units.FormatBytes(uint64(size)), dir, units.FormatBytes(free))
	}
	cfg.Notef("%s: keeping %s for the next run in %s", what, units.FormatBytes(uint64(size)), dir)
	return k.write(dir)
}

// setUp compiles the circuit and makes keys on an engine or, if maker is nil, by gnark.
// gnark cannot be interrupted in that; when ctx ends, nobody waits for it.
func setUp(ctx context.Context, cfg *Statements, s *circuits.Statement, scheme proofsystem.Scheme,
	what string, maker *engine.Engine) (*key, error) {
	cfg.Notef("%s: compiling", what)
	cfg.Progress.Tell(what+": compiling", 0, 1)
	ccs, err := scheme.Compile(s.Circuit)
	if err != nil {
		return nil, err
	}
	cfg.Notef("%s: setting up keys for %d constraints, which can take minutes", what, ccs.GetNbConstraints())
	cfg.Progress.Tell(what+": setting up keys", 0, 1)
	keys := scheme.NewKeys()
	start := time.Now()
	if err := bench.UntilEnded(ctx, func() error {
		if maker != nil {
			return keys.SetUpOn(ctx, maker, ccs, knownSRS)
		}
		return keys.SetUp(ccs, knownSRS)
	}); err != nil {
		return nil, err
	}
	return &key{ccs, keys, time.Since(start)}, nil
}

// knownSRS makes a setup whose secret is known.
func knownSRS(ccs constraint.ConstraintSystem) (canonical, lagrange kzg.SRS, err error) {
	return unsafekzg.NewSRS(ccs)
}

// files lists the constraint system's file and the keys'.
func (k *key) files() []proofsystem.File {
	return append([]proofsystem.File{{
		Name:  "system",
		Write: func(w io.Writer) error { _, err := k.ccs.WriteTo(w); return err },
		Read:  func(r io.Reader) error { _, err := k.ccs.ReadFrom(r); return err },
	}}, k.Files()...)
}

// digests is the name of the file that has the others' SHA-256.
const digests = "sha256"

// write makes a folder with the key. It appears under its name when it is
// whole, in place of what was there.
func (k *key) write(dir string) (err error) {
	if dir, err = files.RealFolder(dir); err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, filepath.Base(dir)+".*.tmp") // mode 0700
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	var sums bytes.Buffer
	for _, f := range k.files() {
		h := sha256.New()
		if err := writeKeyFile(filepath.Join(tmp, f.Name), func(w io.Writer) error { return f.Write(io.MultiWriter(w, h)) }); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", h.Sum(nil), f.Name)
	}
	if err := os.WriteFile(filepath.Join(tmp, digests), sums.Bytes(), 0o600); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

func writeKeyFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	return errors.Join(err, f.Close())
}

// read fills the key from a folder, whose files are compared with their
// digests first: gnark's readers trust what they read.
func (k *key) read(dir string) error {
	sums, err := os.ReadFile(filepath.Join(dir, digests))
	if err != nil {
		return err
	}
	var found bytes.Buffer
	for _, f := range k.files() {
		h := sha256.New()
		if err := readKeyFile(filepath.Join(dir, f.Name), func(r io.Reader) error { _, err := io.Copy(h, r); return err }); err != nil {
			return err
		}
		fmt.Fprintf(&found, "%x  %s\n", h.Sum(nil), f.Name)
	}
	if !bytes.Equal(sums, found.Bytes()) {
		return errors.New("its files are not those that were written")
	}
	for _, f := range k.files() {
		if err := readKeyFile(filepath.Join(dir, f.Name), f.Read); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

func readKeyFile(path string, read func(io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // read only
	return read(bufio.NewReaderSize(f, 1<<20))
}
