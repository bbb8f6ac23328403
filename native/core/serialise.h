/* gpudx run --serialise: a wait of our own after each launch (GPUDX_SERIALISE). */
#pragma once

#include <stdbool.h>

bool gdx_serialised(void);
