/* SPDX-License-Identifier: MIT */
/* What AGNES is made of, by itself.
 *
 *     bench_agnes [--dir build/bench] [--rounds 3]
 *
 * 1. Bucket building: nanoseconds of one core per entry at three sizes of a hyperbatch. Linear means: the same number.
 * 2. Blocks through a block reader, ascending, to two workers, beside fio at the same size and depth, in alternate
 *    rounds on one file: every block once (gathering), every second one (sampling). Target: 90 % of fio's bandwidth.
 * The file (512 MiB, written once) is made in --dir, which must do direct I/O. */
#include "harness/base/rng.h"
#include "harness/storage/exact.h"
#include "harness/world/measured/measured.h"
#include "systems/agnes/block_reader.h"
#include "systems/agnes/bucket.h"
#include "tests/bench/fio.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

enum { ROUNDS_MAX = 16, MIB = 1 << 20, WORKERS = 2, DEPTH = 32, BATCH_NODES = 6000, ROW_BLOCKS = 1101 };
static const uint64_t file_bytes = UINT64_C(512) << 20;

struct bench {
    const char *dir;
    uint32_t rounds;
    char path[512];
    struct gnn_world *world;
    struct gnn_file *file;
};

/* ---- buckets ---- */

struct lists {
    const gnn_node *nodes; /* (batches, BATCH_NODES) */
    uint32_t rows;         /* of a block */
};

static uint32_t block_of(void *ctx, uint32_t batch, uint32_t position, uint32_t *out)
{
    const struct lists *const lists = ctx;
    out[0] = lists->nodes[(uint64_t)batch * BATCH_NODES + position] / lists->rows;
    return 1;
}

static enum gnn_status time_buckets(struct bench *b, uint32_t batches, double *ns, struct gnn_err *err)
{
    struct agnes_bucket bucket;
    struct lists lists = {.rows = 1024};
    const uint64_t entries = (uint64_t)batches * BATCH_NODES;
    void *nodes = NULL, *counts = NULL;
    GNN_TRY(gnn_mem_alloc(b->world, "nodes", entries * sizeof(gnn_node), GNN_MEM_PLAIN, &nodes, err));
    GNN_TRY(gnn_mem_alloc(b->world, "counts", batches * sizeof(uint32_t), GNN_MEM_PLAIN, &counts, err));
    for (uint64_t i = 0; i < entries; i++)
        ((gnn_node *)nodes)[i] = (gnn_node)(gnn_splitmix64_at(3, i) % (ROW_BLOCKS * UINT64_C(1024)));
    for (uint32_t j = 0; j < batches; j++)
        ((uint32_t *)counts)[j] = BATCH_NODES;
    lists.nodes = nodes;
    GNN_TRY(agnes_bucket_open(b->world, ROW_BLOCKS, 1, &bucket, err));
    enum gnn_status status = GNN_OK;
    *ns = 0;
    for (uint32_t round = 0; status == GNN_OK && round <= b->rounds; round++) { /* the first touches the memory */
        const uint64_t start_ns = gnn_now_ns(b->world);
        status = agnes_bucket_build(&bucket, NULL, counts, batches, block_of, &lists, err);
        const double took = (double)(gnn_now_ns(b->world) - start_ns) / (double)entries;
        if (round == 1 || (round > 1 && took < *ns))
            *ns = took;
    }
    agnes_bucket_close(&bucket);
    gnn_mem_free(b->world, counts);
    gnn_mem_free(b->world, nodes);
    return status;
}

static enum gnn_status buckets(struct bench *b, struct gnn_err *err)
{
    static const uint32_t sizes[] = {75, 300, 1200};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double ns;
        GNN_TRY(time_buckets(b, sizes[i], &ns, err));
        printf("bucket of %5" PRIu32 " mini-batches, %8" PRIu64 " entries: %5.1f ns an entry\n", sizes[i],
               (uint64_t)sizes[i] * BATCH_NODES, ns);
        (void)fflush(stdout);
    }
    return GNN_OK;
}

/* ---- blocks ---- */

struct reading {
    struct bench *b;
    struct gnn_team *team;
    struct agnes_block_reader *reader;
    uint32_t block_bytes;
    uint32_t *needed;
    uint32_t count;
    atomic_uint served;
};

