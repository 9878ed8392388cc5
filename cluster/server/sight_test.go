package server

import (
	"testing"
	"time"
)

// TestSight: a fault that is seen once, long after the look before, has not lasted for that long.
func TestSight(t *testing.T) {
	var s sight
	now := time.Now()
	for i, c := range []struct {
		after time.Duration
		there bool
		want  time.Duration
	}{
		{0, false, 0},
		{time.Hour, true, 0},
		{time.Second, true, time.Second},
		{2 * time.Second, true, 3 * time.Second},
		{time.Second, false, 0},
		{time.Second, true, 0},
	} {
		if now = now.Add(c.after); s.look(c.there, now) != c.want {
			t.Errorf("look %d: %v, want %v", i, now.Sub(s.since), c.want)
		}
	}
}
