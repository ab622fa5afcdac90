/* SPDX-License-Identifier: MIT */
/* What Ginex adds to an epoch, by itself.
 *
 *     bench_ginex [--dir build/bench] [--rounds 3]
 *
 * 1. Inspection: nanoseconds of one core per sampled node and pass, at three sizes of a superbatch and three of the
 *    feature cache, on a power-law stream of accesses. Linear means: the same number at every size.
 * 2. Large reads and writes beside fio at the same size and depth, in alternate rounds on one file system: the trace as
 *    it is written and read back, the neighbour cache as it is loaded, the direct fill. Target: 90 % of fio's
 *    bandwidth. What is read in order is read once more with its bytes taken in whatever order they come, as fio takes
 *    them: the difference is what handing out in order costs. A span that is there waits for those before it, and its
 *    place in memory with it, so that fewer than `depth` reads are under way.
 * The files (512 MiB) are made in --dir, which must do direct I/O, and have no name. */
#include "harness/base/rng.h"
#include "harness/base/units.h"
#include "harness/storage/stream.h"
#include "harness/world/measured/measured.h"
#include "systems/ginex/belady.h"
#include "tests/bench/fio.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>

enum { ROUNDS_MAX = 16, NODES = 1110600, BATCH_NODES = 6000, MIB = 1 << 20 };
static const uint64_t file_bytes = UINT64_C(512) << 20;

struct bench {
    const char *dir;
    uint32_t rounds;
    struct gnn_world *world;
};

/* ---- inspection ---- */

/* Batches of distinct nodes, two thirds of them from a power law over the nodes, in discovery order. */
static void draw_batch(uint64_t batch, uint32_t *stamp, gnn_node *nodes)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(7, batch));
    for (uint32_t count = 0; count < BATCH_NODES;) {
        const double u = gnn_rng_unit(&rng);
        const double place = gnn_rng_below(&rng, 3) == 0 ? u : pow(u, 4);
        const gnn_node v = (gnn_node)((uint64_t)(place * NODES) * UINT64_C(2654435761) % NODES);
        if (stamp[v] == batch + 1)
            continue;
        stamp[v] = (uint32_t)batch + 1;
        nodes[count++] = v;
    }
}

struct passes {
    double ns[3]; /* per access */
    double miss_share;
    uint64_t misses;
};

static enum gnn_status inspect_once(struct bench *b, const gnn_node *nodes, uint32_t batches, uint32_t rows,
                                    struct passes *out, struct gnn_err *err)
{
    const uint64_t accesses = (uint64_t)batches * BATCH_NODES;
    const struct ginex_belady_config config = {.node_count = NODES,
                                               .cache_rows = rows,
                                               .batches = batches,
                                               .accesses = accesses,
                                               .batch_nodes_max = BATCH_NODES};
    struct ginex_belady *belady;
    uint32_t initial_count = 0;
    void *initial = NULL;
    uint64_t at[4];
    GNN_TRY(gnn_mem_alloc(b->world, "initial", rows * sizeof(gnn_node), GNN_MEM_PLAIN, &initial, err));
    GNN_TRY(ginex_belady_open(b->world, &config, &belady, err));
    at[0] = gnn_now_ns(b->world);
    for (uint32_t k = 0; k < batches; k++)
        ginex_belady_count(belady, nodes + (uint64_t)k * BATCH_NODES, BATCH_NODES, initial, &initial_count);
    ginex_belady_lay_out(belady);
    at[1] = gnn_now_ns(b->world);
    for (uint32_t k = 0; k < batches; k++)
        ginex_belady_place(belady, k, nodes + (uint64_t)k * BATCH_NODES, BATCH_NODES);
    at[2] = gnn_now_ns(b->world);
    ginex_belady_begin(belady, initial, initial_count);
    uint64_t misses = 0;
    for (uint32_t k = 0; k < batches; k++) {
        struct ginex_changes changes;
        ginex_belady_step(belady, k, nodes + (uint64_t)k * BATCH_NODES, BATCH_NODES, &changes);
        misses += changes.misses;
    }
    at[3] = gnn_now_ns(b->world);
    for (int p = 0; p < 3; p++) {
        const double ns = (double)(at[p + 1] - at[p]) / (double)accesses;
        out->ns[p] = out->ns[p] == 0 || ns < out->ns[p] ? ns : out->ns[p];
    }
    out->misses = misses;
    out->miss_share = (double)misses / (double)accesses;
    ginex_belady_close(belady);
    gnn_mem_free(b->world, initial);
    return GNN_OK;
}

