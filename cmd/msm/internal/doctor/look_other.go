//go:build !linux

package doctor

import "runtime"

// Look gathers what the system shows; plugins and with them cards need Linux.
func Look(func(string) string) (System, NVIDIA) {
	return System{OS: runtime.GOOS, Cores: runtime.NumCPU(), Usable: runtime.GOMAXPROCS(0), Locked: Unlimited}, NVIDIA{}
}
