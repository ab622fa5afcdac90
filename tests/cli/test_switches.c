/* SPDX-License-Identifier: MIT */
/* Every switch of every system, one run each: it ends in a valid record, and what it is there to change has changed. A
 * switch without a visible effect is an error of the switch. Simulated runs, so a difference is no noise. */
#include "tests/support/tiny_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BASE_MAX = 10 };
static const char KRON[] = "kron";

/* A run with `base` and one with the switch as well. effect: what tells them apart, "wall_ns" or "figures.NAME" of the
 * first epoch, "counters.NAME" and
 * "environment.NAME" of the run, "stage.NAME" for that stage's workers; NULL: nothing that a profile charges
 * for or a counter shows, see the case. In base, KRON stands for a prepared graph that has nodes without edges. */
struct switch_case {
    const char *option, *value; /* option: "system.key" */
    const char *effect;
    const char *base[BASE_MAX];
};

#define ONLY "--sample-only"
#define ALLOCATED "environment.memory.allocated_peak_bytes"
#define DIRECT_ONLY ONLY, "--set", "ringsampler.io=direct"
#define SORTED_ONLY ONLY, "--set", "ringsampler.io=sorted"
#define SMALL_CACHE "--set", "ginex.feature_cache=300K"
#define SUPERBATCHES "--set", "ginex.superbatch=3"
#define SMALL_BUFFERS "--set", "agnes.block=16K", "--set", "agnes.graph_buffer=64K", "--set", "agnes.feature_cache=200K"
#define MANY_PASSES                                                                                                    \
    "--fanout", "5,5,5", "--set", "agnes.hyperbatch=1", "--set", "agnes.gbuf_keep=true", "--set", "agnes.block=4K",    \
        "--set", "agnes.graph_buffer=200K"
#define CACHES_BY_SHARE "--set", "diskgnn.cache_ratio=30"
#define NO_CACHES "--fanout", "15,15", "--set", "diskgnn.cache_ratio=0"
#define DISK_LIMIT NO_CACHES, "--set", "diskgnn.disk_limit=0.53"
#define SEGMENTS NO_CACHES, "--set", "diskgnn.segment=5", "--set", "diskgnn.disk_rows=4000"
#define FEW_CACHED "--epochs", "2", "--set", "graphbolt.cache=100K"
#define FEW_ROWS "--set", "presort.row_memory=1"
#define ALL_SORTED FEW_ROWS, "--set", "presort.classes=sorted"
#define ALL_DIRECT FEW_ROWS, "--set", "presort.classes=direct"
#define PARTITIONS "--set", "mariusgnn.partitions=16", "--set", "mariusgnn.capacity=8"
#define REPLACE PARTITIONS, "--set", "mariusgnn.policy=replace"
#define LINKS "--task", "link", "--dataset", "freebase86m", "--scale", "1/50000", PARTITIONS
#define ON_KRON "--dataset", KRON, "--scale", "1/1", "--dim", "1"

