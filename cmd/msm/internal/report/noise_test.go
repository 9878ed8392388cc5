package report

import (
	"strings"
	"testing"
)

func TestNoiseNote(t *testing.T) {
	if s := noiseNote([]float64{0.01, 0.05}); s != "" {
		t.Errorf("%s", s)
	}
	if s := noiseNote([]float64{0.2, 0.01, 0.06}); !strings.Contains(s, "2 of 3 runs") {
		t.Errorf("%q", s)
	}
}
