package backend

import "time"

// Metered is a capability: counters of what a backend has done since it was
// opened, for its operator.
type Metered interface {
	// Usage returns the usage. It is quick and waits for no computation. That of a backend in
	// another process is what it said at the last Ping.
	Usage() Usage
}

// Usage is what a backend counted since it was opened; all of it grows only, but
// for what there is at the moment: a device's Multiples, and a daemon's.
type Usage struct {
	Devices []DeviceUsage // in the order of Info.Devices
	Stages  []StageUsage  // in the order in which they came up; none where they are not measured
	Daemon  *DaemonUsage  // nil where the backend is one host's alone
}

// DaemonUsage is what the sessions of a daemon have together at the moment.
type DaemonUsage struct {
	Sessions int
	Resident int64 // bytes of bases that are loaded
	Unheld   int64 // of these, bytes of those that no session holds
	Waiting  int   // calls that wait for their turn
	// Recognised counts loads that found their bases there.
	Recognised uint64
}

// DeviceUsage is how much of its time a device was used.
type DeviceUsage struct {
	Busy   time.Duration // that it belonged to calls, those that still run included
	Waited time.Duration // that calls waited for it, added up
	Calls  uint64        // that have had it
	// Energy is in millijoules, what the device has used for whatever and whoever
	// since its driver was loaded: a difference means something. 0 is not known.
	Energy uint64
	// Multiples is the bytes of multiples of bases that are on the device at the
	// moment, which go where something else needs the room.
	Multiples int64
}

// StageUsage is the time on devices of one stage of computations.
type StageUsage struct {
	Name string // such as "accumulate"
	Busy time.Duration
}
