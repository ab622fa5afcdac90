/* Ginex: superbatches sampled ahead to disk, a provably optimal feature cache. See README.md.
 *
 * Source   Park, Min, Lee, "Ginex", PVLDB 15(11), 2022; ginex.md
 * Memory   sizes.c
 * Errors   those of files, GNN_ENOSPC when the trace does not fit the disk, GNN_ENOTSUP without direct I/O, GNN_ECAP */
#include "systems/ginex/ginex.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const io_words[] = {"direct", "buffered", NULL};
static const char *const list_words[] = {"artifact", "cover", NULL};
static const char *const fill_words[] = {"mapped", "direct", NULL};
static const char *const replacement_words[] = {"belady", "lru", "static", NULL};
static const char *const initial_words[] = {"access", "score", NULL};
static const char *const floyd_words[] = {"exact", "biased", NULL};

#define FIELD(name) offsetof(struct ginex_config, name)
static const struct gnn_option options[] = {
    {.name = "superbatch",
     .type = GNN_OPT_U32,
     .offset = FIELD(superbatch),
     .unit = "batches",
     .def = "1500",
     .min = 1,
     .max = BELADY_BATCHES_MAX,
     .help = "Mini-batches sampled ahead and inspected together (SB); at most the epoch's.",
     .source = "GNNDrive section 3: 1500; artifact: 1000"},
    {.name = "feature_cache",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(feature_cache),
     .unit = "bytes",
     .def = "0",
     .help = "Feature cache with its address table (Z_f); 0 = 75 % of the cap or what fits, without a cap a "
             "tenth of the features.",
     .source = "GNNDrive section 5: 24 GB of 32 GB; artifact: 6 GB of 8 GB"},
    {.name = "neighbour_cache",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(neighbour_cache),
     .unit = "bytes",
     .def = "0",
     .help = "Neighbour cache with its table (Z_n); 0 = 19 % of the cap or what fits, without a cap a tenth of "
             "the lists.",
     .source = "GNNDrive section 5: 6 GB of 32 GB"},
    {.name = "cache_neighbours",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(cache_neighbours),
     .unit = "",
     .def = "true",
     .help = "Off: no neighbour cache, every list is read."},
    {.name = "skip_isolated",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(skip_isolated),
     .unit = "",
     .def = "false",
     .help = "Leave nodes without in-edges out of the neighbour cache: they rank first and are never looked up.",
     .source = "artifact: false"},
    {.name = "samplers",
     .type = GNN_OPT_U32,
     .offset = FIELD(samplers),
     .unit = "threads",
     .def = "4",
     .min = 1,
     .max = 128,
     .help = "Sampler threads of a superbatch (V), one list read in flight each.",
     .source = "artifact: 2x logical cores"},
    {.name = "gather_threads",
     .type = GNN_OPT_U32,
     .offset = FIELD(gather_threads),
     .unit = "threads",
     .def = "16",
     .min = 1,
     .max = 128,
     .help = "Threads of the gather (G), one synchronous read in flight each; also fill and apply.",
     .source = "artifact: 8x logical cores; GNNDrive section 5: more than 2x physical cores"},
    {.name = "trace_loaders",
     .type = GNN_OPT_U32,
     .offset = FIELD(trace_loaders),
     .unit = "threads",
     .def = "4",
     .min = 1,
     .max = 64,
     .help = "Threads that read mini-batches back from the trace (L_t).",
     .source = "artifact"},
    {.name = "trace_queue",
     .type = GNN_OPT_U32,
     .offset = FIELD(trace_queue),
     .unit = "batches",
     .def = "2",
     .min = 1,
     .max = 64,
     .help = "Mini-batches each trace loader reads ahead.",
     .source = "artifact"},
    {.name = "trace_depth",
     .type = GNN_OPT_U32,
     .offset = FIELD(trace_depth),
     .unit = "reads",
     .def = "8",
     .min = 1,
     .max = 256,
     .help = "Reads in flight per trace loader."},
    {.name = "trace_block",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(trace_block),
     .unit = "bytes",
     .def = "256K",
     .min = 4096,
     .max = 1 << 26,
     .help = "Bytes of one write to the trace, and most of one read from it."},
    {.name = "trace_dir",
     .type = GNN_OPT_TEXT,
     .offset = FIELD(trace_dir),
     .unit = "",
     .def = "",
     .help = "Directory of the scratch files (trace, neighbour cache); empty: the dataset's."},
    {.name = "id_readers",
     .type = GNN_OPT_U32,
     .offset = FIELD(id_readers),
     .unit = "reads",
     .def = "16",
     .min = 1,
     .max = 128,
     .help = "Node lists in flight while a superbatch is inspected.",
     .source = "artifact: 16 threads"},
    {.name = "hold_ids",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(hold_ids),
     .unit = "",
     .def = "true",
     .help = "Keep a superbatch's node lists in memory between passes 1 and 2; off: read them again.",
     .source = "artifact"},
    {.name = "neighbour_block",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(neighbour_block),
     .unit = "bytes",
     .def = "4K",
     .min = 4096,
     .max = 1 << 26,
     .help = "Bytes of one read while the neighbour cache is loaded, gather_threads of them in flight.",
     .source = "artifact"},
    {.name = "io",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(io),
     .unit = "",
     .def = "direct",
     .choices = io_words,
     .help = "How lists, rows and traces are read and written: past the page cache, or through it.",
     .source = "paper and artifact: direct"},
    {.name = "io_unit",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(io_unit),
     .unit = "bytes",
     .def = "4K",
     .min = 512,
     .max = 1 << 24,
     .help = "Feature reads cover whole units of this size; a power of two.",
     .source = "artifact: 4 KiB; varied by AGNES"},
    {.name = "list_read",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(list_read),
     .unit = "",
     .def = "artifact",
     .choices = list_words,
     .help = "Bytes of a list read: the released rule (up to a page too many), or the pages the list lies on.",
     .source = "artifact"},
    {.name = "fill",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(fill),
     .unit = "",
     .def = "mapped",
     .choices = fill_words,
     .help = "Cold start of the feature cache: page faults by gather_threads, or direct reads of what lies "
             "together.",
     .source = "artifact: mapped"},
    {.name = "replacement",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(replacement),
     .unit = "",
     .def = "belady",
     .choices = replacement_words,
     .help = "Of the feature cache: optimal, least recently used, or none.",
     .source = "paper: Belady's"},
    {.name = "initial",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(initial),
     .unit = "",
     .def = "access",
     .choices = initial_words,
     .help = "What the feature cache starts with: the superbatch's first nodes, or those with the top scores.",
     .source = "paper: first accesses"},
    {.name = "overlap",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(overlap),
     .unit = "",
     .def = "true",
     .help = "Pass 3 beside sampling, gather beside training; off: one after the other.",
     .source = "paper"},
    {.name = "overlap_caches",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(overlap_caches),
     .unit = "",
     .def = "false",
     .help = "Keep the feature cache until the next Inspect has ended, so that both caches are resident.",
     .source = "artifact: true; paper: false"},
    {.name = "floyd",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(floyd),
     .unit = "",
     .def = "exact",
     .choices = floyd_words,
     .help = "biased: the released sampler's off-by-one, under which the last neighbours are drawn less often.",
     .source = "artifact: biased; paper: uniform"},
    {.name = NULL},
};

