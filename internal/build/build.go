// Package build says what a running program was built from.
package build

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
)

// Info is what the go command stamped into a program; "" is not known.
type Info struct {
	Module  string // path of the main module
	Version string // its version, "(devel)" without one
	// Commit is that of its repository, with "+dirty" when files were changed. After
	// "go install MODULE@COMMIT" it has 12 digits.
	Commit string
}

// pseudo matches versions that the go command makes of a commit.
var pseudo = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})(\+incompatible)?$`)

// This is the running program's.
var This = sync.OnceValue(func() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Info{}
	}
	return of(info)
})

func of(info *debug.BuildInfo) Info {
	b := Info{Module: info.Main.Path, Version: info.Main.Version}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if b.Commit != "" {
		b.Commit += dirty
	} else if m := pseudo.FindStringSubmatch(b.Version); m != nil {
		b.Commit = m[1]
	}
	return b
}

// same reports whether two commits are one, of which one may have 12 digits only.
func same(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || len(a) == 12 && strings.HasPrefix(b, a) && !strings.HasSuffix(b, "+dirty")
}

// Mismatch returns a warning if a plugin and its host are of the same module but were
// built from different commits. It returns "" if they were not, or if that is not known.
func Mismatch(plugin, host Info) string {
	if plugin.Module != host.Module || plugin.Commit == "" || host.Commit == "" || same(plugin.Commit, host.Commit) {
		return ""
	}
	return fmt.Sprintf("the plugin was built from commit %s of %s, this program from %s: build both from the same",
		plugin.Commit, plugin.Module, host.Commit)
}