static enum gnn_status serve(void *ctx, uint32_t worker, uint32_t block, const void *memory, struct gnn_err *err)
{
    (void)worker;
    uint64_t first;
    memcpy(&first, memory, sizeof first);
    if (first != gnn_mix64((uint64_t)block * ((struct reading *)ctx)->block_bytes))
        return gnn_fail(err, GNN_EBUG, "block %" PRIu32 " holds another one's bytes", block);
    atomic_fetch_add(&((struct reading *)ctx)->served, 1);
    return GNN_OK;
}

static enum gnn_status drive(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    (void)worker;
    struct reading *const r = ctx;
    GNN_TRY(agnes_block_reader_serve(r->reader, r->needed, r->count, serve, r, err));
    gnn_team_done(r->team);
    return GNN_OK;
}

static enum gnn_status run_pipeline(struct reading *r, double *rate, struct gnn_err *err)
{
    struct gnn_world *const world = r->b->world;
    struct gnn_pipeline *pipeline = NULL;
    enum gnn_status status = gnn_pipeline_open(world, &pipeline, err);
    if (status == GNN_OK)
        status = gnn_pipeline_stage(pipeline, "drive", 1, drive, r, err);
    if (status == GNN_OK)
        status = gnn_team_stage(r->team, pipeline, "work", err);
    const uint64_t start_ns = gnn_now_ns(world);
    if (status == GNN_OK)
        status = gnn_pipeline_run(pipeline, err);
    *rate = (double)r->count * r->block_bytes * 1e9 / (double)(gnn_now_ns(world) - start_ns);
    gnn_pipeline_close(pipeline);
    if (status == GNN_OK && atomic_load(&r->served) != r->count)
        return gnn_fail(err, GNN_EBUG, "%u blocks of %" PRIu32 " were served", atomic_load(&r->served), r->count);
    return status;
}

static enum gnn_status measure_ours(struct bench *b, uint32_t bytes, uint32_t step, double *rate, struct gnn_err *err)
{
    const struct gnn_env env = {.world = b->world, .io_engine = GNN_RING_URING};
    struct reading r = {.b = b, .block_bytes = bytes};
    const uint32_t blocks = (uint32_t)(file_bytes / bytes);
    struct agnes_block_reader_config config = {
        .file = b->file,
        .depth = DEPTH,
        .resident_first = true,
        .buffer = {.name = "bench blocks", .frames = DEPTH + WORKERS, .blocks = blocks, .block_bytes = bytes}};
    GNN_NEW(r.needed, blocks, err, "%" PRIu32 " blocks", blocks);
    for (uint32_t i = 0; i < blocks; i += step)
        r.needed[r.count++] = i;
    enum gnn_status status = gnn_team_open(b->world, WORKERS, &r.team, err);
    config.team = r.team;
    if (status == GNN_OK)
        status = agnes_block_reader_open(&env, &config, &r.reader, err);
    if (status == GNN_OK)
        status = run_pipeline(&r, rate, err);
    agnes_block_reader_close(r.reader);
    gnn_team_close(r.team);
    free(r.needed);
    return status;
}

/* ---- fio ---- */

static enum gnn_status measure_fio(const struct bench *b, uint32_t bytes, uint32_t step, bool print, double *rate,
                                   struct gnn_err *err)
{
    char filename[600], bs[FIO_BLOCKS_BYTES], iodepth[32], rw[48];
    (void)snprintf(filename, sizeof filename, "--filename=%s", b->path);
    fio_blocks(bs, bytes);
    (void)snprintf(iodepth, sizeof iodepth, "--iodepth=%d", DEPTH);
    if (step == 1)
        (void)snprintf(rw, sizeof rw, "--rw=read");
    else /* every second one: the offset moves on by one more block after each */
        (void)snprintf(rw, sizeof rw, "--rw=read:%u", (step - 1) * bytes);
    const char *const argv[] = {FIO_IN_LARGE_PAGES,
                                "--name=bench",
                                "--ioengine=io_uring",
                                "--direct=1",
                                rw,
                                "--gtod_reduce=1",
                                "--size=512m",
                                "--allow_file_create=0",
                                "--output-format=json",
                                filename,
                                bs,
                                iodepth,
                                NULL};
    for (size_t i = 0; print && argv[i] != NULL; i++)
        printf("%s%s", i == 0 ? "# " : " ", argv[i]);
    if (print)
        printf("\n");
    (void)fflush(stdout);
    return fio_figure(argv, "read", "bw_bytes", rate)
               ? GNN_OK
               : gnn_fail(err, GNN_ENOTSUP, "fio did not run or printed no bandwidth");
}

