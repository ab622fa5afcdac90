/* SPDX-License-Identifier: MIT */
/* Definitions that all parts share: status, error context, node IDs, limits. Holds no state.
 *
 * Errors are results. A function that can fail returns enum gnn_status, and takes a struct gnn_err * as its last
 * parameter. It fills the struct before it returns. Other results come back through pointers. The first error wins: a
 * struct that already holds an error keeps its text. A struct gnn_err belongs to one thread. */
#ifndef OOCGNN_H
#define OOCGNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Qualifier of small inline functions that host code and CUDA kernels share. */
#ifdef __CUDACC__
#define GNN_DEVICE __host__ __device__
#else
#define GNN_DEVICE
#endif

typedef uint32_t gnn_node; /* a node ID; edge offsets are uint64_t */

enum {
    GNN_LAYERS_MAX = 8,    /* layers of a model, hops of a sample */
    GNN_FANOUT_MAX = 64,   /* neighbours drawn per node and hop */
    GNN_DIM_MAX = 16384,   /* floats in a feature row */
    GNN_PAGE_BYTES = 4096, /* page cache granule assumed by the papers' arithmetic */
    GNN_NAME_MAX = 64,     /* system, dataset, stage names */
    GNN_ERR_MAX = 768,     /* bytes of an error message */
};

#define GNN_NODE_NONE UINT32_MAX

/* Value of a count, size or time that was not measured. It is stored as NULL in the record, never as 0. For a double
 * the value is NAN. */
#define GNN_UNKNOWN UINT64_MAX

enum gnn_status {
    GNN_OK = 0,
    GNN_EUSAGE,     /* the user asked for something that does not exist or is not valid: exit 2 */
    GNN_ENOENT,     /* a file or directory is missing */
    GNN_EIO,        /* the kernel reported a failed read or write */
    GNN_ESHORT,     /* fewer bytes than promised, and no more to come */
    GNN_EFORMAT,    /* the contents of a file contradict its header or its meta file */
    GNN_ENOMEM,     /* the allocator returned no memory */
    GNN_ECAP,       /* does not fit the memory limit or another stated limit: the result "oom" */
    GNN_EGPU,       /* does not fit the accelerator's memory: the result "gpu_oom" */
    GNN_ENOSPC,     /* the disk is full */
    GNN_EPERM,      /* permission is missing, on this machine or for this file */
    GNN_EFILES,     /* no file descriptor is left, in the process or on the machine: exit 4 */
    GNN_ETHREADS,   /* a limit of this machine or user refuses another thread or process: exit 4 */
    GNN_ENOTSUP,    /* this machine or file system does not support the request: exit 4 */
    GNN_ENUMBER,    /* the training met a NaN or an infinity: the result "invalid" */
    GNN_ETIME,      /* the time limit passed: the result is GNN_RUN_OOT */
    GNN_ECANCELLED, /* stopped because another thread or process failed, or because the user interrupted */
    GNN_EBUG,       /* an invariant did not hold: a bug of this program, never the user's error */
    GNN_STATUS_COUNT
};

struct gnn_err {
    enum gnn_status status;
    int line;
    const char *file;
    char message[GNN_ERR_MAX];
};

/* Returns the name of a status, as "ok", "usage" or "io". Names never change: logs and records contain them. */
const char *gnn_status_name(enum gnn_status status);

/* Returns GNN_EFILES if `error`, an errno, is EMFILE or ENFILE, else `otherwise`. For functions that open something. */
enum gnn_status gnn_errno_status(int error, enum gnn_status otherwise);
#ifdef __clang_analyzer__ /* the analyser does not see into the function, which always returns an error */
#define gnn_errno_status(error, otherwise) ((void)(error), (otherwise))
#endif

/* Fills err unless it is NULL or already holds an error, and returns status. Status is never GNN_OK. For GNN_ENOMEM the
 * format names the object that could not be allocated, and "out of memory: " is put before it. For GNN_EFILES the
 * remedy is appended. */
enum gnn_status gnn_err_set(struct gnn_err *err, enum gnn_status status, const char *file, int line, const char *format,
                            ...) __attribute__((format(printf, 5, 6)));

#ifndef __clang_analyzer__
#define gnn_fail(err, status, ...) gnn_err_set((err), (status), __FILE__, __LINE__, __VA_ARGS__)
#else /* the analyser does not see into gnn_err_set, so this form states which status comes back */
#define gnn_fail(err, status, ...)                                                                                     \
    ((void)gnn_err_set((err), (status), __FILE__, __LINE__, __VA_ARGS__), (enum gnn_status)(status))
#endif

/* Returns the status of `call` from the calling function if it failed. The callee has filled err. */
#define GNN_TRY(call)                                                                                                  \
    do {                                                                                                               \
        const enum gnn_status gnn_try_status_ = (call);                                                                \
        if (gnn_try_status_ != GNN_OK)                                                                                 \
            return gnn_try_status_;                                                                                    \
    } while (0)

/* Runs `call` and stores its status, or does nothing if `status` already holds an error. For steps that share one
 * clean-up. */
#define GNN_NEXT(status, call)                                                                                         \
    do {                                                                                                               \
        if ((status) == GNN_OK)                                                                                        \
            (status) = (call);                                                                                         \
    } while (0)

/* Returns `status` from an open function: stores `object` in *out if it is GNN_OK, else passes `object` to close(). */
#define GNN_OPENED(status, object, out, close)                                                                         \
    ((status) == GNN_OK ? (void)(*(out) = (object)) : close(object), (status))

/* Allocates `count` zeroed elements for `pointer`, freed with free(), or returns GNN_ENOMEM from the calling function.
 * The last parameters are a format that names the elements. For bookkeeping only: memory that grows with the graph
 * comes from gnn_mem_alloc, which counts it. */
#define GNN_NEW(pointer, count, err, ...)                                                                              \
    do {                                                                                                               \
        (pointer) = calloc((count), sizeof *(pointer)); /* NOLINT(bugprone-sizeof-expression): an array of pointers */ \
        if ((pointer) == NULL)                                                                                         \
            return gnn_fail((err), GNN_ENOMEM, __VA_ARGS__);                                                           \
    } while (0)

#define GNN_MUST_CHECK __attribute__((warn_unused_result))

static inline uint64_t gnn_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t gnn_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint32_t gnn_min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t gnn_max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Returns the least number of parts of size `part` that hold `whole`. */
static inline uint64_t gnn_div_up(uint64_t whole, uint64_t part)
{
    return whole / part + (whole % part != 0);
}

/* Return a * b and a + b in bytes, or UINT64_MAX on overflow, which no allocation satisfies. */
static inline uint64_t gnn_mul_bytes(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline uint64_t gnn_add_bytes(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t gnn_round_up(uint64_t value, uint64_t granule)
{
    return (value + granule - 1) / granule * granule;
}

static inline uint64_t gnn_round_down(uint64_t value, uint64_t granule)
{
    return value / granule * granule;
}

#endif