static const struct switch_case cases[] = {
    {"null.queue", "1", "wall_ns", {NULL}},
    {"pygplus.workers", "5", "stage.sample", {NULL}},
    {"pygplus.prefetch", "8", "figures.sampled_ahead_peak", {"--batch", "4"}},
    {"pygplus.gather_threads", "1", "wall_ns", {NULL}},
    {"pygplus.readahead", "off", "counters.device_read_ios", {NULL}},
    {"pygplus.floyd", "biased", "counters.batch_digest", {NULL}},
    {"pygplus.drop_last_train", "true", "figures.trained_seeds", {NULL}},
    {"pygplus.ballast_bytes", "8M", "counters.peak_memory_bytes", {NULL}},
    {"pygplus.transfer", "ahead", "wall_ns", {NULL}},
    {"gnndrive.samplers", "5", "stage.sample", {NULL}},
    {"gnndrive.extractors", "5", "stage.extract", {NULL}},
    {"gnndrive.extract_queue", "1", "wall_ns", {NULL}},
    {"gnndrive.train_queue", "3", "figures.buffer_slots", {"--set", "gnndrive.extractors=2"}},
    {"gnndrive.batch_nodes", "1000", "figures.batch_nodes", {NULL}},
    {"gnndrive.calibration_batches",
     "1",
     "figures.batch_nodes",
     {"--fanout", "10,10", "--set", "gnndrive.buffer_mult=3"}},
    {"gnndrive.batch_rule", "product", "figures.batch_nodes", {NULL}},
    {"gnndrive.buffer_share", "50", "figures.buffer_slots", {"--memory", "100M"}},
    {"gnndrive.buffer_mult", "2", "figures.buffer_slots", {NULL}},
    {"gnndrive.slots", "20000", "figures.buffer_slots", {NULL}},
    {"gnndrive.depth", "2", "wall_ns", {NULL}},
    {"gnndrive.depth", "0", "wall_ns", {NULL}},
    {"gnndrive.coalesce", "true", "wall_ns", {NULL}},
    {"gnndrive.rank_buffers", "own", "wall_ns", {"--workers", "2", "--compute", "cpu"}},
    {"gnndrive.io", "buffered", "counters.requested_bytes", {NULL}},
    {"gnndrive.joint", "false", "figures.rows_per_slot", {NULL}},
    {"gnndrive.in_order", "true", "wall_ns", {NULL}},
    {"gnndrive.valid", "batch", "wall_ns", {NULL}},
    {"gnndrive.serial_extract", "true", "wall_ns", {NULL}},
    {"gnndrive.lock_submit", "true", "wall_ns", {NULL}},
    {"gnndrive.order", "segments", "counters.batch_digest", {"--set", "gnndrive.samplers=3"}},
    {"gnndrive.meta", "compact", "counters.peak_memory_bytes", {NULL}},
    {"gnndrive.readahead", "off", "counters.device_read_ios", {NULL}},
    {"gnndrive.staging", "64", "counters.peak_memory_bytes", {NULL}},
    {"gnndrive.transfer", "gather", "wall_ns", {NULL}},
    {"ginex.superbatch", "3", "figures.superbatches", {NULL}},
    {"ginex.feature_cache", "300K", "counters.cache_misses", {NULL}},
    {"ginex.neighbour_cache", "400K", "figures.list_hits", {NULL}},
    {"ginex.cache_share", "1", "figures.cache_rows", {"--memory", "100M"}},
    {"ginex.cache_neighbours", "false", "figures.list_hits", {NULL}},
    {"ginex.samplers", "1", "stage.sample", {NULL}},
    {"ginex.gather_threads", "1", "wall_ns", {NULL}},
    {"ginex.trace_loaders", "1", "wall_ns", {NULL}},
    {"ginex.trace_queue", "1", "wall_ns", {"--set", "ginex.trace_loaders=1"}},
    {"ginex.trace_depth",
     "1",
     "wall_ns",
     {"--set", "ginex.trace_io=direct", "--set", "ginex.trace_block=4K", "--set", "ginex.trace_loaders=1"}},
    {"ginex.trace_block", "4K", "wall_ns", {NULL}},
    {"ginex.trace_io", "direct", "wall_ns", {NULL}},
    {"ginex.trace_dir", "/tmp", NULL, {NULL}}, /* a place */
    {"ginex.skip_isolated", "true", "figures.list_hits", {ON_KRON, "--set", "ginex.neighbour_cache=50K"}},
    {"ginex.id_readers", "1", "wall_ns", {NULL}},
    {"ginex.hold_ids", "false", "figures.trace_read_bytes", {NULL}},
    {"ginex.neighbour_block", "64K", "counters.requested_ios", {NULL}},
    {"ginex.io", "buffered", "counters.device_read_bytes", {NULL}},
    {"ginex.io_unit", "8K", "counters.requested_bytes", {SMALL_CACHE}},
    {"ginex.list_read", "cover", "figures.list_read_bytes", {NULL}},
    {"ginex.fill", "direct", "counters.requested_bytes", {NULL}},
    {"ginex.readahead", "off", "counters.device_read_ios", {NULL}},
    {"ginex.replacement", "lru", "counters.cache_misses", {SMALL_CACHE}},
    {"ginex.replacement", "static", "counters.cache_misses", {SMALL_CACHE}},
    {"ginex.initial", "score", "counters.cache_misses", {SMALL_CACHE}},
    {"ginex.overlap", "false", "wall_ns", {SMALL_CACHE, SUPERBATCHES}},
    {"ginex.overlap_caches", "true", ALLOCATED, {"--set", "ginex.feature_cache=3M", SUPERBATCHES}},
    {"ginex.floyd", "biased", "counters.batch_digest", {NULL}},
    {"ginex.transfer", "ahead", "wall_ns", {NULL}},
    {"ringsampler.threads", "5", "stage.sample", {ONLY}},
    {"ringsampler.ring", "16", "figures.in_flight_peak", {ONLY}},
    {"ringsampler.io", "direct", "counters.requested_bytes", {ONLY}},
    {"ringsampler.io", "buffered-random", "counters.device_read_ios", {ONLY}},
    {"ringsampler.io", "mapped", "counters.requested_bytes", {ONLY}},
    {"ringsampler.io", "sorted", "counters.requested_ios", {ONLY}},
    {"ringsampler.coalesce", "none", "counters.requested_ios", {DIRECT_ONLY}},
    {"ringsampler.coalesce", "adjacent", "counters.requested_ios", {DIRECT_ONLY}},
    {"ringsampler.order", "drain-first", "wall_ns", {DIRECT_ONLY}},
    {"ringsampler.polling", "false", "wall_ns", {DIRECT_ONLY}},
    {"ringsampler.sqpoll", "true", "wall_ns", {DIRECT_ONLY}},
    /* The device polls and registers for nothing in the simulated world (docs/simulation.md). */
    {"ringsampler.iopoll", "true", NULL, {DIRECT_ONLY}},
    {"ringsampler.register_file", "true", NULL, {DIRECT_ONLY}},
    {"ringsampler.register_buffer", "true", NULL, {DIRECT_ONLY}},
    {"ringsampler.frontier", "neighbours", "counters.sampled_edges", {ONLY}},
    {"ringsampler.replace", "true", "counters.batch_digest", {ONLY}},
    {"ringsampler.split", "interleaved", "wall_ns", {ONLY}},
    {"ringsampler.split", "release", "counters.batch_digest", {ONLY}},
    {"ringsampler.dedupe", "sort", "wall_ns", {ONLY}},
    {"ringsampler.workspaces", "release", "counters.peak_memory_bytes", {ONLY}},
    {"ringsampler.workspace", "8M", ALLOCATED, {ONLY}},
    {"ringsampler.bundle", "1", "figures.bundle", {SORTED_ONLY}},
    {"ringsampler.cache", "512K", "figures.sector_hits", {SORTED_ONLY}},
    {"ringsampler.extent", "4K", "counters.requested_ios", {SORTED_ONLY}},
    {"ringsampler.gap", "0", "counters.requested_ios", {SORTED_ONLY}},
    {"ringsampler.read_buffer", "256K", "counters.peak_memory_bytes", {SORTED_ONLY}},
    {"ringsampler.prefetch", "1", "counters.peak_memory_bytes", {NULL}},
    {"ringsampler.extract_depth", "2", "wall_ns", {NULL}},
    {"ringsampler.feature_io", "buffered", "counters.requested_bytes", {NULL}},
    {"ringsampler.transfer", "blocking", "wall_ns", {NULL}},
    {"ringsampler.requests", "50", "counters.batches", {ONLY}},
    {"ringsampler.concurrency", "5", "stage.sample", {ONLY, "--set", "ringsampler.requests=50"}},
    {"agnes.layout", "input", "counters.requested_bytes", {SMALL_BUFFERS}},
    {"agnes.layout", "degree", "counters.requested_bytes", {SMALL_BUFFERS}},
    {"agnes.layout", "random", "counters.requested_bytes", {SMALL_BUFFERS}},
    {"agnes.block", "16K", "figures.block_bytes", {NULL}},
    {"agnes.id_bytes", "8", "figures.graph_block_reads", {NULL}},
    {"agnes.hyperbatch", "2", "figures.hyperbatches", {NULL}},
    {"agnes.accounting", "paper", "figures.cache_rows", {"--memory", "100M", "--dim", "128"}},
    {"agnes.setting", "2", "figures.cache_rows", {NULL}},
    {"agnes.graph_buffer", "64K", "figures.graph_frames", {NULL}},
    {"agnes.feature_cache", "200K", "figures.cache_rows", {NULL}},
    {"agnes.policy", "clock", "figures.graph_block_reads", {MANY_PASSES}},
    {"agnes.resident_first", "false", "figures.graph_block_reads", {SMALL_BUFFERS}},
    {"agnes.gbuf_keep", "true", "figures.graph_block_reads", {"--set", "agnes.hyperbatch=2"}},
    {"agnes.cache_rank", "count", "counters.cache_misses", {SMALL_BUFFERS}},
    {"agnes.spill", "async", "wall_ns", {SMALL_BUFFERS}},
    {"agnes.overlap", "full", "wall_ns", {"--set", "agnes.hyperbatch=2"}},
    {"agnes.overlap", "epochs", "wall_ns", {"--set", "agnes.hyperbatch=2", "--epochs", "2"}},
    {"agnes.visits", "target", "figures.bucket_entries", {NULL}},
    {"agnes.first", "1", "figures.hyperbatches", {"--set", "agnes.hyperbatch=2"}},
    {"agnes.workers", "5", "stage.sample-work", {NULL}},
    {"agnes.depth", "1", "wall_ns", {SMALL_BUFFERS}},
    {"agnes.io", "buffered", "counters.device_read_bytes", {NULL}},
    {"agnes.transfer", "blocking", "wall_ns", {NULL}},
    {"diskgnn.accounting", "paper", "figures.cpu_cache_slots", {"--memory", "100M", "--dim", "128"}},
    {"diskgnn.cache_ratio", "30", "figures.cpu_cache_slots", {NULL}},
    {"diskgnn.cache_share",
     "20",
     "figures.gpu_cache_slots",
     {"--memory", "100M", "--compute", "model:tests/golden/machine.ini/cpu"}},
    {"diskgnn.gpu_share", "10", "figures.gpu_cache_hits", {CACHES_BY_SHARE}},
    {"diskgnn.gpu_cache", "64K", "figures.gpu_cache_slots", {NULL}},
    {"diskgnn.cpu_cache", "64K", "figures.cpu_cache_slots", {NULL}},
    {"diskgnn.disk_limit", "0.55", "figures.disk_cache_pages", {NO_CACHES}},
    {"diskgnn.search", "brute", "figures.disk_rows_limit", {DISK_LIMIT}},
    {"diskgnn.search", "approximate", "figures.segment_batches", {DISK_LIMIT}},
    {"diskgnn.segment", "4", "figures.segment_batches", {NO_CACHES}},
    {"diskgnn.disk_rows", "500", "figures.disk_rows_limit", {SEGMENTS}},
    {"diskgnn.brute_step", "2", "figures.segment_batches", {DISK_LIMIT, "--set", "diskgnn.search=brute"}},
    {"diskgnn.hashes", "1", "figures.disk_cache_pages", {SEGMENTS}},
    {"diskgnn.reorder", "printed", "figures.disk_cache_pages", {SEGMENTS}},
    {"diskgnn.reorder", "off", "figures.disk_cache_pages", {SEGMENTS}},
    {"diskgnn.unordered", "true", "figures.io_p50_permille", {SEGMENTS}},
    {"diskgnn.packing", "individual", "figures.pack_prepare_ns", {NULL}},
    {"diskgnn.partitions", "5", "figures.pack_prepare_ns", {NULL}},
    {"diskgnn.pack_memory", "1M", "figures.pack_prepare_ns", {NULL}},
    {"diskgnn.pack_workers", "1", "figures.pack_prepare_ns", {NULL}},
    {"diskgnn.checkpoint", "1K", "figures.pack_prepare_ns", {"--set", "diskgnn.partitions=3"}},
    {"diskgnn.pack_depth", "1", "figures.pack_prepare_ns", {"--set", "diskgnn.packing=individual"}},
    {"diskgnn.samplers", "1", "figures.draw_prepare_ns", {NULL}},
    {"diskgnn.resample_every", "1", "counters.batch_digest", {"--epochs", "2"}},
    {"diskgnn.page", "512", "figures.chunk_read_bytes", {NULL}},
    /* A simulated machine begins with an empty disk: nothing is there to be used again. */
    {"diskgnn.reuse", "false", NULL, {NULL}},
    {"diskgnn.prepare_dir", "/tmp", NULL, {NULL}}, /* a place */
    {"diskgnn.io", "buffered", "wall_ns", {NULL}},
    {"diskgnn.meta_io", "buffered", "wall_ns", {NULL}},
    {"diskgnn.drop_cache", "true", "wall_ns", {"--epochs", "2", "--set", "diskgnn.meta_io=buffered"}},
    {"diskgnn.loader", "copies", "wall_ns", {NULL}},
    {"diskgnn.pipeline", "false", "stage.sequential", {NULL}},
    {"diskgnn.table_stage", "true", "stage.table", {NULL}},
    {"diskgnn.queue", "1", "wall_ns", {NULL}},
    {"diskgnn.rings", "2", "stage.pages", {SEGMENTS}},
    {"diskgnn.ring_entries", "2", "wall_ns", {SEGMENTS}},
    {"diskgnn.submit", "1", "wall_ns", {SEGMENTS}},
    {"diskgnn.chunk_request", "16K", "counters.requested_ios", {NULL}},
    {"diskgnn.chunk_depth", "1", "wall_ns", {"--set", "diskgnn.chunk_request=16K"}},
    {"diskgnn.assembly", "kernel", "wall_ns", {NULL}},
    {"diskgnn.assembly", "scatter", "wall_ns", {NULL}},
    {"diskgnn.transfer", "blocking", "wall_ns", {NULL}},
    {"presort.hyperbatch", "3", "figures.hyperbatches", {NULL}},
    {"presort.first", "1000", "figures.hyperbatches", {NULL}},
    {"presort.window", "1", "figures.windows", {"--set", "presort.window_share=50"}},
    {"presort.window_share", "50", "figures.windows", {NULL}},
    {"presort.row_memory", "1M", "figures.row_slots", {NULL}},
    {"presort.list_memory", "1K", "figures.hyperbatches", {NULL}},
    {"presort.staging", "1", "figures.sorted_loads", {ALL_SORTED}},
    {"presort.block", "4K", "counters.requested_write_ios", {ALL_SORTED}},
    {"presort.classes", "direct", "figures.direct_loads", {ALL_SORTED}},
    {"presort.random_read", "100M", "figures.random_read_bytes", {NULL}},
    {"presort.write_cost", "1000", "figures.sorted_load_bytes", {NULL}},
    {"presort.scratch_limit", "1", "figures.sorted_loads", {ALL_SORTED}},
    {"presort.write_budget", "0", "figures.sorted_loads", {ALL_SORTED}},
    {"presort.reuse", "2", "counters.batch_digest", {"--epochs", "2"}},
    {"presort.scratch_dir", "/tmp", NULL, {NULL}}, /* a place */
    {"presort.hot", "run", "figures.hot_write_bytes", {ALL_SORTED, "--epochs", "2"}},
    {"presort.ahead", "false", "figures.sweep_rows", {ALL_SORTED, "--epochs", "2"}},
    {"presort.threads", "3", "stage.assemble", {NULL}},
    {"presort.depth", "1", "wall_ns", {ALL_DIRECT}},
    {"presort.merge", "0", "figures.direct_reads", {ALL_DIRECT}},
    {"presort.write_depth", "1", "wall_ns", {ALL_SORTED}},
    {"presort.sweep_depth", "1", "wall_ns", {ALL_SORTED}},
    {"presort.sweep_read", "4K", "figures.sweep_reads", {ALL_SORTED}},
    {"presort.io", "buffered", "counters.device_read_bytes", {NULL}},
    {"presort.topology", "mapped", "figures.topology_bytes", {NULL}},
    {"presort.topology_share", "0", "figures.row_slots", {"--dim", "128", "--memory", "20M"}},
    {"presort.round_memory", "1", "figures.rounds", {"--set", "presort.topology=swept"}},
    {"presort.readahead", "kernel", "counters.device_read_ios", {"--set", "presort.topology=mapped"}},
    {"presort.transfer", "blocking", "wall_ns", {NULL}},
    {"graphbolt.samplers", "1", "stage.sample", {NULL}},
    {"graphbolt.policy", "lru", "counters.cache_misses", {FEW_CACHED}},
    {"graphbolt.policy", "clock", "counters.cache_misses", {FEW_CACHED}},
    {"graphbolt.policy", "s3-fifo", "counters.cache_misses", {FEW_CACHED}},
    {"graphbolt.cache", "64K", "figures.cache_rows", {NULL}},
    {"graphbolt.gpu_cache", "64K", "figures.gpu_hits", {NULL}},
    {"graphbolt.parts", "2", "stage.lookups", {NULL}},
    {"graphbolt.rings", "2", "stage.rings", {NULL}},
    {"graphbolt.group", "1", "wall_ns", {NULL}},
    {"graphbolt.block", "8K", "counters.requested_bytes", {NULL}},
    {"graphbolt.io", "buffered", "counters.device_read_bytes", {NULL}},
    {"graphbolt.copy_threads", "2", "stage.copiers", {NULL}},
    {"graphbolt.in_flight", "1", "figures.not_inserted_rows", {NULL}},
    {"graphbolt.dependency", "3", "counters.batch_digest", {NULL}},
    {"mariusgnn.policy", "replace", "figures.states", {PARTITIONS}},
    {"mariusgnn.policy", "memory", "figures.capacity", {PARTITIONS}},
    {"mariusgnn.policy", "beta", "figures.states", {LINKS}},
    {"mariusgnn.vectors", "kept", "counters.prepare_disk_bytes", {LINKS}},
    {"mariusgnn.partitions", "8", "figures.partitions", {NULL}},
    {"mariusgnn.disk_block", "512", "figures.partitions", {NULL}},
    {"mariusgnn.capacity", "8", "figures.capacity", {NULL}},
    {"mariusgnn.logical", "4", "figures.states", {REPLACE}},
    {"mariusgnn.edges", "in", "counters.sampled_edges", {NULL}},
    {"mariusgnn.replace", "false", "counters.batch_digest", {NULL}},
    {"mariusgnn.hash_hops", "0", "wall_ns", {NULL}},
    {"mariusgnn.loaders", "1", "stage.load", {NULL}},
    {"mariusgnn.sampling", "team", "wall_ns", {NULL}},
    {"mariusgnn.staleness", "1", "wall_ns", {NULL}},
    {"mariusgnn.prefetch", "false", "wall_ns", {REPLACE}},
    /* The difference comes with the second epoch. */
    {"mariusgnn.keep", "false", "counters.requested_bytes", {PARTITIONS, "--epochs", "2"}},
    {"mariusgnn.always_write", "true", "figures.partition_writes", {REPLACE}},
    {"mariusgnn.io", "buffered", "wall_ns", {PARTITIONS}},
    {"mariusgnn.bucket_reads", "single", "counters.requested_ios", {PARTITIONS}},
    {"mariusgnn.depth", "1", "wall_ns", {PARTITIONS}},
    {"mariusgnn.edge_memory", "released", ALLOCATED, {PARTITIONS}},
    {"mariusgnn.transfer", "blocking", "wall_ns", {NULL}},
    {"mariusgnn.copied_ids", "released", "figures.gpu_uploaded_bytes", {NULL}},
};

