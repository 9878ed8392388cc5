package cuda

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// threads runs the work for one card on threads near it, which are pinned to the processors of the
// card's NUMA node. A thread runs one function after the other. There are as many threads as
// functions ever ran at the same time.
type threads struct {
	near []int // processors; if empty, no thread is pinned
	idle chan chan func()
}

// mostIdle bounds the threads that wait for work.
const mostIdle = 16

// threadsNear returns the threads for the card at a PCI address. They are not pinned if the system
// has one node only, or does not tell the card's.
func threadsNear(pci string) *threads {
	return &threads{near: processorsNear("/sys", pci), idle: make(chan chan func(), mostIdle)}
}

// processorsNear returns the processors of a card's NUMA node, as sysfs lists them.
func processorsNear(sysfs, pci string) []int {
	read := func(path ...string) string {
		b, err := os.ReadFile(filepath.Join(append([]string{sysfs}, path...)...))
		if err != nil {
			return ""
		}
		return string(bytes.TrimSpace(b))
	}
	node, err := strconv.Atoi(read("bus/pci/devices", pci, "numa_node"))
	if err != nil || node < 0 || !strings.ContainsAny(read("devices/system/node/online"), ",-") {
		return nil
	}
	return parseList(read("devices/system/node", "node"+strconv.Itoa(node), "cpulist"))
}

// parseList reads a list such as "0-3,8". It returns nil if s is no list.
func parseList(s string) (all []int) {
	for part := range strings.SplitSeq(s, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || to-from > 1<<16 {
			return nil
		}
		for i := from; i <= to; i++ {
			all = append(all, i)
		}
	}
	return all
}

// run runs f on a thread near the card and waits for it.
func (t *threads) run(f func()) {
	if t.near == nil {
		f()
		return
	}
	var worker chan func()
	select {
	case worker = <-t.idle:
	default:
		worker = make(chan func())
		go t.serve(worker)
	}
	done := make(chan struct{})
	worker <- func() { defer close(done); f() }
	<-done
}

// serve pins the goroutine's thread and calls what next brings. The thread ends with the goroutine,
// so that no other goroutine is confined to those processors.
func (t *threads) serve(next chan func()) {
	pin(t.near)
	for f := range next {
		f()
		select {
		case t.idle <- next:
		default:
			return
		}
	}
}

// close ends the idle threads. No function may run any more.
func (t *threads) close() {
	for {
		select {
		case worker := <-t.idle:
			close(worker)
		default:
			return
		}
	}
}