static enum gnn_status ginex_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                  struct gnn_err *err)
{
    struct ginex_sizes sizes;
    (void)env;
    return ginex_size(config, &sizes, plan, err);
}

static enum gnn_status open_sampling(struct ginex *s, struct gnn_err *err)
{
    const struct gnn_env *env = s->env;
    const struct ginex_neighbours_config neighbours = ginex_neighbours_settings(env, s->config, &s->sizes);
    GNN_TRY(ginex_neighbours_open(env, &neighbours, &s->neighbours, err));
    const struct gnn_sampling_config sampling = {
        .workers = s->config->samplers,
        .floyd_biased = env->floyd_biased || s->config->floyd == 1,
        .open_source = ginex_source_open,
        .open_source_ctx = s->neighbours,
    };
    GNN_TRY(gnn_sampling_open(env, &sampling, &s->sampling, err));
    s->drawn = calloc(s->config->samplers, sizeof(struct gnn_batch *));
    if (s->drawn == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ginex: %" PRIu32 " samplers", s->config->samplers);
    for (uint32_t w = 0; w < s->config->samplers; w++)
        GNN_TRY(gnn_batch_open(env->world, &s->drawn[w], err));
    return GNN_OK;
}

static enum gnn_status open_feature_file(struct ginex *s, struct gnn_err *err)
{
    struct gnn_world *world = s->env->world;
    const struct gnn_dataset *d = s->env->dataset;
    const bool direct = s->config->io == GINEX_IO_DIRECT;
    uint32_t align;
    GNN_TRY(
        gnn_dataset_file_open(s->env, GNN_DATASET_FEATURES, direct ? GNN_OPEN_DIRECT : 0, &s->features, &align, err));
    if (direct && s->config->io_unit % align != 0)
        return gnn_fail(err, GNN_EUSAGE, "ginex.io_unit=%" PRIu64 ": direct I/O needs multiples of %" PRIu32,
                        s->config->io_unit, align);
    if (s->config->fill != GINEX_FILL_MAPPED)
        return GNN_OK;
    GNN_TRY(gnn_file_open(world, d->features_path, GNN_OPEN_READ, &s->features_mapped, err));
    return gnn_map_open(world, s->features_mapped, GNN_MAP_RANDOM, &s->features_map, err);
}

static enum gnn_status open_training(struct ginex *s, struct gnn_err *err)
{
    GNN_TRY(open_feature_file(s, err));
    GNN_TRY(gnn_team_open(s->env->world, s->config->gather_threads, &s->team, err));
    return gnn_training_open(s->env, &s->training, err);
}

static void ginex_close(void *state)
{
    struct ginex *s = state;
    if (s == NULL)
        return;
    struct gnn_world *world = s->env->world;
    gnn_training_close(&s->training);
    gnn_team_close(s->team);
    gnn_map_close(world, s->features_map);
    gnn_file_close(world, s->features_mapped);
    gnn_file_close(world, s->features);
    for (uint32_t w = 0; s->drawn != NULL && w < s->config->samplers; w++)
        gnn_batch_close(world, s->drawn[w]);
    free(s->drawn);
    gnn_sampling_close(s->sampling); /* with its sources */
    ginex_neighbours_close(s->neighbours);
    free(s);
}

static enum gnn_status ginex_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct ginex *s = calloc(1, sizeof *s);
    if (s == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ginex: state");
    *state = s;
    s->env = env;
    s->config = config;
    s->trace_dir = ginex_trace_dir(env, config);
    struct gnn_memory_plan plan;
    gnn_plan_begin(&plan, env);
    GNN_TRY(ginex_size(config, &s->sizes, &plan, err));
    GNN_TRY(gnn_plan_check(&plan, "", err));
    GNN_TRY(open_sampling(s, err));
    return env->workload->sample_only ? GNN_OK : open_training(s, err);
}

static enum gnn_status ginex_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    return ginex_epoch(state, epoch, out, err);
}

const struct gnn_system gnn_system_ginex = {
    .abi = GNN_SYSTEM_ABI,
    .name = "ginex",
    .title = "Ginex (PVLDB 2022)",
    .options = options,
    .config_bytes = sizeof(struct ginex_config),
    .plan = ginex_plan,
    .open = ginex_open,
    .train_epoch = ginex_train_epoch,
    .close = ginex_close,
};
