/* The same storing of rows in plain C, to compare with. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "tensor.h"

void reference_encode(enum element_type type, const float *from, uint32_t elements, void *to);
void reference_set_rows(void *cache, const struct tensor *to, const float *values, const struct tensor *rows,
                        const int64_t *slots, const struct tensor *index);

#endif
