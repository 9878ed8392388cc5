package serve

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// programs finds the capability in a backend that a host asks for it.
func programs(b backend.Backend) (backend.Programs, error) {
	p, ok := backend.As[backend.Programs](b)
	if !ok {
		return nil, wire.Refused("the backend has no programs")
	}
	return p, nil
}

// NewSpace takes memory for elements.
func (s *server) NewSpace(ctx context.Context, r *proto.NewSpaceRequest) (*proto.NewSpaceReply, error) {
	reply := &proto.NewSpaceReply{}
	err := s.guard(func(b backend.Backend) error {
		p, err := programs(b)
		if err != nil {
			return err
		}
		e, ok := wire.ToElement(r.GetElement())
		if !ok {
			return wire.Refused("a space of %v", r.GetElement())
		}
		if r.GetCount() > wire.MaxNumber {
			return fmt.Errorf("%w: a space of %d %v", backend.ErrOutOfMemory, r.GetCount(), e)
		}
		if s.spaces.Add(1) > maxSpaces {
			s.spaces.Add(-1)
			return wire.Refused("more than %d spaces", maxSpaces)
		}
		id, err := p.NewSpace(ctx, e, int(r.GetCount()))
		if err != nil {
			s.spaces.Add(-1)
			return err
		}
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
	err := s.guard(func(b backend.Backend) error {
		p, err := programs(b)
		if err != nil {
			return err
		}
		err = p.FreeSpace(ctx, backend.SpaceID(r.GetSpace()))
		if !errors.Is(err, backend.ErrInvalidInput) { // there was such a space
			s.spaces.Add(-1)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &proto.FreeSpaceReply{}, nil
}

// Run runs a program.
func (s *server) Run(ctx context.Context, r *proto.RunRequest) (*proto.RunReply, error) {
	release, err := s.roomForReply(ctx, r)
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	defer release()
	answers, err := s.run(ctx, r)
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	return &proto.RunReply{Answers: answers}, nil
}

func (s *server) run(ctx context.Context, r *proto.RunRequest) (answers [][]byte, err error) {
	err = s.cancellable(ctx, r.GetCall(), func(ctx context.Context, b backend.Backend, h *held) error {
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
		if k, ok := backend.As[answerHolder](b); ok {
			release, err := k.HoldAnswers(steps)
			if err != nil {
				return err
			}
			defer release()
		}
		if answers, err = backend.Run(ctx, b, steps); err != nil {
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
		inline := 0
		for i, a := range answers {
			inline += len(a)
			if _, read := steps[i].(backend.Read); read && len(a) > wire.InlineAnswer {
				inline = math.MaxInt
				break
			}
		}
		if inline > wire.MaxReply {
			answers = nil
			return wire.Refused("answers of more than %d bytes in a reply, or one of more than %d: read them to shared memory", wire.MaxReply, wire.InlineAnswer)
		}
		return nil
	})
	return answers, err
}

// answerHolder is a backend that counts the memory of answers, until release, so that no
// program answers more than there is room for.
type answerHolder interface {
	HoldAnswers(steps []backend.Step) (release func(), err error)
}

// steps translates a program. What it says is the backend's to check, as it was the
// host's; here only what cannot be expressed or reached is refused.
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
	return steps, answers, nil
}
