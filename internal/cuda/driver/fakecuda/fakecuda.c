//go:build ignore

/*
 * A libcuda.so.1 without a GPU, for tests: devices, memory, streams and events
 * on the host. Work is done before the call that asks for it returns.
 *
 *   cc -shared -fPIC -I../include -I$CUDA_HOME/include fakecuda.c \
 *      -Wl,-soname,libcuda.so.1 -o libcuda.so.1 -ldl -lpthread
 *
 * The environment says what it pretends, read when it is loaded, each variable
 * also with PIPPIN_ before its name, which reaches a plugin:
 *   FAKECUDA_DEVICES   how many devices (1; 0 is a driver without a GPU)
 *   FAKECUDA_MEMORY    bytes of each, with K, M or G (1G)
 *   FAKECUDA_CC        compute capability (9.0)
 *   FAKECUDA_DRIVER    driver version (13000)
 *   FAKECUDA_SMS       multiprocessors (4)
 *   FAKECUDA_READONLY  0: memory mapped read-only cannot be registered (1)
 *   FAKECUDA_KERNELS   shared objects with host kernels, see fakecuda.h,
 *                      separated by colons. A function that they lack is not
 *                      found. Without any, every function exists and does
 *                      nothing.
 *   FAKECUDA_IMAGE     prefix that a module must start with, else it holds no
 *                      code for the device (any image will do)
 *   FAKECUDA_FAIL      NAME@K=CODE, or NAME@K+=CODE, separated by commas: the
 *                      K-th call of the driver function NAME (without version
 *                      suffix) from now on, or every one from then, answers
 *                      CODE. An error that is sticky on a GPU ends the context.
 *                      NAME#D is those calls alone that need a context and have
 *                      device D's, such as cuLaunchKernel#1@3=719. The name
 *                      spoil#D has copies from device D to the host go wrong
 *                      by one bit, whatever CODE is.
 *   FAKECUDA_REPORT    file that gets the counters, written anew by cuInit and
 *                      whenever a context is released (Go programs exit
 *                      without running what a library leaves for the exit)
 */

#include <cuda.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fakecuda.h"

#define MAX_DEVICES 16
#define EXPORT __attribute__((visibility("default")))

/* ---- state, all under one lock ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
	int devices, major, minor, driver, multiprocessors, readonly;
	size_t memory;
	const char *image, *report;
	void *kernels[8];
	int objects;
	int started;
} config = {.devices = 1, .major = 9, .minor = 0, .driver = 13000, .multiprocessors = 4, .readonly = 1, .memory = (size_t)1 << 30};

#define COUNTERS(X)                                                           \
	X(memory) /* bytes allocated on devices */                             \
	X(allocations) X(pinned) X(registered) X(streams) X(events)           \
	X(modules) X(contexts) /* not given back */                           \
	X(launches)                                                           \
	X(pageable) /* asynchronous copies of host memory that is not pinned */ \
	X(overruns) /* allocations written beyond their end */                \
	X(unwiped)  /* pinned memory that was freed and not all zero */       \
	X(unwiped_memory) /* the same of devices' memory */                  \
	X(abandoned) /* allocations and objects that a context took with it */ \
	X(spun) /* waits for streams that take a processor */                \
	X(kernels_run)

static struct counters {
#define X(name) long long name;
	COUNTERS(X)
#undef X
} counters;

struct CUctx_st {
	int device, references;
	unsigned flags;
	CUresult dead; /* the sticky error that ended it */
	size_t used;   /* bytes of the device */
	unsigned peers; /* devices whose memory it may read, a bit each */
	long long streams, events, modules; /* not given back */
};
static struct CUctx_st contexts[MAX_DEVICES];
static __thread CUcontext current;

enum kind { DEVICE, PINNED, REGISTERED };

/* A piece of memory that the driver knows. */
struct block {
	struct block *next;
	char *start;
	size_t size;
	enum kind kind;
	CUcontext ctx;
};
static struct block *blocks;

struct CUstream_st {
	CUcontext ctx;
};
struct CUevent_st {
	CUcontext ctx;
	int timing, recorded;
	struct timespec at;
};
struct CUmod_st {
	CUcontext ctx;
	struct CUfunc_st *functions;
};
struct CUfunc_st {
	struct CUfunc_st *next;
	char *name;
	fakecuda_kernel *run;
	int params; /* -1: unknown */
	int shared; /* most dynamic shared memory of a launch */
};

