/* SPDX-License-Identifier: MIT */
/* Random direct reads through the batched reader, and writes through a ring, against fio at the same size and depth and
 * on as many rings, in alternate short rounds on one file: requests a second, and time on a core (user and kernel) a
 * request. Target: 97 % of fio's IOPS with no more of a core.
 *
 *     bench_io [--dir build/bench] [--seconds 2] [--rounds 4]
 *
 * The file (1 GiB, written once) is made in --dir, which must do direct I/O. fio runs its io_uring engine with its
 * clock reads reduced; its command line is printed. The core's time of fio is that of its jobs, without their start;
 * ours that of the process. A ring has a thread of its own, here and there. The last line is what a gather costs that
 * touches nothing. */
#include "harness/base/rng.h"
#include "harness/storage/reader.h"
#include "harness/world/measured/measured.h"
#include "tests/bench/fio.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS_MAX = 16, DEPTH_MAX = 128, RINGS_MAX = 8, MIB = 1 << 20, BUFFER_BYTES = 64 * MIB };
static const uint64_t file_bytes = UINT64_C(1) << 30;

struct bench {
    const char *dir;
    uint64_t seconds;
    uint32_t rounds;
    char path[512];
    struct gnn_world *world;
    struct gnn_file *file;
    unsigned char *memory; /* BUFFER_BYTES */
};

/* What one row compares. */
struct mix {
    bool writes;
    uint32_t bytes, depth, rings; /* depth of each ring */
};

struct rate {
    double iops;
    double core_us; /* a request */
};

/* ---- the file ---- */

/* Written, not merely allocated: reads of unwritten extents never reach the disk. */
static enum gnn_status write_file(struct bench *b, struct gnn_err *err)
{
    printf("# writing %s\n", b->path);
    struct gnn_file *file;
    GNN_TRY(gnn_file_open(b->world, b->path, GNN_OPEN_WRITE | GNN_OPEN_DIRECT | GNN_OPEN_TRUNCATE, &file, err));
    enum gnn_status status = GNN_OK;
    for (uint64_t at = 0; status == GNN_OK && at < file_bytes; at += MIB) {
        for (uint64_t i = 0; i < MIB; i += 8) {
            const uint64_t value = gnn_mix64(at + i);
            memcpy(b->memory + i, &value, sizeof value);
        }
        status = gnn_write_all(b->world, file, at, b->memory, MIB, err);
    }
    if (status == GNN_OK)
        status = gnn_file_sync(b->world, file, err);
    gnn_file_close(b->world, file);
    return status;
}

static enum gnn_status prepare(struct bench *b, struct gnn_err *err)
{
    if (mkdir(b->dir, 0777) != 0 && errno != EEXIST)
        return gnn_fail(err, GNN_EIO, "%s: %s", b->dir, strerror(errno));
    (void)snprintf(b->path, sizeof b->path, "%s/bench_io.data", b->dir);
    GNN_TRY(gnn_world_measured_open(NULL, &b->world, err));
    void *memory;
    GNN_TRY(gnn_mem_alloc(b->world, "bench buffers", BUFFER_BYTES, GNN_MEM_PINNED, &memory, err));
    b->memory = memory;
    struct stat info;
    if (stat(b->path, &info) != 0 || (uint64_t)info.st_size != file_bytes)
        GNN_TRY(write_file(b, err));
    return gnn_file_open(b->world, b->path, GNN_OPEN_WRITE | GNN_OPEN_DIRECT, &b->file, err);
}

static void finish(struct bench *b)
{
    if (b->world == NULL)
        return;
    gnn_file_close(b->world, b->file);
    gnn_mem_free(b->world, b->memory);
    gnn_world_measured_close(b->world);
}

/* ---- ours ---- */

