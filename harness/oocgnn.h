/* SPDX-License-Identifier: MIT */
/* Words everyone shares: status, error context, node IDs, limits. No state.
 *
 * Errors are results. A function that can fail returns enum gnn_status, takes a struct gnn_err * last and fills it
 * before returning; values come back through pointers. The first error wins: filling a struct that already holds
 * one keeps the old text. A struct gnn_err belongs to one thread. */
#ifndef OOCGNN_H
#define OOCGNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Of the small inline functions that host code and CUDA kernels share. */
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

/* A count, size or time nobody measured: NULL in the record, never 0. For a double it is NAN. */
#define GNN_UNKNOWN UINT64_MAX

enum gnn_status {
    GNN_OK = 0,
    GNN_EUSAGE,     /* the user asked for something that does not exist or cannot be: exit 2 */
    GNN_ENOENT,     /* a file or directory is missing */
    GNN_EIO,        /* the kernel reported a failed read or write */
    GNN_ESHORT,     /* fewer bytes than promised, and no more to come */
    GNN_EFORMAT,    /* bytes that are not what their header or meta file says */
    GNN_ENOMEM,     /* the allocator said no */
    GNN_ECAP,       /* does not fit the memory cap or another stated limit: the result "oom" */
    GNN_EGPU,       /* does not fit the accelerator's memory: the result "gpu_oom" */
    GNN_ENOSPC,     /* the disk is full */
    GNN_EPERM,      /* not permitted on this machine */
    GNN_EFILES,     /* no file descriptor is left, in the process or on the machine: exit 4 */
    GNN_ENOTSUP,    /* this machine or file system lacks what was asked: exit 4 */
    GNN_ENUMBER,    /* a value that is no finite number reached the training: the result "invalid" */
    GNN_ETIME,      /* the time limit passed: the result "oot" */
    GNN_ECANCELLED, /* stopped because somebody else failed, or the user asked */
    GNN_EBUG,       /* an invariant broke: a bug of ours, never the user's */
    GNN_STATUS_COUNT
};

struct gnn_err {
    enum gnn_status status;
    int line;
    const char *file;
    char message[GNN_ERR_MAX];
};

/* "ok", "usage", "io" …: stable words for logs and records. */
const char *gnn_status_name(enum gnn_status status);

/* Returns GNN_EFILES if the errno says that no file descriptor is left, or `otherwise`. For what opens something. */
enum gnn_status gnn_errno_status(int error, enum gnn_status otherwise);

/* Fills err (which may be NULL) unless it already holds an error; returns status, never GNN_OK. For GNN_ENOMEM the
 * format names what there was no room for: "out of memory: " is put before it here, once for all. For GNN_EFILES the
 * remedy is put behind it. */
enum gnn_status gnn_err_set(struct gnn_err *err, enum gnn_status status, const char *file, int line, const char *format,
                            ...) __attribute__((format(printf, 5, 6)));

#ifndef __clang_analyzer__
#define gnn_fail(err, status, ...) gnn_err_set((err), (status), __FILE__, __LINE__, __VA_ARGS__)
#else /* the analyser does not see into gnn_err_set: it is shown which status comes back */
#define gnn_fail(err, status, ...)                                                                                     \
    ((void)gnn_err_set((err), (status), __FILE__, __LINE__, __VA_ARGS__), (enum gnn_status)(status))
#endif

/* Forwards a failed status; err is already filled by the callee. */
#define GNN_TRY(call)                                                                                                  \
    do {                                                                                                               \
        const enum gnn_status gnn_try_status_ = (call);                                                                \
        if (gnn_try_status_ != GNN_OK)                                                                                 \
            return gnn_try_status_;                                                                                    \
    } while (0)

/* Does the next of several steps that share one clean-up, unless `status` says that one before it failed. */
#define GNN_NEXT(status, call)                                                                                         \
    do {                                                                                                               \
        if ((status) == GNN_OK)                                                                                        \
            (status) = (call);                                                                                         \
    } while (0)

/* What an open function returns: `object` goes to *out, or is closed when a step, whose outcome is `status`, failed. */
#define GNN_OPENED(status, object, out, close)                                                                         \
    ((status) == GNN_OK ? (void)(*(out) = (object)) : close(object), (status))

/* Allocates `count` zeroed elements for `pointer`, freed with free(), or returns GNN_ENOMEM from the calling function;
 * the rest is a format that says what they are. For bookkeeping: what grows with the graph comes from gnn_mem_alloc,
 * where it is counted. */
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

/* The least number of parts of `part` that hold `whole`. */
static inline uint64_t gnn_div_up(uint64_t whole, uint64_t part)
{
    return whole / part + (whole % part != 0);
}

/* a * b and a + b in bytes; UINT64_MAX on overflow, which no allocation satisfies. */
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
