// common.cc: the kernels that know no curve, for the host.
#include "../sort.cu"
#include "../buckets.cu"

PIPPIN_EXPORT(pippin_sort_count, true)
PIPPIN_EXPORT(pippin_sort_scan, true)
PIPPIN_EXPORT(pippin_sort_scatter, true)
PIPPIN_EXPORT(pippin_runs, false)
PIPPIN_EXPORT(pippin_tasks_count, true)
PIPPIN_EXPORT(pippin_tasks_order, true)
PIPPIN_EXPORT(pippin_tasks_place, true)
