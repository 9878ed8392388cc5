package driver

import (
	"errors"
	"fmt"
	"math"

	"github.com/pippin-zk/pippin/backend"
)

// Module is compiled code on a device.
type Module struct{ object }

// LoadModule loads a cubin, fatbin or PTX text; image is copied. When it holds
// nothing that the device and driver can run, the error is
// backend.ErrUnavailable.
func (d *Device) LoadModule(image []byte) (*Module, error) {
	if len(image) == 0 {
		return nil, invalid("module of no bytes")
	}
	var h handle
	err := d.do("cuModuleLoadData", func() (r Result) { h, r = d.sys.moduleLoad(image); return r })
	if err != nil {
		var e *Error
		if errors.As(err, &e) && e.kind == backend.ErrUnavailable {
			e.Hint = fmt.Sprintf("%s (this is %v)", e.Hint, d.info)
		}
		return nil, err
	}
	m := &Module{}
	m.set(d, h)
	return m, nil
}

// Close unloads the module. Its functions must not run any more.
func (m *Module) Close() error { return m.drop("cuModuleUnload", m.dev.sys.moduleUnload) }

// Function finds a kernel by its symbol. A kernel with a parameter that does
// not have 8 bytes is backend.ErrUnsupported.
func (m *Module) Function(name string) (*Function, error) {
	mh, err := m.get("module")
	if err != nil {
		return nil, err
	}
	var h handle
	err = m.dev.do("cuModuleGetFunction", func() (r Result) { h, r = m.dev.sys.moduleFunction(mh, name); return r })
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	f := &Function{mod: m, h: h, name: name}
	if f.params, err = f.countParams(); err != nil {
		return nil, err
	}
	return f, nil
}

// Function is a kernel. Its calls fail once its module is closed.
type Function struct {
	mod    *Module
	h      handle
	name   string
	params int // -1 when the driver cannot tell
}

// paramBytes is the size of every kernel parameter: what gorgonia.org/cu copies.
const paramBytes = 8

// countParams asks the driver how many parameters there are, and their sizes.
// Drivers before CUDA 12.4 cannot tell.
func (f *Function) countParams() (int, error) {
	for n := 0; ; n++ {
		var size int
		var got Result
		err := f.do("cuFuncGetParamInfo", func(sys api) Result {
			size, got = sys.functionParam(f.h, n)
			return Success
		})
		switch {
		case err != nil:
			return 0, err
		case got == InvalidValue: // past the last
			return n, nil
		case got != Success:
			return -1, nil
		case size != paramBytes:
			return 0, fmt.Errorf("%w: parameter %d of kernel %s has %d bytes, and must have %d",
				backend.ErrUnsupported, n, f.name, size, paramBytes)
		}
	}
}

// Name returns the kernel's symbol.
func (f *Function) Name() string { return f.name }

// Attributes is what the compiler used for a kernel. Sizes are in bytes.
type Attributes struct {
	Registers        int // a thread
	Local            int // a thread: stack and spills
	Shared           int // a block, static
	MaxDynamicShared int // a block: the most that a launch may add
	Const            int
	MaxThreads       int // a block
	Binary           int // 90 is code for compute capability 9.0
	PTX              int
}

// Attributes asks the driver.
func (f *Function) Attributes() (Attributes, error) {
	var a Attributes
	err := f.do("cuFuncGetAttribute", func(sys api) (r Result) {
		for _, q := range []struct {
			attribute functionAttribute
			v         *int
		}{
			{funcRegisters, &a.Registers}, {funcLocal, &a.Local}, {funcShared, &a.Shared},
			{funcMaxDynamicShared, &a.MaxDynamicShared}, {funcConst, &a.Const},
			{funcMaxThreads, &a.MaxThreads}, {funcBinary, &a.Binary}, {funcPTX, &a.PTX},
		} {
			if *q.v, r = sys.functionGet(f.h, q.attribute); r != Success {
				return r
			}
		}
		return Success
	})
	return a, err
}

// SetMaxDynamicShared allows launches with up to size bytes of dynamic shared
// memory; more than 48 KiB, static included, need it. The device's limit is
// Info.SharedPerBlock.
func (f *Function) SetMaxDynamicShared(size int) error {
	return f.do("cuFuncSetAttribute", func(sys api) Result { return sys.functionSet(f.h, funcMaxDynamicShared, size) })
}

