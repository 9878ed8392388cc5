package plugin

import (
	"context"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// spaceOf answers for spaces that there are.
func (s *server) spaceOf(id backend.SpaceID) (backendutil.Loaded, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.spaces[id]
	return l, ok
}

// vectors finds the capability in a backend that a host asks for it.
func vectors(b backend.Backend) (backend.Vectors, error) {
	v, ok := backend.As[backend.Vectors](b)
	if !ok {
		return nil, refused("the backend has no vectors")
	}
	return v, nil
}

// NewSpace takes memory for vectors.
func (s *server) NewSpace(ctx context.Context, r *proto.NewSpaceRequest) (*proto.NewSpaceReply, error) {
	reply := &proto.NewSpaceReply{}
	err := s.guard(func(b backend.Backend) error {
		v, err := vectors(b)
		if err != nil {
			return err
		}
		l := backendutil.Loaded{Curve: backend.Curve(r.GetCurve()), Count: int(r.GetCount())}
		if r.GetCurve() != uint32(l.Curve) || l.Curve != backend.Words && !l.Curve.Valid() {
			return refused("a space over curve %d", r.GetCurve())
		}
		if r.GetCount() > maxNumber {
			return fmt.Errorf("%w: a space of %d elements of %v", backend.ErrOutOfMemory, r.GetCount(), l.Curve)
		}
		s.mu.Lock()
		full := len(s.spaces) >= maxSpaces
		s.mu.Unlock()
		if full {
			return refused("more than %d spaces", maxSpaces)
		}
		id, err := v.NewSpace(ctx, l.Curve, l.Count)
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.spaces[id] = l
		reply.Space = uint64(id)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// FreeSpace frees a space.
func (s *server) FreeSpace(ctx context.Context, r *proto.FreeSpaceRequest) (*proto.FreeSpaceReply, error) {
	id := backend.SpaceID(r.GetSpace())
	err := s.guard(func(b backend.Backend) error {
		v, err := vectors(b)
		if err != nil {
			return err
		}
		s.mu.Lock()
		_, ok := s.spaces[id]
		delete(s.spaces, id)
		s.mu.Unlock()
		if !ok {
			return refused("there is no space %d", id)
		}
		return v.FreeSpace(ctx, id)
	})
	if err != nil {
		return nil, err
	}
	return &proto.FreeSpaceReply{}, nil
}

// Run runs a program.
func (s *server) Run(ctx context.Context, r *proto.RunRequest) (*proto.RunReply, error) {
	answers, err := s.run(ctx, r)
	if err != nil {
		return nil, toStatus(err)
	}
	return &proto.RunReply{Answers: answers}, nil
}

func (s *server) run(ctx context.Context, r *proto.RunRequest) (answers [][]byte, err error) {
	err = s.cancellable(ctx, r.GetCall(), func(ctx context.Context, b backend.Backend, h *held) error {
		v, err := vectors(b)
		if err != nil {
			return err
		}
		steps, regions, err := s.steps(r.GetSteps(), h)
		if err != nil {
			return err
		}
		places := make([][]byte, len(steps))
		for i, region := range regions {
			if region == nil {
				continue
			}
			if places[i], err = h.region(region, true); err != nil {
				return fmt.Errorf("step %d: answer: %w", i, err)
			}
		}
		if answers, err = v.Run(ctx, steps); err != nil {
			return err
		}
		for i, place := range places {
			// An answer of another length goes back as it is: the host knows
			// what to think of it.
			if i < len(answers) && place != nil && len(answers[i]) == len(place) {
				shm.Copy(place, answers[i])
				shm.Wipe(answers[i])
				answers[i] = nil
			}
		}
		return nil
	})
	return answers, err
}
