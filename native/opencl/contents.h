/* What the program uploads and reads back looks like: a few words of the first such copies of a process (note_contents), so that data of
 * another type than the kernel declares can be told from data of that type, and a NaN is seen that reaches the program. Reading costs a
 * microsecond, and ends after so many copies in each direction. */
#pragma once

#include "core/recorder.h"

void gdx_cl_contents(const struct gdx_open *open, const void *address, size_t size);  /* before the driver reads it */
void gdx_cl_contents_back(const struct gdx_open *open, const void *address, size_t size);  /* after it has written it */
