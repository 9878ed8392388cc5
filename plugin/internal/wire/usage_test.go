package wire

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pippin-zk/pippin/plugin/internal/proto"
)

// TestUsageIsBounded: a plugin may say anything.
func TestUsageIsBounded(t *testing.T) {
	r := &proto.Usage{}
	for range maxDevices + 1 {
		r.Devices = append(r.Devices, &proto.DeviceUsage{
			Busy: math.MaxUint64, Waited: math.MaxUint64, Retired: strings.Repeat("a", maxName) + "\n\xff",
		})
	}
	for range maxStages + 1 {
		r.Stages = append(r.Stages, &proto.StageUsage{Name: strings.Repeat("a", maxName) + "\n\xff", Busy: 1 << 63})
	}
	u := ToUsage(r)
	if len(u.Devices) != maxDevices || len(u.Stages) != maxStages {
		t.Fatalf("%d devices, %d stages", len(u.Devices), len(u.Stages))
	}
	short := func(s string) bool { return len(s) <= maxName+3 && utf8.ValidString(s) && !strings.Contains(s, "\n") }
	if d := u.Devices[0]; d.Busy != math.MaxInt64 || d.Waited != math.MaxInt64 || !short(d.Retired) {
		t.Errorf("%+v", d)
	}
	if s := u.Stages[0]; !short(s.Name) || s.Busy < 0 {
		t.Errorf("%d bytes, %v", len(s.Name), s.Busy)
	}
	if u := ToUsage(nil); len(u.Devices) != 0 || len(u.Stages) != 0 {
		t.Errorf("of nothing: %+v", u)
	}
}
