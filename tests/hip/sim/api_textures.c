/* Texture objects: handles that nothing can be read through. */
#include <stdlib.h>

#include "sim.h"

struct __hip_texture { int unused; };

API hipError_t hipCreateTextureObject(hipTextureObject_t *result, const hipResourceDesc *resource, const hipTextureDesc *texture,
                                      const struct hipResourceViewDesc *view)
{
    (void)view;
    *result = resource && texture ? calloc(1, sizeof **result) : NULL;
    return sim_return(*result ? hipSuccess : hipErrorInvalidValue);
}

API hipError_t hipDestroyTextureObject(hipTextureObject_t texture)
{
    free(texture);
    return sim_return(hipSuccess);
}
