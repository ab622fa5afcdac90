/* SPDX-License-Identifier: MIT */
/* Would it pay to sort rows ahead of their use? The plan of systems/presort without its epochs: mini-batches are drawn
 * ahead and grouped into windows, Belady over windows says which rows come in when, and an epoch's loads are sorted by
 * external distribution: one sweep over the features in ascending order copies each row into a block for every window
 * that loads it, full blocks are written, and a window reads its blocks back in one piece. Windows, replacement and
 * classes are the system's own code. Device time is what a profile's figures make of the bytes and requests; processor
 * time is measured, of the three stages that such a system adds:
 *
 *     inspect     the harness's sampler, rows of a window collected once; draws sorted by node, as a sweep of the
 *                 neighbour lists needs them
 *     plan        next uses backwards, Belady forwards, the rows that are loaded in order
 *     distribute  a row's copy into the blocks of its windows, out of memory larger than a processor's caches
 *
 *     bench_presort [--dataset papers100m] [--scale 1/100] [--generate A=B,..] [--profile this] [--memory 80M]
 *                   [--batch 10] [--dim 0] [--fanout 10,10,10] [--seed 1] [--device-s 2.5] [--cpu-s 1.2]
 *
 * Three epochs are planned, with rows carried over their ends; the second one counts. Exit status 0: go, the second
 * epoch's device time and processor time are below the last two arguments; 1: no go; 2: it could not be told. Nothing
 * here reads or writes a device, and reads are taken as not slowed down by writes. */
#include "harness/base/data_dirs.h"
#include "harness/base/option.h"
#include "harness/stats/bound.h"
#include "harness/world/measured/measured.h"
#include "systems/presort/classes.h"
#include "systems/presort/windows.h"
#include "tests/support/memory_source.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    EPOCHS = 3,
    MEASURED = 1,     /* the epoch that counts */
    ROUNDS = 3,       /* of measuring, of which the least counts */
    BLOCK = 64 << 10, /* of a window's rows, in staging and on the device */
    SWEEP = 1 << 20,  /* the longest read of the sweep */
    SWEEPS = 8,       /* of them in memory */
    RANGES = 16,      /* of nodes, whose draws are sorted one after the other */
    COLD = 256 << 20, /* that rows are copied from */
    SIZES = 12,       /* of windows that are tried */
};
/* A run of the harness, with model, mini-batches in flight and two assembled inputs: assumed. */
static const uint64_t fixed_bytes = UINT64_C(20) << 20;
static const uint32_t window_sizes[SIZES] = {1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32};

struct bench_options {
    char dataset[GNN_TEXT_MAX], generate[GNN_TEXT_MAX], profile[GNN_TEXT_MAX];
    uint32_t scale_divisor, batch_size, dim;
    struct gnn_u32_list fanout;
    uint64_t memory_bytes, seed;
    double device_s, cpu_s;
};

#define OPTION(...) GNN_OPTION(bench_options, __VA_ARGS__)
/* clang-format off */
static const struct gnn_option table[] = {
    OPTION("dataset", TEXT, dataset, "papers100m", .help = "of the registry, computed"),
    OPTION("scale", SCALE, scale_divisor, "1/100", .help = "of it"),
    OPTION("generate", TEXT, generate, "", .help = "options of `oocgnn prepare`"),
    OPTION("profile", TEXT, profile, "this", .help = "of the device"),
    OPTION("memory", BYTES, memory_bytes, "80M", .min = 1, .max = 1e15, .help = "that all of it fits in"),
    OPTION("batch", U32, batch_size, "10", .min = 1, .max = 1e6, .help = "seeds"),
    OPTION("dim", U32, dim, "0", .max = 65536, .help = "0: the graph's own"),
    OPTION("fanout", U32_LIST, fanout, "10,10,10", .max = GNN_FANOUT_MAX, .help = "seeds first"),
    OPTION("seed", U64, seed, "1", .help = "of the mini-batches"),
    OPTION("device-s", F64, device_s, "2.5", .max = 1e9, .help = "most device time to go"),
    OPTION("cpu-s", F64, cpu_s, "1.2", .max = 1e9, .help = "most processor time to go"),
    {.name = NULL},
};
/* clang-format on */

