package driver

import (
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/pippin-zk/pippin/backend"
)

// The library's usual name, and the place of Windows' driver inside WSL, which
// is not on every library path there.
var libraries = []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}

// system is the driver, once for the process.
var system struct {
	sync.Mutex
	started bool
	sys     api
	version Version
	devices int
	err     error
}

// Init loads and starts the driver. The first call's answer is remembered;
// Devices and Open call it. It fails with backend.ErrUnavailable, which says
// why and what to do.
func Init() error {
	_, err := begin(libraries...)
	return err
}

// InitLibrary does what Init does, with the file of the driver's library, to be called
// before anything else starts the driver. Calling it later is
// backend.ErrInternal.
func InitLibrary(file string) error {
	system.Lock()
	late := system.started
	system.Unlock()
	if late {
		return invalid("the driver's library %s cannot be chosen any more", file)
	}
	_, err := begin(file)
	return err
}

// begin loads the driver and returns it, ready for use.
func begin(libraries ...string) (api, error) {
	system.Lock()
	defer system.Unlock()
	if !system.started {
		system.started = true
		system.sys, system.err = load(libraries...)
		if system.err == nil {
			system.version, system.devices, system.err = start(system.sys)
		}
	}
	return system.sys, system.err
}

// start calls cuInit and checks what must hold afterwards: a version and a device.
func start(sys api) (Version, int, error) {
	fail := func(call string, r Result) (Version, int, error) {
		return 0, 0, startError(call, r, sys.text)
	}
	if r := sys.start(); r != Success {
		return fail("cuInit", r)
	}
	v, r := sys.version()
	if r != Success {
		return fail("cuDriverGetVersion", r)
	}
	n, r := sys.deviceCount()
	if r != Success {
		return fail("cuDeviceGetCount", r)
	}
	if n == 0 {
		return fail("cuDeviceGetCount", NoDevice)
	}
	return Version(v), n, nil
}

// Version is a version of CUDA as the driver writes it: 13020 is 13.2.
type Version int

// String returns "13.2".
func (v Version) String() string { return fmt.Sprintf("%d.%d", int(v)/1000, int(v)%1000/10) }

// Compute is a compute capability.
type Compute struct{ Major, Minor int }

// String returns "9.0".
func (c Compute) String() string { return fmt.Sprintf("%d.%d", c.Major, c.Minor) }

// Info describes a device. Sizes are in bytes.
type Info struct {
	Ordinal int
	Name    string
	UUID    string // "GPU-", or "MIG-" for a part of one, and 32 hexadecimal digits in groups, as nvidia-smi -L writes it
	Memory  int64
	Compute Compute
	Driver  Version // the newest CUDA that the driver runs
	PCI     string  // its place as the system names it, such as "0000:3b:00.0"

	Multiprocessors            int
	ThreadsPerMultiprocessor   int
	RegistersPerMultiprocessor int
	SharedPerMultiprocessor    int
	SharedPerBlock             int // the most a launch may use, static and dynamic
	L2                         int
	ClockKHz                   int
	CopyEngines                int
	Integrated                 bool // shares its memory with the host
	ECC                        bool
	Register, RegisterReadOnly bool // RegisterHost works, on read-only memory too
	Cooperative                bool // Launch.Cooperative works
	Overlap                    bool // Launch.Overlap has an effect
}

// String returns text for people: "NVIDIA H200, 139 GiB, compute capability 9.0, driver for CUDA 13.0".
func (i Info) String() string {
	return fmt.Sprintf("%s, %d GiB, compute capability %v, driver for CUDA %v", i.Name, i.Memory>>30, i.Compute, i.Driver)
}

// Attribute is a number that the driver knows of a device: CUdevice_attribute.
type Attribute int

