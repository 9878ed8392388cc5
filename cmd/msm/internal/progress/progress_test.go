package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestBar(t *testing.T) {
	var b bytes.Buffer
	p := &Bar{w: &b, start: time.Now()}
	p.Set("a stage", 1, 4)
	p.draw(p.start.Add(after - time.Millisecond))
	if b.Len() != 0 {
		t.Errorf("drawn too early: %q", b.String())
	}
	p.draw(p.start.Add(after))
	if got := b.String(); !strings.Contains(got, "[#####...............]  25 % a stage") {
		t.Errorf("drawn %q", got)
	}
	b.Reset()
	p.Clear()
	p.Clear()
	if b.String() != "\r\x1b[K" {
		t.Errorf("cleared with %q", b.String())
	}
	for _, at := range [][2]int{{0, 0}, {5, 4}, {-1, 4}} {
		if s := barLine("x", at[0], at[1], 0); len(s) < cells {
			t.Errorf("%v: %q", at, s)
		}
	}
	b.Reset()
	q := New(&b) // no terminal
	q.Set("x", 1, 2)
	q.draw(time.Now().Add(time.Hour))
	q.Clear()
	q.Close()
	if got := b.String(); !strings.HasPrefix(got, "msm: [##########..........]  50 % x (") ||
		strings.Count(got, "\n") != 1 || strings.Contains(got, "\x1b") {
		t.Errorf("a pipe gets %q", got)
	}
	r := begin(&b, every, false)
	r.Set("x", 1, 2)
	r.Close()
	r.Close()
}
