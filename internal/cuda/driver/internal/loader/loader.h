#ifndef PIPPIN_LOADER_H
#define PIPPIN_LOADER_H

/* Of the generated symbols.h: how many functions there are. */
extern const int pippin_cuda_count;

/* Loads the library and fills the table. NULL, or what dlerror says (valid
 * until this thread's next dl call). */
const char *pippin_cuda_open(const char *library);

/* The name of function i, and whether the loaded library lacks it. */
const char *pippin_cuda_name(int i);
int pippin_cuda_missing(int i);

/* Looks a symbol up in the loaded library; NULL when there is none. */
void *pippin_cuda_symbol(const char *name);

#endif
