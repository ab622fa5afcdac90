/* SPDX-License-Identifier: MIT */
#include "harness/tensor/cuda/device.h"

extern "C" {
#include "tests/op/cuda_races.h"
}

static_assert((int)RACES_THREADS == (int)GNN_BLOCK_THREADS, "a block");

__device__ static inline void order(enum races_by by)
{
    if (by == RACES_SHUFFLE)
        (void)__shfl_xor_sync(0xffffffffu, threadIdx.x, 1);
    else if (by == RACES_WARP)
        __syncwarp();
    else if (by == RACES_BLOCK)
        __syncthreads();
}

/* Every thread shows a word and reads another's, round by round. */
__global__ void pass_on(uint64_t *sums, struct races_case c)
{
    __shared__ uint64_t words[GNN_BLOCK_THREADS];
    uint64_t sum = 0;
    for (uint32_t round = 0; round < c.rounds; round++) {
        words[threadIdx.x] = threadIdx.x + round;
        order(c.behind_write);
        sum += words[threadIdx.x ^ c.apart];
        order(c.behind_read);
    }
    sums[gnn_thread()] = sum;
}

void races_run(const struct races_case *c, uint64_t *sums)
{
    const struct races_case own = *c;
    cuda_host_launch(RACES_BLOCKS, GNN_BLOCK_THREADS, [=] { pass_on(sums, own); });
}
