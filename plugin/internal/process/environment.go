package process

import (
	"slices"
	"strings"
)

// The variables of the host that a plugin gets, by name and by how the name
// begins; docs/protocol.md says why. Everything else stays with the host:
// another plugin system's PLUGIN_*, a service manager's sockets, credentials.
var (
	passedNames = []string{
		"HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER",
		"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR", "GORACE",
		"SSL_CERT_DIR", "SSL_CERT_FILE",
	}
	passedPrefixes = []string{"CUDA_", "HIP_", "HSA_", "LC_", "NCCL_", "NVIDIA_", "OTEL_", "PIPPIN_", "ROCR_", "XDG_"}
)

// Environment makes a plugin's: what of the host's is passed, then what its Spec
// adds, then the handshake, of which a later value of a name counts.
func Environment(host, added, handshake []string) []string {
	var env []string
	for _, v := range host {
		name, _, _ := strings.Cut(v, "=")
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if slices.Contains(passedNames, name) || slices.ContainsFunc(passedPrefixes, begins) {
			env = append(env, v)
		}
	}
	return slices.Concat(env, added, handshake)
}
