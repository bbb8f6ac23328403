/* Ranges of buffers with a red zone: the driver takes the zone for a part of the buffer, the program must not get at it. A range
 * that ends behind what the program asked for is made to end behind the zone, too, and the driver refuses it, as it would
 * have without us. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "core/poison.h"
#include "opencl/offsets.h"
#include "opencl/own.h"

enum { ZONE = GDX_RED_ZONE };

/* So many bytes more make a range end behind the zone, if it ends behind what the program asked for. */
static size_t beyond(cl_mem mem, size_t offset, size_t size)
{
    struct gdx_block block;
    if (!gdx_cl_red_zone(mem, &block) || (offset <= block.bytes && size <= block.bytes - offset) || size > SIZE_MAX - ZONE)
        return 0;
    return ZONE;
}

cl_int gdx_cl_red_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                                      void *ptr, cl_uint num_waits, const cl_event *waits, cl_event *event)
{
    offset = gdx_cl_scaled('b', offset, size);
    cl_int status = gdx_cl_next.clEnqueueReadBuffer(queue, buffer, blocking, offset, size + beyond(buffer, offset, size), ptr,
                                                    num_waits, waits, event);
    if (GDX_UNLIKELY(gdx_poisons()) && blocking && status == CL_SUCCESS)
        gdx_poison_came_back((uint64_t)(uintptr_t)buffer, offset, ptr, size);
    return status;
}

cl_int gdx_cl_red_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                                       const void *ptr, cl_uint num_waits, const cl_event *waits, cl_event *event)
{
    offset = gdx_cl_scaled('b', offset, size);
    return gdx_cl_next.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size + beyond(buffer, offset, size), ptr,
                                            num_waits, waits, event);
}

cl_int gdx_cl_red_clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
                                      size_t offset, size_t size, cl_uint num_waits, const cl_event *waits, cl_event *event)
{
    return gdx_cl_next.clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size + beyond(buffer, offset, size),
                                           num_waits, waits, event);
}

void *gdx_cl_red_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                    size_t offset, size_t size, cl_uint num_waits, const cl_event *waits, cl_event *event,
                                    cl_int *errcode)
{
    return gdx_cl_next.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size + beyond(buffer, offset, size),
                                          num_waits, waits, event, errcode);
}

cl_int gdx_cl_red_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem src_buffer, cl_mem dst_buffer, size_t src_offset,
                                      size_t dst_offset, size_t size, cl_uint num_waits, const cl_event *waits,
                                      cl_event *event)
{
    src_offset = gdx_cl_scaled('s', src_offset, size);
    dst_offset = gdx_cl_scaled('d', dst_offset, size);
    size_t from = beyond(src_buffer, src_offset, size), to = beyond(dst_buffer, dst_offset, size);
    return gdx_cl_next.clEnqueueCopyBuffer(queue, src_buffer, dst_buffer, src_offset, dst_offset, size + (from ? from : to),
                                           num_waits, waits, event);
}

/* A lab's experiment (GPUDX_PARTS=1): a buffer of its own for a part, so that it has a fence of its own. The driver has judged the
 * request by then. Only for programs that never use the whole buffer beside its parts (src/gpudx/facts/parts.py). */
static cl_mem apart(cl_mem part, size_t size, cl_int *errcode)
{
    static const cl_mem_flags ACCESS = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY | CL_MEM_HOST_READ_ONLY
        | CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS;
    const char *asked = getenv("GPUDX_PARTS");
    cl_context context;
    cl_mem_flags flags;
    if (!part || !asked || *asked != '1' || !gdx_fence_edge() || !gdx_on()
        || gdx_cl_next.clGetMemObjectInfo(part, CL_MEM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS
        || gdx_cl_next.clGetMemObjectInfo(part, CL_MEM_FLAGS, sizeof flags, &flags, NULL) != CL_SUCCESS)
        return part;
    cl_mem own = gdx_cl_made_clCreateBuffer(context, flags & ACCESS, size, NULL, errcode);
    if (!own) {
        if (errcode)
            *errcode = CL_SUCCESS;
        return part;
    }
    gdx_cl_next.clReleaseMemObject(part);
    return own;
}

static cl_mem make_part(cl_mem buffer, cl_mem_flags flags, cl_buffer_region region, cl_int *errcode)
{
    size_t size = region.size;
    region.size += beyond(buffer, region.origin, size);
    cl_mem part = gdx_cl_next.clCreateSubBuffer(buffer, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, errcode);
    return apart(part, size, errcode);
}

cl_mem gdx_cl_red_clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type create_type,
                                    const void *create_info, cl_int *errcode)
{
    if (!create_info || create_type != CL_BUFFER_CREATE_TYPE_REGION || GDX_LIKELY(!gdx_fence_edge()))
        return gdx_cl_next.clCreateSubBuffer(buffer, flags, create_type, create_info, errcode);
    return make_part(buffer, flags, *(const cl_buffer_region *)create_info, errcode);
}

/* ---- boxes ---- */