/* ---- failures on command ---- */

struct call {
	struct call *next;
	char *name;
	long long count;
};
static struct call *calls;

struct rule {
	struct rule *next;
	char *name;
	long long left; /* calls until it fires */
	int forever;
	CUresult code;
};
static struct rule *rules;

static int sticky(CUresult r)
{
	switch ((int)r) {
	case 214: case 220: case 226: case 700: case 702: case 709: case 710: case 714:
	case 715: case 716: case 717: case 718: case 719: case 721: case 999:
		return 1;
	}
	return 0;
}

static CUresult obey(const char *name)
{
	CUresult r = CUDA_SUCCESS;
	for (struct rule *f = rules; f; f = f->next) {
		if (strcmp(f->name, name))
			continue;
		if (f->left > 0)
			f->left--;
		if (f->left == 0 && r == CUDA_SUCCESS) {
			r = f->code;
			if (!f->forever)
				f->left = -1;
		}
	}
	return r;
}

static CUresult ruled(const char *name)
{
	struct call *c = calls;
	while (c && strcmp(c->name, name))
		c = c->next;
	if (!c) {
		c = calloc(1, sizeof *c);
		c->name = strdup(name);
		c->next = calls;
		calls = c;
	}
	c->count++;
	return obey(name);
}

/* ruled, and the rules for the current context's device. */
static CUresult ruled_here(const char *name)
{
	char here[144];
	CUresult r = ruled(name);
	snprintf(here, sizeof here, "%s#%d", name, current->device);
	return r == CUDA_SUCCESS ? obey(here) : r;
}

/* spoil changes a bit of a copy, if a rule says so. */
static void spoil(char *copy, size_t size)
{
	char here[32];
	snprintf(here, sizeof here, "spoil#%d", current->device);
	if (size > 0 && obey(here) != CUDA_SUCCESS)
		copy[size / 2] ^= 16;
}

EXPORT int fakecuda_fail(const char *text)
{
	char name[128], plus;
	long long k;
	int code, used, bad = 0;

	pthread_mutex_lock(&lock);
	while (*text && !bad) {
		int forever = 0;
		used = 0;
		if (sscanf(text, "%127[A-Za-z0-9#]@%lld%c=%d%n", name, &k, &plus, &code, &used) == 4 && plus == '+' && used)
			forever = 1;
		else if (sscanf(text, "%127[A-Za-z0-9#]@%lld=%d%n", name, &k, &code, &used) != 3 || !used)
			bad = 1;
		if (bad || k < 1) {
			bad = 1;
			break;
		}
		struct rule *f = calloc(1, sizeof *f);
		f->name = strdup(name);
		f->left = k;
		f->forever = forever;
		f->code = (CUresult)code;
		f->next = rules;
		rules = f;
		text += used;
		if (*text == ',')
			text++;
		else if (*text)
			bad = 1;
	}
	pthread_mutex_unlock(&lock);
	return bad;
}

EXPORT void fakecuda_reset(void)
{
	pthread_mutex_lock(&lock);
	while (rules) {
		struct rule *f = rules;
		rules = f->next;
		free(f->name);
		free(f);
	}
	for (struct call *c = calls; c; c = c->next)
		c->count = 0;
	for (int i = 0; i < MAX_DEVICES; i++)
		contexts[i].dead = CUDA_SUCCESS;
	counters.abandoned = 0;
	pthread_mutex_unlock(&lock);
}

EXPORT long long fakecuda_calls(const char *name)
{
	long long n = 0;
	pthread_mutex_lock(&lock);
	for (struct call *c = calls; c; c = c->next)
		if (!strcmp(c->name, name))
			n = c->count;
	pthread_mutex_unlock(&lock);
	return n;
}