static const json_t *find_stage(const json_t *run, const char *name)
{
    const json_t *const stages = json_object_get(run, "stages");
    for (size_t i = 0; i < json_array_size(stages); i++)
        if (strcmp(tiny_runs_text(json_array_get(stages, i), "stage"), name) == 0)
            return json_object_get(json_array_get(stages, i), "workers");
    return NULL;
}

/* The value that `effect` names, as text the caller frees. */
static char *look_up(const json_t *run, const char *effect)
{
    const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
    const char *const dot = strchr(effect, '.');
    const json_t *value = json_object_get(epoch, effect);
    if (strncmp(effect, "stage.", 6) == 0)
        value = find_stage(run, dot + 1);
    else if (strncmp(effect, "figures.", 8) == 0)
        value = json_object_get(json_object_get(epoch, "figures"), dot + 1);
    else if (strncmp(effect, "counters.", 9) == 0)
        value = json_object_get(json_object_get(run, "counters"), dot + 1);
    else if (strncmp(effect, "environment.", 12) == 0)
        value = json_object_get(json_object_get(run, "environment"), dot + 1);
    char *const text = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY);
    return text == NULL ? strdup("absent") : text;
}

/* Whether the base names another graph than papers100m. */
static bool has_graph(const struct switch_case *c)
{
    bool named = false;
    for (uint32_t i = 0; i < BASE_MAX && c->base[i] != NULL; i++)
        named = named || strcmp(c->base[i], "--dataset") == 0;
    return named;
}

