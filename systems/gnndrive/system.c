/* GNNDrive: asynchronous extraction into a reference-counted feature buffer, in host memory (CPU variant) or, where the
 * tensor back-end has memory of its own, in that (GPU variant: reads land in a staging buffer first). See README.md.
 *
 * Source   GNNDrive (ICPP 2024); where paper and released code differ, the paper is the default (gnndrive.md
 * section 7)
 * Memory   S slots and one dense input, or on the host the staging buffer and the two on the GPU; the buffer's tables;
 *          items = Ns + Q_e + Ne + Q_t + 2 mini-batches
 * Errors   those of the files and rings (GNN_EIO, GNN_ESHORT, GNN_ENOTSUP without direct I/O),
 * GNN_ENOMEM, GNN_ECAP, GNN_EUSAGE for sizes that can deadlock, GNN_ECANCELLED */
#include "systems/gnndrive/gnndrive.h"

#include <inttypes.h>
#include <stdlib.h>

/* An epoch number no training epoch has: the batches that measure Mb. */
#define CALIBRATION_EPOCH (UINT64_MAX - 1)

static const char *const io_words[] = {"direct", "buffered", NULL};
static const char *const valid_words[] = {"completion", "batch", NULL};
static const char *const meta_words[] = {"artifact", "compact", NULL};
static const char *const order_words[] = {"global", "segments", NULL};
static const char *const readahead_words[] = {"off", "kernel", NULL};

