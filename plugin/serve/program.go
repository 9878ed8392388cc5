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

// programs returns a backend's programs. It refuses a host that asks for them if there are none.
func programs(b backend.Backend) (backend.Programs, error) {
	p, ok := backend.As[backend.Programs](b)
	if !ok {
		return nil, wire.Refused("the backend has no programs")
	}
	return p, nil
}

// NewSpace allocates a space.
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
		if !errors.Is(err, backend.ErrInvalidInput) { // the space existed
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
	steps, err := s.steps(ctx, r)
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	release, err := s.roomForReply(ctx, steps, r.GetPlaces())
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	defer release()
	answers, err := s.run(ctx, r, steps)
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	return &proto.RunReply{Answers: answers}, nil
}

// run runs the steps of a request.
func (s *server) run(ctx context.Context, r *proto.RunRequest, steps []backend.Step) (answers [][]byte, err error) {
	err = s.cancellable(ctx, r.GetCall(), func(ctx context.Context, b backend.Backend, h *held) error {
		places, err := h.places(steps, r.GetPlaces())
		if err != nil {
			return err
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
			// An answer of another length goes back as it is. The host knows how to judge it.
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
			return wire.Refused("answers of more than %d bytes in a reply, or one of more than %d: read them to shared memory",
				wire.MaxReply, wire.InlineAnswer)
		}
		return nil
	})
	return answers, err
}

// answerHolder is a backend that counts the memory of answers until release, so that no program
// answers more than there is room for.
type answerHolder interface {
	HoldAnswers(steps []backend.Step) (release func(), err error)
}

// steps decodes the program of a request. It refuses only what cannot be decoded or addressed: the
// backend checks the rest, as it does without a plugin.
func (s *server) steps(ctx context.Context, r *proto.RunRequest) ([]backend.Step, error) {
	steps, err := backend.DecodeSteps(r.GetProgram())
	if err != nil {
		pauseFor(ctx, r.GetProgram())
		return nil, wire.Refused("a program that cannot be read: %v", err)
	}
	return steps, nil
}

// places gives each step its inputs in shared memory, and returns where in shared memory the
// answers of steps go.
func (h *held) places(steps []backend.Step, all []*proto.Place) ([][]byte, error) {
	answers := make([][]byte, len(steps))
	next := uint64(0)
	for _, p := range all {
		i := uint64(p.GetStep())
		if i < next || i >= uint64(len(steps)) {
			return nil, wire.Refused("a place of step %d, of %d, after those of the steps before %d", i, len(steps), next)
		}
		next = i + 1
		var err error
		if steps[i], answers[i], err = h.place(steps[i], p); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
	}
	return answers, nil
}

// place returns a step with its input or its indices, or the memory where its answer goes.
func (h *held) place(step backend.Step, p *proto.Place) (_ backend.Step, answer []byte, err error) {
	_, reads := step.(backend.Read)
	mem, err := h.region(p.GetBytes(), reads)
	if err != nil {
		return nil, nil, err
	}
	used := p.GetProgress() == nil
	switch s := step.(type) {
	case backend.Read:
		answer = mem
	case backend.WriteIndices:
		if len(mem)%4 != 0 {
			return nil, nil, wire.Refused("%d bytes of indices", len(mem))
		}
		s.Indices = shm.Indices(mem)
		step = s
	default:
		used = false
		step = backend.WithInput(step, func(in *backend.Input, count int) {
			used = true
			in.Bytes = mem
			in.Ready, err = h.ready(p.GetProgress(), len(mem), count)
		})
	}
	if !used {
		err = wire.Refused("a place of %s that has no use for it", backend.StepName(step))
	}
	return step, answer, err
}

// ready returns Ready for an input of count elements and total bytes that is still being written.
// It returns nil if there is no counter.
func (h *held) ready(progress *proto.Region, total, count int) (func(context.Context, int) error, error) {
	if progress == nil {
		return nil, nil
	}
	counter, err := h.region(progress, false)
	if err == nil && len(counter) < 8 {
		err = wire.Refused("a counter of %d bytes", len(counter))
	}
	if err != nil {
		return nil, fmt.Errorf("counter: %w", err)
	}
	size := max(total/max(count, 1), 1)
	return func(ctx context.Context, n int) error {
		if n < 0 || n > total/size {
			return wire.Refused("waiting for %d of %d elements", n, total/size)
		}
		return h.s.account.waiters.Wait(ctx, counter, n*size, total)
	}, nil
}
