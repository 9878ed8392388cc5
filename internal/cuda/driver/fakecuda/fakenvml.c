//go:build ignore

// A management library with one GPU, the first of the fake driver. It answers only
// after it was started, and its GPU uses 1500 mJ from one question to the next.
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_FOUND = 6 };

static int started;

EXPORT int nvmlInit_v2(void)
{
	started = 1;
	return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
	static char gpu;
	if (!started)
		return UNINITIALIZED;
	if (strcmp(uuid, "GPU-fafafafa-fafa-fafa-fafa-fafafafafa00"))
		return NOT_FOUND;
	*device = &gpu;
	return SUCCESS;
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
	static unsigned long long used;
	if (!device || !millijoules)
		return INVALID_ARGUMENT;
	*millijoules = used += 1500;
	return SUCCESS;
}
