package driver

import (
	"fmt"

	"github.com/pippin-zk/pippin/backend"
)

// Result is the driver's CUresult.
type Result int

// The results that this package tells apart.
const (
	Success                Result = 0
	InvalidValue           Result = 1
	OutOfMemory            Result = 2
	NotInitialized         Result = 3
	Deinitialized          Result = 4
	StubLibrary            Result = 34
	RequiresNewerDriver    Result = 36
	DeviceUnavailable      Result = 46
	NoDevice               Result = 100
	InvalidDevice          Result = 101
	DeviceNotLicensed      Result = 102
	InvalidImage           Result = 200
	InvalidContext         Result = 201
	NoBinaryForGPU         Result = 209
	ECCUncorrectable       Result = 214
	InvalidPTX             Result = 218
	NVLinkUncorrectable    Result = 220
	JITCompilerNotFound    Result = 221
	UnsupportedPTX         Result = 222
	JITDisabled            Result = 223
	Contained              Result = 226
	InsufficientLoader     Result = 227
	SharedObjectInitFailed Result = 303
	NotFound               Result = 500
	NotReady               Result = 600
	IllegalAddress         Result = 700
	LaunchOutOfResources   Result = 701
	LaunchTimeout          Result = 702
	ContextDestroyed       Result = 709
	Assert                 Result = 710
	HardwareStackError     Result = 714
	IllegalInstruction     Result = 715
	MisalignedAddress      Result = 716
	InvalidAddressSpace    Result = 717
	InvalidPC              Result = 718
	LaunchFailed           Result = 719
	TensorMemoryLeak       Result = 721
	NotSupported           Result = 801
	SystemNotReady         Result = 802
	SystemDriverMismatch   Result = 803
	CompatNotSupported     Result = 804
	MPSConnectionFailed    Result = 805
	MPSRPCFailure          Result = 806
	MPSServerNotReady      Result = 807
	MPSMaxClients          Result = 808
	MPSMaxConnections      Result = 809
	MPSClientTerminated    Result = 810
	ExternalDevice         Result = 911
	Unknown                Result = 999
)

// String returns CUDA's name, such as "CUDA_ERROR_ILLEGAL_ADDRESS".
func (r Result) String() string {
	if name, ok := resultNames[r]; ok {
		return name
	}
	return fmt.Sprintf("CUDA_ERROR_%d", int(r))
}

// meaning is what a result says to the layers above.
type meaning struct {
	kind error  // a sentinel of package backend
	hint string // what to do; may be empty
}

const (
	hintGone    = "the process must end; a new one gets the device back"
	hintNoImage = "the kernels hold no code for this device or need a newer driver: install driver 580 " +
		"(CUDA 13.0) or newer, or rebuild the kernels for this compute capability"
	hintMemory  = "nvidia-smi lists the programs that hold the device's memory"
	hintMPS     = "check the CUDA MPS control daemon, or stop it"
	hintVisible = "nvidia-smi must list a GPU, CUDA_VISIBLE_DEVICES must not hide it, and a container needs the GPU passed in"
	hintUpdate  = "install a newer NVIDIA driver (580 or newer)"
)

var meanings = map[Result]meaning{
	OutOfMemory: {backend.ErrOutOfMemory, ""},

	StubLibrary: {backend.ErrUnavailable,
		"the library found is CUDA's stub for linking: put the driver's libcuda.so.1 first on the library path"},
	RequiresNewerDriver:    {backend.ErrUnavailable, hintUpdate},
	DeviceUnavailable:      {backend.ErrUnavailable, "another process holds the GPU exclusively: wait for it, or change the compute mode"},
	NoDevice:               {backend.ErrUnavailable, hintVisible},
	InvalidDevice:          {backend.ErrUnavailable, hintVisible},
	DeviceNotLicensed:      {backend.ErrUnavailable, "the virtual GPU needs a licence"},
	InvalidImage:           {backend.ErrUnavailable, hintNoImage},
	NoBinaryForGPU:         {backend.ErrUnavailable, hintNoImage},
	InvalidPTX:             {backend.ErrUnavailable, hintNoImage},
	JITCompilerNotFound:    {backend.ErrUnavailable, hintNoImage},
	UnsupportedPTX:         {backend.ErrUnavailable, hintNoImage},
	JITDisabled:            {backend.ErrUnavailable, hintNoImage},
	InsufficientLoader:     {backend.ErrUnavailable, hintUpdate},
	SharedObjectInitFailed: {backend.ErrUnavailable, "the driver's libraries are incomplete: reinstall the driver"},
	SystemNotReady:         {backend.ErrUnavailable, "the system's GPU services (fabric manager) have not started"},
	SystemDriverMismatch: {backend.ErrUnavailable,
		"the driver's library and kernel module differ in version: reboot, or reinstall the driver"},
	CompatNotSupported:  {backend.ErrUnavailable, "CUDA's compatibility package does not support this GPU: remove it, or update the driver"},
	MPSConnectionFailed: {backend.ErrUnavailable, hintMPS},
	MPSServerNotReady:   {backend.ErrUnavailable, hintMPS},
	MPSMaxClients:       {backend.ErrUnavailable, hintMPS},
	MPSMaxConnections:   {backend.ErrUnavailable, hintMPS},

	Deinitialized:       {backend.ErrGone, hintGone},
	InvalidContext:      {backend.ErrGone, hintGone},
	ECCUncorrectable:    {backend.ErrGone, hintGone},
	NVLinkUncorrectable: {backend.ErrGone, hintGone},
	Contained:           {backend.ErrGone, hintGone},
	IllegalAddress:      {backend.ErrGone, hintGone},
	LaunchTimeout:       {backend.ErrGone, hintGone},
	ContextDestroyed:    {backend.ErrGone, hintGone},
	Assert:              {backend.ErrGone, hintGone},
	HardwareStackError:  {backend.ErrGone, hintGone},
	IllegalInstruction:  {backend.ErrGone, hintGone},
	MisalignedAddress:   {backend.ErrGone, hintGone},
	InvalidAddressSpace: {backend.ErrGone, hintGone},
	InvalidPC:           {backend.ErrGone, hintGone},
	LaunchFailed:        {backend.ErrGone, hintGone},
	TensorMemoryLeak:    {backend.ErrGone, hintGone},
	MPSRPCFailure:       {backend.ErrGone, hintGone},
	MPSClientTerminated: {backend.ErrGone, hintGone},
	ExternalDevice:      {backend.ErrGone, hintGone},
	Unknown:             {backend.ErrGone, hintGone},
}

// meaning returns ErrUnsupported for a result that no rule names: it comes from a
// call that this driver or device refused, and another backend may do the work.
func (r Result) meaning() meaning {
	if m, ok := meanings[r]; ok {
		return m
	}
	return meaning{kind: backend.ErrUnsupported}
}

// Sticky reports whether the device answers nothing else after this result.
func (r Result) Sticky() bool { return r.meaning().kind == backend.ErrGone }