/* Where a box ends; a pitch of 0 is that of the box (OpenCL 1.2 specification, 5.2.3). More than there can be: SIZE_MAX. */
static size_t box_end(const size_t *origin, const size_t *region, size_t row, size_t slice)
{
    size_t last, end;
    row = row ? row : region[0];
    slice = slice ? slice : region[1] * row;
    if (__builtin_mul_overflow(origin[2] + region[2] - 1, slice, &end)
        || __builtin_mul_overflow(origin[1] + region[1] - 1, row, &last) || __builtin_add_overflow(end, last, &end)
        || __builtin_add_overflow(end, origin[0] + region[0], &end))
        return SIZE_MAX;
    return end;
}

/* The same for boxes: one that begins so many bytes later cannot fit. */
static const size_t *moved(cl_mem mem, const size_t *origin, const size_t *given, size_t row, size_t slice, size_t room[3])
{
    struct gdx_block block;
    struct gdx_lane *lane = gdx_lane();
    size_t region[3];
    if (!origin || !given || !lane || !gdx_cl_red_zone(mem, &block)
        || !gdx_read(&lane->reader, room, origin, 3 * sizeof *room) || !gdx_read(&lane->reader, region, given, sizeof region))
        return origin;
    if (!region[0] || !region[1] || !region[2] || box_end(room, region, row, slice) <= block.bytes || room[0] > SIZE_MAX - ZONE)
        return origin;
    room[0] += ZONE;
    return room;
}

cl_int gdx_cl_red_clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                          const size_t *buffer_origin, const size_t *host_origin, const size_t *region,
                                          size_t buffer_row_pitch, size_t buffer_slice_pitch, size_t host_row_pitch,
                                          size_t host_slice_pitch, void *ptr, cl_uint num_waits, const cl_event *waits,
                                          cl_event *event)
{
    size_t room[3];
    const size_t *from = moved(buffer, buffer_origin, region, buffer_row_pitch, buffer_slice_pitch, room);
    return gdx_cl_next.clEnqueueReadBufferRect(queue, buffer, blocking, from, host_origin, region, buffer_row_pitch,
                                               buffer_slice_pitch, host_row_pitch, host_slice_pitch, ptr, num_waits, waits,
                                               event);
}

cl_int gdx_cl_red_clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                           const size_t *buffer_origin, const size_t *host_origin, const size_t *region,
                                           size_t buffer_row_pitch, size_t buffer_slice_pitch, size_t host_row_pitch,
                                           size_t host_slice_pitch, const void *ptr, cl_uint num_waits,
                                           const cl_event *waits, cl_event *event)
{
    size_t room[3];
    const size_t *to = moved(buffer, buffer_origin, region, buffer_row_pitch, buffer_slice_pitch, room);
    return gdx_cl_next.clEnqueueWriteBufferRect(queue, buffer, blocking, to, host_origin, region, buffer_row_pitch,
                                                buffer_slice_pitch, host_row_pitch, host_slice_pitch, ptr, num_waits, waits,
                                                event);
}

cl_int gdx_cl_red_clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem src_buffer, cl_mem dst_buffer,
                                          const size_t *src_origin, const size_t *dst_origin, const size_t *region,
                                          size_t src_row_pitch, size_t src_slice_pitch, size_t dst_row_pitch,
                                          size_t dst_slice_pitch, cl_uint num_waits, const cl_event *waits, cl_event *event)
{
    size_t room[2][3];
    const size_t *from = moved(src_buffer, src_origin, region, src_row_pitch, src_slice_pitch, room[0]);
    const size_t *to = moved(dst_buffer, dst_origin, region, dst_row_pitch, dst_slice_pitch, room[1]);
    return gdx_cl_next.clEnqueueCopyBufferRect(queue, src_buffer, dst_buffer, from, to, region, src_row_pitch,
                                               src_slice_pitch, dst_row_pitch, dst_slice_pitch, num_waits, waits, event);
}

/* Copies between images and buffers: how large they are the image tells. */
static size_t image_beyond(cl_mem image, cl_mem buffer, size_t offset, const size_t *given)
{
    struct gdx_block block;
    struct gdx_lane *lane = gdx_lane();
    size_t element = 0, bytes, region[3];
    if (!given || !lane || !gdx_cl_red_zone(buffer, &block) || !gdx_read(&lane->reader, region, given, sizeof region)
        || gdx_cl_next.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL) != CL_SUCCESS
        || __builtin_mul_overflow(region[0] * region[1], region[2] * element, &bytes))
        return 0;
    return offset > SIZE_MAX - ZONE ? 0 : beyond(buffer, offset, bytes);
}

cl_int gdx_cl_red_clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem src_image, cl_mem dst_buffer,
                                             const size_t *src_origin, const size_t *region, size_t dst_offset,
                                             cl_uint num_waits, const cl_event *waits, cl_event *event)
{
    dst_offset += image_beyond(src_image, dst_buffer, dst_offset, region);
    return gdx_cl_next.clEnqueueCopyImageToBuffer(queue, src_image, dst_buffer, src_origin, region, dst_offset, num_waits,
                                                  waits, event);
}

cl_int gdx_cl_red_clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem src_buffer, cl_mem dst_image, size_t src_offset,
                                             const size_t *dst_origin, const size_t *region, cl_uint num_waits,
                                             const cl_event *waits, cl_event *event)
{
    src_offset += image_beyond(dst_image, src_buffer, src_offset, region);
    return gdx_cl_next.clEnqueueCopyBufferToImage(queue, src_buffer, dst_image, src_offset, dst_origin, region, num_waits,
                                                  waits, event);
}
