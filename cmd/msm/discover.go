package main

import (
	"fmt"

	"github.com/pippin-zk/pippin/plugin"
)

// discoverPlugins lists the plugins in dirs, in this program's own folder and
// in path, a list as in the variable PATH. One that an earlier one of the same
// name hides is a problem.
func discoverPlugins(dirs []string, path string) []found {
	var all []found
	first := map[string]string{}
	for _, f := range plugin.List(plugin.Search{Dirs: dirs, Path: path}) {
		p := found{name: f.Name, path: f.Path, checksum: f.Checksum, verified: f.Verified, problem: f.Problem}
		if p.problem == nil {
			if by := first[p.name]; by != "" {
				p.problem = fmt.Errorf("hidden by %s", by)
			} else {
				first[p.name] = p.path
			}
		}
		all = append(all, p)
	}
	return all
}
