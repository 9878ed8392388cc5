package wire

import (
	"fmt"
	"math"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/build"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/text"
)

// FromInfo makes a message of what a backend is and can do, and of what this program
// was built from.
func FromInfo(info backend.Info) *proto.OpenReply {
	self := build.This()
	r := &proto.OpenReply{
		Name: info.Name, Version: info.Version,
		Build: &proto.Build{Module: self.Module, Version: self.Version, Commit: self.Commit},
	}
	for _, d := range info.Devices {
		r.Devices = append(r.Devices, &proto.Device{Name: d.Name, Memory: d.Memory, Detail: d.Detail})
	}
	r.Can = &proto.Capabilities{}
	for _, g := range info.Can.MSM {
		r.Can.Msm = append(r.Can.Msm, &proto.CurveGroup{Curve: uint32(g.Curve), Group: uint32(g.Group)})
	}
	for _, e := range info.Can.Elements {
		r.Can.Elements = append(r.Can.Elements, FromElement(e))
	}
	for _, op := range info.Can.Numbers {
		r.Can.Numbers = append(r.Can.Numbers, uint32(op))
	}
	return r
}

// What a plugin may say of itself: longer lists are refused, longer texts cut.
const (
	maxDevices = 256
	maxGroups  = 1 << 10
	maxOps     = 1 << 10
	maxName    = 1 << 10
)

// ToInfo checks a plugin's description of itself.
func ToInfo(r *proto.OpenReply) (backend.Info, error) {
	name := func(s string) string { return text.Line(s, maxName) }
	info := backend.Info{
		Name: name(r.Name), Version: name(r.Version),
		Build: backend.Build{
			Module: name(r.GetBuild().GetModule()), Version: name(r.GetBuild().GetVersion()), Commit: name(r.GetBuild().GetCommit()),
		},
	}
	if len(r.Devices) > maxDevices {
		return info, fmt.Errorf("the plugin has %d devices, more than %d", len(r.Devices), maxDevices)
	}
	for _, d := range r.Devices {
		info.Devices = append(info.Devices, backend.Device{
			Name: name(d.GetName()), Memory: d.GetMemory(), Detail: name(d.GetDetail()),
		})
	}
	offered := r.GetCan().GetMsm()
	if len(offered) > maxGroups {
		return info, fmt.Errorf("the plugin offers %d groups, more than %d", len(offered), maxGroups)
	}
	for _, g := range offered {
		of := backend.CurveGroup{Curve: backend.Curve(g.GetCurve()), Group: backend.Group(g.GetGroup())}
		if g.GetCurve() > math.MaxUint8 || g.GetGroup() > math.MaxUint8 || !of.Curve.Valid() || !of.Group.Valid() {
			continue // a newer plugin's
		}
		info.Can.MSM = append(info.Can.MSM, of)
	}
	elements := r.GetCan().GetElements()
	if len(elements) > maxGroups {
		return info, fmt.Errorf("the plugin offers programs over %d elements, more than %d", len(elements), maxGroups)
	}
	for _, e := range elements {
		if e, ok := ToElement(e); ok {
			info.Can.Elements = append(info.Can.Elements, e)
		}
	}
	ops := r.GetCan().GetNumbers()
	if len(ops) > maxOps {
		return info, fmt.Errorf("the plugin offers %d operations on numbers, more than %d", len(ops), maxOps)
	}
	for _, op := range ops {
		if op <= math.MaxUint8 && backend.NumberOp(op).Valid() {
			info.Can.Numbers = append(info.Can.Numbers, backend.NumberOp(op))
		}
	}
	return info, nil
}

// FromElement makes a message of an element.
func FromElement(e backend.Element) *proto.Element {
	return &proto.Element{Kind: uint32(e.Kind), Curve: uint32(e.Curve), Group: uint32(e.Group)}
}

// ToElement returns the element that a message names; false when there is none, as of
// a newer version of the protocol.
func ToElement(m *proto.Element) (backend.Element, bool) {
	if max(m.GetKind(), m.GetCurve(), m.GetGroup()) > math.MaxUint8 {
		return backend.Element{}, false
	}
	e := backend.Element{Kind: backend.Kind(m.GetKind()), Curve: backend.Curve(m.GetCurve()), Group: backend.Group(m.GetGroup())}
	return e, e.Valid()
}