/* Time that this process has had of a core. */
static double core_s(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* A ring and its thread. */
struct lane {
    struct bench *bench;
    const struct mix *mix;
    unsigned char *memory; /* of its requests */
    struct gnn_rng rng;
    uint64_t start_ns, end_ns, completed; /* between opening and closing */
    struct gnn_thread *thread;
    enum gnn_status status;
    struct gnn_err err;
};

static uint64_t stride_of(const struct mix *mix)
{
    return gnn_max_u32(mix->bytes, 4096);
}

static uint64_t random_offset(struct lane *lane)
{
    return gnn_rng_below(&lane->rng, file_bytes / lane->mix->bytes) * lane->mix->bytes;
}

static void begin(struct lane *lane)
{
    lane->start_ns = gnn_now_ns(lane->bench->world);
    lane->end_ns = lane->start_ns + lane->bench->seconds * UINT64_C(1000000000);
}

/* Keeps `depth` random reads in flight until the time is over, in the rhythm of gnn_reader_load_all. */
static enum gnn_status keep_reading(struct lane *lane, struct gnn_reader *reader)
{
    const struct mix *const mix = lane->mix;
    uint64_t free_tags[DEPTH_MAX];
    uint32_t free_count = 0;
    for (uint32_t i = 0; i < mix->depth; i++)
        free_tags[free_count++] = i;
    begin(lane);
    while (gnn_now_ns(lane->bench->world) < lane->end_ns) {
        struct gnn_load loads[DEPTH_MAX];
        for (uint32_t i = 0; i < free_count; i++)
            loads[i] = (struct gnn_load){.len_bytes = mix->bytes,
                                         .offset_bytes = random_offset(lane),
                                         .dst = lane->memory + free_tags[i] * stride_of(mix),
                                         .tag = free_tags[i]};
        uint32_t accepted, got;
        GNN_TRY(gnn_reader_submit(reader, loads, free_count, &accepted, &lane->err));
        memmove(free_tags, free_tags + accepted, (free_count - accepted) * sizeof free_tags[0]);
        free_count -= accepted;
        GNN_TRY(gnn_reader_harvest(reader, 1, mix->depth / 8 + 1, free_tags + free_count, &got, &lane->err));
        free_count += got;
        lane->completed += got;
    }
    lane->end_ns = gnn_now_ns(lane->bench->world);
    return GNN_OK;
}

/* Keeps as many writes in flight. */
static enum gnn_status keep_writing(struct lane *lane, struct gnn_ring *ring)
{
    const struct mix *const mix = lane->mix;
    struct gnn_world *const world = lane->bench->world;
    uint64_t free_tags[DEPTH_MAX];
    uint32_t free_count = 0;
    for (uint32_t i = 0; i < mix->depth; i++)
        free_tags[free_count++] = i;
    begin(lane);
    while (gnn_now_ns(world) < lane->end_ns) {
        struct gnn_write writes[DEPTH_MAX];
        struct gnn_completion done[DEPTH_MAX];
        for (uint32_t i = 0; i < free_count; i++)
            writes[i] = (struct gnn_write){.file = lane->bench->file,
                                           .len_bytes = mix->bytes,
                                           .offset_bytes = random_offset(lane),
                                           .src = lane->memory + free_tags[i] * stride_of(mix),
                                           .tag = free_tags[i]};
        uint32_t accepted, got;
        GNN_TRY(gnn_ring_submit_writes(world, ring, writes, free_count, &accepted, &lane->err));
        memmove(free_tags, free_tags + accepted, (free_count - accepted) * sizeof free_tags[0]);
        free_count -= accepted;
        GNN_TRY(gnn_ring_wait(world, ring, 1, mix->depth / 8 + 1, done, &got, &lane->err));
        for (uint32_t i = 0; i < got; i++) {
            if (done[i].result != (int32_t)mix->bytes)
                return gnn_fail(&lane->err, GNN_EIO, "a write of %u bytes ended with %d", mix->bytes, done[i].result);
            free_tags[free_count++] = done[i].tag;
        }
        lane->completed += got;
    }
    lane->end_ns = gnn_now_ns(lane->bench->world);
    return GNN_OK;
}

static void lane_main(void *arg)
{
    struct lane *const lane = arg;
    struct gnn_world *const world = lane->bench->world;
    if (lane->mix->writes) {
        const struct gnn_ring_config config = {.engine = GNN_RING_URING,
                                               .depth = lane->mix->depth,
                                               .register_files = &lane->bench->file,
                                               .register_file_count = 1};
        struct gnn_ring *ring = NULL;
        lane->status = gnn_ring_open(world, &config, &ring, &lane->err);
        GNN_NEXT(lane->status, keep_writing(lane, ring));
        if (ring != NULL)
            gnn_ring_close(world, ring);
    } else {
        const struct gnn_reader_config config = {
            .engine = GNN_RING_URING, .depth = lane->mix->depth, .files = &lane->bench->file, .file_count = 1};
        struct gnn_reader *reader = NULL;
        lane->status = gnn_reader_open(world, &config, &reader, &lane->err);
        GNN_NEXT(lane->status, keep_reading(lane, reader));
        gnn_reader_close(reader);
    }
}

static enum gnn_status measure_ours(struct bench *b, const struct mix *mix, uint32_t round, struct rate *rate,
                                    struct gnn_err *err)
{
    struct lane lanes[RINGS_MAX] = {{0}};
    assert(stride_of(mix) * mix->rings * mix->depth <= BUFFER_BYTES);
    const double start_core_s = core_s();
    enum gnn_status status = GNN_OK;
    uint64_t completed = 0;
    double iops = 0;
    for (uint32_t i = 0; status == GNN_OK && i < mix->rings; i++) {
        lanes[i] =
            (struct lane){.bench = b,
                          .mix = mix,
                          .memory = b->memory + stride_of(mix) * i * mix->depth,
                          .rng = gnn_rng_at(gnn_rng_fold(gnn_rng_fold(mix->bytes, mix->depth), round * RINGS_MAX + i))};
        status = gnn_thread_start(b->world, "lane", lane_main, &lanes[i], &lanes[i].thread, err);
    }
    for (uint32_t i = 0; i < mix->rings; i++) {
        gnn_thread_join(b->world, lanes[i].thread);
        completed += lanes[i].completed;
        if (lanes[i].end_ns > lanes[i].start_ns)
            iops += (double)lanes[i].completed * 1e9 / (double)(lanes[i].end_ns - lanes[i].start_ns);
        if (status == GNN_OK && lanes[i].status != GNN_OK)
            status = gnn_fail(err, lanes[i].status, "%s", lanes[i].err.message);
    }
    if (status == GNN_OK && completed == 0)
        status = gnn_fail(err, GNN_EIO, "%s: nothing was completed", b->path);
    rate->iops = iops;
    rate->core_us = (core_s() - start_core_s) * 1e6 / (double)gnn_max_u64(completed, 1);
    return status;
}

/* ---- fio ---- */

static enum gnn_status measure_fio(const struct bench *b, const struct mix *mix, uint32_t round, struct rate *rate,
                                   struct gnn_err *err)
{
    char filename[600], bs[FIO_BLOCKS_BYTES], iodepth[32], jobs[32], runtime[32], seed[32];
    (void)snprintf(filename, sizeof filename, "--filename=%s", b->path);
    fio_blocks(bs, mix->bytes);
    (void)snprintf(iodepth, sizeof iodepth, "--iodepth=%u", mix->depth);
    (void)snprintf(jobs, sizeof jobs, "--numjobs=%u", mix->rings);
    (void)snprintf(runtime, sizeof runtime, "--runtime=%u", (unsigned)b->seconds);
    (void)snprintf(seed, sizeof seed, "--randseed=%u", round + 1);
    const char *const argv[] = {FIO_IN_LARGE_PAGES,
                                "--name=bench",
                                "--ioengine=io_uring",
                                "--direct=1",
                                mix->writes ? "--rw=randwrite" : "--rw=randread",
                                "--norandommap",
                                "--time_based",
                                "--gtod_reduce=1",
                                "--size=1g",
                                "--allow_file_create=0",
                                "--thread",
                                "--group_reporting",
                                "--output-format=json",
                                filename,
                                bs,
                                iodepth,
                                jobs,
                                runtime,
                                seed,
                                NULL};
    if (round == 0) {
        printf("#");
        for (size_t i = 0; argv[i] != NULL; i++)
            printf(" %s", argv[i]);
        printf("\n");
        (void)fflush(stdout);
    }
    double user_percent = 0, kernel_percent = 0;
    char *const text = output_of((char *const *)argv);
    const bool found = text != NULL && figure_of(text, mix->writes ? "write" : "read", "iops", &rate->iops) &&
                       rate->iops > 0 && figure_of(text, NULL, "usr_cpu", &user_percent) &&
                       figure_of(text, NULL, "sys_cpu", &kernel_percent);
    free(text);
    /* Percents are of the mean job. */
    rate->core_us = found ? (user_percent + kernel_percent) * 1e4 * mix->rings / rate->iops : 0;
    return found ? GNN_OK
                 : gnn_fail(err, GNN_ENOTSUP,
                            "fio did not run or printed no IOPS; install fio and try the "
                            "line above");
}

/* ---- comparison ---- */

/* Other work on the machine only slows a round down: the best of either figure is the least disturbed. */
static struct rate best(const struct rate *values, uint32_t count)
{
    struct rate most = values[0];
    for (uint32_t i = 1; i < count; i++) {
        most.iops = values[i].iops > most.iops ? values[i].iops : most.iops;
        most.core_us = values[i].core_us < most.core_us ? values[i].core_us : most.core_us;
    }
    return most;
}

static enum gnn_status compare(struct bench *b, struct mix mix, struct gnn_err *err)
{
    struct rate ours[ROUNDS_MAX] = {{0}}, theirs[ROUNDS_MAX] = {{0}};
    for (uint32_t round = 0; round < b->rounds; round++) {
        GNN_TRY(measure_fio(b, &mix, round, &theirs[round], err));
        GNN_TRY(measure_ours(b, &mix, round, &ours[round], err));
    }
    const struct rate fio = best(theirs, b->rounds), own = best(ours, b->rounds);
    printf(
        "rand%s %7u B depth %3u rings %u: fio %9.0f IOPS, here %9.0f IOPS, ratio %5.1f %%%s; core %6.2f us each, here "
        "%6.2f%s\n",
        mix.writes ? "write" : "read", mix.bytes, mix.depth, mix.rings, fio.iops, own.iops, 100 * own.iops / fio.iops,
        own.iops < 0.97 * fio.iops ? " (below 97 %)" : "", fio.core_us, own.core_us,
        own.core_us > fio.core_us ? " (more)" : "");
    (void)fflush(stdout);
    return GNN_OK;
}

static enum gnn_status measure_gather(struct bench *b, struct gnn_err *err)
{
    enum { CALLS = 200000 };
    struct gnn_map *map;
    GNN_TRY(gnn_map_open(b->world, b->file, GNN_MAP_RANDOM, &map, err));
    const uint64_t index = 0;
    uint32_t value;
    const uint64_t start_ns = gnn_now_ns(b->world);
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; status == GNN_OK && i < CALLS; i++)
        status = gnn_map_gather_u32(b->world, map, &index, 1, &value, err);
    printf("gather of one resident element: %.2f us\n", (double)(gnn_now_ns(b->world) - start_ns) / CALLS * 1e-3);
    gnn_map_close(b->world, map);
    return status;
}

