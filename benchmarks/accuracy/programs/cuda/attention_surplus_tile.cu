//: class = "A1"
//: cause = ["out-of-bounds-access"]
//: kernel = "tile_lengths"
//: launch = 1
//: argument = 1
//: plain = "silent"
//: fault = "Surplus tiles read their sequence's length before they find out that the sequence does not exist."
#include <cassert>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void tile_lengths(int *valid, const int *lengths, int sequences, int tiles_per_sequence, int tile)
{
    int sequence = blockIdx.x / tiles_per_sequence;
    int begin = (blockIdx.x % tiles_per_sequence) * tile;
#ifdef TWIN
    if (sequence >= sequences) return;
    int length = lengths[sequence];
#else
    int length = lengths[sequence]; // FAULT
    if (length == 0 || sequence >= sequences) return;
#endif
    int here = length - begin;
    if (threadIdx.x == 0) valid[blockIdx.x] = here < 0 ? 0 : here < tile ? here : tile;
    if (here > 1 << 30) valid[0] = -1;
}

int main()
{
    const int sequences = 128, tiles = 8;
    int lengths[sequences];
    for (int i = 0; i < sequences; ++i) lengths[i] = 100 + i;
    int *d_lengths, *d_valid;
    assert(cudaMalloc(&d_valid, sequences * tiles * sizeof(int)) == cudaSuccess);
    assert(cudaMalloc(&d_lengths, sizeof lengths) == cudaSuccess);
    assert(cudaMemcpy(d_lengths, lengths, sizeof lengths, cudaMemcpyHostToDevice) == cudaSuccess);
    int grid = (sequences * tiles + 131) / 132 * 132; // whole waves of the scheduler
    tile_lengths<<<grid, 32>>>(d_valid, d_lengths, sequences, tiles, 32);
    int first;
    assert(cudaMemcpy(&first, d_valid, sizeof first, cudaMemcpyDeviceToHost) == cudaSuccess);
    printf("first tile: %d\n", first);
    return first == 32 ? 0 : 1;
}
