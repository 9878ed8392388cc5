//go:build cuda && cgo && linux && (amd64 || arm64)

package nvml

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

// NVML's functions, as its reference manual declares them; 0 is success.
static int (*device_by_uuid)(const char *uuid, void **device);
static int (*device_energy)(void *device, unsigned long long *millijoules);

// start loads and starts the library; 0 when it can be asked.
static int start(void) {
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) return -1;
	int (*init)(void) = (int (*)(void))dlsym(library, "nvmlInit_v2");
	device_by_uuid = (int (*)(const char *, void **))dlsym(library, "nvmlDeviceGetHandleByUUID");
	device_energy = (int (*)(void *, unsigned long long *))dlsym(library, "nvmlDeviceGetTotalEnergyConsumption");
	if (!init || !device_by_uuid || !device_energy) return -1;
	return init();
}

static int energy(const char *uuid, unsigned long long *millijoules) {
	void *device;
	int failed = device_by_uuid(uuid, &device);
	return failed ? failed : device_energy(device, millijoules);
}
*/
import "C"

import (
	"sync"
	"unsafe"
)

// started reports whether the library can be asked. It stays loaded.
var started = sync.OnceValue(func() bool { return C.start() == 0 })

// Energy returns how much energy a GPU has used since its driver was loaded, for whatever it did.
// uuid is such as "GPU-...". The library counts in steps of some milliseconds, on GPUs from Volta
// on.
func Energy(uuid string) (millijoules uint64, ok bool) {
	if !started() {
		return 0, false
	}
	name := C.CString(uuid)
	defer C.free(unsafe.Pointer(name))
	var e C.ulonglong
	if C.energy(name, &e) != 0 {
		return 0, false
	}
	return uint64(e), true
}
