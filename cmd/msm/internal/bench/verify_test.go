package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench/benchtest"
)

func verifyConfig(t *testing.T, w *benchtest.World, backends ...string) VerifyConfig {
	t.Cleanup(func() {
		if w.Opened != 0 || w.Arenas != 0 {
			t.Errorf("%d backends and %d buffers left open", w.Opened, w.Arenas)
		}
	})
	return VerifyConfig{
		Open: w.Opener, Backends: backends, Size: 70, Cases: 4, Seed: 3,
		Curves: []backend.Curve{backend.BN254}, Groups: []backend.Group{backend.G1},
	}
}

func TestVerifyRight(t *testing.T) {
	try := func(t *testing.T, change func(*VerifyConfig), want int) (answers int) {
		cfg := verifyConfig(t, &benchtest.World{}, "cpu", "arena")
		change(&cfg)
		done, err := Verify(t.Context(), cfg)
		if err != nil || len(done) != want*(len(kinds)+2) {
			t.Fatalf("%d results, error %v", len(done), err)
		}
		for _, d := range done {
			if d.Tried == 0 || d.Failed != 0 || d.Failure != "" {
				t.Errorf("%+v", d)
			}
			answers += d.Tried
		}
		return answers
	}
	t.Run("groups", func(t *testing.T) {
		try(t, func(c *VerifyConfig) {
			c.Backends, c.Curves, c.Groups, c.Cases = []string{"cpu"}, backend.Curves(), backend.Groups(), 1
		}, 8)
	})
	t.Run("long", func(t *testing.T) {
		short := try(t, func(*VerifyConfig) {}, 2)
		if long := try(t, func(c *VerifyConfig) { c.Long = true }, 2); long < short+2*2*250 {
			t.Errorf("%d answers, with Long %d", short, long)
		}
	})
}

// TestVerifyWrong has a backend whose answers of three or more points are
// wrong: every kind of cases has such.
func TestVerifyWrong(t *testing.T) {
	done, err := Verify(t.Context(), verifyConfig(t, &benchtest.World{}, "wrong"))
	if !errors.Is(err, ErrWrong) || len(done) != len(kinds)+2 {
		t.Fatalf("%d results, error %v", len(done), err)
	}
	for _, d := range done {
		if d.Failed == 0 || d.Failure == "" || d.Failed > d.Tried {
			t.Errorf("not detected: %+v", d)
		}
	}
}

func TestVerifyBroken(t *testing.T) {
	done, err := Verify(t.Context(), verifyConfig(t, &benchtest.World{}, "broken"))
	if !errors.Is(err, ErrWrong) || len(done) != len(kinds)+2 {
		t.Fatalf("%d results, error %v", len(done), err)
	}
	for _, d := range done {
		if d.Failed == 0 || d.Failure == "" {
			t.Errorf("not detected: %+v", d)
		}
	}
}

func TestVerifyEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &benchtest.World{OnCall: func(before int) {
		if before == 8 {
			cancel()
		}
	}}
	if _, err := Verify(ctx, verifyConfig(t, w, "cpu")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Verify(t.Context(), verifyConfig(t, &benchtest.World{}, "absent")); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("no such backend: %v", err)
	}
	cfg := verifyConfig(t, &benchtest.World{}, "cpu")
	cfg.Size = 3
	if _, err := Verify(t.Context(), cfg); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("size 3: %v", err)
	}
}