struct bench {
    struct bench_options options;
    struct gnn_world *world;
    struct gnn_lists *graph;
    const struct gnn_dataset *dataset;
    struct gnn_profile *profile;
    struct gnn_row_costs costs;
    gnn_node *indices; /* all neighbour lists */
    struct gnn_neighbour_source *source;
    gnn_node *order;  /* of an epoch */
    uint32_t batches; /* of an epoch */
    uint64_t accesses, accesses_max, edges;
    struct presort_windows windows; /* of all epochs */
    struct presort_load *loads;     /* of window j: loads[load_end[j - 1] .. load_end[j]) */
    uint32_t *load_end;
    struct presort_classes *classes; /* of the measured epoch's loads */
    uint16_t *table;                 /* of nodes, that classes use */
    gnn_node *drawn, *drawn_sorted;  /* nodes whose lists an epoch draws from, by mini-batch and by node */
    uint32_t *counts;                /* of nodes */
    unsigned char *cold, *staging;
};

/* What a plan costs an epoch. */
struct plan {
    uint32_t window, windows; /* mini-batches of one; windows of an epoch */
    uint64_t kept_rows;       /* between windows */
    uint64_t largest, loads, members;
    uint64_t sweep_bytes, sweep_reads, blocks;
    double sweep_s, write_s, back_s, lists_s, spool_s, device_s, direct_s;
};

struct cpu {
    double inspect_s, plan_s, distribute_s, requests_s;
};

static double user_s(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
}

