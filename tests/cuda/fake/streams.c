/* Streams and events. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "fake.h"

struct stream *stream_of(CUstream stream)
{
    if ((uintptr_t)stream == CU_STREAM_PER_THREAD)
        return &per_thread;
    return (uintptr_t)stream > CU_STREAM_PER_THREAD ? (struct stream *)stream : NULL;
}

bool stands_still(CUstream stream)
{
    struct stream *s = stream_of(stream);
    return s && s->stuck;
}

/* Or for as many seconds as FAKE_CUDA_STUCK_S says: then the work was only slow. */
void wait_for_ever(void)
{
    const char *seconds = getenv("FAKE_CUDA_STUCK_S");
    if (seconds) {
        sleep((unsigned)atoi(seconds));
        return;
    }
    for (;;)
        pause();
}

API CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    static _Atomic int count;
    ENTER(cuStreamCreate);
    (void)flags;
    struct stream *made = calloc(1, sizeof *made);
    const char *stuck = getenv("FAKE_CUDA_STUCK");
    made->magic = STREAM;
    made->stuck = ++count == (stuck ? atoi(stuck) : 0);
    *stream = (CUstream)made;
    return CUDA_SUCCESS;
}

API CUresult cuStreamDestroy_v2(CUstream stream)
{
    ENTER(cuStreamDestroy_v2);
    free(stream);
    return CUDA_SUCCESS;
}

API CUresult cuStreamSynchronize(CUstream stream)
{
    ENTER(cuStreamSynchronize);
    struct stream *s = stream_of(stream);
    if (stands_still(stream))
        wait_for_ever();
    if (s && s->capture)
        s->capture->lost = 1;
    return s && s->capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

API CUresult cuStreamQuery(CUstream stream)
{
    ENTER(cuStreamQuery);
    return getenv("FAKE_CUDA_BUSY") || stands_still(stream) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

API CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    ENTER(cuEventCreate);
    (void)flags;
    struct event *made = calloc(1, sizeof *made);
    made->magic = EVENT;
    *event = (CUevent)made;
    return CUDA_SUCCESS;
}

API CUresult cuEventDestroy_v2(CUevent event)
{
    ENTER(cuEventDestroy_v2);
    free(event);
    return CUDA_SUCCESS;
}

API CUresult cuEventRecord(CUevent event, CUstream stream)
{
    ENTER(cuEventRecord);
    put_into("event", stream);
    struct stream *s = stream_of(stream);
    ((struct event *)event)->capture = s ? s->capture : NULL;
    ((struct event *)event)->polls = 3;
    return CUDA_SUCCESS;
}

/* Not ready three times after each record. */
API CUresult cuEventQuery(CUevent event)
{
    ENTER(cuEventQuery);
    return ((struct event *)event)->polls-- > 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

API CUresult cuEventSynchronize(CUevent event)
{
    ENTER(cuEventSynchronize);
    (void)event;
    return CUDA_SUCCESS;
}

/* A stream that waits for an event of a capture takes part in it from here on. */
API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    ENTER(cuStreamWaitEvent);
    put_into("wait", stream);
    (void)flags;
    struct stream *s = stream_of(stream);
    struct graph *capture = ((struct event *)event)->capture;
    if (s && capture && !s->capture) {
        s->capture = capture;
        capture->streams[capture->joined++] = s;
    }
    return CUDA_SUCCESS;
}

API CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    NEED(stream_of(stream) && stream_of(stream)->magic == STREAM, CUDA_ERROR_INVALID_HANDLE);
    *context = (CUcontext)current;
    return CUDA_SUCCESS;
}

API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    struct stream *s = stream_of(stream);
    *status = s && s->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}