/* Other work on the machine only slows a round down: the best one is the least disturbed. */
static double best(const double *values, uint32_t count)
{
    double most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

static enum gnn_status compare(struct bench *b, uint32_t bytes, uint32_t step, struct gnn_err *err)
{
    double ours[ROUNDS_MAX], theirs[ROUNDS_MAX];
    for (uint32_t round = 0; round < b->rounds; round++) {
        GNN_TRY(measure_fio(b, bytes, step, round == 0, &theirs[round], err));
        GNN_TRY(measure_ours(b, bytes, step, &ours[round], err));
    }
    const double fio = best(theirs, b->rounds), own = best(ours, b->rounds);
    printf("blocks of %7u B, %s, depth %d: fio %7.0f MB/s, ours %7.0f MB/s, ratio %5.1f %%%s\n", bytes,
           step == 1 ? "all          " : "every second ", DEPTH, fio * 1e-6, own * 1e-6, 100 * own / fio,
           own < 0.9 * fio ? "  below the target of 90 %" : "");
    (void)fflush(stdout);
    return GNN_OK;
}

/* ---- the file ---- */

/* Written, not merely allocated: reads of unwritten extents never reach the disk. */
static enum gnn_status write_file(struct bench *b, struct gnn_err *err)
{
    struct gnn_file *file = NULL;
    void *memory = NULL;
    printf("# writing %s\n", b->path);
    GNN_TRY(gnn_mem_alloc(b->world, "bench buffer", MIB, GNN_MEM_PLAIN, &memory, err));
    enum gnn_status status =
        gnn_file_open(b->world, b->path, GNN_OPEN_WRITE | GNN_OPEN_DIRECT | GNN_OPEN_TRUNCATE, &file, err);
    for (uint64_t at = 0; status == GNN_OK && at < file_bytes; at += MIB) {
        for (uint64_t i = 0; i < MIB; i += 8) {
            const uint64_t value = gnn_mix64(at + i);
            memcpy((unsigned char *)memory + i, &value, sizeof value);
        }
        status = gnn_write_all(b->world, file, at, memory, MIB, err);
    }
    if (status == GNN_OK)
        status = gnn_file_sync(b->world, file, err);
    gnn_file_close(b->world, file);
    gnn_mem_free(b->world, memory);
    return status;
}

static enum gnn_status prepare(struct bench *b, struct gnn_err *err)
{
    if (mkdir(b->dir, 0777) != 0 && errno != EEXIST)
        return gnn_fail(err, GNN_EIO, "%s: %s", b->dir, strerror(errno));
    (void)snprintf(b->path, sizeof b->path, "%s/bench_agnes.data", b->dir);
    struct stat info;
    if (stat(b->path, &info) != 0 || (uint64_t)info.st_size != file_bytes)
        GNN_TRY(write_file(b, err));
    return gnn_file_open(b->world, b->path, GNN_OPEN_DIRECT, &b->file, err);
}

static enum gnn_status run(struct bench *b, struct gnn_err *err)
{
    static const uint32_t sizes[] = {64 << 10, 256 << 10, 1 << 20};
    GNN_TRY(buckets(b, err));
    GNN_TRY(prepare(b, err));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint32_t step = 1; step <= 2; step++)
            GNN_TRY(compare(b, sizes[s], step, err));
    return GNN_OK;
}

int main(int argc, char **argv)
{
    struct bench b = {.dir = "build/bench", .rounds = 3};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--dir") == 0)
            b.dir = argv[i + 1];
        else if (strcmp(argv[i], "--rounds") == 0)
            b.rounds = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    }
    if (argc % 2 == 0 || b.rounds == 0 || b.rounds > ROUNDS_MAX) {
        (void)fprintf(stderr, "usage: bench_agnes [--dir build/bench] [--rounds 1..%d]\n", ROUNDS_MAX);
        return 2;
    }
    struct gnn_err err = {0};
    enum gnn_status status = gnn_world_measured_open(NULL, &b.world, &err);
    if (status == GNN_OK)
        status = run(&b, &err);
    if (status != GNN_OK)
        (void)fprintf(stderr, "bench_agnes: %s\n", err.message);
    if (b.world != NULL) {
        gnn_file_close(b.world, b.file);
        gnn_world_measured_close(b.world);
    }
    return status == GNN_OK ? 0 : 1;
}