#define FIELD(name) offsetof(struct gnndrive_config, name)
static const struct gnn_option options[] = {
    {.name = "samplers",
     .type = GNN_OPT_U32,
     .offset = FIELD(samplers),
     .unit = "threads",
     .def = "2",
     .min = 1,
     .max = 128,
     .help = "Sampler threads (Ns).",
     .source = "paper: 4; artifact: 2"},
    {.name = "extractors",
     .type = GNN_OPT_U32,
     .offset = FIELD(extractors),
     .unit = "threads",
     .def = "2",
     .min = 1,
     .max = 64,
     .help = "Extractor threads (Ne), each with a ring of its own.",
     .source = "paper: 4; artifact: 2"},
    {.name = "extract_queue",
     .type = GNN_OPT_U32,
     .offset = FIELD(extract_queue),
     .unit = "batches",
     .def = "0",
     .max = 1024,
     .help = "Depth of the extracting queue (Q_e); 0 = samplers + 2.",
     .source = "paper: 6; artifact: Ns + 2"},
    {.name = "train_queue",
     .type = GNN_OPT_U32,
     .offset = FIELD(train_queue),
     .unit = "batches",
     .def = "0",
     .max = 1024,
     .help = "Depth of the training queue (Q_t); 0 = extractors.",
     .source = "paper: 4; artifact: Ne"},
    {.name = "batch_nodes",
     .type = GNN_OPT_U32,
     .offset = FIELD(batch_nodes),
     .unit = "nodes",
     .def = "0",
     .max = UINT32_MAX,
     .help = "Nodes of the largest mini-batch (Mb); 0 = the bound when it is at most N / 20, else 1.1 x "
             "measured.",
     .source = "paper section 4.2: maximum over mini-batches; artifact: product of the fan-outs"},
    {.name = "calibration_batches",
     .type = GNN_OPT_U32,
     .offset = FIELD(calibration_batches),
     .unit = "batches",
     .def = "8",
     .min = 1,
     .max = 100000,
     .help = "Mini-batches sampled at open to measure Mb when batch_nodes is 0 and the bound is large.",
     .source = "ours"},
    {.name = "buffer_mult",
     .type = GNN_OPT_U32,
     .offset = FIELD(buffer_mult),
     .unit = "",
     .def = "1",
     .min = 1,
     .max = 1024,
     .help = "Feature buffer size in multiples of (train_queue + 1) x batch_nodes slots.",
     .source = "paper section 5.2, Figure 12: 1x, swept to 8x"},
    {.name = "slots",
     .type = GNN_OPT_U32,
     .offset = FIELD(slots),
     .unit = "slots",
     .def = "0",
     .max = UINT32_MAX,
     .help = "Feature buffer slots (S), at least extractors x batch_nodes; 0 = from buffer_mult.",
     .source = "paper section 4.2: at least Ne x Mb"},
    {.name = "depth",
     .type = GNN_OPT_U32,
     .offset = FIELD(depth),
     .unit = "reads",
     .def = "80",
     .min = 1,
     .max = 4096,
     .help = "Reads in flight per extractor.",
     .source = "artifact: ring of 80 entries"},
    {.name = "io",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(io),
     .unit = "",
     .def = "direct",
     .choices = io_words,
     .help = "direct: features bypass the page cache in whole sectors; buffered: exact rows through the page "
             "cache.",
     .source = "paper sections 4.2 and 4.4"},
    {.name = "joint",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(joint),
     .unit = "",
     .def = "true",
     .help = "Rows below the sector size are read and kept with their neighbours in the sector.",
     .source = "paper section 4.4, access granularity"},
    {.name = "in_order",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(in_order),
     .unit = "",
     .def = "false",
     .help = "Batches are extracted and trained in the epoch's order instead of overtaking each other.",
     .source = "paper section 4.3: reordering"},
    {.name = "valid",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(valid),
     .unit = "",
     .def = "completion",
     .choices = valid_words,
     .help = "When rows become ready for other batches: at each read's completion, or when the batch has all.",
     .source = "paper section 4.2 (text): completion; Algorithm 1: batch"},
    {.name = "serial_extract",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(serial_extract),
     .unit = "",
     .def = "false",
     .help = "One extraction at a time with trainer and releaser kept out, as under the interpreter lock.",
     .source = "artifact: native calls keep the interpreter lock"},
    {.name = "lock_submit",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(lock_submit),
     .unit = "",
     .def = "false",
     .help = "Hold the mapping table's lock through all submissions of a batch.",
     .source = "artifact: true; paper: lookup and allocation only"},
    {.name = "order",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(order),
     .unit = "",
     .def = "global",
     .choices = order_words,
     .help = "global: one permutation; segments: each sampler owns a contiguous part and shuffles inside it.",
     .source = "paper: global; artifact: segments"},
    {.name = "meta",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(meta),
     .unit = "",
     .def = "artifact",
     .choices = meta_words,
     .help = "Memory of the tables: as much as the released code (24 bytes per node), or 8 bytes per group.",
     .source = "artifact: 16N map + 8N staging table, 72 bytes per slot"},
    {.name = "readahead",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(readahead),
     .unit = "",
     .def = "off",
     .choices = readahead_words,
     .help = "Of the topology mapping. off: one fault reads one page; kernel: the default read-around.",
     .source = "as PyG+ (Ginex artifact set-up)"},
    {.name = "staging",
     .type = GNN_OPT_U32,
     .offset = FIELD(staging),
     .unit = "loads",
     .def = "0",
     .max = INT32_MAX,
     .help = "With a GPU: loads each extractor stages in pinned host memory; 0 = batch_nodes (Mb).",
     .source = "paper and artifact: Ne x Mb"},
    {.name = NULL},
};

static enum gnn_status gnndrive_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *out,
                                     struct gnn_err *err)
{
    struct gnndrive_sizes sizes;
    GNN_TRY(gnndrive_size(env, config, gnndrive_batch_nodes(env, config), 0, &sizes, err));
    return gnndrive_memory(env, config, &sizes, out, err);
}

static enum gnn_status open_sampling(struct gnndrive *s, struct gnn_err *err)
{
    const struct gnn_sampling_config config = {
        .workers = s->config->samplers,
        .advice = s->config->readahead == 0 ? GNN_MAP_RANDOM : GNN_MAP_NORMAL,
        .floyd_biased = s->env->floyd_biased,
        .segments = s->config->order == GNNDRIVE_ORDER_SEGMENTS,
    };
    s->next_batch = calloc(s->config->samplers, sizeof *s->next_batch);
    if (s->next_batch == NULL)
        return gnn_fail(err, GNN_ENOMEM, "gnndrive: %" PRIu32 " samplers", s->config->samplers);
    return gnn_sampling_open(s->env, &config, &s->sampling, err);
}

/* Samples the first batches of an epoch that is never trained. It reads topology pages, which stay in the
 * page cache as far as the cap lets them: calibration_batches of the epoch's T / B batches. */
