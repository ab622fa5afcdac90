/* RingSampler: neighbours read by offset, one ring per thread. See README.md.
 *
 * Source   Chen, Song, Martinez, Kalavri, "RingSampler: GNN sampling on large-scale graphs with io_uring", HotStorage
 *          2025; specs/ringsampler.md
 * Memory   sizes.c: everything is allocated here, nothing during an epoch
 * Errors   GNN_EUSAGE for contradictory parameters; those of files and rings (GNN_ENOENT, GNN_ENOTSUP, GNN_EPERM);
 *          GNN_ENOMEM, GNN_ECAP; during an epoch GNN_EIO, GNN_ESHORT, GNN_EFORMAT, GNN_ECANCELLED */
#include "systems/ringsampler/ringsampler.h"

#include "harness/base/rng.h"
#include "systems/ringsampler/sector_cache.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const io_words[] = {"direct", "buffered", "buffered-random", "mapped", "sorted", NULL};
static const char *const coalesce_words[] = {"none", "sector", "adjacent", NULL};
static const char *const order_words[] = {"submit-first", "drain-first", NULL};
static const char *const frontier_words[] = {"all", "neighbours", NULL};
static const char *const split_words[] = {"consecutive", "interleaved", "release", NULL};
static const char *const dedupe_words[] = {"hash", "sort", NULL};
static const char *const workspaces_words[] = {"right", "release", NULL};
static const char *const feature_io_words[] = {"direct", "buffered", NULL};

