package number

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	kernel "github.com/pippin-zk/pippin/kernels/grid/number"
)

// engine says where numbers lie while residues and powers are computed.
type engine int

const (
	byBlock   engine = iota // in a block's shared memory, of any width
	byThread                // in a thread's registers
	byGroup                 // in registers of several threads of a warp
	inDoubles               // in samples of 52 bits, by one thread or several; powers only
)

// engines are the engines for one width.
type engines struct {
	residues engine
	powers   engine // if the card is quick at double precision
	slow     engine // if it is not
	threads  int    // for a number, by group
}

// chosen has the engines by words. They follow from how many numbers each computes in a second on
// an H200 (bench/results/h200/numbers-engines.json, by scripts/long bench-numbers-cuda). Other
// widths are computed by block.
var chosen = map[int]engines{
	1:   {residues: byThread, powers: byThread, slow: byThread},
	2:   {residues: byThread, powers: byThread, slow: byThread},
	4:   {residues: byThread, powers: byThread, slow: byThread},
	8:   {residues: byThread, powers: byThread, slow: byThread},
	16:  {residues: byThread, powers: byThread, slow: byThread},
	32:  {residues: byThread, powers: inDoubles, slow: byThread, threads: 4},
	48:  {residues: byGroup, powers: inDoubles, slow: byGroup, threads: 4},
	64:  {residues: byGroup, powers: inDoubles, slow: byGroup, threads: 4},
	96:  {residues: byGroup, powers: inDoubles, slow: byGroup, threads: 8},
	128: {residues: byGroup, powers: inDoubles, slow: byGroup, threads: 8},
}

// grouped is the kernels for numbers of one width that several threads share.
type grouped struct {
	threads int
	residue device.Kernel[kernel.GroupedResidue]
	power   device.Kernel[kernel.GroupedPower]
}

// held is the kernels for numbers of one width in registers. Either kind is set; both take the same
// parameters.
type held struct {
	narrow  *narrow
	grouped *grouped
}

// held returns the kernels of an engine for numbers of that many words, or nil if the engine is
// another kind.
func (c *Computer) held(words int, of engine) (*held, error) {
	switch of {
	case byThread:
		n, err := c.narrow(words)
		if err != nil || n == nil {
			return nil, err
		}
		return &held{narrow: n}, nil
	case byGroup:
		g, err := c.grouped(words, c.engines[words].threads)
		if err != nil {
			return nil, err
		}
		return &held{grouped: g}, nil
	}
	return nil, nil
}

func (c *Computer) grouped(words, threads int) (*grouped, error) {
	return once(c, c.groups, words, func() (*grouped, error) {
		k, ok := kernel.ForGrouped("g"+strconv.Itoa(words), strconv.Itoa(threads))
		if !ok {
			return nil, fmt.Errorf("%w: no kernels for numbers of %d words by %d threads", backend.ErrInternal, words, threads)
		}
		g := &grouped{threads: threads}
		return g, errors.Join(g.residue.Load(c.dev, k.GroupedResidue), g.power.Load(c.dev, k.GroupedPower))
	})
}

// threads returns how many threads a number takes.
func (k *held) threads() int {
	if k.grouped != nil {
		return k.grouped.threads
	}
	return 1
}

// residues launches an operation on n numbers.
func (k *held) residues(x *queue, n int, p kernel.NarrowResidue) error {
	if k.grouped != nil {
		return launch(x, &k.grouped.residue, n*k.grouped.threads, kernel.GroupedResidue(p))
	}
	return launch(x, &k.narrow.residue, n, p)
}

// ofPowers returns the kernel for powers and the threads of its blocks.
func (k *held) ofPowers() (*driver.Function, int) {
	if k.grouped != nil {
		return k.grouped.power.Function, k.grouped.power.Threads
	}
	return k.narrow.power.Function, k.narrow.power.Threads
}

// powers launches powers.
func (k *held) powers(x *queue, blocks int, p kernel.NarrowPower) error {
	if k.grouped != nil {
		return shaped(x, &k.grouped.power, blocks, k.grouped.power.Threads, 0, kernel.GroupedPower(p))
	}
	return shaped(x, &k.narrow.power, blocks, k.narrow.power.Threads, 0, p)
}
