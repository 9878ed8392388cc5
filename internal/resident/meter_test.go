package resident

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// TestMeter: calls at the same time count once, and one that runs counts too.
func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Meter
		is := func(busy, waited time.Duration, calls uint64) {
			t.Helper()
			if got, want := m.Usage(), (backend.DeviceUsage{Busy: busy, Waited: waited, Calls: calls}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
		is(0, 0, 0)
		m.Begin(3 * time.Second)
		time.Sleep(time.Second)
		is(time.Second, 3*time.Second, 1)
		m.Begin(0)
		time.Sleep(time.Second)
		m.End()
		time.Sleep(time.Second)
		m.End()
		time.Sleep(time.Second)
		is(3*time.Second, 3*time.Second, 2)
		m.Begin(time.Second)
		time.Sleep(time.Second)
		is(4*time.Second, 4*time.Second, 3)
		m.End()
	})
}
