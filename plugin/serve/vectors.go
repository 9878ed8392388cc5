package serve

import (
	"context"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
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
		return nil, wire.Refused("the backend has no vectors")
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
			return wire.Refused("a space over curve %d", r.GetCurve())
		}
		if r.GetCount() > wire.MaxNumber {
			return fmt.Errorf("%w: a space of %d elements of %v", backend.ErrOutOfMemory, r.GetCount(), l.Curve)
		}
		s.mu.Lock()
		full := len(s.spaces) >= maxSpaces
		s.mu.Unlock()
		if full {
			return wire.Refused("more than %d spaces", maxSpaces)
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
			return wire.Refused("there is no space %d", id)
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
		return nil, wire.ToStatus(err)
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

// steps translates a program. What it says is the backend's to check, and was
// the host's; here only what cannot be expressed or reached is refused.
func (s *server) steps(in []*proto.Step, h *held) (steps []backend.Step, answers []*proto.Region, err error) {
	if len(in) > wire.MaxSteps {
		return nil, nil, wire.Refused("%d steps in a program", len(in))
	}
	answers = make([]*proto.Region, len(in))
	for i, w := range in {
		step, err := wire.ToStep(w, h)
		if err != nil {
			return nil, nil, fmt.Errorf("step %d: %w", i, err)
		}
		steps = append(steps, step)
		answers[i] = w.GetRead().GetAnswer()
	}
	if err := backendutil.CheckSteps(steps, s.basesOf, s.spaceOf); err != nil {
		return nil, nil, wire.Refused("%v", err)
	}
	return steps, answers, nil
}
