/* SPDX-License-Identifier: MIT */
/* Random direct reads of one size through this program's own reader, as many threads as a run's extractors, each with a
 * ring of its own 64 deep: what storage gives at most, for an epoch's I/O floor. */
#include "harness/base/rng.h"
#include "harness/storage/reader.h"
#include "harness/world/measured/measured.h"
#include "tests/gpu/bench_gpu.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 64, SLOT_BYTES_MAX = 1 << 20, THREADS_MAX = 64 };

struct lane {
    const struct bench_reads *config;
    struct gnn_world *world;
    struct gnn_file *file;
    uint64_t file_bytes, key, completed;
    struct gnn_thread *thread;
    struct gnn_err err;
};

/* Keeps the ring full until the time is over. */
static enum gnn_status keep_reading(struct lane *lane, struct gnn_reader *reader, unsigned char *memory)
{
    const uint32_t bytes = lane->config->bytes;
    const uint64_t end_ns = gnn_now_ns(lane->world) + (uint64_t)(lane->config->seconds * 1e9);
    struct gnn_rng rng = gnn_rng_at(lane->key);
    uint64_t tags[DEPTH];
    uint32_t count = DEPTH, accepted, got;
    for (uint32_t i = 0; i < DEPTH; i++)
        tags[i] = i;
    while (gnn_now_ns(lane->world) < end_ns) {
        struct gnn_load loads[DEPTH];
        for (uint32_t i = 0; i < count; i++)
            loads[i] = (struct gnn_load){.len_bytes = bytes,
                                         .offset_bytes = gnn_rng_below(&rng, lane->file_bytes / bytes) * bytes,
                                         .dst = memory + tags[i] * bytes,
                                         .tag = tags[i]};
        GNN_TRY(gnn_reader_submit(reader, loads, count, &accepted, &lane->err));
        for (uint32_t i = 0; i < count - accepted; i++)
            tags[i] = tags[accepted + i];
        count -= accepted;
        GNN_TRY(gnn_reader_harvest(reader, 1, DEPTH / 8, tags + count, &got, &lane->err));
        count += got;
        lane->completed += got;
    }
    return GNN_OK;
}

static void lane_main(void *arg)
{
    struct lane *const lane = arg;
    const struct gnn_reader_config config = {
        .engine = lane->config->engine, .depth = DEPTH, .files = &lane->file, .file_count = 1};
    struct gnn_reader *reader = NULL;
    void *memory = NULL;
    enum gnn_status status = gnn_mem_alloc(lane->world, "reads", (uint64_t)DEPTH * lane->config->bytes,
                                           GNN_MEM_FEATURES, &memory, &lane->err);
    GNN_NEXT(status, gnn_reader_open(lane->world, &config, &reader, &lane->err));
    GNN_NEXT(status, keep_reading(lane, reader, memory));
    if (reader != NULL)
        gnn_reader_close(reader);
    gnn_mem_free(lane->world, memory);
}

/* Reads per second of all lanes together; the first error of any. */
static enum gnn_status run_lanes(struct lane *lanes, uint32_t count, double *reads_per_s, struct gnn_err *err)
{
    struct gnn_world *const world = lanes[0].world;
    const uint64_t start_ns = gnn_now_ns(world);
    enum gnn_status status = GNN_OK;
    uint64_t completed = 0;
    for (uint32_t i = 0; status == GNN_OK && i < count; i++)
        status = gnn_thread_start(world, "reads", lane_main, &lanes[i], &lanes[i].thread, err);
    for (uint32_t i = 0; i < count; i++) {
        gnn_thread_join(world, lanes[i].thread);
        completed += lanes[i].completed;
        if (status == GNN_OK && lanes[i].err.status != GNN_OK)
            status = gnn_fail(err, lanes[i].err.status, "%s", lanes[i].err.message);
    }
    *reads_per_s = (double)completed / ((double)(gnn_now_ns(world) - start_ns) * 1e-9);
    return status;
}

int bench_reads(const struct bench_reads *config)
{
    struct lane lanes[THREADS_MAX] = {{.config = NULL}};
    struct gnn_world *world = NULL;
    struct gnn_file *file = NULL;
    struct gnn_err err = {0};
    double reads_per_s = 0;
    if (config->threads == 0 || config->threads > THREADS_MAX || config->bytes == 0 || config->bytes > SLOT_BYTES_MAX)
        return 2;
    enum gnn_status status = gnn_world_measured_open(NULL, &world, &err);
    GNN_NEXT(status, gnn_file_open(world, config->path, GNN_OPEN_DIRECT, &file, &err));
    struct gnn_file_info info = {.size_bytes = 0};
    if (status == GNN_OK)
        gnn_file_info(world, file, &info);
    for (uint32_t i = 0; i < config->threads; i++)
        lanes[i] =
            (struct lane){.config = config, .world = world, .file = file, .file_bytes = info.size_bytes, .key = i + 1};
    if (status == GNN_OK && info.size_bytes < config->bytes)
        status = gnn_fail(&err, GNN_EUSAGE, "%s is smaller than one read", config->path);
    GNN_NEXT(status, run_lanes(lanes, config->threads, &reads_per_s, &err));
    if (file != NULL)
        gnn_file_close(world, file);
    if (world != NULL)
        gnn_world_measured_close(world);
    if (status != GNN_OK) {
        (void)fprintf(stderr, "bench_gpu: %s\n", err.message);
        return 1;
    }
    (void)printf("{\"reads_per_s\":%.6g}\n", reads_per_s);
    return 0;
}