#define FIELD(name) offsetof(struct ringsampler_config, name)
static const struct gnn_option options[] = {
    {.name = "threads",
     .type = GNN_OPT_U32,
     .offset = FIELD(threads),
     .unit = "threads",
     .def = "2",
     .min = 1,
     .max = 128,
     .help = "Sampling threads (n), each with a ring, a file handle and a workspace of its own.",
     .source = "paper section 4.1: 64 = cores"},
    {.name = "ring",
     .type = GNN_OPT_U32,
     .offset = FIELD(ring),
     .unit = "reads",
     .def = "512",
     .min = 1,
     .max = 4096,
     .help = "Ring size (Q): a group is floor(Q / fan-out) targets, and two groups may be in flight.",
     .source = "paper section 4.1: 512"},
    {.name = "io",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(io),
     .unit = "",
     .def = "buffered",
     .choices = io_words,
     .help = "direct: whole sectors past the page cache; buffered, buffered-random: 4 bytes through it, with the "
             "kernel's readahead or without; mapped: no ring; sorted: a hop's reads in file order, joined.",
     .source = "artifact: buffered; sorted is ours"},
    {.name = "coalesce",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(coalesce),
     .unit = "",
     .def = "sector",
     .choices = coalesce_words,
     .help = "io=direct, inside a group: a sector read for every offset, one for equal sectors, or one for "
             "runs of "
             "adjacent sectors.",
     .source = "specs/ringsampler.md section 4; paper's text: none"},
    {.name = "order",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(order),
     .unit = "",
     .def = "submit-first",
     .choices = order_words,
     .help = "Of two groups: the next is handed over before the last is drained (2Q reads in flight), or after.",
     .source = "artifact: submit-first; paper's text: drain-first"},
    {.name = "polling",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(polling),
     .unit = "",
     .def = "true",
     .help = "Completion polling: a thread that waits looks at its ring and keeps its core; false: it sleeps.",
     .source = "paper sections 3.2 and 4.1; artifact: false"},
    {.name = "sqpoll",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(sqpoll),
     .unit = "",
     .def = "false",
     .help = "A kernel thread fetches submissions.",
     .source = "paper section 5: future work"},
    {.name = "iopoll",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(iopoll),
     .unit = "",
     .def = "false",
     .help = "The device is polled for completions; needs direct reads and a polled queue.",
     .source = "artifact: never set"},
    {.name = "register_file",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(register_file),
     .unit = "",
     .def = "false",
     .help = "Register the edge file with the ring.",
     .source = "artifact: false"},
    {.name = "register_buffer",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(register_buffer),
     .unit = "",
     .def = "false",
     .help = "Register the memory that reads land in: sector buffers, or with buffered reads the workspace.",
     .source = "artifact: false"},
    {.name = "frontier",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(frontier),
     .unit = "",
     .def = "all",
     .choices = frontier_words,
     .help = "Targets of the next hop: every node known so far, or the distinct samples alone (only with "
             "--sample-only).",
     .source = "paper Figure 1 and artifact: neighbours; all is what models and the other systems use"},
    {.name = "replace",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(replace),
     .unit = "",
     .def = "false",
     .help = "Draw with replacement (only with --sample-only).",
     .source = "artifact: true; paper's figure: false"},
    {.name = "split",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(split),
     .unit = "",
     .def = "consecutive",
     .choices = split_words,
     .help = "Batches of a thread: a run of them, every n-th (always so with training), or the released "
             "code's, which "
             "repeats seeds.",
     .source = "paper section 3.1: consecutive; artifact: release"},
    {.name = "dedupe",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(dedupe),
     .unit = "",
     .def = "hash",
     .choices = dedupe_words,
     .help = "How a hop's samples become distinct nodes: a hash map, or sorted (ID, slot) pairs.",
     .source = "artifact: sort"},
    {.name = "workspaces",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(workspaces),
     .unit = "",
     .def = "right",
     .choices = workspaces_words,
     .help = "right: what batches need; release: also the released code's request records, 168 KB per seed "
             "of a batch "
             "and thread.",
     .source = "artifact: release"},
    {.name = "workspace",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(workspace_bytes),
     .unit = "bytes",
     .def = "0",
     .help = "Of each thread: blocks, dedupe, sort; 0 = the bound of a batch, or what the cap leaves.",
     .source = "ours"},
    {.name = "bundle",
     .type = GNN_OPT_U32,
     .offset = FIELD(bundle),
     .unit = "batches",
     .def = "0",
     .max = RS_BUNDLE_MAX,
     .help = "io=sorted: batches of a thread sampled together, one sweep a hop; 0 = as many as the workspace "
             "holds.",
     .source = "ours"},
    {.name = "cache",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(cache_bytes),
     .unit = "bytes",
     .def = "0",
     .help = "io=sorted: edge-file blocks that stay in memory, shared by the threads; 0 = none.",
     .source = "ours; paper section 4.4 asks for a cache"},
    {.name = "extent",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(extent_bytes),
     .unit = "bytes",
     .def = "128K",
     .min = 4096,
     .max = 16777216,
     .help = "io=sorted: the longest read.",
     .source = "ours"},
    {.name = "gap",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(gap_bytes),
     .unit = "bytes",
     .def = "16K",
     .max = 16777216,
     .help = "io=sorted: unwanted bytes that a read passes over rather than ends: about bandwidth / reads "
             "per second.",
     .source = "ours"},
    {.name = "read_buffer",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(read_buffer_bytes),
     .unit = "bytes",
     .def = "2M",
     .min = 65536,
     .max = 1073741824,
     .help = "io=sorted: memory of a thread that reads in flight land in.",
     .source = "ours"},
    {.name = "prefetch",
     .type = GNN_OPT_U32,
     .offset = FIELD(prefetch),
     .unit = "batches",
     .def = "2",
     .min = 1,
     .max = 64,
     .help = "With training: batches a thread may sample ahead of their turn.",
     .source = "as PyG+ (PyTorch DataLoader)"},
    {.name = "extract_depth",
     .type = GNN_OPT_U32,
     .offset = FIELD(extract_depth),
     .unit = "reads",
     .def = "128",
     .min = 1,
     .max = 4096,
     .help = "With training: feature reads in flight.",
     .source = "ours"},
    {.name = "feature_io",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(feature_io),
     .unit = "",
     .def = "direct",
     .choices = feature_io_words,
     .help = "With training: features in whole sectors past the page cache, or exact rows through it.",
     .source = "as GNNDrive"},
    {.name = "requests",
     .type = GNN_OPT_U32,
     .offset = FIELD(requests),
     .unit = "requests",
     .def = "0",
     .max = 2147483647,
     .help = "On-demand mode: an epoch is a stream of so many requests of one target each, with latencies; 0 "
             "= off.",
     .source = "paper section 4.4: 1000000"},
    {.name = "concurrency",
     .type = GNN_OPT_U32,
     .offset = FIELD(concurrency),
     .unit = "requests",
     .def = "2",
     .min = 1,
     .max = 128,
     .help = "On-demand mode: requests in service at a time, a thread each.",
     .source = "paper section 4.4: 64 threads"},
    {.name = NULL},
};