static enum gnn_status measure_batch_nodes(struct gnndrive *s, uint32_t *batch_nodes, struct gnn_err *err)
{
    struct gnn_batch *batch = NULL;
    uint32_t most = 0;
    const uint32_t all = gnn_sampling_batches(s->sampling), wanted = s->config->calibration_batches;
    gnn_sampling_begin(s->sampling, CALIBRATION_EPOCH);
    enum gnn_status status = gnn_batch_open(s->env->world, &batch, err);
    for (uint32_t k = 0; status == GNN_OK && k < all && k < wanted; k++) {
        status = gnn_sampling_draw(s->sampling, 0, k, batch, err);
        if (status == GNN_OK && gnn_batch_view(batch)->node_count > most)
            most = gnn_batch_view(batch)->node_count;
    }
    gnn_batch_close(s->env->world, batch);
    *batch_nodes = gnndrive_measured_batch_nodes(s->env, most);
    return status;
}

static enum gnn_status open_feature_file(struct gnndrive *s, uint32_t *align_bytes, struct gnn_err *err)
{
    struct gnn_world *world = s->env->world;
    const bool direct = s->config->io == GNNDRIVE_IO_DIRECT;
    GNN_TRY(gnn_file_open(world, s->env->dataset->features_path, direct ? GNN_OPEN_DIRECT : GNN_OPEN_READ, &s->features,
                          err)); /* without direct I/O its message names gnndrive.io */
    struct gnn_file_info info;
    gnn_file_info(world, s->features, &info);
    s->features_bytes = info.size_bytes;
    if (info.size_bytes != s->env->dataset->feature_bytes)
        return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " bytes, expected %" PRIu64 ": prepare the dataset again",
                        s->env->dataset->features_path, info.size_bytes, s->env->dataset->feature_bytes);
    *align_bytes = info.mem_align_bytes > info.offset_align_bytes ? info.mem_align_bytes : info.offset_align_bytes;
    return GNN_OK;
}

static enum gnn_status open_lists(struct gnndrive *s, struct gnn_err *err)
{
    const uint64_t limit = s->sizes.node_limit;
    const uint64_t lists = s->sizes.items + UINT64_C(4) * s->config->extractors;
    GNN_TRY(gnn_mem_alloc(s->env->world, "gnndrive node lists", gnn_mul_bytes(lists, limit * sizeof(uint32_t)),
                          GNN_MEM_PLAIN, &s->lists, err));
    uint32_t *next = s->lists;
    for (uint32_t i = 0; i < s->sizes.items; i++, next += limit)
        s->items[i].alias = next;
    for (uint32_t e = 0; e < s->config->extractors; e++) {
        uint32_t **lists_of[] = {&s->extractors[e].load_key, &s->extractors[e].load_slot, &s->extractors[e].wait,
                                 &s->extractors[e].pending};
        for (size_t l = 0; l < sizeof lists_of / sizeof *lists_of; l++, next += limit)
            *lists_of[l] = next;
    }
    return GNN_OK;
}

/* The feature buffer: on the GPU where there is one, with a staging buffer to read into. */
static enum gnn_status open_slots(struct gnndrive *s, struct gnn_err *err)
{
    const struct gnn_env *env = s->env;
    const uint64_t bytes = gnn_mul_bytes(s->sizes.slots, s->sizes.layout.load_bytes);
    if (s->sizes.staging == 0)
        return gnn_mem_alloc(env->world, "gnndrive feature buffer", bytes, GNN_MEM_FEATURES, &s->slots, err);
    GNN_TRY(env->tensor->ops->alloc(env->tensor, "gnndrive feature buffer", bytes, &s->slots, err));
    const uint64_t loads = gnn_mul_bytes(s->config->extractors, s->sizes.staging);
    return gnn_mem_alloc(env->world, "gnndrive staging buffer", gnn_mul_bytes(loads, s->sizes.layout.load_bytes),
                         GNN_MEM_FEATURES | GNN_MEM_PINNED, &s->staging, err);
}

static void close_slots(struct gnndrive *s)
{
    if (s->sizes.staging > 0 && s->slots != NULL)
        s->env->tensor->ops->free(s->env->tensor, s->slots);
    else
        gnn_mem_free(s->env->world, s->slots);
    gnn_mem_free(s->env->world, s->staging);
}