EXPORT long long fakecuda_counter(const char *name)
{
	long long v = -1;
	pthread_mutex_lock(&lock);
#define X(field)                         \
	if (!strcmp(name, #field))       \
		v = counters.field;
	COUNTERS(X)
#undef X
	pthread_mutex_unlock(&lock);
	return v;
}

/* ---- start and end ---- */

static size_t bytes(const char *s)
{
	char *end;
	size_t v = strtoull(s, &end, 10);
	switch (*end) {
	case 'G': v <<= 10; /* fall through */
	case 'M': v <<= 10; /* fall through */
	case 'K': v <<= 10;
	}
	return v;
}

/* A variable, also under the name that reaches a plugin: with PIPPIN_ before it. */
static const char *setting(const char *name)
{
	char passed[64];
	const char *s = getenv(name);
	snprintf(passed, sizeof passed, "PIPPIN_%s", name);
	return s ? s : getenv(passed);
}

__attribute__((constructor)) static void configure(void)
{
	const char *s;
	if ((s = setting("FAKECUDA_DEVICES")))
		config.devices = atoi(s) < MAX_DEVICES ? atoi(s) : MAX_DEVICES;
	if ((s = setting("FAKECUDA_MEMORY")))
		config.memory = bytes(s);
	if ((s = setting("FAKECUDA_CC")))
		sscanf(s, "%d.%d", &config.major, &config.minor);
	if ((s = setting("FAKECUDA_DRIVER")))
		config.driver = atoi(s);
	if ((s = setting("FAKECUDA_SMS")))
		config.multiprocessors = atoi(s);
	if ((s = setting("FAKECUDA_READONLY")))
		config.readonly = atoi(s);
	config.image = setting("FAKECUDA_IMAGE");
	config.report = setting("FAKECUDA_REPORT");
	if ((s = setting("FAKECUDA_FAIL")) && fakecuda_fail(s)) {
		fprintf(stderr, "fakecuda: FAKECUDA_FAIL=%s: NAME@K=CODE or NAME@K+=CODE, separated by commas\n", s);
		_exit(2);
	}
	char *list = (s = setting("FAKECUDA_KERNELS")) ? strdup(s) : NULL, *rest = NULL;
	for (char *file = list ? strtok_r(list, ":", &rest) : NULL; file; file = strtok_r(NULL, ":", &rest)) {
		void *object = config.objects < 8 ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
		if (!object) {
			fprintf(stderr, "fakecuda: FAKECUDA_KERNELS: %s: %s\n", file, config.objects < 8 ? dlerror() : "one too many");
			_exit(2);
		}
		config.kernels[config.objects++] = object;
	}
	free(list);
	for (int i = 0; i < MAX_DEVICES; i++)
		contexts[i].device = i;
}

static void report(void)
{
	FILE *f = config.report ? fopen(config.report, "w") : NULL;
	if (!f)
		return;
#define X(name) fprintf(f, #name " %lld\n", counters.name);
	COUNTERS(X)
#undef X
	fclose(f);
}

/* ---- entering and leaving a call ---- */

/* Takes the lock. Gives it back when the answer is not success. */
static CUresult enter(const char *name)
{
	pthread_mutex_lock(&lock);
	CUresult r = ruled(name);
	if (r == CUDA_SUCCESS && !config.started && strcmp(name, "cuInit"))
		r = CUDA_ERROR_NOT_INITIALIZED;
	if (r != CUDA_SUCCESS)
		pthread_mutex_unlock(&lock);
	return r;
}

/* enter for calls that need a context. */
static CUresult enter_context(const char *name)
{
	pthread_mutex_lock(&lock);
	CUresult r = CUDA_SUCCESS;
	if (!current || !current->references)
		r = CUDA_ERROR_INVALID_CONTEXT;
	else if (current->dead)
		r = current->dead;
	else if ((r = ruled_here(name)) != CUDA_SUCCESS && sticky(r))
		current->dead = r;
	if (r != CUDA_SUCCESS)
		pthread_mutex_unlock(&lock);
	return r;
}

static CUresult leave(CUresult r)
{
	pthread_mutex_unlock(&lock);
	return r;
}

#define ENTER(name)                                     \
	do {                                            \
		CUresult entered = enter(name);         \
		if (entered != CUDA_SUCCESS)            \
			return entered;                 \
	} while (0)
#define ENTER_CONTEXT(name)                             \
	do {                                            \
		CUresult entered = enter_context(name); \
		if (entered != CUDA_SUCCESS)            \
			return entered;                 \
	} while (0)

/* ---- process and devices ---- */

EXPORT CUresult cuInit(unsigned int flags)
{
	ENTER("cuInit");
	if (flags)
		return leave(CUDA_ERROR_INVALID_VALUE);
	config.started = 1;
	report();
	return leave(config.devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

EXPORT CUresult cuDriverGetVersion(int *version)
{
	*version = config.driver;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGetErrorString(CUresult error, const char **text)
{
	switch ((int)error) {
	case 0: *text = "no error"; break;
	case 2: *text = "out of memory (fake)"; break;
	case 700: *text = "an illegal memory access was encountered (fake)"; break;
	default: *text = "some error (fake)";
	}
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int *count)
{
	ENTER("cuDeviceGetCount");
	*count = config.devices;
	return leave(CUDA_SUCCESS);
}

static int is_device(CUdevice dev) { return dev >= 0 && dev < config.devices; }

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	ENTER("cuDeviceGet");
	if (!is_device(ordinal))
		return leave(CUDA_ERROR_INVALID_DEVICE);
	*device = ordinal;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	ENTER("cuDeviceGetName");
	if (!is_device(dev))
		return leave(CUDA_ERROR_INVALID_DEVICE);
	snprintf(name, (size_t)len, "Fake GPU %d", dev);
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	ENTER("cuDeviceGetUuid");
	if (!is_device(dev))
		return leave(CUDA_ERROR_INVALID_DEVICE);
	memset(uuid->bytes, 0xfa, sizeof uuid->bytes);
	uuid->bytes[15] = (char)dev;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuDeviceTotalMem(size_t *total, CUdevice dev)
{
	ENTER("cuDeviceTotalMem");
	if (!is_device(dev))
		return leave(CUDA_ERROR_INVALID_DEVICE);
	*total = config.memory;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute attribute, CUdevice dev)
{
	ENTER("cuDeviceGetAttribute");
	if (!is_device(dev))
		return leave(CUDA_ERROR_INVALID_DEVICE);
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = config.major; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = config.minor; break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = config.multiprocessors; break;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *v = 1024; break;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *v = 2048; break;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *v = 65536; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *v = 228 << 10; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = 227 << 10; break;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *v = 4 << 20; break;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *v = 1000000; break;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *v = 32; break;
	case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
	case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
	case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
	case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED: *v = config.readonly; break;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *v = dev + 1; break;
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
	case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
	case CU_DEVICE_ATTRIBUTE_INTEGRATED:
	case CU_DEVICE_ATTRIBUTE_ECC_ENABLED: *v = 0; break;
	default: return leave(CUDA_ERROR_INVALID_VALUE);
	}
	return leave(CUDA_SUCCESS);
}

/* ---- contexts ---- */

/* Takes everything away that was not given back. */
static void end(CUcontext ctx);

EXPORT CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	ENTER("cuDevicePrimaryCtxSetFlags");
	if (!is_device(dev))
		return leave(CUDA_ERROR_INVALID_DEVICE);
	contexts[dev].flags = flags;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	ENTER("cuDevicePrimaryCtxRetain");
	if (!is_device(dev))
		return leave(CUDA_ERROR_INVALID_DEVICE);
	contexts[dev].references++;
	counters.contexts++;
	*ctx = &contexts[dev];
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	ENTER("cuDevicePrimaryCtxRelease");
	if (!is_device(dev) || !contexts[dev].references)
		return leave(CUDA_ERROR_INVALID_CONTEXT);
	counters.contexts--;
	if (!--contexts[dev].references)
		end(&contexts[dev]);
	report();
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	ENTER("cuDeviceCanAccessPeer");
	if (!is_device(dev) || !is_device(peer))
		return leave(CUDA_ERROR_INVALID_DEVICE);
	*can = dev != peer;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	ENTER_CONTEXT("cuCtxEnablePeerAccess");
	if (flags || peer == current || !peer->references)
		return leave(CUDA_ERROR_INVALID_VALUE);
	if (current->peers & 1u << peer->device)
		return leave(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	current->peers |= 1u << peer->device;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuCtxSetCurrent(CUcontext ctx)
{
	ENTER("cuCtxSetCurrent");
	if (ctx && !ctx->references)
		return leave(CUDA_ERROR_INVALID_CONTEXT);
	current = ctx;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuCtxSynchronize(void)
{
	ENTER_CONTEXT("cuCtxSynchronize");
	return leave(CUDA_SUCCESS);
}

/* ---- device memory ---- */

/* What the fake writes before and after, to see reads of memory that was not
 * written and writes beyond the end. */
enum { JUNK = 0xa5, JUNK_BYTES = 1 << 16, FENCE = 64 };

static struct block *find(enum kind kind, const void *p, size_t size)
{
	for (struct block *b = blocks; b; b = b->next)
		if (b->kind == kind && (const char *)p >= b->start && (const char *)p + size <= b->start + b->size)
			return b;
	return NULL;
}

static struct block *add(enum kind kind, char *start, size_t size)
{
	struct block *b = calloc(1, sizeof *b);
	b->start = start;
	b->size = size;
	b->kind = kind;
	b->ctx = current;
	b->next = blocks;
	blocks = b;
	return b;
}

static void drop(struct block *b)
{
	for (struct block **at = &blocks; *at; at = &(*at)->next)
		if (*at == b) {
			*at = b->next;
			free(b);
			return;
		}
}

/* Memory with junk in it and a fence behind it. */
static char *take(size_t size, size_t align)
{
	void *p;
	if (size > SIZE_MAX - 2 * align || posix_memalign(&p, align, size + FENCE))
		return NULL;
	memset(p, JUNK, size < JUNK_BYTES ? size : JUNK_BYTES);
	memset((char *)p + size, JUNK, FENCE);
	return p;
}

static void give(char *p, size_t size)
{
	for (int i = 0; i < FENCE; i++)
		if ((unsigned char)p[size + (size_t)i] != JUNK) {
			counters.overruns++;
			break;
		}
	free(p);
}

static int is_wiped(const struct block *b)
{
	return b->size == 0 || (b->start[0] == 0 && !memcmp(b->start, b->start + 1, b->size - 1));
}

static CUresult device_alloc(CUdeviceptr *out, size_t size)
{
	if (!size)
		return CUDA_ERROR_INVALID_VALUE;
	if (size > config.memory - current->used)
		return CUDA_ERROR_OUT_OF_MEMORY;
	char *p = take(size, 256);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	current->used += size;
	add(DEVICE, p, size);
	counters.memory += (long long)size;
	counters.allocations++;
	*out = (CUdeviceptr)(uintptr_t)p;
	return CUDA_SUCCESS;
}

static void end(CUcontext ctx)
{
	for (struct block *b = blocks, *next; b; b = next) {
		next = b->next;
		if (b->ctx != ctx)
			continue;
		counters.abandoned++;
		switch (b->kind) {
		case DEVICE:
			counters.memory -= (long long)b->size;
			counters.allocations--;
			break;
		case PINNED: counters.pinned--; break;
		case REGISTERED: counters.registered--; break;
		}
		if (b->kind != REGISTERED)
			give(b->start, b->size);
		drop(b);
	}
	ctx->peers = 0;
	for (int i = 0; i < MAX_DEVICES; i++)
		contexts[i].peers &= ~(1u << ctx->device);
	counters.abandoned += ctx->streams + ctx->events + ctx->modules;
	counters.streams -= ctx->streams;
	counters.events -= ctx->events;
	counters.modules -= ctx->modules;
	ctx->streams = ctx->events = ctx->modules = 0;
	ctx->used = 0;
	ctx->dead = CUDA_SUCCESS;
}

static CUresult device_free(CUdeviceptr ptr)
{
	struct block *b = find(DEVICE, (void *)(uintptr_t)ptr, 0);
	if (!b || b->start != (char *)(uintptr_t)ptr || b->ctx != current)
		return CUDA_ERROR_INVALID_VALUE;
	counters.memory -= (long long)b->size;
	counters.allocations--;
	counters.unwiped_memory += !is_wiped(b);
	current->used -= b->size;
	give(b->start, b->size);
	drop(b);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemGetInfo(size_t *available, size_t *total)
{
	ENTER_CONTEXT("cuMemGetInfo");
	*total = config.memory;
	*available = config.memory - current->used;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuMemAlloc(CUdeviceptr *ptr, size_t size)
{
	ENTER_CONTEXT("cuMemAlloc");
	return leave(device_alloc(ptr, size));
}

EXPORT CUresult cuMemFree(CUdeviceptr ptr)
{
	ENTER_CONTEXT("cuMemFree");
	return leave(device_free(ptr));
}

/* ---- host memory ---- */

EXPORT CUresult cuMemHostAlloc(void **p, size_t size, unsigned int flags)
{
	ENTER_CONTEXT("cuMemHostAlloc");
	(void)flags;
	char *mem = size ? take(size, 4096) : NULL;
	if (!mem)
		return leave(CUDA_ERROR_OUT_OF_MEMORY);
	add(PINNED, mem, size);
	counters.pinned++;
	*p = mem;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuMemFreeHost(void *p)
{
	ENTER_CONTEXT("cuMemFreeHost");
	struct block *b = find(PINNED, p, 0);
	if (!b || b->start != p)
		return leave(CUDA_ERROR_INVALID_VALUE);
	counters.unwiped += !is_wiped(b);
	counters.pinned--;
	give(b->start, b->size);
	drop(b);
	return leave(CUDA_SUCCESS);
}

/* Writes a byte of memory over itself, by way of the kernel, which refuses
 * where the memory is mapped read-only. */
static int writable(char *p)
{
	int ends[2], ok;
	if (pipe(ends))
		return 0;
	ok = write(ends[1], p, 1) == 1 && read(ends[0], p, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return ok;
}

EXPORT CUresult cuMemHostRegister(void *p, size_t size, unsigned int flags)
{
	ENTER_CONTEXT("cuMemHostRegister");
	if (!p || !size)
		return leave(CUDA_ERROR_INVALID_VALUE);
	if ((flags & CU_MEMHOSTREGISTER_READ_ONLY) && !config.readonly)
		return leave(CUDA_ERROR_NOT_SUPPORTED);
	if (!(flags & CU_MEMHOSTREGISTER_READ_ONLY) && !writable(p))
		return leave(CUDA_ERROR_INVALID_VALUE);
	for (struct block *b = blocks; b; b = b->next)
		if (b->kind == REGISTERED && b->start < (char *)p + size && (char *)p < b->start + b->size)
			return leave(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	add(REGISTERED, p, size);
	counters.registered++;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuMemHostUnregister(void *p)
{
	ENTER_CONTEXT("cuMemHostUnregister");
	struct block *b = find(REGISTERED, p, 0);
	if (!b || b->start != p)
		return leave(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	counters.registered--;
	drop(b);
	return leave(CUDA_SUCCESS);
}

/* ---- copies ---- */

static void host_side(const void *p, size_t size)
{
	if (!find(PINNED, p, size) && !find(REGISTERED, p, size))
		counters.pageable++;
}

static int device_side(CUdeviceptr p, size_t size, CUstream stream)
{
	struct block *b = find(DEVICE, (void *)(uintptr_t)p, size);
	return b && b->ctx == current && stream && stream->ctx == current;
}

EXPORT CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
	ENTER_CONTEXT("cuMemcpyHtoDAsync");
	if (!device_side(dst, size, stream))
		return leave(CUDA_ERROR_INVALID_VALUE);
	host_side(src, size);
	memcpy((void *)(uintptr_t)dst, src, size);
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
	ENTER_CONTEXT("cuMemcpyDtoHAsync");
	if (!device_side(src, size, stream))
		return leave(CUDA_ERROR_INVALID_VALUE);
	host_side(dst, size);
	memcpy(dst, (void *)(uintptr_t)src, size);
	spoil(dst, size);
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
	ENTER_CONTEXT("cuMemcpyDtoDAsync");
	if (!device_side(dst, size, stream) || !device_side(src, size, stream))
		return leave(CUDA_ERROR_INVALID_VALUE);
	memmove((void *)(uintptr_t)dst, (void *)(uintptr_t)src, size);
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t size, CUstream stream)
{
	ENTER_CONTEXT("cuMemcpyPeerAsync");
	struct block *b = find(DEVICE, (void *)(uintptr_t)src, size);
	if (to != current || !device_side(dst, size, stream) || !b || b->ctx != from)
		return leave(CUDA_ERROR_INVALID_VALUE);
	memmove((void *)(uintptr_t)dst, (void *)(uintptr_t)src, size);
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char v, size_t size, CUstream stream)
{
	ENTER_CONTEXT("cuMemsetD8Async");
	if (!device_side(dst, size, stream))
		return leave(CUDA_ERROR_INVALID_VALUE);
	memset((void *)(uintptr_t)dst, v, size);
	return leave(CUDA_SUCCESS);
}

/* ---- streams and events ---- */

EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	ENTER_CONTEXT("cuStreamCreate");
	(void)flags;
	*stream = calloc(1, sizeof **stream);
	(*stream)->ctx = current;
	counters.streams++;
	current->streams++;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	ENTER_CONTEXT("cuStreamCreateWithPriority");
	(void)flags;
	(void)priority;
	*stream = calloc(1, sizeof **stream);
	(*stream)->ctx = current;
	counters.streams++;
	current->streams++;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuStreamDestroy(CUstream stream)
{
	ENTER_CONTEXT("cuStreamDestroy");
	counters.streams--;
	current->streams--;
	free(stream);
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
	ENTER_CONTEXT("cuStreamSynchronize");
	counters.spun += !(current->flags & CU_CTX_SCHED_BLOCKING_SYNC);
	return leave(stream->ctx == current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

EXPORT CUresult cuStreamQuery(CUstream stream)
{
	ENTER_CONTEXT("cuStreamQuery");
	return leave(stream->ctx == current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	ENTER_CONTEXT("cuStreamWaitEvent");
	(void)event;
	(void)flags;
	return leave(stream->ctx == current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

EXPORT CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	ENTER_CONTEXT("cuEventCreate");
	*event = calloc(1, sizeof **event);
	(*event)->ctx = current;
	(*event)->timing = !(flags & CU_EVENT_DISABLE_TIMING);
	counters.events++;
	current->events++;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuEventDestroy(CUevent event)
{
	ENTER_CONTEXT("cuEventDestroy");
	counters.events--;
	current->events--;
	free(event);
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
	ENTER_CONTEXT("cuEventRecord");
	if (event->ctx != current || stream->ctx != current)
		return leave(CUDA_ERROR_INVALID_HANDLE);
	event->recorded = 1;
	clock_gettime(CLOCK_MONOTONIC, &event->at);
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuEventSynchronize(CUevent event)
{
	ENTER_CONTEXT("cuEventSynchronize");
	return leave(event->ctx == current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

EXPORT CUresult cuEventQuery(CUevent event)
{
	ENTER_CONTEXT("cuEventQuery");
	return leave(event->ctx == current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

EXPORT CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	ENTER_CONTEXT("cuEventElapsedTime");
	if (!from->recorded || !to->recorded || !from->timing || !to->timing)
		return leave(CUDA_ERROR_INVALID_HANDLE);
	*ms = (float)((double)(to->at.tv_sec - from->at.tv_sec) * 1e3 + (double)(to->at.tv_nsec - from->at.tv_nsec) * 1e-6);
	return leave(CUDA_SUCCESS);
}

/* ---- modules and launches ---- */

EXPORT CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
	ENTER_CONTEXT("cuModuleLoadData");
	if (config.image && strncmp(image, config.image, strlen(config.image)))
		return leave(CUDA_ERROR_NO_BINARY_FOR_GPU);
	CUmodule m = calloc(1, sizeof *m);
	m->ctx = current;
	counters.modules++;
	current->modules++;
	*out = m;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuModuleUnload(CUmodule m)
{
	ENTER_CONTEXT("cuModuleUnload");
	while (m->functions) {
		CUfunction f = m->functions;
		m->functions = f->next;
		free(f->name);
		free(f);
	}
	free(m);
	counters.modules--;
	current->modules--;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
	ENTER_CONTEXT("cuModuleGetFunction");
	for (CUfunction f = m->functions; f; f = f->next)
		if (!strcmp(f->name, name)) {
			*out = f;
			return leave(CUDA_SUCCESS);
		}
	void *run = NULL;
	const int *params = NULL;
	for (int i = 0; i < config.objects && !run; i++) {
		char count[256];
		run = dlsym(config.kernels[i], name);
		snprintf(count, sizeof count, "%s_params", name);
		params = run ? dlsym(config.kernels[i], count) : NULL;
	}
	if (config.objects && !run)
		return leave(CUDA_ERROR_NOT_FOUND);
	CUfunction f = calloc(1, sizeof *f);
	f->name = strdup(name);
	memcpy(&f->run, &run, sizeof run);
	f->params = params ? *params : -1;
	f->shared = 48 << 10;
	f->next = m->functions;
	m->functions = f;
	*out = f;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *size)
{
	ENTER_CONTEXT("cuFuncGetParamInfo");
	if (f->params < 0)
		return leave(CUDA_ERROR_NOT_SUPPORTED);
	if (i >= (size_t)f->params)
		return leave(CUDA_ERROR_INVALID_VALUE);
	*offset = 8 * i;
	if (size)
		*size = 8;
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f)
{
	ENTER_CONTEXT("cuFuncGetAttribute");
	switch (a) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *v = 1024; break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS: *v = 32; break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *v = f->shared; break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
	case CU_FUNC_ATTRIBUTE_PTX_VERSION: *v = config.major * 10 + config.minor; break;
	default: *v = 0;
	}
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v)
{
	ENTER_CONTEXT("cuFuncSetAttribute");
	switch (a) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (v < 0 || v > 227 << 10)
			return leave(CUDA_ERROR_INVALID_VALUE);
		f->shared = v;
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: break;
	default: return leave(CUDA_ERROR_INVALID_VALUE);
	}
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t shared)
{
	ENTER_CONTEXT("cuOccupancyMaxActiveBlocksPerMultiprocessor");
	if (threads < 1 || threads > 1024 || shared > (size_t)f->shared)
		return leave(CUDA_ERROR_INVALID_VALUE);
	*blocks = 2048 / ((threads + 31) / 32 * 32);
	if (shared && *blocks > (int)((228 << 10) / shared))
		*blocks = (int)((228 << 10) / shared);
	return leave(CUDA_SUCCESS);
}

EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *threads, CUfunction f, CUoccupancyB2DSize of,
						 size_t shared, int limit)
{
	ENTER_CONTEXT("cuOccupancyMaxPotentialBlockSize");
	(void)f;
	(void)of;
	(void)shared;
	(void)limit;
	*threads = 256;
	*grid = 8 * config.multiprocessors;
	return leave(CUDA_SUCCESS);
}

static CUresult launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		       unsigned shared, CUstream stream, void **params)
{
	struct fakecuda_launch l = {{gx, gy, gz}, {bx, by, bz}, shared};
	if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || shared > (unsigned)f->shared)
		return leave(CUDA_ERROR_INVALID_VALUE);
	if (!stream || stream->ctx != current)
		return leave(CUDA_ERROR_INVALID_HANDLE);
	counters.launches++;
	counters.kernels_run += f->run != NULL;
	leave(CUDA_SUCCESS);
	if (f->run)
		f->run(&l, params);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			       unsigned shared, CUstream stream, void **params, void **extra)
{
	ENTER_CONTEXT("cuLaunchKernel");
	(void)extra;
	return launch(f, gx, gy, gz, bx, by, bz, shared, stream, params);
}

EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
					  unsigned bz, unsigned shared, CUstream stream, void **params)
{
	ENTER_CONTEXT("cuLaunchCooperativeKernel");
	return launch(f, gx, gy, gz, bx, by, bz, shared, stream, params);
}

/* Kernels run when they are launched, so that none is early. */
EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *l, CUfunction f, void **params, void **extra)
{
	ENTER_CONTEXT("cuLaunchKernelEx");
	(void)extra;
	if (l->numAttrs != 1 || l->attrs[0].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION || config.major < 9)
		return leave(CUDA_ERROR_INVALID_VALUE);
	return launch(f, l->gridDimX, l->gridDimY, l->gridDimZ, l->blockDimX, l->blockDimY, l->blockDimZ,
		      l->sharedMemBytes, l->hStream, params);
}
