package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync"

	wireformat "google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// NewSpace implements backend.Vectors.
func (c *Client) NewSpace(ctx context.Context, curve backend.Curve, count int) (_ backend.SpaceID, err error) {
	run, end, err := c.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end(&err)
	if _, err := backendutil.SpaceBytes(curve, count); err != nil {
		return 0, err
	}
	if !c.info.Can.HasSpaces(curve) {
		return 0, fmt.Errorf("%w: plugin %s has no spaces of %v", backend.ErrUnsupported, c.name, curve)
	}
	type made struct {
		id  backend.SpaceID
		err error
	}
	answered := make(chan made, 1)
	go func() {
		reply, err := c.rpc.NewSpace(c.remote(ctx), &proto.NewSpaceRequest{Curve: uint32(curve), Count: uint64(count)})
		answered <- made{backend.SpaceID(reply.GetSpace()), err}
	}()
	select {
	case m := <-answered:
		switch {
		case m.err != nil:
			return 0, c.failure(m.err, false)
		case m.id == 0 || !c.kept.PutSpace(m.id, backendutil.Loaded{Curve: curve, Count: count}, struct{}{}):
			return 0, c.nonsense("an id of a space that cannot be: %d", m.id)
		}
		return m.id, nil
	case <-run.Done():
		c.background(func() {
			if m := <-answered; m.err == nil {
				_ = c.freeSpace(m.id)
			}
		})
		return 0, backend.Ended(run)
	}
}

// FreeSpace implements backend.Vectors.
func (c *Client) FreeSpace(ctx context.Context, id backend.SpaceID) (err error) {
	run, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end(&err)
	return c.kept.FreeSpace(run, id, func(struct{}) error { return c.freeSpace(id) })
}

func (c *Client) freeSpace(id backend.SpaceID) error {
	if _, err := c.rpc.FreeSpace(c.ctx, &proto.FreeSpaceRequest{Space: uint64(id)}); err != nil {
		return c.failure(err, false)
	}
	return nil
}

// Run implements backend.Vectors. What is written crosses as the scalars of an
// MSM do, what is read through shared memory too, unless it is small; the rest
// of a program, its constants and points included, is part of a message, which
// is not wiped. A program is at most 4096 steps and 768 KiB
// long.
func (c *Client) Run(ctx context.Context, steps []backend.Step) (_ [][]byte, err error) {
	run, end, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end(&err)
	used, err := c.kept.UseSteps(steps)
	if err != nil {
		return nil, err
	}
	defer c.kept.EndSteps(used)
	if len(steps) == 0 {
		return [][]byte{}, nil
	}
	p := &program{call: c.newCall(), req: &proto.RunRequest{}}
	for id, s := range used.Spaces {
		p.curve = s.Curve // of all
		p.spaces = append(p.spaces, id)
	}
	if err := c.abandoned.wait(run, p.spaces); err != nil {
		return nil, err
	}
	p.req.Call, p.asked = p.id, &proto.LaneCall{Call: &proto.LaneCall_Run{Run: p.req}}
	p.remote = func() ([][]byte, error) {
		reply, err := c.rpc.Run(c.remote(ctx), p.req)
		return reply.GetAnswers(), err
	}
	p.accept = p.collect
	if err := p.translate(steps, func(id backend.BasesID) backend.Group { return used.Bases[id].Group }); err != nil {
		return nil, err
	}
	if err := p.makeRoom(run); err != nil {
		p.release()
		return nil, err
	}
	return p.do(run, p.inputs)
}

// abandoned are programs whose callers have gone and which may not have ended, nor even
// begun, at the plugin, by the spaces that they use: the next one over a space waits for
// them, since it may be in another lane and be there first.
type abandoned struct {
	mu sync.Mutex
	of map[backend.SpaceID][]chan struct{}
}

// add notes a program, until over.
func (a *abandoned) add(spaces []backend.SpaceID) (over func()) {
	ended := make(chan struct{})
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = make(map[backend.SpaceID][]chan struct{})
	}
	for _, id := range spaces {
		a.of[id] = append(a.of[id], ended)
	}
	return func() {
		close(ended)
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, id := range spaces {
			left := slices.DeleteFunc(a.of[id], func(e chan struct{}) bool { return e == ended })
			if a.of[id] = left; len(left) == 0 {
				delete(a.of, id)
			}
		}
	}
}

