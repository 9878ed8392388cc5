package wire

import (
	"strings"
	"testing"
	"unicode"

	"github.com/pippin-zk/pippin/plugin/internal/proto"
)

// TestInfoIsBounded: what a plugin says of itself is bounded and clean.
func TestInfoIsBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	info, err := ToInfo(&proto.OpenReply{
		Name: "a\x1b[2Jb" + long, Version: long, Devices: []*proto.Device{{Name: "d\n" + long, Detail: "\a" + long}, nil},
		Can: &proto.Capabilities{Msm: []*proto.CurveGroup{{Curve: 1, Group: 1}, {Curve: 300, Group: 1}, nil}},
	})
	if err != nil || len(info.Devices) != 2 || len(info.Can.MSM) != 1 {
		t.Fatalf("%v, %d devices, %v", err, len(info.Devices), info.Can)
	}
	for _, s := range []string{info.Name, info.Version, info.Devices[0].Name, info.Devices[0].Detail} {
		if len(s) > 2*maxName || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%d bytes: %.20q", len(s), s)
		}
	}
	if _, err := ToInfo(&proto.OpenReply{Devices: make([]*proto.Device, maxDevices+1)}); err == nil {
		t.Error("too many devices")
	}
	if _, err := ToInfo(&proto.OpenReply{Can: &proto.Capabilities{Msm: make([]*proto.CurveGroup, maxGroups+1)}}); err == nil {
		t.Error("too many groups")
	}
}