// SetSharedCarveout asks for a share of the L1 memory as shared memory, in
// percent.
func (f *Function) SetSharedCarveout(percent int) error {
	return f.do("cuFuncSetAttribute", func(sys api) Result { return sys.functionSet(f.h, funcSharedCarveout, percent) })
}

// Occupancy returns how many blocks of so many threads, with so many bytes of
// dynamic shared memory, run on one multiprocessor at a time.
func (f *Function) Occupancy(threads, shared int) (blocks int, err error) {
	err = f.do("cuOccupancyMaxActiveBlocksPerMultiprocessor", func(sys api) (r Result) {
		blocks, r = sys.occupancy(f.h, threads, int64(shared))
		return r
	})
	return blocks, err
}

// BestBlock returns the block size with the highest occupancy, and the number of
// such blocks that fills the device.
func (f *Function) BestBlock(shared int) (threads, blocks int, err error) {
	err = f.do("cuOccupancyMaxPotentialBlockSize", func(sys api) (r Result) {
		blocks, threads, r = sys.occupancyBlock(f.h, int64(shared))
		return r
	})
	return threads, blocks, err
}

func (f *Function) do(call string, use func(api) Result) error {
	if _, err := f.mod.get("module"); err != nil {
		return err
	}
	err := f.mod.dev.do(call, func() Result { return use(f.mod.dev.sys) })
	if err != nil {
		return fmt.Errorf("kernel %s: %w", f.name, err)
	}
	return nil
}

// Dim is the shape of a grid or block; a 0 counts as 1.
type Dim struct{ X, Y, Z int }

// Launch is the shape of a launch. The zero value is one thread.
type Launch struct {
	Grid, Block Dim
	Shared      int  // dynamic shared memory, bytes a block
	Cooperative bool // all blocks run at a time and may wait for each other

	// Overlap lets blocks begin while those of the launch before it in the stream have
	// not ended, once all of these have said griddepcontrol.launch_dependents: the
	// kernel waits for them itself, by griddepcontrol.wait, before it touches what they
	// or launches before them read or write. Where Info.Overlap is false it is a launch
	// like others.
	Overlap bool
}

// Param is a kernel's parameter: every one has 64 bits. Span.Param makes one of
// an address, Value and Float of numbers.
type Param uint64

// Value returns an integer as a parameter; a negative one keeps its value in a
// signed 64-bit parameter.
func Value[T ~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64](v T) Param { return Param(v) }

// Float returns a parameter of type double.
func Float(v float64) Param { return Param(math.Float64bits(v)) }

// norm returns the shape with every 0 as 1, checked against CUDA's limits.
func (l Launch) norm() (Launch, error) {
	for _, v := range []struct {
		n   *int
		max int
	}{
		{&l.Grid.X, 1<<31 - 1}, {&l.Grid.Y, 1<<16 - 1}, {&l.Grid.Z, 1<<16 - 1},
		{&l.Block.X, 1024}, {&l.Block.Y, 1024}, {&l.Block.Z, 64},
	} {
		if *v.n == 0 {
			*v.n = 1
		}
		if *v.n < 0 || *v.n > v.max {
			return l, invalid("launch with grid %v and block %v", l.Grid, l.Block)
		}
	}
	if l.Shared < 0 || l.Shared > math.MaxInt32 {
		return l, invalid("launch with %d bytes of shared memory", l.Shared)
	}
	return l, nil
}

// Launch puts the kernel on the stream. The parameters are copied. Their
// number must be the kernel's, which is checked where the driver knows it.
func (f *Function) Launch(s *Stream, l Launch, params ...Param) error {
	l, err := l.norm()
	if err != nil {
		return fmt.Errorf("kernel %s: %w", f.name, err)
	}
	if f.params >= 0 && len(params) != f.params {
		return fmt.Errorf("kernel %s: %w", f.name, invalid("%d parameters, it has %d", len(params), f.params))
	}
	sh, err := s.on(f.mod.dev)
	if err != nil {
		return err
	}
	l.Overlap = l.Overlap && !l.Cooperative && f.mod.dev.info.Overlap
	call := "cuLaunchKernel"
	switch {
	case l.Cooperative:
		call = "cuLaunchCooperativeKernel"
	case l.Overlap:
		call = "cuLaunchKernelEx"
	}
	return f.do(call, func(sys api) Result { return sys.launch(f.h, l, sh, params) })
}
