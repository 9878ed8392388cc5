package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// NewSpace implements backend.Programs.
func (c *Client) NewSpace(ctx context.Context, e backend.Element, count int) (_ backend.SpaceID, err error) {
	run, end, err := c.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end(&err)
	of := backend.Elements{Element: e, Count: count}
	if _, err := of.Size(); err != nil {
		return 0, err
	}
	if !c.info.Can.HasPrograms(e) {
		return 0, fmt.Errorf("%w: plugin %s has no spaces of %v", backend.ErrUnsupported, c.name, e)
	}
	type made struct {
		id  backend.SpaceID
		err error
	}
	answered := make(chan made, 1)
	go func() {
		reply, err := c.rpc.NewSpace(c.remote(ctx), &proto.NewSpaceRequest{Element: wire.FromElement(e), Count: uint64(count)})
		answered <- made{backend.SpaceID(reply.GetSpace()), err}
	}()
	select {
	case m := <-answered:
		switch {
		case m.err != nil:
			return 0, c.failure(m.err, false)
		case m.id == 0 || !c.kept.PutSpace(m.id, of, struct{}{}):
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

// FreeSpace implements backend.Programs.
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

// MSM implements backend.Backend.
func (c *Client) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	return c.Run(ctx, backend.Steps(jobs))
}

// Run implements backend.Programs. Inputs in a buffer of Alloc are used in place. Others are copied
// to shared memory, which is wiped afterwards. What a program reads crosses in shared memory too,
// unless it is small. The rest of a program, including its constants and points, is part of a
// message, which is not wiped. A program has at most 16384 steps and its message at most 1 MiB.
// When ctx ends, Run returns as soon as the caller's inputs are no longer read, and the plugin is
// told to give up.
func (c *Client) Run(ctx context.Context, steps []backend.Step) (_ [][]byte, err error) {
	run, end, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end(&err)
	used, err := c.kept.Use(steps)
	if err != nil {
		return nil, err
	}
	defer c.kept.End(used)
	if len(steps) == 0 {
		return [][]byte{}, nil
	}
	k := &call{c: c, caller: ctx, req: &proto.RunRequest{Call: c.calls.Add(1)}, spaces: slices.Collect(maps.Keys(used.Spaces))}
	if err := c.abandoned.wait(run, k.spaces); err != nil {
		return nil, err
	}
	if err := k.translate(steps, used.Memory()); err != nil {
		return nil, err
	}
	if err := k.makeRoom(run); err != nil {
		k.release()
		return nil, err
	}
	return k.do(run)
}

// abandoned are the programs whose callers have gone, by the spaces that they use. The plugin may
// not have ended them, or even begun them. So the next program over such a space waits: in another
// lane it could overtake them.
type abandoned struct {
	mu sync.Mutex
	of map[backend.SpaceID][]chan struct{}
}

// add records a program until over is called.
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

// wait waits until no abandoned program uses any of the spaces.
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

// read is an answer in shared memory.
type read struct {
	step   int
	size   int
	region *shm.Region
	at     *proto.Place // the place in the request that names region
}

// placeBytes is the most that a place takes in a request, without its regions. requestBytes is the
// most that everything else takes, without the program.
const (
	placeBytes   = 8
	requestBytes = 32
)

// translate makes the request, except for where its places are.
func (k *call) translate(steps []backend.Step, in backend.Memory) error {
	if len(steps) > wire.MaxSteps {
		return fmt.Errorf("%w: %d steps in a program, a plugin takes %d", backend.ErrUnsupported, len(steps), wire.MaxSteps)
	}
	inline := 0
	k.sizes = make([]int, 0, len(steps))
	for i, s := range steps {
		k.checked = k.checked || backend.MayRefuse(s)
		backend.WithInput(s, func(in *backend.Input, count int) { k.give(i, s, *in, count) })
		size := backend.AnswerBytes(s, in)
		switch s := s.(type) {
		case backend.WriteIndices:
			if len(s.Indices) > 0 {
				k.inputs = append(k.inputs, input{feed: feed{src: shm.IndexBytes(s.Indices)}, at: k.place(i), whole: true})
			}
		case backend.Read:
			if size > wire.InlineAnswer || inline+size > wire.MaxInline {
				k.reads = append(k.reads, read{step: i, size: size, at: k.place(i)})
				size = 0
			}
		}
		inline += size
		k.sizes = append(k.sizes, size)
	}
	k.req.Program = backend.EncodeSteps(steps)
	regions := len(k.inputs) + len(k.reads)
	for _, in := range k.inputs {
		if in.late() {
			regions++
		}
	}
	k.size = requestBytes + len(k.req.Program) + placeBytes*len(k.req.Places) + wire.RegionBytes*regions
	if k.size > wire.MaxMessage || inline > wire.MaxReply-wire.MaxInline {
		return fmt.Errorf("%w: a program of %d bytes that answers %d, a plugin takes %d and %d", backend.ErrUnsupported,
			k.size, inline, wire.MaxMessage, wire.MaxReply-wire.MaxInline)
	}
	return nil
}

// place adds a place of step i. Places are added in the order of steps.
func (k *call) place(i int) *proto.Place {
	p := &proto.Place{Step: uint32(i)}
	k.req.Places = append(k.req.Places, p)
	return p
}

// give adds the input of step i, which has count elements.
func (k *call) give(i int, s backend.Step, in backend.Input, count int) {
	if len(in.Bytes) == 0 {
		return
	}
	given := input{feed: feed{src: in.Bytes, scalar: len(in.Bytes) / count}, at: k.place(i)}
	if in.Ready != nil {
		given.ready = func(ctx context.Context, n int) error { return backend.InStep(i, s, in.Wait(ctx, n)) }
	}
	k.inputs = append(k.inputs, given)
}

// makeRoom takes shared memory for the answers that are read there.
func (k *call) makeRoom(ctx context.Context) error {
	if len(k.reads) == 0 {
		return nil
	}
	var sizes []int
	for _, r := range k.reads {
		sizes = append(sizes, r.size)
	}
	regions, err := k.c.replies.Acquire(ctx, sizes...)
	if err != nil {
		return err
	}
	k.regions = append(k.regions, regions...)
	for i, r := range regions {
		k.reads[i].region = r
		k.reads[i].at.Bytes = wire.Region(r.Arena(), r.Offset(), k.reads[i].size)
	}
	return nil
}

// collect adds the answers that were read in shared memory to the others, and wipes their regions.
func (k *call) collect(answers [][]byte) {
	for i, size := range k.sizes {
		if size == 0 {
			answers[i] = nil
		}
	}
	for _, r := range k.reads {
		answers[r.step] = shm.Clone(r.region.Bytes()[:r.size])
	}
}
