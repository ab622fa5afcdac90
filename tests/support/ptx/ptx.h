/* SPDX-License-Identifier: MIT */
/* Executes PTX, the assembly that nvcc emits for kernels, on the host, and reports undefined behaviour. Threads of a
 * block run in warps of 32, the lanes with the lowest program counter first. A seed chooses the order of blocks and
 * warps. The rules are those of NVIDIA's PTX ISA, version 9.
 *
 * Reported as faults: an access that is not aligned to its size, or outside of all arrays; a read of a register, or of
 * shared or local memory, that nothing was written to; a barrier that some threads of the block do not reach; a shuffle
 * with absent lanes; two threads that access one byte, one of them writing, without a barrier between.
 *
 * Not modelled: the device's memory order, time, and the machine code that ptxas makes of the PTX. Special functions
 * (ex2, lg2, rsqrt) have the rounding of the host's library. An opcode that the tables lack is an error that names it.
 *
 * Threads  A module is constant after ptx_open, so any number of threads may run its kernels. */
#ifndef GNN_TESTS_PTX_H
#define GNN_TESTS_PTX_H

#include "harness/oocgnn.h"

struct ptx_module;
struct ptx_kernel;

struct ptx_parameter {
    uint32_t offset, bytes;
};

/* A piece of memory that kernels may access. */
struct ptx_range {
    uint64_t begin, end; /* addresses */
};

struct ptx_launch {
    const struct ptx_kernel *kernel;
    uint32_t blocks, threads; /* threads of a block: whole warps, at most PTX_THREADS_MAX */
    const void *arguments;    /* laid out as the kernel's parameters */
    const struct ptx_range *ranges;
    uint32_t range_count;
    uint64_t seed;      /* of the order of blocks and warps */
    uint64_t steps_max; /* instructions of all warps; 0: PTX_STEPS_MAX */
};

enum { PTX_THREADS_MAX = 1024 };
#define PTX_STEPS_MAX UINT64_C(1000000000)

/* Parses a PTX text. `file` is its name in messages. Returns GNN_EFORMAT with file and line if the text is malformed,
 * GNN_ENOTSUP if it uses an opcode or a directive that is not modelled, or GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status ptx_open(const char *file, const char *text, size_t bytes, struct ptx_module **out,
                                        struct gnn_err *err);
void ptx_close(struct ptx_module *m); /* accepts NULL */

uint32_t ptx_kernel_count(const struct ptx_module *m);
const struct ptx_kernel *ptx_kernel_at(const struct ptx_module *m, uint32_t index);
const char *ptx_kernel_name(const struct ptx_kernel *k); /* mangled, as in the text */
uint32_t ptx_parameter_count(const struct ptx_kernel *k);
struct ptx_parameter ptx_parameter_at(const struct ptx_kernel *k, uint32_t index);
uint32_t ptx_parameter_bytes(const struct ptx_kernel *k); /* of all parameters with their padding */

/* Runs a kernel. Returns GNN_EBUG for a fault, with kernel, line of the source and of the PTX, block and thread. */
GNN_MUST_CHECK enum gnn_status ptx_run(const struct ptx_launch *launch, struct gnn_err *err);

#endif
