package bench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/fixtures"
)

// Writes returns how many bytes of points the configured MSMs add to the cache, and
// the folder that they go to.
func (c *MSM) Writes() (bytes uint64, dir string, err error) {
	cache := fixtures.Cache{Dir: c.CacheDir}
	for _, curve := range c.Curves {
		for _, g := range c.Groups {
			bytes += cache.Writes(fixtures.Key{Curve: curve, Group: g, Seed: c.Seed}, slices.Max(c.Sizes))
		}
	}
	if bytes > 0 {
		dir, err = cache.Folder()
	}
	return bytes, dir, err
}

// CacheEntry is something that a bench keeps for later ones: points of a group,
// or the keys of a circuit.
type CacheEntry struct {
	Name  string    `json:"name"` // below the folder
	What  string    `json:"what"`
	Bytes uint64    `json:"bytes"`
	Used  time.Time `json:"used"` // last

	path string
}

const (
	cachedPoints     = "points"
	cachedUnfinished = "unfinished"
)

// The names of what is kept, so that nothing else in the folder is ever listed
// or removed.
var (
	pointsName     = regexp.MustCompile(`^[a-z0-9-]+-g[12]-[a-z]+-seed[0-9]+-v[0-9]+\.points(\.[0-9]+\.tmp)?$`)
	keyName        = regexp.MustCompile(`^[a-z0-9-]+-gnark-[0-9A-Za-z.+-]+-[0-9]+(\.[0-9]+\.tmp)?$`)
	unfinishedName = regexp.MustCompile(`\.[0-9]+\.tmp$`)
)

// KeyFolders are the folders of keys in a cache: the names of the proof systems, which package
// proofsystem has with all that it links.
var KeyFolders = []string{"groth16", "plonk"}

// Cached lists what is in a cache's folder, what was used last first. A folder that is
// not there is empty.
func Cached(dir string) (all []CacheEntry, err error) {
	list := func(below string, folders bool, name *regexp.Regexp, what string) {
		entries, e := os.ReadDir(filepath.Join(dir, below))
		if e != nil {
			if !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
			return
		}
		for _, d := range entries {
			if !name.MatchString(d.Name()) {
				continue
			}
			entry := CacheEntry{Name: filepath.Join(below, d.Name()), What: what}
			entry.path = filepath.Join(dir, entry.Name)
			if unfinishedName.MatchString(d.Name()) {
				entry.What = cachedUnfinished
			}
			st, e := os.Stat(entry.path) // also behind a link
			if errors.Is(e, fs.ErrNotExist) || e == nil && st.IsDir() != folders {
				continue
			}
			if e == nil {
				entry.Used = st.ModTime()
				entry.Bytes, e = sizeBelow(entry.path)
			}
			all, err = append(all, entry), errors.Join(err, e)
		}
	}
	list("", false, pointsName, cachedPoints)
	for _, system := range KeyFolders {
		list(system, true, keyName, system+" keys")
	}
	slices.SortStableFunc(all, func(a, b CacheEntry) int { return b.Used.Compare(a.Used) })
	return all, err
}

// sizeBelow returns the bytes of a file, or of the files in a folder.
func sizeBelow(path string) (n uint64, err error) {
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return 0, err
	}
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err == nil {
			n += uint64(st.Size())
		}
		return err
	})
	return n, err
}

// beingWritten is how long after its last change something unfinished may still
// be written by another process.
const beingWritten = 10 * time.Minute

// Unfinished tells what a process that ended left behind from what it finished.
func (e *CacheEntry) Unfinished() bool { return e.What == cachedUnfinished }

// Busy tells what another process may be writing just now.
func (e *CacheEntry) Busy() bool { return e.Unfinished() && time.Since(e.Used) < beingWritten }

// Remove removes it from the cache; a link, but not what it leads to. A process that
// uses it goes on doing so, on systems that allow it.
func (e *CacheEntry) Remove() error { return os.RemoveAll(e.path) }
