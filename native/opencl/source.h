/* The text of a program: recorded as it was passed, and changed in one place if a lab asks for it.
 *
 * GPUDX_EDIT=bytes:offset:old:new: in a text of so many bytes, `old` at `offset` becomes `new`. A failure that goes shows that the place is wrong. */
#pragma once

#include "cl_abi.h"
#include "core/recorder.h"

void gdx_cl_note_source(cl_program program, cl_uint count, const char **strings, const size_t *lengths);

/* The changed text, in memory of its own; without data where nothing is to be changed. */
struct gdx_text gdx_cl_edited_source(cl_uint count, const char **strings, const size_t *lengths);
void gdx_cl_source_freed(struct gdx_text text);
