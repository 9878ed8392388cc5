package backend

import (
	"context"
	"time"
)

// Metered is a capability: counters for the operator of what a backend has done since it was
// opened.
type Metered interface {
	// Usage returns the counters. It is quick and waits for no computation. A backend in another
	// process returns what that process said at the last Ping or Test.
	Usage() Usage
}

// Usage is what a backend has counted since it was opened. All counters only grow, except those of
// the present: a device's Multiples and all of Daemon but Recognised.
type Usage struct {
	Devices []DeviceUsage // in the order of Info.Devices
	Stages  []StageUsage  // in the order in which they first ran; none if stages are not measured
	Daemon  *DaemonUsage  // nil unless the backend is a daemon's
}

// Tester is a capability of a backend with several devices, which goes on without one that computes wrongly.
// It has tested them when it was opened.
type Tester interface {
	// Test has every device compute something whose answer is known. A device that answers wrongly is retired:
	// the others take its place, and Usage says so when Test returns. If they lack something that only the
	// device had, or there are no others, the backend is gone. The error says that devices could not be tested,
	// and accuses none.
	Test(ctx context.Context) error
}

// DaemonUsage is what the sessions of a daemon have together at present. A user other than the
// daemon's own sees his session alone, here and in Devices.
type DaemonUsage struct {
	Sessions int
	Resident int64 // bytes of bases that are loaded
	Unheld   int64 // of Resident, bytes of bases that no session holds
	Waiting  int   // calls that wait for their turn
	// Recognised counts loads whose bases were there already.
	Recognised uint64
}

// DeviceUsage is how much of its time a device was used.
type DeviceUsage struct {
	Busy   time.Duration // how long it belonged to calls, including those that still run
	Waited time.Duration // how long calls waited for it, added up
	Calls  uint64        // calls that have had it
	// Energy is the millijoules that the device has used since its driver was loaded, for whatever
	// and whomever. So only differences mean something. 0 means unknown.
	Energy uint64
	// Multiples is the bytes of multiples of bases on the device at present. They are dropped when
	// something else needs the room.
	Multiples int64
	// Retired is why the backend does not use the device any more; "" while it does.
	Retired string
}

// StageUsage is the time that one stage of computations took on devices.
type StageUsage struct {
	Name string // such as "accumulate"
	Busy time.Duration
}
