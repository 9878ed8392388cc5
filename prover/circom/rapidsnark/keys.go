package rapidsnark

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/circom"
)

// resident is a key in an engine.
type resident interface {
	Prove(context.Context, circom.Witness, ...circom.ProveOption) (*circom.Proof, error)
	Close() error
}

// keys has the keys that are loaded, within a limit. It is safe for concurrent use.
type keys struct {
	load func([]byte, []circom.KeyOption) (resident, error)

	mu   sync.Mutex
	opts options
	all  []*loaded // the one used last is last
}

// loaded is one key. Its first fields do not change once ready is closed.
type loaded struct {
	digest [sha256.Size]byte
	size   int64
	ready  chan struct{}
	key    resident
	err    error

	// keys.mu guards the rest.
	seen    place // where its bytes were the last time
	users   int   // calls that have it
	dropped bool  // it is no longer in keys.all, and the last user closes it
}

// place is where bytes were seen. Other bytes may come to lie at the same address: their sample
// differs. A weak pointer would tell as well, but there are none to mapped files.
type place struct {
	at     uintptr
	size   int
	sample uint64
}

func newKeys(o options, load func([]byte, []circom.KeyOption) (resident, error)) *keys {
	return &keys{opts: o, load: load}
}

// use changes the options, and drops all keys.
func (k *keys) use(o *options) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.opts = *o
	for _, e := range slices.Clone(k.all) {
		k.drop(e)
	}
}

// of returns the key of a .zkey's bytes, and loads it first if need be. Calls with the same key
// share one load. The caller calls done after the key's last use.
func (k *keys) of(zkey []byte) (key resident, done func(), err error) {
	if len(zkey) == 0 {
		return nil, nil, fmt.Errorf("%w: zkey: no bytes", backend.ErrInvalidInput)
	}
	at := placeOf(zkey)
	e := k.find(at, func(e *loaded) bool { return e.seen == at })
	if e == nil {
		e = k.findOrLoad(zkey, at)
	}
	<-e.ready
	if e.err != nil {
		k.done(e)
		return nil, nil, e.err
	}
	return e.key, func() { k.done(e) }, nil
}

// find returns a key whose bytes are at a place now, and counts the caller as its user. It returns
// nil if none is the one.
func (k *keys) find(at place, is func(*loaded) bool) *loaded {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.all, is)
	if i < 0 {
		return nil
	}
	e := k.all[i]
	e.seen = at
	e.users++
	k.all = append(slices.Delete(k.all, i, i+1), e)
	return e
}

// findOrLoad returns the key of bytes that were not seen at this place before.
func (k *keys) findOrLoad(zkey []byte, at place) *loaded {
	digest := digestOf(zkey)
	same := func(e *loaded) bool { return e.digest == digest }
	if e := k.find(at, same); e != nil {
		return e
	}
	k.mu.Lock()
	if i := slices.IndexFunc(k.all, same); i >= 0 { // another call began to load it just now
		e := k.all[i]
		e.users++
		k.mu.Unlock()
		return e
	}
	e := &loaded{digest: digest, size: int64(len(zkey)), ready: make(chan struct{}), seen: at, users: 1}
	k.all = append(k.all, e)
	k.makeRoom()
	opts := k.opts.key
	k.mu.Unlock()

	e.key, e.err = k.load(zkey, opts)
	close(e.ready)
	if e.err != nil {
		k.mu.Lock()
		k.drop(e)
		k.mu.Unlock()
	}
	return e
}

// makeRoom drops the keys that were used the longest ago, until the rest is within the limit. The
// last one stays. The caller has the lock.
func (k *keys) makeRoom() {
	sum := int64(0)
	for _, e := range k.all {
		sum += e.size
	}
	for len(k.all) > 1 && sum > k.opts.limit {
		sum -= k.all[0].size
		k.drop(k.all[0])
	}
}

// drop forgets a key, and closes it after its last use. The caller has the lock.
func (k *keys) drop(e *loaded) {
	i := slices.Index(k.all, e)
	if i < 0 {
		return
	}
	k.all = slices.Delete(k.all, i, i+1)
	e.dropped = true
	if e.users == 0 {
		e.close()
	}
}

// done ends a use of a key.
func (k *keys) done(e *loaded) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e.users--
	if e.users == 0 && e.dropped {
		e.close()
	}
}

// close frees a key that nobody uses. Its load has ended, for who loads is a user.
func (e *loaded) close() {
	if e.err == nil {
		// The only possible error is a backend's that could not free the points; nobody waits for
		// them.
		_ = e.key.Close()
	}
}

// seed is that of samples.
var seed = maphash.MakeSeed()

// placeOf returns where bytes are. It reads the first and last 64 KiB of them and a thousand pieces
// between, which takes some ten microseconds.
func placeOf(b []byte) place {
	const ends, pieces, piece = 64 << 10, 1024, 64
	var h maphash.Hash
	h.SetSeed(seed)
	if len(b) <= 2*ends+pieces*piece {
		h.Write(b)
	} else {
		h.Write(b[:ends])
		h.Write(b[len(b)-ends:])
		for i := range pieces {
			at := ends + i*(len(b)-2*ends-piece)/pieces
			h.Write(b[at : at+piece])
		}
	}
	at, _ := layout.Range(b)
	return place{at, len(b), h.Sum64()}
}

// digestOf returns a digest of all bytes, which the processor's cores compute together: that of the
// digests of pieces.
func digestOf(b []byte) [sha256.Size]byte {
	const piece = 4 << 20
	pieces := slices.Collect(slices.Chunk(b, piece))
	digests := make([]byte, len(pieces)*sha256.Size)
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range pieces {
		all.Go(func() error {
			d := sha256.Sum256(p)
			copy(digests[i*sha256.Size:], d[:])
			return nil
		})
	}
	_ = all.Wait() // no piece has an error
	return sha256.Sum256(digests)
}
