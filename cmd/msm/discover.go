package main

import "github.com/pippin-zk/pippin/plugin"

// plugins are those that discoverPlugins finds for this command.
func (a *app) plugins() []found {
	discover := discoverPlugins
	if a.discover != nil {
		discover = a.discover
	}
	return discover(a.pluginDirs, a.getenv("PATH"))
}

// discoverPlugins lists the plugins in dirs, in this program's own folder and
// in path, a list as in the variable PATH. The first of a name that may be
// started hides the others.
func discoverPlugins(dirs []string, path string) []found {
	var all []found
	first := map[string]string{}
	for _, f := range plugin.List(plugin.Search{Dirs: dirs, Path: path}) {
		p := found{name: f.Name, path: f.Path, checksum: f.Checksum, verified: f.Verified, problem: f.Problem, hiddenBy: first[f.Name]}
		if p.problem == nil && p.hiddenBy == "" {
			first[p.name] = p.path
		}
		all = append(all, p)
	}
	return all
}