static enum gnn_status run(struct bench *b, struct gnn_err *err)
{
    static const uint32_t sizes[] = {512, 4096, 64 << 10, MIB};
    static const uint32_t depths[] = {1, 32, DEPTH_MAX}, write_depths[] = {1, 32};
    static const struct mix several[] = {{false, 4096, 32, 2}, {false, 64 << 10, 16, 4}, {true, 4096, 32, 2}};
    GNN_TRY(prepare(b, err));
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++)
            if ((uint64_t)sizes[s] * depths[d] <= BUFFER_BYTES)
                GNN_TRY(compare(b, (struct mix){false, sizes[s], depths[d], 1}, err));
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (size_t d = 0; d < sizeof write_depths / sizeof write_depths[0]; d++)
            GNN_TRY(compare(b, (struct mix){true, sizes[s], write_depths[d], 1}, err));
    for (size_t i = 0; i < sizeof several / sizeof several[0]; i++)
        GNN_TRY(compare(b, several[i], err));
    return measure_gather(b, err);
}

int main(int argc, char **argv)
{
    struct bench b = {.dir = "build/bench", .seconds = 2, .rounds = 4};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--dir") == 0)
            b.dir = argv[i + 1];
        else if (strcmp(argv[i], "--seconds") == 0)
            b.seconds = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--rounds") == 0)
            b.rounds = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    }
    if (argc % 2 == 0 || b.seconds == 0 || b.rounds == 0 || b.rounds > ROUNDS_MAX) {
        (void)fprintf(stderr, "usage: bench_io [--dir build/bench] [--seconds 2] [--rounds 1..%d]\n", ROUNDS_MAX);
        return 2;
    }
    struct gnn_err err = {0};
    const enum gnn_status status = run(&b, &err);
    if (status != GNN_OK)
        (void)fprintf(stderr, "bench_io: %s\n", err.message);
    finish(&b);
    return status == GNN_OK ? 0 : 1;
}