static void *get(size_t count, size_t bytes)
{
    void *const memory = calloc(count + 1, bytes);
    if (memory == NULL) {
        (void)fputs("bench_presort: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

/* ---- inspect ---- */

/* Sorts the nodes whose lists are drawn from: what a sweep over the lists takes. */
static void sort_drawn(struct bench *b, uint64_t count)
{
    const uint32_t nodes = b->dataset->node_count;
    memset(b->counts, 0, (nodes + 1) * sizeof *b->counts);
    for (uint64_t i = 0; i < count; i++)
        b->counts[b->drawn[i] + 1]++;
    for (uint32_t v = 0; v < nodes; v++)
        b->counts[v + 1] += b->counts[v];
    for (uint64_t i = 0; i < count; i++)
        b->drawn_sorted[b->counts[b->drawn[i]]++] = b->drawn[i];
}

static enum gnn_status take_batch(struct bench *b, const struct gnn_batch_view *view, struct gnn_err *err)
{
    bool taken;
    assert(b->accesses + view->node_count <= b->accesses_max);
    GNN_TRY(presort_windows_take(&b->windows, view->nodes, view->node_count, &taken, err));
    if (!taken)
        return gnn_fail(err, GNN_EUSAGE, "more than %d windows", PRESORT_WINDOWS_MAX);
    b->accesses += view->node_count;
    for (uint32_t l = 0; l < view->layer_count; l++)
        b->edges += view->blocks[l].edge_count;
    return GNN_OK;
}

static enum gnn_status inspect_epoch(struct bench *b, struct gnn_sampler *sampler, struct gnn_batch *batch,
                                     uint32_t epoch, struct gnn_err *err)
{
    const struct gnn_dataset *const d = b->dataset;
    const uint32_t size = b->options.batch_size;
    uint64_t drawn = 0;
    gnn_epoch_order(b->options.seed, epoch, d->train.nodes, d->train.count, b->order);
    for (uint32_t k = 0; k < b->batches; k++) {
        const uint32_t first = k * size, count = gnn_min_u32(size, d->train.count - first);
        GNN_TRY(gnn_sampler_sample(sampler, epoch, k, b->order + first, count, batch, err));
        const struct gnn_batch_view *const view = gnn_batch_view(batch);
        GNN_TRY(take_batch(b, view, err));
        const uint32_t lists = view->blocks[0].dst_count;
        memcpy(b->drawn + drawn, view->nodes, lists * sizeof *b->drawn);
        drawn += lists;
    }
    presort_windows_end(&b->windows);
    sort_drawn(b, drawn);
    return GNN_OK;
}

/* Windows of so many mini-batches, as many as there are. */
static enum gnn_status open_windows(struct bench *b, uint32_t window, struct gnn_err *err)
{
    const uint32_t members = (uint32_t)gnn_min_u64(b->accesses_max, INT32_MAX);
    const struct presort_windows_config config = {
        .node_count = b->dataset->node_count,
        .windows_max = gnn_min_u32((uint32_t)gnn_div_up(b->batches, window) * EPOCHS, PRESORT_WINDOWS_MAX),
        .members_max = members,
        .rows_max = members,
        .lone_rows_max = members,
        .batches_max = window};
    presort_windows_close(&b->windows);
    GNN_TRY(presort_windows_open(b->world, &config, &b->windows, err));
    presort_windows_begin(&b->windows);
    return GNN_OK;
}

static enum gnn_status inspect(struct bench *b, uint32_t window, double *seconds, struct gnn_err *err)
{
    struct gnn_sampler_config config = {.seed = b->options.seed, .layers = b->options.fanout.count};
    struct gnn_sampler *sampler = NULL;
    struct gnn_batch *batch = NULL;
    memcpy(config.fanout, b->options.fanout.values, sizeof config.fanout);
    b->accesses = b->edges = 0;
    enum gnn_status status = open_windows(b, window, err);
    GNN_NEXT(status, gnn_sampler_open(b->world, &config, b->dataset, b->source, &sampler, err));
    GNN_NEXT(status, gnn_batch_open(b->world, &batch, err));
    for (uint32_t e = 0; e < EPOCHS && status == GNN_OK; e++) {
        const double start_s = user_s();
        status = inspect_epoch(b, sampler, batch, e, err);
        if (e == MEASURED)
            *seconds = user_s() - start_s;
    }
    gnn_batch_close(b->world, batch);
    gnn_sampler_close(sampler);
    return status;
}

/* ---- plan ---- */

/* Belady over the windows of all epochs, as if they were one hyperbatch. */
static enum gnn_status walk_windows(struct bench *b, uint64_t slots, double *seconds, struct gnn_err *err)
{
    const struct presort_lists *const members = &b->windows.lists;
    const struct presort_belady_config config = {.node_count = b->dataset->node_count,
                                                 .slots = (uint32_t)gnn_min_u64(slots, INT32_MAX),
                                                 .windows_max = members->windows,
                                                 .members_max = members->end[members->windows - 1]};
    struct presort_belady *belady = NULL;
    uint32_t loads = 0;
    const enum gnn_status status = presort_belady_open(b->world, &config, &belady, err);
    const double start_s = user_s();
    if (status == GNN_OK)
        presort_belady_begin(belady, members);
    for (uint32_t j = 0; status == GNN_OK && j < members->windows; j++) {
        loads += presort_belady_window(belady, j, b->loads + loads);
        b->load_end[j] = loads;
    }
    *seconds = user_s() - start_s;
    presort_belady_close(belady);
    return status;
}

/* The measured epoch's loads, all of them sorted. */
static void choose_classes(struct bench *b, uint32_t first, uint32_t windows)
{
    struct presort_decision decision;
    presort_classes_begin(b->classes);
    for (uint32_t i = presort_begin_of(b->load_end, first); i < b->load_end[first + windows - 1]; i++)
        presort_classes_add(b->classes, b->loads[i].row);
    presort_classes_decide(b->classes, UINT64_MAX, 1, &decision);
}

/* ---- the sweep ---- */

/* A read of the sweep: from the row on through gaps that cost less than another request, SWEEP at most. Returns its
 * end; *last: its last row. */
static uint64_t span_end(const struct bench *b, gnn_node row, gnn_node *last)
{
    const double gap = b->costs.row_ns / b->costs.byte_ns;
    const uint64_t row_bytes = b->dataset->row_bytes, begin = row * row_bytes;
    uint64_t end = begin + row_bytes;
    *last = row;
    for (;;) {
        row = presort_classes_next(b->classes, row + 1);
        const uint64_t at = row * row_bytes;
        if (row == b->dataset->node_count || (double)(at - end) > gap || at + row_bytes - begin > SWEEP)
            return end;
        *last = row;
        end = at + row_bytes;
    }
}

/* ---- distribute ---- */

/* Copies each load of the measured epoch into its window's block, read by read of the sweep. */
static void distribute(struct bench *b, const struct plan *plan, uint64_t row_bytes)
{
    const uint32_t first = MEASURED * plan->windows, nodes = b->dataset->node_count;
    uint32_t *const fill = get(plan->windows, sizeof *fill), *const cursor = get(plan->windows, sizeof *cursor);
    for (uint32_t w = 0; w < plan->windows; w++)
        cursor[w] = presort_begin_of(b->load_end, first + w);
    gnn_node last;
    for (gnn_node row = presort_classes_next(b->classes, 0); row < nodes;
         row = presort_classes_next(b->classes, last + 1)) {
        (void)span_end(b, row, &last);
        for (uint32_t w = 0; w < plan->windows; w++)
            for (; cursor[w] < b->load_end[first + w] && b->loads[cursor[w]].row <= last; cursor[w]++) {
                const uint64_t from = b->loads[cursor[w]].row * row_bytes % (COLD - row_bytes);
                memcpy(b->staging + (uint64_t)w * BLOCK + fill[w], b->cold + from, row_bytes);
                fill[w] += (uint32_t)row_bytes;
                if (fill[w] + row_bytes > BLOCK) /* it would be written */
                    fill[w] = 0;
            }
    }
    free(cursor);
    free(fill);
}

/* ---- the device ---- */

static void model_sweep(const struct bench *b, uint64_t row_bytes, struct plan *p)
{
    gnn_node last;
    for (gnn_node row = presort_classes_next(b->classes, 0); row < b->dataset->node_count;
         row = presort_classes_next(b->classes, last + 1)) {
        const uint64_t bytes = span_end(b, row, &last) - row * row_bytes;
        p->sweep_bytes += bytes;
        p->sweep_reads++;
        p->sweep_s += 1e-9 * fmax(b->costs.row_ns, (double)bytes * b->costs.byte_ns);
    }
}

static void model_device(const struct bench *b, uint32_t first, struct plan *p)
{
    const uint64_t row_bytes = b->dataset->row_bytes, rows_of_block = BLOCK / row_bytes;
    const double byte_s = 1e-9 * b->costs.byte_ns, write_s = 1e-9 * b->costs.write_byte_ns;
    const double lists = (double)b->dataset->edge_count * sizeof(gnn_node);
    const double spool = 4.0 * (double)(b->accesses + b->edges) / EPOCHS;
    model_sweep(b, row_bytes, p);
    for (uint32_t j = first; j < first + p->windows; j++)
        p->blocks += gnn_div_up(b->load_end[j] - presort_begin_of(b->load_end, j), rows_of_block);
    p->write_s = (double)p->blocks * BLOCK * write_s;
    p->back_s = (double)p->blocks * BLOCK * byte_s;
    p->lists_s = lists * b->options.fanout.count * byte_s; /* swept hop by hop */
    p->spool_s = spool * (byte_s + write_s);
    p->device_s = p->sweep_s + p->write_s + p->back_s + p->lists_s + p->spool_s;
    p->direct_s = 1e-9 * (double)p->loads * b->costs.row_ns + p->lists_s + p->spool_s;
}

/* ---- all of it ---- */

/* Rows kept between windows: what memory leaves beside the stages' own and two windows' rows. 0: it does not fit. */
static uint64_t room_of(const struct bench *b, const struct plan *p)
{
    const uint64_t row_bytes = b->dataset->row_bytes, nodes = b->dataset->node_count;
    const uint64_t held = fixed_bytes + (uint64_t)p->windows * BLOCK + (uint64_t)SWEEPS * SWEEP +
                          nodes * sizeof(uint16_t) + nodes / 8 + nodes / RANGES * sizeof(uint32_t) +
                          2 * p->largest * (row_bytes + 16);
    return b->options.memory_bytes > held ? (b->options.memory_bytes - held) / (row_bytes + 8) : 0;
}

static uint32_t rows_of(const struct bench *b, uint32_t first, uint32_t windows)
{
    return b->windows.lists.end[first + windows - 1] - presort_begin_of(b->windows.lists.end, first);
}

/* kept_rows is 0 where windows of this size have no room. Those that were inspected are of this size. */
static enum gnn_status make_plan(struct bench *b, uint32_t window, struct plan *p, double *seconds, struct gnn_err *err)
{
    *p = (struct plan){.window = window, .windows = (uint32_t)gnn_div_up(b->batches, window)};
    const uint32_t first = MEASURED * p->windows;
    assert(b->windows.lists.windows == EPOCHS * p->windows);
    p->largest = b->windows.largest;
    p->members = rows_of(b, first, p->windows);
    p->kept_rows = room_of(b, p);
    if (p->kept_rows == 0)
        return GNN_OK;
    double walked_s;
    GNN_TRY(walk_windows(b, p->kept_rows + 2 * p->largest, &walked_s, err));
    p->loads = b->load_end[first + p->windows - 1] - presort_begin_of(b->load_end, first);
    const double start_s = user_s();
    choose_classes(b, first, p->windows);
    *seconds = walked_s / EPOCHS + user_s() - start_s;
    model_device(b, first, p);
    return GNN_OK;
}

static enum gnn_status search(struct bench *b, struct plan *best, struct gnn_err *err)
{
    struct plan plan;
    double seconds;
    best->window = 0;
    (void)printf(
        "| mini-batches a window | rows kept | rows of the largest | loads | sweep s | written s | read back s | "
        "device s | each load at random s |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int i = 0; i < SIZES; i++) {
        GNN_TRY(inspect(b, window_sizes[i], &seconds, err));
        GNN_TRY(make_plan(b, window_sizes[i], &plan, &seconds, err));
        if (plan.kept_rows == 0) {
            (void)printf("| %" PRIu32 " | no room |\n", window_sizes[i]);
            continue;
        }
        (void)printf("| %" PRIu32 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %.2f | %.2f | %.2f | %.2f | %.2f |\n",
                     plan.window, plan.kept_rows, plan.largest, plan.loads, plan.sweep_s, plan.write_s, plan.back_s,
                     plan.device_s, plan.direct_s);
        if (best->window == 0 || plan.device_s < best->device_s)
            *best = plan;
    }
    return best->window != 0
               ? GNN_OK
               : gnn_fail(err, GNN_ENOMEM, "--memory %" PRIu64 " has no room for a window", b->options.memory_bytes);
}

/* The least of some rounds, the stages one after the other. */
static enum gnn_status measure(struct bench *b, struct plan *plan, struct cpu *out, struct gnn_err *err)
{
    const uint64_t requests =
        plan->sweep_reads + 2 * plan->blocks +
        (uint64_t)((double)b->dataset->edge_count * sizeof(gnn_node) * b->options.fanout.count / SWEEP) + 1;
    const struct gnn_profile_cpu *const cpu = &b->profile->cpu;
    *out = (struct cpu){INFINITY, INFINITY, INFINITY,
                        1e-9 * (double)requests * (double)(cpu->submit_ns + cpu->complete_ns)};
    b->staging = get((uint64_t)plan->windows * BLOCK, 1);
    b->cold = get(COLD, 1);
    memset(b->cold, 1, COLD);
    for (int round = 0; round < ROUNDS; round++) {
        double inspect_s = 0, plan_s = 0;
        GNN_TRY(inspect(b, plan->window, &inspect_s, err));
        GNN_TRY(make_plan(b, plan->window, plan, &plan_s, err));
        const double start_s = user_s();
        distribute(b, plan, b->dataset->row_bytes);
        out->distribute_s = fmin(out->distribute_s, user_s() - start_s);
        out->inspect_s = fmin(out->inspect_s, inspect_s);
        out->plan_s = fmin(out->plan_s, plan_s);
    }
    return GNN_OK;
}

static bool report(const struct bench *b, const struct plan *p, const struct cpu *cpu)
{
    const double total_s = cpu->inspect_s + cpu->plan_s + cpu->distribute_s + cpu->requests_s;
    const bool go = p->device_s < b->options.device_s && total_s < b->options.cpu_s;
    (void)printf("\nEpoch %d with windows of %" PRIu32 " mini-batches: %" PRIu64 " rows in windows, %" PRIu64
                 " loads; sweep %.0f MB in %" PRIu64 " reads, %" PRIu64 " blocks of %d KiB written and read back.\n",
                 MEASURED, p->window, p->members, p->loads, (double)p->sweep_bytes / 1e6, p->sweep_reads, p->blocks,
                 BLOCK >> 10);
    (void)printf(
        "Device: sweep %.2f + written %.2f + read back %.2f + lists %.2f + spool %.2f = %.2f s (limit %.2f); each "
        "load at random %.2f s.\n",
        p->sweep_s, p->write_s, p->back_s, p->lists_s, p->spool_s, p->device_s, b->options.device_s, p->direct_s);
    (void)printf("It stays below the limit if reads and writes slow each other by up to %.2f times.\n",
                 (b->options.device_s - p->lists_s - p->spool_s) / (p->sweep_s + p->write_s + p->back_s));
    (void)printf(
        "Processor: inspect %.2f + plan %.2f + distribute %.2f + requests (by the profile) %.2f = %.2f s (limit "
        "%.2f).\n%s\n",
        cpu->inspect_s, cpu->plan_s, cpu->distribute_s, cpu->requests_s, total_s, b->options.cpu_s,
        go ? "go" : "no go");
    return go;
}

static enum gnn_status open_graph(struct bench *b, struct gnn_err *err)
{
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    GNN_TRY(gnn_registry_find(b->options.dataset, &entry, err));
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = b->options.dim;
    GNN_TRY(gnn_generate_set(&options, b->options.generate, err));
    GNN_TRY(gnn_lists_open_computed(b->world, entry, &options, b->options.scale_divisor, &b->graph, err));
    b->dataset = gnn_lists_dataset(b->graph);
    if (b->dataset->row_bytes > BLOCK)
        return gnn_fail(err, GNN_EUSAGE, "rows of %" PRIu64 " bytes: at most %d", (uint64_t)b->dataset->row_bytes,
                        BLOCK);
    b->indices = get(b->dataset->edge_count, sizeof *b->indices);
    GNN_TRY(gnn_lists_read(b->graph, 0, b->dataset->edge_count, b->indices, err));
    return gnn_source_memory(b->world, b->indices, b->dataset->edge_count, &b->source, err);
}

/* Rooms for any windows; what stays untouched is address space alone. */
static void get_rooms(struct bench *b)
{
    const struct gnn_dataset *const d = b->dataset;
    const uint64_t nodes = d->node_count;
    b->batches = (uint32_t)gnn_div_up(d->train.count, b->options.batch_size);
    b->accesses_max = gnn_sample_node_bound(d->node_count, b->options.batch_size, b->options.fanout.values,
                                            b->options.fanout.count, NULL) *
                      b->batches * EPOCHS;
    b->order = get(d->train.count, sizeof *b->order);
    b->loads = get(b->accesses_max, sizeof *b->loads);
    b->load_end = get((uint64_t)b->batches * EPOCHS, sizeof *b->load_end);
    b->drawn = get(b->accesses_max / EPOCHS, 4);
    b->drawn_sorted = get(b->accesses_max / EPOCHS, 4);
    b->counts = get(nodes + RANGES + 2, 4);
}

static struct presort_costs costs_of(const struct bench *b)
{
    const uint64_t row_bytes = b->dataset->row_bytes;
    const double write = b->costs.write_byte_ns / b->costs.byte_ns;
    return (struct presort_costs){.row_bytes = row_bytes,
                                  .random_bytes =
                                      gnn_max_u64((uint64_t)(b->costs.row_ns / b->costs.byte_ns), row_bytes),
                                  .sorted_bytes = row_bytes + (uint64_t)((double)row_bytes * write)};
}

static enum gnn_status run(struct bench *b, bool *go, struct gnn_err *err)
{
    const struct gnn_measured_config measured = {.memory_limit_bytes = 0};
    struct gnn_data_dirs found;
    struct plan plan = {.window = 0};
    struct cpu cpu;
    gnn_data_dirs(&found);
    GNN_TRY(gnn_profile_open(b->options.profile, found.dirs, &b->profile, err));
    GNN_TRY(gnn_world_measured_open(&measured, &b->world, err));
    GNN_TRY(open_graph(b, err));
    get_rooms(b);
    gnn_row_costs_of(&b->profile->storage, b->dataset->row_bytes, &b->costs);
    b->table = get(b->dataset->node_count, sizeof *b->table);
    memset(b->table, 0xff, b->dataset->node_count * sizeof *b->table);
    const struct presort_classes_config classes = {
        .node_count = b->dataset->node_count, .choice = PRESORT_SORTED, .costs = costs_of(b), .table = b->table};
    GNN_TRY(presort_classes_open(b->world, &classes, &b->classes, err));
    (void)printf("%s 1/%" PRIu32 "%s%s, memory %" PRIu64
                 ", profile %s: a row at random %.2f us, large reads %.0f MB/s, "
                 "large writes %.0f MB/s\n\n",
                 b->dataset->name, b->dataset->scale_divisor, b->options.generate[0] != '\0' ? ", " : "",
                 b->options.generate, b->options.memory_bytes, b->options.profile, b->costs.row_ns / 1e3,
                 1e3 / b->costs.byte_ns, 1e3 / b->costs.write_byte_ns);
    GNN_TRY(search(b, &plan, err));
    GNN_TRY(measure(b, &plan, &cpu, err));
    *go = report(b, &plan, &cpu);
    return GNN_OK;
}

int main(int argc, char **argv)
{
    static struct bench bench; /* goes with the process, and so does what it holds */
    struct gnn_err err = {0};
    bool go = false;
    gnn_option_defaults(table, &bench.options);
    enum gnn_status status = GNN_OK;
    for (int i = 1; i + 1 < argc && status == GNN_OK; i += 2)
        status = gnn_option_set(table, &bench.options, strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : argv[i],
                                argv[i + 1], &err);
    if (status == GNN_OK && argc % 2 == 0)
        status = gnn_fail(&err, GNN_EUSAGE, "%s: an option and its value, both", argv[argc - 1]);
    GNN_NEXT(status, run(&bench, &go, &err));
    if (status != GNN_OK) {
        (void)fprintf(stderr, "bench_presort: %s\n", err.message);
        return 2;
    }
    return go ? 0 : 1;
}
