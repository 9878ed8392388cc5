package server

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// TestDesk: the requests of one tenant are done one after the other, and slowly if many wait.
// Another tenant does not wait for them.
func TestDesk(t *testing.T) {
	d := newDesk(t.Context())
	defer d.close()
	var done, at atomic.Int64
	began, full := time.Now(), make(chan struct{})
	for range longestLine {
		d.put("eve", func(context.Context) {
			<-full // a line that is still short makes no pause
			if at.Add(1) > 1 {
				t.Error("two at a time")
			}
			done.Add(1)
			at.Add(-1)
		})
	}
	close(full)
	other := make(chan struct{})
	d.put("alice", func(context.Context) { close(other) })
	<-other
	if took := time.Since(began); took > time.Second {
		t.Errorf("another tenant's request took %v", took)
	}
	time.Sleep(20 * pace)
	if n, most := done.Load(), int64(time.Since(began)/pace)+1; n == 0 || n > most {
		t.Errorf("%d requests were done, at most %d should be", n, most)
	}
	for done.Load() < longestLine {
		if time.Since(began) > time.Minute {
			t.Fatalf("%d of %d requests were done", done.Load(), longestLine)
		}
		time.Sleep(pace)
	}
}
