package driver

import (
	"errors"
	"sync"
)

// stageSize is one of the two halves that Read and Write copy through by
// turns: the device works on one half while the processor fills the other.
const stageSize = 4 << 20

// staging is the pinned memory for Read and Write: as many stages as were
// ever in use at a time.
type staging struct {
	// call is held for reading through a Read or Write, which are more than
	// one call of the driver, and for writing by Device.Close.
	call sync.RWMutex

	mu    sync.Mutex
	idle  []*stage
	aside []*stage // a copy may still use them
	all   int64
}

// stage is one buffer of two halves. Idle, it is wiped and no copy uses it.
type stage struct {
	host *Host
	done [2]*Event
	busy [2]bool // done was recorded and not waited for
}

func (p *staging) take(d *Device) (*stage, error) {
	p.regain(d)
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return s, nil
	}
	p.mu.Unlock()
	host, err := d.AllocHost(2 * stageSize)
	if err != nil {
		return nil, err
	}
	s := &stage{host: host}
	for i := range s.done {
		if s.done[i], err = d.NewEvent(false); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	p.mu.Lock()
	p.all++
	p.mu.Unlock()
	return s, nil
}

func (p *staging) put(s *stage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, s)
}

// setAside keeps a stage that a copy may still use.
func (p *staging) setAside(s *stage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.aside = append(p.aside, s)
}

// regain makes the stages idle that were set aside, when everything on the device is done. While that
// cannot be known they stay where they are: their memory goes with the context, or the process.
func (p *staging) regain(d *Device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.aside) == 0 || d.Synchronize() != nil {
		return
	}
	for _, s := range p.aside {
		s.wipe(2 * stageSize)
	}
	p.idle, p.aside = append(p.idle, p.aside...), nil
}

// close frees the idle stages, which are all when no Read or Write runs.
func (p *staging) close(d *Device) error {
	p.regain(d)
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for _, s := range p.idle {
		err = errors.Join(err, s.close())
	}
	p.all -= int64(len(p.idle))
	p.idle = nil
	return err
}

// uncount takes the stages out of l.
func (p *staging) uncount(l *Live) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.Pinned -= p.all * 2 * stageSize
	l.Allocations -= p.all
	l.Objects -= p.all * int64(len(stage{}.done))
}

// wipe zeroes the first size bytes of each half. No copy uses the stage any more.
func (s *stage) wipe(size int64) {
	for i := range s.busy {
		clear(s.host.Span().Slice(int64(i)*stageSize, min(stageSize, size)).Bytes())
		s.busy[i] = false
	}
}

func (s *stage) close() error {
	err := s.host.Free()
	for _, e := range s.done {
		if e != nil {
			err = errors.Join(err, e.Close())
		}
	}
	return err
}

// half returns the first size bytes of a half, once no copy uses it.
func (s *stage) half(i int, size int64) (HostSpan, error) {
	if s.busy[i] {
		if err := s.done[i].Synchronize(); err != nil {
			return HostSpan{}, err
		}
		s.busy[i] = false
	}
	return s.host.Span().Slice(int64(i)*stageSize, size), nil
}

// mark says that the stream's work so far uses a half.
func (s *stage) mark(i int, on *Stream) error {
	err := on.Record(s.done[i])
	s.busy[i] = err == nil
	return err
}

// Write copies src to the device in the stream's order and returns when that
// is done. src may be any memory; both have the same size.
func (s *Stream) Write(dst Span, src []byte) error {
	size := int64(len(src))
	if dst.bad || dst.Size() != size {
		return invalid("write of %d bytes to %d", size, dst.Size())
	}
	if from, ok := s.dev.FindHost(src); ok {
		return s.direct(s.Upload(dst, from))
	}
	return s.staged(size, func(st *stage) error {
		for off, i := int64(0), 0; off < size; off, i = off+stageSize, 1-i {
			n := min(stageSize, size-off)
			half, err := st.half(i, n)
			if err != nil {
				return err
			}
			copy(half.Bytes(), src[off:])
			if err := s.Upload(dst.Slice(off, n), half); err != nil {
				return err
			}
			if err := st.mark(i, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// Read copies src to the host in the stream's order and returns when that is
// done. dst may be any memory; both have the same size.
func (s *Stream) Read(dst []byte, src Span) error {
	size := int64(len(dst))
	if src.bad || src.Size() != size {
		return invalid("read of %d bytes to %d", src.Size(), size)
	}
	if to, ok := s.dev.FindHost(dst); ok {
		return s.direct(s.Download(to, src))
	}
	return s.staged(size, func(st *stage) error {
		var due [2][]byte // where what each half is about to hold belongs
		collect := func(i int) error {
			half, err := st.half(i, int64(len(due[i])))
			copy(due[i], half.Bytes())
			due[i] = nil
			return err
		}
		i := 0
		for off := int64(0); off < size; off, i = off+stageSize, 1-i {
			if err := collect(i); err != nil {
				return err
			}
			due[i] = dst[off:min(off+stageSize, size)]
			n := int64(len(due[i]))
			half, err := st.half(i, n)
			if err != nil {
				return err
			}
			if err := s.Download(half, src.Slice(off, n)); err != nil {
				return err
			}
			if err := st.mark(i, s); err != nil {
				return err
			}
		}
		if err := collect(i); err != nil {
			return err
		}
		return collect(1 - i)
	})
}

// direct ends a Read or Write that needed no stage.
func (s *Stream) direct(err error) error {
	if err != nil {
		return err
	}
	return s.Synchronize()
}

// staged runs copies of size bytes in all through a stage, waits for their
// end, and wipes the stage.
func (s *Stream) staged(size int64, copies func(*stage) error) error {
	if size == 0 {
		return nil
	}
	d := s.dev
	d.stage.call.RLock()
	defer d.stage.call.RUnlock()
	st, err := d.stage.take(d)
	if err != nil {
		return err
	}
	err = copies(st)
	settled := s.Synchronize()
	st.wipe(size)
	if settled != nil {
		d.stage.setAside(st)
		return errors.Join(err, settled)
	}
	d.stage.put(st)
	return err
}
