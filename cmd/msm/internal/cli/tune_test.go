package cli

import (
	"strings"
	"testing"
)

func TestTuneRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--backend cpu": "plans by tables", "--count 2": "three runs", "--multiples 0": "multiples",
		"--size x": "size", "--curve x": "curve", "more": "unexpected",
	} {
		code, _, stderr := cli(t, &App{}, append([]string{"tune"}, strings.Fields(args)...)...)
		if code != ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d, %s", args, code, stderr)
		}
	}
}
