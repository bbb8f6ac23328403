/* The first NaN of CUDA programs (gpudx run --nan): the memory that the parameters of a launch lead to is looked at on the device, before and
 * after it, in the launch's own stream. Nothing is waited for: what is found comes to page-locked memory. */
#pragma once

#include "cuda/capture.h"

struct gdx_cu_nan { CUfunction scan; struct gdx_cu_nan_slot *slot; unsigned ranges; bool own_thread; };
struct gdx_cu_nan *gdx_cu_nan_before(const struct gdx_cu_wanted *l, const struct gdx_layout *layout);  /* NULL: it is not looked at */
void gdx_cu_nan_after(struct gdx_cu_nan *n, CUstream queue, CUresult status);
