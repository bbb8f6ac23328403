/* The kernel's launch, in the default stream of the calling thread's device. */
#pragma once

/* x = factor * x */
void scale(float *x, int count, float factor);
