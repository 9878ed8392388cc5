/* The kernels of ../../testdata/kernels.cu for the fake driver. */
#include <stdint.h>

#include "fakecuda.h"

#define PARAM(i, type) (*(type *)params[i])

const int test_add_params = 4;
void test_add(const struct fakecuda_launch *l, void **params)
{
	uint64_t *out = PARAM(0, uint64_t *);
	const uint64_t *a = PARAM(1, uint64_t *), *b = PARAM(2, uint64_t *);
	(void)l;
	for (uint64_t i = 0; i < PARAM(3, uint64_t); i++)
		out[i] = a[i] + b[i];
}

const int test_shared_params = 2;
void test_shared(const struct fakecuda_launch *l, void **params)
{
	uint64_t n = PARAM(1, uint64_t), sum = 0;
	for (uint64_t i = 0; i < n && 8 * i < l->shared; i++)
		sum += i;
	*PARAM(0, uint64_t *) = sum;
}

const int test_poke_params = 3;
void test_poke(const struct fakecuda_launch *l, void **params)
{
	(void)l;
	*PARAM(0, int64_t *) = PARAM(1, int64_t) + (int64_t)PARAM(2, double);
}

/* Tells no number of parameters. */
void test_silent(const struct fakecuda_launch *l, void **params)
{
	(void)l;
	(void)params;
}
