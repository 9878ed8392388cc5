package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench/benchtest"
)

// oddPoints is a backend of which one step over points is wrong.
type oddPoints struct {
	benchtest.Vectors
	what string
}

func (b oddPoints) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	for i, s := range steps {
		switch s := s.(type) {
		case backend.MultiplyPoints:
			if b.what == FixedBase {
				steps[i] = backend.MultiplyPoints{Dst: s.Dst, Src: s.Src} // ones
			}
		case backend.Transform:
			if b.what == Lagrange {
				s.Inverse = false
				steps[i] = s
			}
		case backend.Write:
			if b.what == Decompress && s.Encoding == backend.Compressed {
				n := len(s.Bytes) / s.Dst.Count
				s.Bytes = append(append([]byte(nil), s.Bytes[n:]...), s.Bytes[:n]...)
				steps[i] = s
			}
		}
	}
	answers, err := b.Programs().Run(ctx, steps)
	for i, s := range steps {
		if _, ok := s.(backend.CheckPoints); ok && b.what == Subgroup && err == nil {
			answers[i] = backend.CheckedAnswer(0, 0)
		}
	}
	return answers, err
}

// TestPointsSeesWrongAnswers: each step's answer is compared.
func TestPointsSeesWrongAnswers(t *testing.T) {
	for _, what := range append(PointSteps(), "none") {
		open := func(context.Context, string) (backend.Backend, error) {
			return oddPoints{benchtest.Vectors{Backend: cpu.New(cpu.Options{})}, what}, nil
		}
		cfg := Points{Common: Common{Open: open, Backends: []string{"a"}, Count: 1, Seed: 5}, Steps: PointSteps(),
			Curves: []backend.Curve{backend.BN254}, Groups: []backend.Group{backend.G1}, Sizes: []int{16}}
		if _, _, err := Measure(t.Context(), &cfg); errors.Is(err, ErrWrong) != (what != "none") {
			t.Errorf("a wrong %s: %v", what, err)
		}
	}
}
