package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// mapped is an attached arena. It has one reference until Detach, and one for each region in use.
type mapped struct {
	mem     *shm.Mapping
	answers bool // this process writes it and does not read it
	detach  func()
	gone    func() // stops counting it

	mu   sync.Mutex
	refs int
}

func (m *mapped) retain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refs++
}

func (m *mapped) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refs--; m.refs > 0 {
		return
	}
	if m.detach != nil {
		m.detach()
	}
	m.mem.Close()
	m.gone()
}

// Attach maps an arena and shows it to the backend.
func (s *server) Attach(ctx context.Context, r *proto.AttachRequest) (*proto.AttachReply, error) {
	err := s.guard(func(b backend.Backend) error {
		f, size, err := s.inbox.take(ctx, shm.KindArena, r.Arena)
		if err != nil {
			return err
		}
		if size != r.Size {
			f.Close()
			return wire.Refused("arena %d was sent with %d bytes and announced with %d", r.Arena, size, r.Size)
		}
		if err := s.roomFor(r.Arena, size, r.Answers); err != nil {
			f.Close()
			return err
		}
		attach := shm.Attach
		if r.Answers {
			attach = shm.AttachAnswers
		}
		gone := func() { s.unmapped(size, r.Answers) }
		mem, err := attach(f, size)
		if err != nil {
			gone()
			return wire.Refused("arena %d: %v", r.Arena, err)
		}
		lock(mem, s.log)
		m := &mapped{mem: mem, answers: r.Answers, refs: 1, gone: gone}
		if u, ok := backend.As[ArenaUser](b); ok && !r.Answers {
			if m.detach, err = u.AttachArena(mem.Bytes()); err != nil {
				s.log.Warn("the backend cannot use shared memory directly", "bytes", size, "error", err)
			}
		}
		if err := s.keep(r.Arena, m); err != nil {
			m.release()
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &proto.AttachReply{}, nil
}

// keep notes a mapped arena under its number.
func (s *server) keep(arena uint64, m *mapped) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, double := s.arenas[arena]; double {
		return wire.Refused("arena %d is attached already", arena)
	}
	if s.closed {
		return fmt.Errorf("%w: plugin", backend.ErrClosed)
	}
	s.arenas[arena] = m
	return nil
}

// roomFor counts an arena that will be mapped, until unmapped. It fails with backend.ErrOutOfMemory
// if the session or its user may have no more.
func (s *server) roomFor(arena, size uint64, answers bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, double := s.arenas[arena]; double {
		return wire.Refused("arena %d is attached already", arena)
	}
	if len(s.arenas) >= maxArenas {
		return wire.Refused("more than %d arenas", maxArenas)
	}
	if s.session != nil && s.session.shared > 0 && (size > math.MaxInt64 || int64(size) > s.session.shared-s.mapped) {
		return fmt.Errorf("%w: %d bytes of shared memory, and this session has %d of the %d that it may; "+
			"let it use less, or raise the daemon's --quota-shared",
			backend.ErrOutOfMemory, size, s.mapped, s.session.shared)
	}
	if s.session != nil && answers {
		if err := s.session.answers.take(s.account.user, int64(size)); err != nil {
			return err
		}
	}
	s.mapped += int64(size)
	return nil
}

// unmapped stops counting an arena.
func (s *server) unmapped(size uint64, answers bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != nil && answers {
		s.session.answers.give(s.account.user, int64(size))
	}
	s.mapped -= int64(size)
}

// Detach unmaps an arena. If calls still read it, the last of them unmaps it.
func (s *server) Detach(_ context.Context, r *proto.DetachRequest) (*proto.DetachReply, error) {
	s.mu.Lock()
	m, ok := s.arenas[r.Arena]
	delete(s.arenas, r.Arena)
	s.mu.Unlock()
	if !ok {
		return nil, wire.ToStatus(wire.Refused("arena %d is not attached", r.Arena))
	}
	m.release()
	return &proto.DetachReply{}, nil
}

// region returns the bytes that the host names and adds a reference. answers says whether they must
// be in an arena for answers, or in one that the host writes.
func (s *server) region(r *proto.Region, answers bool) ([]byte, *mapped, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r == nil {
		return nil, nil, wire.Refused("no region where one is wanted")
	}
	m, ok := s.arenas[r.GetArena()]
	if !ok {
		return nil, nil, wire.Refused("arena %d is not attached", r.GetArena())
	}
	if m.answers != answers {
		return nil, nil, wire.Refused("arena %d for answers: %v, the request wants %v", r.GetArena(), m.answers, answers)
	}
	all := m.mem.Bytes()
	size := uint64(len(all))
	if r.Offset > size || r.Length > size-r.Offset || r.Offset%8 != 0 {
		return nil, nil, wire.Refused("region of %d bytes at %d in an arena of %d", r.Length, r.Offset, size)
	}
	m.retain()
	return all[r.Offset : r.Offset+r.Length : r.Offset+r.Length], m, nil
}

// inbox keeps descriptors that have arrived until a request asks for them.
type inbox struct {
	mu      sync.Mutex
	letters []letter
	dropped bool
	arrived chan struct{} // closed and replaced when one arrives

	// files bounds the descriptors of all sessions of a user. It is nil in a plugin of one host.
	files *budget
	user  int
}

// close closes a descriptor that counts.
func (in *inbox) close(f *os.File) {
	f.Close()
	in.counted(-1)
}

// counted counts n more descriptors; n below 0 stops counting that many.
func (in *inbox) counted(n int64) error {
	switch {
	case in.files == nil:
	case n < 0:
		in.files.give(in.user, -n)
	default:
		return in.files.take(in.user, n)
	}
	return nil
}

// letter is a descriptor, or the reason why there is none.
type letter struct {
	shm.Message
	file    *os.File
	refused error
}

// maxRefused bounds the refusals that wait for a request.
const maxRefused = 1 << 10

// serve takes descriptors until the host is gone. One too many is refused under its number, so that
// the request for it learns why it is missing.
func (in *inbox) serve(ch *shm.Channel) error {
	for {
		m, f, err := ch.Receive()
		switch {
		case err == nil, errors.Is(err, backend.ErrInternal):
			in.put(letter{m, f, err})
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, backend.ErrInvalidInput):
			// Nobody knows which one it was. The request that waits for it will say that it is
			// missing.
		default:
			return err
		}
	}
}

// drop closes the descriptors that nobody has asked for, and those that still come.
func (in *inbox) drop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropped = true
	for _, l := range in.letters {
		if l.file != nil {
			in.close(l.file)
		}
	}
	in.letters = nil
}

