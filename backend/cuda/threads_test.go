package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

func TestProcessorsNear(t *testing.T) {
	sys := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(sys, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("bus/pci/devices/0000:3b:00.0/numa_node", "1\n")
	put("bus/pci/devices/0000:86:00.0/numa_node", "-1\n")
	put("devices/system/node/node1/cpulist", "8-10,12\n")
	near := func(pci string) []int { return processorsNear(sys, pci) }
	for online, want := range map[string][]int{"0-1\n": {8, 9, 10, 12}, "0\n": nil} {
		put("devices/system/node/online", online)
		if got := near("0000:3b:00.0"); !slices.Equal(got, want) {
			t.Errorf("nodes %q: %v, want %v", online, got, want)
		}
	}
	put("devices/system/node/online", "0-1\n")
	if got := append(near("0000:86:00.0"), near("0000:99:00.0")...); got != nil {
		t.Errorf("no node: %v", got)
	}
}

// TestThreads runs functions at the same time on pinned threads, and uses the threads again.
func TestThreads(t *testing.T) {
	p := &threads{near: []int{0}, idle: make(chan chan func(), mostIdle)}
	defer p.close()
	for range 3 {
		var group, both sync.WaitGroup
		both.Add(2)
		for range 2 {
			group.Go(func() {
				p.run(func() {
					both.Done()
					both.Wait() // until the other one runs too
				})
			})
		}
		group.Wait()
	}
	if n := len(p.idle); n < 1 || n > mostIdle {
		t.Errorf("%d threads are idle", n)
	}
}
