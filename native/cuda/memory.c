/* Memory whose size the creating call does not say: the driver is asked for it once the address is known. */
#define _GNU_SOURCE
#include "cuda/hooks.h"

static uint64_t size_at(CUdeviceptr address)
{
    CUdeviceptr base = 0;
    size_t size = 0;
    if (!gdx_cu_next.cuMemGetAddressRange_v2
        || gdx_cu_next.cuMemGetAddressRange_v2(&base, &size, address) != CUDA_SUCCESS)
        return 0;
    return size - (address - base);
}

static void patch(struct gdx_open *open, const CUdeviceptr *result, CUresult status, unsigned size_word)
{
    if (status != CUDA_SUCCESS || !result || !gdx_still_open(open))
        return;
    open->slot->w[0] = *result;
    open->slot->w[size_word] = size_at(*result);
}

static void begin_ipc(struct gdx_open *open, unsigned int flags, void *caller)
{
    if (!gdx_cu_begin(open, GDX_CALL_cuIpcOpenMemHandle_v2, caller))
        return;
    open->slot->w[0] = 0;
    open->slot->w[1] = flags;
    open->slot->w[2] = 0;
    gdx_commit(open);
}

CUresult rec_cuIpcOpenMemHandle_v2(CUdeviceptr *result, CUipcMemHandle handle, unsigned int flags)
{
    struct gdx_open open;
    begin_ipc(&open, flags, __builtin_return_address(0));
    CUresult status = gdx_cu_next.cuIpcOpenMemHandle_v2(result, handle, flags);
    patch(&open, result, status, 2);
    gdx_cu_end(&open, status);
    return status;
}

CUresult rec_cuIpcOpenMemHandle(CUdeviceptr *result, CUipcMemHandle handle, unsigned int flags)
{
    struct gdx_open open;
    begin_ipc(&open, flags, __builtin_return_address(0));
    CUresult status = gdx_cu_next.cuIpcOpenMemHandle(result, handle, flags);
    patch(&open, result, status, 2);
    gdx_cu_end(&open, status);
    return status;
}

CUresult rec_cuMemPoolImportPointer(CUdeviceptr *result, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
    struct gdx_open open;
    if (gdx_cu_begin(&open, GDX_CALL_cuMemPoolImportPointer, __builtin_return_address(0))) {
        open.slot->w[0] = 0;
        open.slot->w[1] = GDX_CU_WORD(pool);
        open.slot->w[2] = 0;
        gdx_commit(&open);
    }
    CUresult status = gdx_cu_next.cuMemPoolImportPointer(result, pool, data);
    patch(&open, result, status, 2);
    gdx_cu_end(&open, status);
    return status;
}

CUresult rec_cuExternalMemoryGetMappedBuffer(CUdeviceptr *result, CUexternalMemory external_memory,
                                             const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *description)
{
    struct gdx_open open;
    if (gdx_cu_begin(&open, GDX_CALL_cuExternalMemoryGetMappedBuffer, __builtin_return_address(0))) {
        CUDA_EXTERNAL_MEMORY_BUFFER_DESC copy;
        open.slot->w[0] = open.slot->w[2] = open.slot->w[3] = 0;
        open.slot->w[1] = GDX_CU_WORD(external_memory);
        gdx_show(&open);
        if (description && gdx_read(&open.lane->reader, &copy, description, sizeof copy)) {
            open.slot->w[2] = copy.offset;
            open.slot->w[3] = copy.size;
        }
        gdx_commit(&open);
    }
    CUresult status = gdx_cu_next.cuExternalMemoryGetMappedBuffer(result, external_memory, description);
    if (status == CUDA_SUCCESS && result && gdx_still_open(&open))
        open.slot->w[0] = *result;
    gdx_cu_end(&open, status);
    return status;
}