// wait returns when no abandoned program uses any of the spaces.
func (a *abandoned) wait(ctx context.Context, spaces []backend.SpaceID) error {
	a.mu.Lock()
	var running []chan struct{}
	for _, id := range spaces {
		running = append(running, a.of[id]...)
	}
	a.mu.Unlock()
	for _, ended := range running {
		select {
		case <-ended:
		case <-ctx.Done():
			return backend.Ended(ctx)
		}
	}
	return nil
}

// program is the call of a Run.
type program struct {
	*call
	req    *proto.RunRequest
	curve  backend.Curve
	inputs []input
	reads  []read
}

// read is an answer in shared memory.
type read struct {
	step   int
	size   int
	region *shm.Region
}

// translate makes the request, but for where bytes are.
func (p *program) translate(steps []backend.Step, group func(backend.BasesID) backend.Group) error {
	if len(steps) > wire.MaxSteps {
		return fmt.Errorf("%w: %d steps in a program, a plugin takes %d", backend.ErrUnsupported, len(steps), wire.MaxSteps)
	}
	inline := 0
	for i, s := range steps {
		w := wire.FromStep(s)
		p.req.Steps = append(p.req.Steps, w)
		var g backend.Group
		switch s := s.(type) {
		case backend.Write:
			p.checked = p.checked || s.Check
			to := w.GetWrite()
			if len(s.Bytes) > 0 {
				job := &backend.Job{Scalars: s.Bytes}
				if s.Ready != nil {
					job.Ready = func(ctx context.Context, n int) error { return backendutil.InStep(i, s, s.Ready(ctx, n)) }
				}
				p.inputs = append(p.inputs, newInput(job, p.curve.ScalarBytes(), &to.Bytes, &to.Progress))
			}
		case backend.WriteIndices:
			if len(s.Indices) > 0 {
				p.inputs = append(p.inputs, input{feed: feed{src: shm.IndexBytes(s.Indices)}, at: &w.GetWriteIndices().Bytes})
			}
		case backend.Gather, backend.Compute:
			p.checked = true // the indices, or values
		case backend.Commit:
			g = group(s.Bases)
		}
		size := backendutil.AnswerBytes(s, p.curve, g)
		if _, ok := s.(backend.Read); ok && (size > wire.InlineAnswer || inline+size > wire.MaxInline) {
			p.reads = append(p.reads, read{step: i, size: size})
			size = 0
		}
		inline += size
		p.sizes = append(p.sizes, size)
	}
	if size := wireformat.Size(p.req); size > wire.MaxProgram || inline > wire.MaxReply-wire.MaxInline {
		return fmt.Errorf("%w: a program of %d bytes that answers %d, a plugin takes %d and %d", backend.ErrUnsupported,
			size, inline, wire.MaxProgram, wire.MaxReply-wire.MaxInline)
	}
	return nil
}

// makeRoom takes shared memory for the answers that are read there.
func (p *program) makeRoom(ctx context.Context) error {
	if len(p.reads) == 0 {
		return nil
	}
	var sizes []int
	for _, r := range p.reads {
		sizes = append(sizes, r.size)
	}
	regions, err := p.c.replies.Acquire(ctx, sizes...)
	if err != nil {
		return err
	}
	p.regions = append(p.regions, regions...)
	for i, r := range regions {
		p.reads[i].region = r
		p.req.Steps[p.reads[i].step].GetRead().Answer = wire.Region(r.Arena(), r.Offset(), p.reads[i].size)
	}
	return nil
}

// collect adds what was read in shared memory to the other answers: the regions are
// wiped.
func (p *program) collect(answers [][]byte) ([][]byte, error) {
	for i, size := range p.sizes {
		if size == 0 {
			answers[i] = nil
		}
	}
	for _, r := range p.reads {
		b := make([]byte, r.size)
		shm.Copy(b, r.region.Bytes())
		answers[r.step] = b
	}
	return answers, nil
}
