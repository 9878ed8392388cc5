/*
 * What a shared object of host kernels for the fake driver has to offer.
 *
 * FAKECUDA_KERNELS names it, or several. For every kernel NAME that is launched it exports
 *
 *     void NAME(const struct fakecuda_launch *launch, void **params);
 *
 * which does the work of the whole grid before it returns. params[i] points to
 * the 8 bytes of parameter i; a device address is an address of the host. When
 * it also exports
 *
 *     const int NAME_params;
 *
 * the fake driver tells the number of parameters, as a real one does.
 */
#ifndef PIPPIN_FAKECUDA_H
#define PIPPIN_FAKECUDA_H

struct fakecuda_launch {
	unsigned grid[3], block[3];
	unsigned shared; /* dynamic shared memory, bytes a block */
};

typedef void fakecuda_kernel(const struct fakecuda_launch *launch, void **params);

/* What the fake exports beside the driver's functions; package fakecuda calls
 * these. Results of 0 are success. */

/* The value of a counter of struct counters, or -1. */
long long fakecuda_counter(const char *name);
/* How often a function of the driver was called since the last reset. */
long long fakecuda_calls(const char *name);
/* Adds failures, as FAKECUDA_FAIL has them. */
int fakecuda_fail(const char *rules);
/* Forgets failures and calls, and revives contexts that an error ended. */
void fakecuda_reset(void);

#endif
