package cli

import (
	"slices"
	"testing"
)

func TestParseBackends(t *testing.T) {
	for s, want := range map[string][]string{
		"cpu":                              {"cpu"},
		"cpu, plugin:cpu":                  {"cpu", "plugin:cpu"},
		"cuda:0,cuda:0-1":                  {"cuda:0", "cuda:0-1"},
		"cuda:0,1,cpu":                     {"cuda:0,1", "cpu"},
		"cpu,cuda:0, 2-3 ,5,cuda,plugin:x": {"cpu", "cuda:0,2-3,5", "cuda", "plugin:x"},
		"cuda:GPU-ab12,GPU-cd34":           {"cuda:GPU-ab12,GPU-cd34"},
		"cpu,1":                            {"cpu", "1"},
		"cuda:0,cpu,1":                     {"cuda:0", "cpu", "1"},
	} {
		if got, err := ParseBackends(s); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", s, got, err, want)
		}
	}
	if got, err := ParseBackends("cuda:0,,1"); err == nil {
		t.Errorf("an empty name: %q", got)
	}
}