static enum gnn_status ringsampler_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                        struct gnn_err *err)
{
    struct rs_sizes sizes;
    GNN_TRY(rs_size(env, config, &sizes, err));
    rs_plan_parts(config, &sizes, plan);
    return GNN_OK;
}

static enum gnn_status open_shared(struct ringsampler *s, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    void *order = NULL;
    GNN_TRY(gnn_mem_alloc(env->world, "order of the epoch", env->dataset->train.count * (uint64_t)sizeof *s->order,
                          GNN_MEM_PLAIN, &order, err));
    s->order = order;
    if (s->config->io == RS_IO_MAPPED) {
        GNN_TRY(gnn_file_open(env->world, env->dataset->indices_path, GNN_OPEN_READ, &s->mapped_file, err));
        GNN_TRY(gnn_map_open(env->world, s->mapped_file, GNN_MAP_RANDOM, &s->map, err));
    }
    if (s->sizes.cache_bytes > 0)
        GNN_TRY(rs_cache_open(env->world, env->dataset->edge_count, s->config->cache_bytes, &s->cache, err));
    s->lanes = calloc(s->sizes.lanes, sizeof *s->lanes);
    return s->lanes != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "ringsampler: %" PRIu32 " threads", s->sizes.lanes);
}

/* Every thread has its own handle; one look is enough to say that the file is what the dataset promises. */
static enum gnn_status check_edges(const struct ringsampler *s, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    const struct gnn_file *const file = s->config->io == RS_IO_MAPPED ? s->mapped_file : s->lanes[0].file;
    struct gnn_file_info info;
    gnn_file_info(env->world, file, &info);
    if (info.size_bytes >= env->dataset->edge_count * sizeof(gnn_node))
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " bytes, %" PRIu64 " edges expected; run `oocgnn prepare` again",
                    env->dataset->indices_path, info.size_bytes, env->dataset->edge_count);
}

static enum gnn_status ringsampler_open(const struct gnn_env *env, const void *config, void **state,
                                        struct gnn_err *err)
{
    if (env->dataset->train.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training nodes", env->dataset->dir);
    struct ringsampler *const s = calloc(1, sizeof *s);
    if (s == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ringsampler: state");
    *state = s;
    s->env = env;
    s->config = config;
    s->sample_key = gnn_rng_fork(env->workload->seed, "sample");
    GNN_TRY(rs_size(env, config, &s->sizes, err));
    const uint64_t seeds = env->dataset->train.count, all = (seeds + s->sizes.seeds - 1) / s->sizes.seeds;
    const uint32_t most = env->workload->max_batches;
    s->batches = most > 0 && most < all ? most : (uint32_t)all;
    GNN_TRY(open_shared(s, err));
    for (uint32_t i = 0; i < s->sizes.lanes; i++)
        GNN_TRY(rs_lane_open(s, &s->lanes[i], err));
    GNN_TRY(check_edges(s, err));
    return env->workload->sample_only ? GNN_OK : rs_training_open(s, err);
}

static enum gnn_status ringsampler_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                               struct gnn_err *err)
{
    return rs_epoch(state, epoch, out, err);
}

static void ringsampler_close(void *state)
{
    struct ringsampler *const s = state;
    if (s == NULL)
        return;
    rs_training_close(s);
    for (uint32_t i = 0; s->lanes != NULL && i < s->sizes.lanes; i++)
        rs_lane_close(&s->lanes[i]);
    free(s->lanes);
    rs_cache_close(s->cache);
    gnn_map_close(s->env->world, s->map);
    gnn_file_close(s->env->world, s->mapped_file);
    gnn_mem_free(s->env->world, s->order);
    free(s);
}

const struct gnn_system gnn_system_ringsampler = {
    .abi = GNN_SYSTEM_ABI,
    .name = "ringsampler",
    .title = "RingSampler (HotStorage 2025): offset sampling, one io_uring per thread",
    .options = options,
    .config_bytes = sizeof(struct ringsampler_config),
    .plan = ringsampler_plan,
    .open = ringsampler_open,
    .train_epoch = ringsampler_train_epoch,
    .close = ringsampler_close,
};
