//go:build cuda && linux && (amd64 || arm64)

#include "loader.h"

#include <dlfcn.h>
#include <string.h>

/* CUresult values; cuda.h is not needed for more. */
enum {
	SUCCESS = 0,
	NOT_INITIALIZED = 3,
	CALL_REQUIRES_NEWER_DRIVER = 36,
	NO_DEVICE = 100,
};

typedef int (*entry)(void);

/* Called in place of driver functions of any signature: the arguments are in
 * registers or the caller's stack frame, and the caller cleans up. */
static int succeed(void) { return SUCCESS; }
static int not_initialized(void) { return NOT_INITIALIZED; }
static int newer_driver(void) { return CALL_REQUIRES_NEWER_DRIVER; }
static int no_device(void) { return NO_DEVICE; }

#define FIRST(name) succeed,
#define OTHER(name) not_initialized,
/* The trampolines in trampolines.S jump through this table. The first entry
 * is cuInit. */
__attribute__((visibility("hidden"))) entry pippin_cuda_table[] = {
#include "symbols.h"
};
#undef FIRST
#undef OTHER

#define FIRST(name) #name,
#define OTHER(name) #name,
static const char *const names[] = {
#include "symbols.h"
};

const int pippin_cuda_count = sizeof names / sizeof names[0];

static void *library;

const char *pippin_cuda_open(const char *name)
{
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	const char *reason = lib ? NULL : dlerror();

	if (lib && !dlsym(lib, "cuInit")) {
		reason = "not a CUDA driver library: it has no cuInit";
		lib = NULL; /* stays loaded: its destructors are unknown */
	}
	for (int i = 0; i < pippin_cuda_count; i++) {
		void *f = lib ? dlsym(lib, names[i]) : NULL;
		if (f)
			memcpy(&pippin_cuda_table[i], &f, sizeof f);
		else
			pippin_cuda_table[i] = lib ? newer_driver : no_device;
	}
	library = lib;
	return reason;
}

const char *pippin_cuda_name(int i) { return names[i]; }

int pippin_cuda_missing(int i) { return pippin_cuda_table[i] == newer_driver; }

void *pippin_cuda_symbol(const char *name) { return library ? dlsym(library, name) : NULL; }
