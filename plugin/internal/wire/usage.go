package wire

import (
	"math"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/text"
)

// maxStages bounds the stages that a plugin may count.
const maxStages = 64

// FromUsage makes a message of what a backend has counted, nil of one that does not count.
func FromUsage(b backend.Backend) *proto.Usage {
	m, ok := backend.As[backend.Metered](b)
	if !ok {
		return nil
	}
	u, reply := m.Usage(), &proto.Usage{}
	for _, d := range u.Devices {
		reply.Devices = append(reply.Devices, &proto.DeviceUsage{
			Busy: uint64(d.Busy), Waited: uint64(d.Waited), Calls: d.Calls, Energy: d.Energy, Multiples: uint64(d.Multiples),
			Retired: d.Retired,
		})
	}
	for _, s := range u.Stages {
		reply.Stages = append(reply.Stages, &proto.StageUsage{Name: s.Name, Busy: uint64(s.Busy)})
	}
	if d := u.Daemon; d != nil {
		reply.Daemon = &proto.DaemonUsage{
			Sessions: uint32(d.Sessions), Resident: uint64(d.Resident), Unheld: uint64(d.Unheld),
			Waiting: uint32(d.Waiting), Recognised: d.Recognised,
		}
	}
	return reply
}

// ToUsage reads what a plugin says that it has counted. It is not trusted: lists are
// cut, and so are names.
func ToUsage(r *proto.Usage) (u backend.Usage) {
	for _, d := range r.GetDevices()[:min(len(r.GetDevices()), maxDevices)] {
		u.Devices = append(u.Devices, backend.DeviceUsage{
			Busy: nanoseconds(d.GetBusy()), Waited: nanoseconds(d.GetWaited()), Calls: d.GetCalls(),
			Energy: d.GetEnergy(), Multiples: bytesOf(d.GetMultiples()),
			Retired: text.Line(d.GetRetired(), maxName),
		})
	}
	for _, s := range r.GetStages()[:min(len(r.GetStages()), maxStages)] {
		u.Stages = append(u.Stages, backend.StageUsage{Name: text.Line(s.GetName(), maxName), Busy: nanoseconds(s.GetBusy())})
	}
	if d := r.GetDaemon(); d != nil {
		u.Daemon = &backend.DaemonUsage{
			Sessions: int(d.GetSessions()), Resident: bytesOf(d.GetResident()), Unheld: bytesOf(d.GetUnheld()),
			Waiting: int(d.GetWaiting()), Recognised: d.GetRecognised(),
		}
	}
	return u
}

func bytesOf(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

func nanoseconds(n uint64) time.Duration { return time.Duration(min(n, math.MaxInt64)) }