// The attributes that Info is made of.
const (
	AttrClockKHz                   Attribute = 13
	AttrMultiprocessors            Attribute = 16
	AttrIntegrated                 Attribute = 18
	AttrECC                        Attribute = 32
	AttrPCIBus                     Attribute = 33
	AttrPCIDevice                  Attribute = 34
	AttrL2                         Attribute = 38
	AttrThreadsPerMultiprocessor   Attribute = 39
	AttrCopyEngines                Attribute = 40
	AttrPCIDomain                  Attribute = 50
	AttrComputeMajor               Attribute = 75
	AttrComputeMinor               Attribute = 76
	AttrSharedPerMultiprocessor    Attribute = 81
	AttrRegistersPerMultiprocessor Attribute = 82
	AttrCooperative                Attribute = 95
	AttrSharedPerBlock             Attribute = 97
	AttrHostRegister               Attribute = 99
	AttrHostRegisterReadOnly       Attribute = 113
)

// Devices describes every device that the driver shows. It creates no context.
func Devices() ([]Info, error) {
	sys, err := begin(libraries...)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, system.devices)
	for i := range infos {
		dev, r := sys.device(i)
		if r != Success {
			return nil, startError("cuDeviceGet", r, sys.text)
		}
		if infos[i], err = describe(sys, dev, i, system.version); err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// uuidText writes a UUID as nvidia-smi -L does. A part of a card, which MIG makes a device, has such a
// name as "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
func uuidText(name string, uuid [16]byte) string {
	kind := "GPU-"
	if strings.Contains(name, " MIG ") {
		kind = "MIG-"
	}
	h := hex.EncodeToString(uuid[:])
	return kind + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func describe(sys api, dev, ordinal int, v Version) (Info, error) {
	info := Info{Ordinal: ordinal, Driver: v}
	var r Result
	if info.Name, r = sys.deviceName(dev); r != Success {
		return info, startError("cuDeviceGetName", r, sys.text)
	}
	uuid, r := sys.deviceUUID(dev)
	if r != Success {
		return info, startError("cuDeviceGetUuid", r, sys.text)
	}
	info.UUID = uuidText(info.Name, uuid)
	if info.Memory, r = sys.deviceMemory(dev); r != Success {
		return info, startError("cuDeviceTotalMem", r, sys.text)
	}
	var domain, bus, slot int
	for _, a := range []struct {
		attribute Attribute
		number    *int
		flag      *bool
	}{
		{AttrComputeMajor, &info.Compute.Major, nil},
		{AttrComputeMinor, &info.Compute.Minor, nil},
		{AttrMultiprocessors, &info.Multiprocessors, nil},
		{AttrThreadsPerMultiprocessor, &info.ThreadsPerMultiprocessor, nil},
		{AttrRegistersPerMultiprocessor, &info.RegistersPerMultiprocessor, nil},
		{AttrSharedPerMultiprocessor, &info.SharedPerMultiprocessor, nil},
		{AttrSharedPerBlock, &info.SharedPerBlock, nil},
		{AttrL2, &info.L2, nil},
		{AttrClockKHz, &info.ClockKHz, nil},
		{AttrCopyEngines, &info.CopyEngines, nil},
		{AttrIntegrated, nil, &info.Integrated},
		{AttrECC, nil, &info.ECC},
		{AttrHostRegister, nil, &info.Register},
		{AttrHostRegisterReadOnly, nil, &info.RegisterReadOnly},
		{AttrCooperative, nil, &info.Cooperative},
		{AttrPCIDomain, &domain, nil},
		{AttrPCIBus, &bus, nil},
		{AttrPCIDevice, &slot, nil},
	} {
		v, r := sys.deviceAttribute(dev, a.attribute)
		switch {
		case r == InvalidValue: // a driver older than the attribute
		case r != Success:
			return info, startError(fmt.Sprintf("cuDeviceGetAttribute %d", a.attribute), r, sys.text)
		case a.flag != nil:
			*a.flag = v != 0
		default:
			*a.number = v
		}
	}
	info.Overlap = info.Compute.Major >= 9
	info.PCI = fmt.Sprintf("%04x:%02x:%02x.0", domain, bus, slot)
	return info, nil
}

// pick returns the device of an ordinal.
func pick(sys api, ordinal int) (dev int, err error) {
	if ordinal < 0 || ordinal >= system.devices {
		return 0, fmt.Errorf("%w: no CUDA device %d, there are %d", backend.ErrUnavailable, ordinal, system.devices)
	}
	dev, r := sys.device(ordinal)
	if r != Success {
		return 0, startError("cuDeviceGet", r, sys.text)
	}
	return dev, nil
}
