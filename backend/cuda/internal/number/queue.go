package number

import (
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/number"
)

// queue is an operation on its way to the card, or its rehearsal: that launches nothing, and its
// addresses in scratch mean nothing.
type queue struct {
	*Computer
	Resources
	rehearsal bool

	used, most int64 // of scratch
}

// batch is numbers on the card that follow one another.
type batch struct {
	at           kernels.Pointer
	words, count int
}

func (b batch) size() int64 { return 4 * int64(b.words) * int64(b.count) }

// step returns the words from one number to the next. It is 0 if one number stands for all.
func (b batch) step() int {
	if b.count == 1 {
		return 0
	}
	return b.words
}

// from returns the batch of n numbers from number i on. A single number stands for all.
func (b batch) from(i, n int) batch {
	if b.count == 1 {
		return b
	}
	return part(b, i, n)
}

// take takes scratch for a batch. free resets used to an earlier value, which gives back what was
// taken since.
func (x *queue) take(words, count int) batch {
	at := x.used
	b := batch{words: words, count: count}
	x.used += device.Align(b.size())
	x.most = max(x.most, x.used)
	if !x.rehearsal {
		b.at = device.Address(x.Work) + kernels.Pointer(at)
	}
	return b
}

func (x *queue) free(used int64) { x.used = used }

// zero zeroes a batch that take returned.
func (x *queue) zero(b batch) error {
	if x.rehearsal {
		return nil
	}
	return x.Stream.Fill(x.Work.Slice(int64(b.at-device.Address(x.Work)), b.size()), 0)
}

// pace calls Pace, except in a rehearsal.
func (x *queue) pace(elements int) error {
	if x.rehearsal {
		return nil
	}
	return x.Pace(elements)
}

// launch launches a kernel that strides over items. It has a thread for each item, or as many as
// keep the card busy.
func launch[P kernels.Params](x *queue, k *device.Kernel[P], items int, p P) error {
	const each = 32 // of a multiprocessor
	blocks := min((items+k.Threads-1)/k.Threads, x.info.Multiprocessors*each)
	return shaped(x, k, blocks, k.Threads, 0, p)
}

// wide launches a kernel with one block for each of n numbers, of that many words.
func wide[P kernels.Params](x *queue, k *device.Kernel[P], n, words, shared int, p P) error {
	if shared > x.info.SharedPerBlock {
		return fmt.Errorf("%w: a block's numbers take %d bytes of shared memory, this card has %d: narrower numbers only",
			backend.ErrUnsupported, shared, x.info.SharedPerBlock)
	}
	if x.rehearsal {
		return nil
	}
	threads := min((words+31)/32*32, k.Threads)
	resident, err := k.Occupancy(threads, shared)
	if err != nil {
		return err
	}
	return shaped(x, k, min(n, max(resident, 1)*x.info.Multiprocessors), threads, shared, p)
}

func shaped[P kernels.Params](x *queue, k *device.Kernel[P], blocks, threads, shared int, p P) error {
	if x.rehearsal || blocks == 0 {
		return nil
	}
	return k.LaunchShaped(x.Stream, driver.Launch{Grid: driver.Dim{X: blocks}, Block: driver.Dim{X: threads}, Shared: shared}, p)
}

// copyTo copies numbers of a to dst, as many as dst has, cut or filled up to dst's width.
func (x *queue) copyTo(dst, a batch) error {
	return launch(x, &x.resize, dst.words*dst.count, kernel.WordsResize{
		A: a.at, AWords: a.words, AStep: a.step(), R: dst.at, Length: dst.words, N: dst.count,
	})
}

// aligned reports whether kernels can read the batch 16 bytes at a time.
func aligned(b batch) bool { return b.at%16 == 0 }

// plain returns n numbers of b that follow one another and are aligned: b itself, or a copy.
func (x *queue) plain(b batch, n int) (batch, error) {
	if b.count == n && aligned(b) {
		return b, nil
	}
	c := x.take(b.words, n)
	return c, x.copyTo(c, b)
}

// straight makes all batches aligned that are there.
func (x *queue) straight(bs ...*batch) (err error) {
	for _, b := range bs {
		if b.at != 0 && err == nil {
			*b, err = x.plain(*b, b.count)
		}
	}
	return err
}

// into lets f write to dst, or to aligned scratch that is then copied to dst.
func (x *queue) into(dst batch, f func(dst batch) error) error {
	if aligned(dst) {
		return f(dst)
	}
	c := x.take(dst.words, dst.count)
	if err := f(c); err != nil {
		return err
	}
	return x.copyTo(dst, c)
}

// chunks calls f for n numbers in chunks, each with scratch of at most some tens of MiB. bytes is
// the scratch of a number. The next chunk uses the same scratch.
func (x *queue) chunks(n int, bytes int64, f func(from, n int) error) error {
	const most = 64 << 20
	each := int(max(most/bytes, 1))
	used := x.used
	for from := 0; from < n; from += each {
		x.free(used)
		if err := f(from, min(each, n-from)); err != nil {
			return err
		}
		if x.rehearsal {
			break // no later chunk takes more
		}
	}
	x.free(used)
	return nil
}