/* Starts a run of the case's system on its base, with the switch or as it is; the record, and whether it is valid. The
 * graph has no reach: the few nodes of a small one all fit the least of the caches, whose switches then do nothing. */
static json_t *run_case(const struct tiny_runs *t, const struct switch_case *c, bool switched, bool *ok)
{
    char system[32], set[128], kron[700];
    (void)snprintf(system, sizeof system, "%.*s", (int)(strchr(c->option, '.') - c->option), c->option);
    (void)snprintf(set, sizeof set, "%s=%s", c->option, c->value);
    (void)snprintf(kron, sizeof kron, "%s/kron-levels12", t->data);
    const char *all[TINY_ARGUMENTS_MAX] = {"--world",    "simulated", "--profile", "tests/golden/machine.ini",
                                           "--dim",      "32",        "--system",  system,
                                           "--evaluate", "never"};
    uint32_t count = 10;
    if (!has_graph(c)) {
        all[count++] = "--generate";
        all[count++] = "reach=0";
    }
    for (uint32_t i = 0; i < BASE_MAX && c->base[i] != NULL; i++)
        all[count++] = c->base[i] == KRON ? kron : c->base[i];
    if (switched) {
        all[count++] = "--set";
        all[count++] = set;
    }
    int exit_status;
    json_t *const run = tiny_runs_once(t, all, &exit_status);
    *ok = exit_status == 0 && strcmp(tiny_runs_text(run, "status"), "ok") == 0 &&
          json_integer_value(json_object_get(run, "valid")) == 1;
    if (!*ok) {
        char *const reasons = json_dumps(json_object_get(run, "reasons"), JSON_ENCODE_ANY);
        print_error("%s%s: %s, %s\n", set, switched ? "" : " (without)", tiny_runs_text(run, "status"),
                    reasons == NULL ? "" : reasons);
        free(reasons);
    }
    return run;
}

