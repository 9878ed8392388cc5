package worker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// cache keeps objects on the disk. Each is a file whose name is its digest.
type cache struct {
	dir   string
	limit int64
	link  *wire.Link
	one   sync.Mutex // one object is fetched at a time; a job that waits for the lock is noted by waits
}

func newCache(dir string, limit int64, link *wire.Link) (*cache, error) {
	if dir == "" {
		return nil, fmt.Errorf("%w: a worker needs a folder for keys", backend.ErrInvalidInput)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	return &cache{dir: dir, limit: limit, link: link}, nil
}

// get returns the path of an object. If the object is not there, get fetches the tenant's copy:
// objects of one digest are equal, whoever stored them. To make room it removes other objects,
// except those in keep.
func (c *cache) get(ctx context.Context, tenant, digest string, keep []string) (string, error) {
	goesOn := waits(ctx)
	c.one.Lock()
	defer c.one.Unlock()
	goesOn()
	path := filepath.Join(c.dir, digest)
	if err := os.Chtimes(path, time.Time{}, time.Now()); err == nil {
		return path, nil
	}
	f, err := os.CreateTemp(c.dir, ".new-*")
	if err != nil {
		return "", fmt.Errorf("%w: %w", errInfrastructure, err)
	}
	defer os.Remove(f.Name()) // removes it if it was not fetched whole
	defer f.Close()
	if err := wire.GetKey(ctx, c.link, tenant, digest, f, func() { Progress(ctx) }); err != nil {
		if errors.Is(err, backend.ErrInvalidInput) || errors.Is(err, wire.ErrDigest) || wire.Missing(err) {
			return "", err // another try would fail alike
		}
		return "", fmt.Errorf("%w: %w", errInfrastructure, err)
	}
	if err := errors.Join(f.Close(), os.Rename(f.Name(), path)); err != nil {
		return "", fmt.Errorf("%w: %w", errInfrastructure, err)
	}
	return path, c.evict(append(keep, digest))
}

// evict removes the objects used least lately until the limit holds, except those in keep.
func (c *cache) evict(keep []string) error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("%w: %w", errInfrastructure, err)
	}
	var files []fs.FileInfo
	var sum int64
	for _, e := range entries {
		if st, err := e.Info(); err == nil && st.Mode().IsRegular() {
			files = append(files, st)
			sum += st.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, f := range files {
		if sum <= c.limit {
			break
		}
		if slices.Contains(keep, f.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(c.dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) { // another worker did
			return fmt.Errorf("%w: %w", errInfrastructure, err)
		}
		sum -= f.Size()
	}
	return nil
}

// files returns the files of a work, fetched from the tenant if they are missing. The path of a file
// that the work does not have is empty.
func (c *cache) files(ctx context.Context, tenant string, w wire.Work) (f Files, err error) {
	for _, o := range []struct {
		path   *string
		digest string
	}{{&f.Circuit, w.Circuit}, {&f.ProvingKey, w.ProvingKey}, {&f.VerifyingKey, w.VerifyingKey}} {
		if o.digest == "" {
			continue
		}
		if *o.path, err = c.get(ctx, tenant, o.digest, w.Digests()); err != nil {
			return f, err
		}
	}
	return f, nil
}

// Read calls read with a file of the cache and compares the file's digest with its name. If they
// differ, for example after an error of the disk, Read removes the file so that it is fetched
// again, and the error is not the job's fault. If read itself fails, the error wraps ErrJob.
func Read(ctx context.Context, path string, read func(io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errInfrastructure, err)
	}
	defer f.Close()
	h := sha256.New()
	tee := io.TeeReader(f, getsOn{ctx, h})
	wrong := read(tee)
	if _, err := io.Copy(io.Discard, tee); err != nil {
		return fmt.Errorf("%w: %w", errInfrastructure, err)
	}
	if hex.EncodeToString(h.Sum(nil)) != filepath.Base(path) {
		return errors.Join(fmt.Errorf("%w: %w: %s is removed", errInfrastructure, wire.ErrDigest, path), wrong, os.Remove(path))
	}
	if wrong != nil {
		return fmt.Errorf("%w: object %s: %w", ErrJob, filepath.Base(path), wrong)
	}
	return nil
}

// getsOn is a writer that notes progress of a job with each write.
type getsOn struct {
	ctx context.Context
	io.Writer
}

func (g getsOn) Write(b []byte) (int, error) {
	Progress(g.ctx)
	return g.Writer.Write(b)
}