static enum gnn_status measure_inspection(struct bench *b, struct gnn_err *err)
{
    static const uint32_t sizes[] = {300, 600, 1200}, shares[] = {5, 20, 50};
    void *memory = NULL, *stamp = NULL;
    GNN_TRY(gnn_mem_alloc(b->world, "accesses", UINT64_C(1200) * BATCH_NODES * sizeof(gnn_node), GNN_MEM_PLAIN, &memory,
                          err));
    GNN_TRY(gnn_mem_alloc(b->world, "stamps", NODES * sizeof(uint32_t), GNN_MEM_PLAIN, &stamp, err));
    gnn_node *const nodes = memory;
    for (uint32_t k = 0; k < 1200; k++)
        draw_batch(k, stamp, nodes + (uint64_t)k * BATCH_NODES);
    printf("inspection, %d nodes, batches of %d rows, one core\n", NODES, BATCH_NODES);
    enum gnn_status status = GNN_OK;
    for (size_t c = 0; c < 3; c++) {
        double total[3];
        for (size_t s = 0; s < 3 && status == GNN_OK; s++) {
            struct passes p = {.ns = {0}};
            const uint32_t rows = (uint32_t)((uint64_t)NODES * shares[c] / 100);
            for (uint32_t round = 0; round < b->rounds && status == GNN_OK; round++)
                status = inspect_once(b, nodes, sizes[s], rows, &p, err);
            total[s] = p.ns[0] + p.ns[1] + p.ns[2];
            printf("cache %2u %% of nodes, %8" PRIu64 " sampled nodes: pass 1 %5.1f, 2 %5.1f, 3 %5.1f, sum %6.1f "
                   "ns each; %4.1f %% miss\n",
                   shares[c], (uint64_t)sizes[s] * BATCH_NODES, p.ns[0], p.ns[1], p.ns[2], total[s],
                   100 * p.miss_share);
        }
        if (status == GNN_OK)
            printf("  slope from %u to %u batches: %+.0f %% of the cost per node\n", sizes[0], sizes[2],
                   100 * (total[2] / total[0] - 1));
    }
    gnn_mem_free(b->world, stamp);
    gnn_mem_free(b->world, memory);
    return status;
}

/* ---- fio ---- */

struct kind {
    const char *name, *rw, *direction;
    uint32_t bytes, depth;
};

static enum gnn_status measure_fio(const struct bench *b, const struct kind *kind, uint32_t round, double *rate,
                                   struct gnn_err *err)
{
    char filename[600], bs[FIO_BLOCKS_BYTES], iodepth[32], rw[32], seed[32];
    (void)snprintf(filename, sizeof filename, "--filename=%s/bench_ginex.data", b->dir);
    fio_blocks(bs, kind->bytes);
    (void)snprintf(iodepth, sizeof iodepth, "--iodepth=%u", kind->depth);
    (void)snprintf(rw, sizeof rw, "--rw=%s", kind->rw);
    (void)snprintf(seed, sizeof seed, "--randseed=%u", round + 1);
    const char *const argv[] = {FIO_IN_LARGE_PAGES,
                                "--name=bench",
                                "--ioengine=io_uring",
                                "--direct=1",
                                rw,
                                "--gtod_reduce=1",
                                "--size=512m",
                                "--output-format=json",
                                filename,
                                bs,
                                iodepth,
                                seed,
                                NULL};
    if (round == 0) {
        printf("#");
        for (size_t i = 0; argv[i] != NULL; i++)
            printf(" %s", argv[i]);
        printf("\n");
    }
    (void)fflush(stdout);
    return fio_figure(argv, kind->direction, "bw_bytes", rate)
               ? GNN_OK
               : gnn_fail(err, GNN_ENOTSUP, "fio did not run or printed no bandwidth");
}

/* ---- ours ---- */

static double rate_of(struct bench *b, uint64_t bytes, uint64_t start_ns)
{
    return (double)bytes / ((double)(gnn_now_ns(b->world) - start_ns) * 1e-9);
}