/* Whether the two runs differ in what the case names. */
static bool acts(const struct switch_case *c, const json_t *before, const json_t *after)
{
    if (c->effect == NULL)
        return true;
    char *const values[] = {look_up(before, c->effect), look_up(after, c->effect)};
    const bool differ = strcmp(values[0], values[1]) != 0;
    if (!differ)
        print_error("%s=%s: %s stays %s\n", c->option, c->value, c->effect, values[0]);
    free(values[0]);
    free(values[1]);
    return differ;
}

static void every_switch_acts_and_is_valid(void **state)
{
    const struct tiny_runs *const t = *state;
    uint32_t wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct switch_case *const c = &cases[i];
        bool before_ok, ok;
        json_t *const before = run_case(t, c, false, &before_ok);
        json_t *const after = run_case(t, c, true, &ok);
        wrong += !before_ok || !ok || !acts(c, before, after);
        json_decref(after);
        json_decref(before);
    }
    assert_int_equal(wrong, 0);
}

/* An option that is added gets its case: every one that `list params` shows is in the table. */
static void every_option_has_a_case(void **state)
{
    (void)state;
    static const char *const systems[] = {"null",  "pygplus", "gnndrive",  "ginex",   "ringsampler",
                                          "agnes", "diskgnn", "mariusgnn", "presort", "graphbolt"};
    uint32_t missing = 0;
    for (size_t s = 0; s < sizeof systems / sizeof systems[0]; s++) {
        const char *const argv[] = {process_program(), "list", "params", systems[s], NULL};
        struct process_result r = process_run(argv);
        assert_int_equal(r.exit_status, 0);
        for (char *line = strtok(r.out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            char option[128];
            (void)snprintf(option, sizeof option, "%s.%.*s", systems[s], (int)strcspn(line, "= "), line);
            bool found = line[0] == ' ' || line[strcspn(line, "= ")] != '='; /* no line that begins an option */
            for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                found |= strcmp(cases[i].option, option) == 0;
            if (!found)
                print_error("no case for %s\n", option);
            missing += !found;
        }
        process_free(&r);
    }
    assert_int_equal(missing, 0);
}

static int set_up(void **state)
{
    const int failed = tiny_runs_prepare(state);
    if (failed != 0)
        return failed;
    const struct tiny_runs *const t = *state;
    const char *const prepare[] = {process_program(), "prepare", "kron",    "--levels", "12",
                                   "--data",          t->data,   "--quiet", NULL};
    const char *const prepare_links[] = {process_program(), "prepare", "freebase86m", "--scale", "1/50000",
                                         "--data",          t->data,   "--quiet",     NULL};
    for (int links = 0; links < 2; links++) {
        struct process_result r = process_run(links ? prepare_links : prepare);
        const int exit_status = r.exit_status;
        process_free(&r);
        if (exit_status != 0)
            return -1;
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_switch_acts_and_is_valid),
        cmocka_unit_test(every_option_has_a_case),
    };
    return cmocka_run_group_tests(tests, set_up, tiny_runs_tear_down);
}
