/* SPDX-License-Identifier: MIT */
/* A launcher that runs CUDA kernels on the host, for tests of their bodies: blocks one after another, the threads of a
 * block as coroutines that switch at barriers and shuffles. What a kernel may use is here; anything else does not
 * compile. A test device: no option of the program offers it.
 *
 * Streams: copies and kernels are queued. They run when a call waits for them, or when the order or its seed says so
 * (cuda_host_streams.h). A missing wait or a wrong order shows as another result, as NaN, or as a failed test. A
 * captured step runs after it is launched. Its graph is kept by the names of its launches, as a device's is by its
 * shape. While a thread captures, it may not allocate, free, pin or wait. Any call can be told to sleep once, as a
 * driver's may.
 *
 * Under ThreadSanitizer the threads of a block count as parallel, ordered by __syncthreads and __syncwarp alone and not
 * by shuffles: two that touch one word without a barrier between are a race, in whichever order they came.
 *
 * Not shown by it: races between blocks, which run one after another; alignment of vector accesses beyond what UBSan
 * sees; the GPU's own rounding of fused products and special functions; speed.
 *
 * A second engine executes the PTX that nvcc made of the same kernels (cuda_host_ptx.h). It shows the first two, and
 * nvcc's contraction of products. */
#ifndef GNN_TESTS_CUDA_HOST_H
#define GNN_TESTS_CUDA_HOST_H

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#define __global__ static
#define __device__
#define __host__
#define __shared__ static /* one block runs at a time */

struct cuda_host_dim {
    uint32_t x, y, z;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

/* Of the running thread. */
extern cuda_host_dim threadIdx, blockIdx, blockDim, gridDim;

/* Runs kernel() in blocks x threads threads. Fails the test when threads of a block wait at different barriers. */
void cuda_host_launch(uint32_t blocks, uint32_t threads, const std::function<void()> &kernel);

[[noreturn]] void cuda_host_fail(const char *what); /* ends the test, with the running block and thread */

/* A kernel with its arguments, for both engines. */
struct cuda_host_call {
    std::function<void()> run;          /* as host code, by one thread */
    const char *description;            /* names the kernel with its template arguments, in the compiler's words */
    std::vector<std::string> arguments; /* the bytes of each, as the kernel's parameter holds them */
};

/* Returns a text that ends with the kernel's name and a bracket. */
template <auto KERNEL> const char *cuda_host_describe()
{
    return __PRETTY_FUNCTION__;
}

template <typename... P> void cuda_host_bind(cuda_host_call *call, void (*kernel)(P...), P... args)
{
    call->arguments = {std::string(reinterpret_cast<const char *>(&args), sizeof args)...};
    call->run = [kernel, args...] { kernel(args...); };
}

/* Returns the call with its arguments converted to the kernel's parameters. */
template <auto KERNEL, typename... A> cuda_host_call cuda_host_call_of(A... args)
{
    cuda_host_call call = {{}, cuda_host_describe<KERNEL>(), {}};
    const auto bind = [&call]<typename... P>(void (*kernel)(P...), auto... own) {
        cuda_host_bind<P...>(&call, kernel, static_cast<P>(own)...);
    };
    bind(KERNEL, args...);
    return call;
}

/* The device's launches go through here. */
struct gnn_device;
void cuda_host_enqueue(gnn_device *device, uint32_t lane, const char *name, uint32_t blocks,
                       const cuda_host_call &call);

void __syncthreads();
void __syncwarp(uint32_t mask = 0xffffffffu);

/* One 8-byte word from every lane of the warp to every other; all 32 take part. */
uint64_t cuda_host_exchange(uint64_t word, uint32_t from_lane);

template <typename T> T __shfl_xor_sync(uint32_t mask, T value, uint32_t lanes)
{
    static_assert(sizeof(T) <= sizeof(uint64_t), "a word");
    uint64_t word = 0;
    (void)mask;
    std::memcpy(&word, &value, sizeof value);
    word = cuda_host_exchange(word, (threadIdx.x % 32) ^ lanes);
    std::memcpy(&value, &word, sizeof value);
    return value;
}

#endif