/* Appends records of 24 KiB, about what a mini-batch at 1/100 has, until the file is full. */
static enum gnn_status write_trace(struct bench *b, uint32_t block_bytes, struct gnn_stream_file **trace,
                                   struct gnn_stream **stream, double *rate, struct gnn_err *err)
{
    static unsigned char record[24 << 10];
    for (size_t i = 0; i < sizeof record; i++)
        record[i] = (unsigned char)gnn_mix64(i);
    const struct gnn_stream_file_config config = {.dir = b->dir, .direct = true, .block_bytes = block_bytes};
    GNN_TRY(gnn_stream_file_open(b->world, &config, trace, err));
    GNN_TRY(gnn_stream_open(*trace, stream, err));
    const uint64_t start_ns = gnn_now_ns(b->world);
    while (gnn_stream_bytes(*stream) < file_bytes) {
        const uint64_t left = file_bytes - gnn_stream_bytes(*stream);
        GNN_TRY(gnn_stream_append(*stream, record, left < sizeof record ? left : sizeof record, err));
    }
    GNN_TRY(gnn_stream_seal(*stream, err));
    *rate = rate_of(b, file_bytes, start_ns);
    return GNN_OK;
}

/* Multiplier of a permutation: spans in no order. A prime, so it serves any number of spans that it does not divide. */
static const uint64_t scattered = UINT64_C(2654435761);

struct spans {
    const struct gnn_stream *stream;
    uint64_t next, count, bytes, order; /* order: 0 sequential, else `scattered` */
};

static uint64_t place_of(uint64_t number, uint64_t count, uint64_t order)
{
    return order == 0 ? number : number * order % count;
}

static bool is_read(const struct kind *kind)
{
    return strcmp(kind->direction, "read") == 0;
}

static uint64_t order_of(const struct kind *kind)
{
    return strcmp(kind->rw, "randread") == 0 ? scattered : 0;
}

static bool next_span(void *ctx, struct gnn_span *out)
{
    struct spans *s = ctx;
    if (s->next == s->count)
        return false;
    const uint64_t place = place_of(s->next++, s->count, s->order);
    *out = (struct gnn_span){.stream = s->stream, .offset_bytes = place * s->bytes, .len_bytes = s->bytes};
    return true;
}

static enum gnn_status read_spans(struct bench *b, struct gnn_stream_file *trace, const struct gnn_stream *stream,
                                  const struct kind *kind, double *rate, struct gnn_err *err)
{
    const struct gnn_span_reader_config config = {.engine = GNN_RING_URING,
                                                  .file = gnn_stream_file_handle(trace),
                                                  .depth = kind->depth + 1,
                                                  .span_bytes_max = kind->bytes};
    struct spans spans = {
        .stream = stream, .count = file_bytes / kind->bytes, .bytes = kind->bytes, .order = order_of(kind)};
    struct gnn_span_reader *reader;
    GNN_TRY(gnn_span_reader_open(b->world, &config, &reader, err));
    const uint64_t start_ns = gnn_now_ns(b->world);
    gnn_span_reader_start(reader, next_span, &spans);
    enum gnn_status status = GNN_OK;
    void *data = reader;
    uint64_t read_bytes = 0;
    for (struct gnn_span span; status == GNN_OK && data != NULL; read_bytes += data != NULL ? span.len_bytes : 0)
        status = gnn_span_reader_next(reader, &span, &data, err);
    *rate = rate_of(b, read_bytes, start_ns);
    gnn_span_reader_close(reader);
    return status;
}

/* The same reads, as many at a time, each taken when it is there. */
static enum gnn_status read_as_they_come(struct bench *b, struct gnn_stream_file *trace, const struct kind *kind,
                                         uint64_t order, double *rate, struct gnn_err *err)
{
    struct gnn_file *const file = gnn_stream_file_handle(trace);
    const struct gnn_reader_config config = {
        .engine = GNN_RING_URING, .depth = kind->depth, .files = &file, .file_count = 1};
    const uint64_t count = file_bytes / kind->bytes;
    struct gnn_reader *reader = NULL;
    void *memory = NULL;
    uint64_t tags[64], submitted = 0, taken = 0;
    uint32_t accepted, got = kind->depth;
    assert(kind->depth <= 64);
    for (uint32_t i = 0; i < kind->depth; i++)
        tags[i] = i;
    GNN_TRY(gnn_mem_alloc(b->world, "spans", (uint64_t)kind->depth * kind->bytes, GNN_MEM_PINNED, &memory, err));
    enum gnn_status status = gnn_reader_open(b->world, &config, &reader, err);
    const uint64_t start_ns = gnn_now_ns(b->world);
    while (status == GNN_OK && taken < count) {
        for (uint32_t i = 0; i < got && submitted < count && status == GNN_OK; i++) {
            const struct gnn_load load = {.len_bytes = kind->bytes,
                                          .offset_bytes = place_of(submitted++, count, order) * kind->bytes,
                                          .dst = (unsigned char *)memory + tags[i] * kind->bytes,
                                          .tag = tags[i]};
            status = gnn_reader_submit(reader, &load, 1, &accepted, err);
            assert(status != GNN_OK || accepted == 1);
        }
        GNN_NEXT(status, gnn_reader_harvest(reader, 1, kind->depth, tags, &got, err));
        taken += status == GNN_OK ? got : 0;
    }
    *rate = rate_of(b, count * kind->bytes, start_ns);
    gnn_reader_close(reader);
    gnn_mem_free(b->world, memory);
    return status;
}

