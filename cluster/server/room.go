package server

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/renameio/v2/maybe"
	nats "github.com/nats-io/nats-server/v2/server"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/files"
	"github.com/pippin-zk/pippin/internal/units"
)

// roomFile is the file in a server's folder that keeps how many bytes its streams may have
// together.
const roomFile = "room"

// unbounded is the limit that NATS gets when it starts. Its folder's streams are there before this
// package can ask how much they reserve.
const unbounded = 1 << 60

// freeOn returns how many bytes are free below a folder. Tests replace it.
var freeOn = files.Free

// makeRoom decides how many bytes the streams may have, keeps the number in the folder and tells
// NATS. Without Config.Room it takes the number that the folder keeps. If the disk no longer has
// that much, it says so in the log; a number that was kept is then lowered for this run.
func (s *Server) makeRoom(cfg Config, store string) error {
	kept, err := keptRoom(cfg.Dir)
	if err != nil {
		return err
	}
	has, err := s.nats.Jsz(nil)
	if err != nil {
		return err
	}
	held, reserved := int64(has.Store), int64(has.ReservedStore)
	free, known := freeOn(store)
	half := int64(min(free/2, unbounded/4))
	s.room = cmp.Or(cfg.Room, kept, reserved)
	if s.room == 0 {
		s.room = held + half
	}
	if s.room != kept && s.room > 0 {
		if err := maybe.WriteFile(filepath.Join(cfg.Dir, roomFile), []byte(strconv.FormatInt(s.room, 10)+"\n"), 0o600); err != nil {
			return err
		}
	}
	if missing := s.room - held - int64(min(free, unbounded)); known && missing > 0 {
		if cfg.Log != nil {
			cfg.Log.Warn(fmt.Sprintf("cluster: the disk of %s has less room than the cluster was given: free %s there, or start with --room %dMiB",
				cfg.Dir, units.FormatBytes(uint64(missing)), max(1, (held+half)>>20)), "room", s.room, "held", held, "free", free)
		}
		if cfg.Room == 0 {
			s.room = max(1, held+half)
		}
	}
	if s.room == 0 {
		return nil // the system does not say what is free
	}
	// The manager shrinks streams that have more. Until then they may have it.
	account, err := s.nats.LookupAccount(ours)
	if err != nil {
		return err
	}
	return account.UpdateJetStreamLimits(map[string]nats.JetStreamAccountLimits{"": {
		MaxStore:  max(s.room, reserved) * int64(s.replicas), // NATS counts all replicas
		MaxMemory: -1, MaxStreams: -1, MaxConsumers: -1, MaxAckPending: -1, MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: -1,
	}})
}

// keptRoom returns the number of bytes that a folder keeps, or 0 if it is new.
func keptRoom(dir string) (int64, error) {
	path := filepath.Join(dir, roomFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%w: %s is no number of bytes: remove it", backend.ErrInvalidInput, path)
	}
	return n, nil
}
