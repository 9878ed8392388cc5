package cuda

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// threads runs what works for one card on threads near it: on the processors of
// the NUMA node that the card hangs on. A thread stays pinned and runs one function
// after the other; there are as many as ever ran at the same time.
type threads struct {
	near []int // processors; none pins nothing
	idle chan chan func()
}

// mostIdle bounds the threads that wait for work.
const mostIdle = 16

// threadsNear returns the threads for the card at a PCI address. Where the system does
// not say where the card is, or has one node only, nothing is pinned.
func threadsNear(pci string) *threads {
	return &threads{near: processorsNear("/sys", pci), idle: make(chan chan func(), mostIdle)}
}

// processorsNear returns the processors of a card's NUMA node, as sysfs has them.
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

// parseList reads such as "0-3,8"; nil when it is no list.
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

// run runs f on a thread near the card, and returns when it has.
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

// serve pins the goroutine's thread and calls what next brings. The thread ends with the
// goroutine, so that nothing else runs on those processors only.
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

// close ends the idle threads. Nothing runs any more.
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