static double best(const double *values, uint32_t count)
{
    double most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

static void report(const struct bench *b, const struct kind *kind, const double *ours, const double *theirs,
                   const double *any_order)
{
    const double fio = best(theirs, b->rounds), own = best(ours, b->rounds);
    printf("%-22s %7u B depth %2u: fio %7.0f MB/s, ours %7.0f MB/s, ratio %5.1f %%", kind->name, kind->bytes,
           kind->depth, fio * 1e-6, own * 1e-6, 100 * own / fio);
    if (is_read(kind))
        printf(", in any order %5.1f %%", 100 * best(any_order, b->rounds) / fio);
    printf("%s\n", own < 0.9 * fio ? "  below the target of 90 %" : "");
    (void)fflush(stdout);
}

static const struct kind kinds[] = {
    {"trace write", "write", "write", 256 << 10, 1},    {"node lists", "read", "read", 24 << 10, 16},
    {"trace read", "read", "read", 256 << 10, 8},       {"neighbour cache load", "read", "read", 4096, 16},
    {"direct fill", "randread", "read", 128 << 10, 32},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void remove_data(const struct bench *b)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/bench_ginex.data", b->dir);
    (void)unlink(path);
}

static enum gnn_status one_round(struct bench *b, uint32_t round, double ours[KINDS][ROUNDS_MAX],
                                 double theirs[KINDS][ROUNDS_MAX], double any_order[KINDS][ROUNDS_MAX],
                                 struct gnn_err *err)
{
    struct gnn_stream_file *trace = NULL;
    struct gnn_stream *stream = NULL;
    enum gnn_status status = GNN_OK;
    for (size_t k = 0; k < KINDS && status == GNN_OK; k++) {
        if (strcmp(kinds[k].rw, "write") == 0)
            remove_data(b); /* or fio overwrites the last round's file, where the trace is always a new one */
        status = measure_fio(b, &kinds[k], round, &theirs[k][round], err);
        if (status == GNN_OK && k == 0)
            status = write_trace(b, kinds[k].bytes, &trace, &stream, &ours[k][round], err);
        else if (status == GNN_OK)
            status = read_spans(b, trace, stream, &kinds[k], &ours[k][round], err);
        if (status == GNN_OK && is_read(&kinds[k]))
            status = read_as_they_come(b, trace, &kinds[k], order_of(&kinds[k]), &any_order[k][round], err);
    }
    gnn_stream_close(stream);
    gnn_stream_file_close(trace);
    return status;
}

static enum gnn_status measure_storage(struct bench *b, struct gnn_err *err)
{
    static double ours[KINDS][ROUNDS_MAX], theirs[KINDS][ROUNDS_MAX], any_order[KINDS][ROUNDS_MAX];
    enum gnn_status status = GNN_OK;
    for (uint32_t round = 0; round < b->rounds && status == GNN_OK; round++)
        status = one_round(b, round, ours, theirs, any_order, err);
    remove_data(b);
    for (size_t k = 0; k < KINDS && status == GNN_OK; k++)
        report(b, &kinds[k], ours[k], theirs[k], any_order[k]);
    return status;
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
        (void)fprintf(stderr, "usage: bench_ginex [--dir build/bench] [--rounds 1..%d]\n", ROUNDS_MAX);
        return 2;
    }
    struct gnn_err err = {0};
    enum gnn_status status = mkdir(b.dir, 0777) == 0 || errno == EEXIST
                                 ? gnn_world_measured_open(NULL, &b.world, &err)
                                 : gnn_fail(&err, GNN_EIO, "%s: %s", b.dir, strerror(errno));
    if (status == GNN_OK)
        status = measure_inspection(&b, &err);
    if (status == GNN_OK)
        status = measure_storage(&b, &err);
    if (status != GNN_OK)
        (void)fprintf(stderr, "bench_ginex: %s\n", err.message);
    gnn_world_measured_close(b.world);
    return status == GNN_OK ? 0 : 1;
}