static enum gnn_status open_extraction(struct gnndrive *s, struct gnn_err *err)
{
    const struct gnn_env *env = s->env;
    const struct feature_buffer_config buffer = gnndrive_buffer_config(env, s->config, &s->sizes);
    const struct gnn_reader_config reader = gnndrive_reader_config(env, s->config, &s->sizes, &s->features);
    GNN_TRY(feature_buffer_open(env->world, &buffer, &s->fb, err));
    GNN_TRY(open_slots(s, err));
    s->extractors = calloc(s->config->extractors, sizeof *s->extractors);
    if (s->extractors == NULL)
        return gnn_fail(err, GNN_ENOMEM, "gnndrive: %" PRIu32 " extractors", s->config->extractors);
    for (uint32_t e = 0; e < s->config->extractors; e++) {
        GNN_TRY(gnn_reader_open(env->world, &reader, &s->extractors[e].reader, err));
        if (s->staging != NULL)
            s->extractors[e].staging = (char *)s->staging + (uint64_t)e * s->sizes.staging * s->sizes.layout.load_bytes;
    }
    GNN_TRY(open_lists(s, err));
    gnn_rows_init(&s->input, env, "gnndrive input", true);
    return gnn_training_open(env, &s->training, err);
}

static enum gnn_status open_items(struct gnndrive *s, struct gnn_err *err)
{
    s->items = calloc(s->sizes.items, sizeof *s->items);
    if (s->items == NULL)
        return gnn_fail(err, GNN_ENOMEM, "gnndrive: %" PRIu32 " mini-batches", s->sizes.items);
    for (uint32_t i = 0; i < s->sizes.items; i++)
        GNN_TRY(gnn_batch_open(s->env->world, &s->items[i].batch, err));
    return GNN_OK;
}

static enum gnn_status open_all(struct gnndrive *s, struct gnn_err *err)
{
    GNN_TRY(open_sampling(s, err));
    if (s->env->workload->sample_only) {
        GNN_TRY(gnndrive_size(s->env, s->config, 1, 0, &s->sizes, err));
        return open_items(s, err);
    }
    uint32_t align_bytes = 0, batch_nodes = gnndrive_batch_nodes(s->env, s->config);
    GNN_TRY(open_feature_file(s, &align_bytes, err));
    if (batch_nodes == 0)
        GNN_TRY(measure_batch_nodes(s, &batch_nodes, err));
    GNN_TRY(gnndrive_size(s->env, s->config, batch_nodes, align_bytes, &s->sizes, err));
    struct gnn_memory_plan plan;
    GNN_TRY(gnndrive_memory(s->env, s->config, &s->sizes, &plan, err));
    GNN_TRY(open_items(s, err));
    return open_extraction(s, err);
}

static void gnndrive_close(void *state)
{
    struct gnndrive *s = state;
    if (s == NULL)
        return;
    struct gnn_world *world = s->env->world;
    gnn_training_close(&s->training);
    gnn_rows_close(&s->input);
    for (uint32_t e = 0; s->extractors != NULL && e < s->config->extractors; e++)
        gnn_reader_close(s->extractors[e].reader);
    free(s->extractors);
    gnn_mem_free(world, s->lists);
    close_slots(s);
    feature_buffer_close(s->fb);
    for (uint32_t i = 0; s->items != NULL && i < s->sizes.items; i++)
        gnn_batch_close(world, s->items[i].batch);
    free(s->items);
    gnn_file_close(world, s->features);
    gnn_sampling_close(s->sampling);
    free(s->next_batch);
    free(s);
}

static enum gnn_status gnndrive_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct gnndrive *s = calloc(1, sizeof *s);
    if (s == NULL)
        return gnn_fail(err, GNN_ENOMEM, "gnndrive: state");
    *state = s;
    s->env = env;
    s->config = config;
    return open_all(s, err);
}

static enum gnn_status gnndrive_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                            struct gnn_err *err)
{
    return gnndrive_epoch(state, epoch, out, err);
}

const struct gnn_system gnn_system_gnndrive = {
    .abi = GNN_SYSTEM_ABI,
    .name = "gnndrive",
    .title = "GNNDrive (ICPP 2024)",
    .options = options,
    .config_bytes = sizeof(struct gnndrive_config),
    .plan = gnndrive_plan,
    .open = gnndrive_open,
    .train_epoch = gnndrive_train_epoch,
    .close = gnndrive_close,
};
