package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/proto"
	"github.com/pippin-zk/pippin/plugin/shm"
)

// mapped is an attached arena: one reference until Detach, one for every
// region in use.
type mapped struct {
	mem    *shm.Mapping
	detach func()

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
			return fmt.Errorf("%w: arena %d was sent with %d bytes and announced with %d", backend.ErrInvalidInput, r.Arena, size, r.Size)
		}
		if err := s.roomFor(r.Arena); err != nil {
			f.Close()
			return err
		}
		mem, err := shm.Attach(f, size)
		if err != nil {
			return err
		}
		m := &mapped{mem: mem, refs: 1}
		if u, ok := backend.As[ArenaUser](b); ok {
			if m.detach, err = u.AttachArena(mem.Bytes()); err != nil {
				s.log.Warn("the backend cannot use shared memory directly", "bytes", size, "error", err)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, double := s.arenas[r.Arena]; double {
			defer m.release()
			return fmt.Errorf("%w: arena %d is attached already", backend.ErrInvalidInput, r.Arena)
		}
		s.arenas[r.Arena] = m
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &proto.AttachReply{}, nil
}

func (s *server) roomFor(arena uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, double := s.arenas[arena]; double {
		return fmt.Errorf("%w: arena %d is attached already", backend.ErrInvalidInput, arena)
	}
	if len(s.arenas) >= maxArenas {
		return fmt.Errorf("%w: more than %d arenas", backend.ErrOutOfMemory, maxArenas)
	}
	return nil
}

// Detach unmaps an arena, or lets the last call that reads it do so.
func (s *server) Detach(_ context.Context, r *proto.DetachRequest) (*proto.DetachReply, error) {
	s.mu.Lock()
	m, ok := s.arenas[r.Arena]
	delete(s.arenas, r.Arena)
	s.mu.Unlock()
	if !ok {
		return nil, toStatus(fmt.Errorf("%w: arena %d is not attached", backend.ErrInvalidInput, r.Arena))
	}
	m.release()
	return &proto.DetachReply{}, nil
}

// region finds the bytes that the host names, and adds a reference.
func (s *server) region(r *proto.Region) ([]byte, *mapped, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.arenas[r.GetArena()]
	if !ok {
		return nil, nil, fmt.Errorf("%w: arena %d is not attached", backend.ErrInvalidInput, r.GetArena())
	}
	all := m.mem.Bytes()
	size := uint64(len(all))
	if r.Offset > size || r.Length > size-r.Offset || r.Offset%8 != 0 {
		return nil, nil, fmt.Errorf("%w: region of %d bytes at %d in an arena of %d", backend.ErrInvalidInput, r.Length, r.Offset, size)
	}
	m.retain()
	return all[r.Offset : r.Offset+r.Length : r.Offset+r.Length], m, nil
}

// inbox keeps descriptors that arrived until they are asked for.
type inbox struct {
	mu      sync.Mutex
	files   []received
	arrived chan struct{} // closed and replaced when one arrives
}

type received struct {
	shm.Message
	file *os.File
}

// serve takes descriptors until the host is gone. A host that sends too many
// loses the oldest.
func (in *inbox) serve(ch *shm.Channel) error {
	for {
		m, f, err := ch.Receive()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, backend.ErrInvalidInput):
			continue // the request that waits for it will say so
		default:
			return err
		}
		in.mu.Lock()
		if len(in.files) == maxDescriptors {
			in.files[0].file.Close()
			in.files = in.files[1:]
		}
		in.files = append(in.files, received{m, f})
		close(in.arrived)
		in.arrived = make(chan struct{})
		in.mu.Unlock()
	}
}

// take waits for a descriptor, which is the caller's to close.
func (in *inbox) take(ctx context.Context, kind shm.Kind, id uint64) (*os.File, uint64, error) {
	late := time.NewTimer(descriptorWait)
	defer late.Stop()
	for {
		in.mu.Lock()
		for i, r := range in.files {
			if r.Kind == kind && r.ID == id {
				in.files = append(in.files[:i], in.files[i+1:]...)
				in.mu.Unlock()
				return r.file, r.Size, nil
			}
		}
		arrived := in.arrived
		in.mu.Unlock()
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		case <-late.C:
			return nil, 0, fmt.Errorf("%w: the descriptor %d was not sent", backend.ErrInvalidInput, id)
		}
	}
}
