/* SPDX-License-Identifier: MIT */
/* Declarations that the files of calibrate share. */
#ifndef GNN_CALIBRATE_INTERNAL_H
#define GNN_CALIBRATE_INTERNAL_H

#include "harness/calibrate/busy.h"
#include "harness/calibrate/calibrate.h"
#include "harness/world/world.h"

enum { GNN_BENCH_PATH_BYTES = 1024 };

struct gnn_bench {
    const struct gnn_calibrate_config *config;
    struct gnn_calibration *out;
    struct gnn_world *world;
    char scratch[GNN_BENCH_PATH_BYTES]; /* new directory, in or next to the path that is measured; removed at the end */
    char data[GNN_BENCH_PATH_BYTES];    /* the file that is read */
    char job[GNN_BENCH_PATH_BYTES];     /* in scratch: fio's job file */
    uint64_t data_bytes;
    bool data_given; /* by the user: it is never written to */
    uint32_t repeats;
};

/* Returns count, or a tenth of it if the measurement is a quick one and count is at least 10. */
static inline uint64_t gnn_bench_count(const struct gnn_bench *bench, uint64_t count)
{
    return bench->config->quick && count >= 10 ? count / 10 : count;
}

struct gnn_tensor;

struct gnn_tensor_ops;

/* Opens a back-end on one core, with memory of the world (compute.c). ops NULL: this program's own. */
GNN_MUST_CHECK enum gnn_status gnn_bench_tensor_open(const struct gnn_bench *bench, const struct gnn_tensor_ops *ops,
                                                     struct gnn_tensor **out, struct gnn_err *err);

/* Each measures its figures and fills them in bench->out. */
enum gnn_status gnn_bench_process(struct gnn_bench *bench, struct gnn_err *err);  /* process.c */
enum gnn_status gnn_bench_storage(struct gnn_bench *bench, struct gnn_err *err);  /* storage.c */
enum gnn_status gnn_bench_sampling(struct gnn_bench *bench, struct gnn_err *err); /* sampling.c */
enum gnn_status gnn_bench_memory(struct gnn_bench *bench, struct gnn_err *err);   /* memory.c */
enum gnn_status gnn_bench_pages(struct gnn_bench *bench, struct gnn_err *err);    /* pages.c */
enum gnn_status gnn_bench_reclaim(struct gnn_bench *bench, struct gnn_err *err);  /* reclaim.c */
enum gnn_status gnn_bench_ring(struct gnn_bench *bench, struct gnn_err *err);     /* ring.c */
enum gnn_status gnn_bench_threads(struct gnn_bench *bench, struct gnn_err *err);  /* threads.c */
enum gnn_status gnn_bench_compute(struct gnn_bench *bench, struct gnn_err *err);  /* compute.c */
enum gnn_status gnn_bench_cuda(struct gnn_bench *bench, struct gnn_err *err);     /* cuda.c */

#endif