func (in *inbox) put(l letter) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.dropped {
		if l.file != nil {
			l.file.Close()
		}
		return
	}
	isRefusal := func(l letter) bool { return l.refused != nil }
	files := 0
	for _, l := range in.letters {
		if !isRefusal(l) {
			files++
		}
	}
	if !isRefusal(l) && files == wire.MaxDescriptors {
		l.file.Close()
		l.file, l.refused = nil, wire.Refused("more than %d descriptors wait to be asked for", wire.MaxDescriptors)
	}
	if l.file != nil {
		if err := in.counted(1); err != nil {
			l.file.Close()
			l.file, l.refused = nil, err
		}
	}
	if isRefusal(l) && len(in.letters)-files == maxRefused {
		oldest := slices.IndexFunc(in.letters, isRefusal)
		in.letters = slices.Delete(in.letters, oldest, oldest+1)
	}
	in.letters = append(in.letters, l)
	close(in.arrived)
	in.arrived = make(chan struct{})
}

// take waits for a descriptor. The caller must close it, and count it to keep it.
func (in *inbox) take(ctx context.Context, kind shm.Kind, id uint64) (*os.File, uint64, error) {
	late := time.NewTimer(wire.DescriptorWait)
	defer late.Stop()
	for {
		in.mu.Lock()
		for i, l := range in.letters {
			if l.Kind == kind && l.ID == id {
				in.letters = slices.Delete(in.letters, i, i+1)
				if l.file != nil {
					_ = in.counted(-1)
				}
				in.mu.Unlock()
				return l.file, l.Size, l.refused
			}
		}
		arrived := in.arrived
		in.mu.Unlock()
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, 0, backend.Ended(ctx)
		case <-late.C:
			return nil, 0, wire.Refused("the descriptor %d was not sent", id)
		}
	}
}
