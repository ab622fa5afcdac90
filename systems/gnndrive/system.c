/* SPDX-License-Identifier: MIT */
/* GNNDrive: asynchronous extraction into a reference-counted feature buffer, in host memory (CPU variant) or, where the
 * tensor back-end has memory of its own, in that (GPU variant: reads land in a staging buffer first). See README.md.
 *
 * Source   GNNDrive (ICPP 2024); where paper and released code differ, the paper is the default (README, "Departures")
 * Memory   S slots and one dense input, or on the host the staging buffer and the two on the GPU; the buffer's tables;
 *          items = Ns + Q_e + Ne + Q_t + 2 mini-batches
 * Errors   those of the files and rings (GNN_EIO, GNN_ESHORT, GNN_ENOTSUP without direct I/O), GNN_ENOMEM, GNN_ECAP,
 *          GNN_EUSAGE for sizes that can deadlock, GNN_ECANCELLED */
#include "systems/gnndrive/gnndrive.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* The epoch number of the batches that measure Mb; no training epoch has it. */
#define CALIBRATION_EPOCH (UINT64_MAX - 1)

/* Threads: the paper's four of each. They wait for reads, so that two share a core. */
static void gnndrive_complete(const struct gnn_env *env, void *config)
{
    struct gnndrive_config *const c = config;
    c->samplers = gnn_threads(c->samplers, gnn_min_u32(4, 2 * env->cores));
    c->extractors = gnn_threads(c->extractors, gnn_min_u32(4, 2 * env->cores));
}

static enum gnn_status gnndrive_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                     struct gnn_err *err)
{
    struct gnndrive_sizes sizes;
    GNN_TRY(gnndrive_size(env, config, gnndrive_batch_nodes(env, config), 0, &sizes, err));
    gnndrive_plan_parts(config, &sizes, plan);
    return GNN_OK;
}

static enum gnn_status open_sampling(struct gnndrive *s, struct gnn_err *err)
{
    const struct gnn_sampling_config config = {
        .workers = s->config->samplers,
        .advice = s->config->readahead,
        .floyd_biased = s->env->floyd_biased,
        .framework = true,
        .segments = s->config->order == GNNDRIVE_ORDER_SEGMENTS,
    };
    GNN_NEW(s->next_batch, s->config->samplers, err, "gnndrive: %" PRIu32 " samplers", s->config->samplers);
    return gnn_sampling_open(s->env, &config, &s->sampling, err);
}

/* Samples the first calibration_batches of an epoch that is never trained and sets Mb from the largest. The topology
 * pages that this reads stay in the page cache as far as the cap lets them. */
static enum gnn_status measure_batch_nodes(struct gnndrive *s, uint32_t *batch_nodes, struct gnn_err *err)
{
    struct gnn_batch *batch = NULL;
    uint32_t most = 0;
    const uint32_t all = gnn_sampling_batches(s->sampling), wanted = s->config->calibration_batches;
    gnn_sampling_begin(s->sampling, CALIBRATION_EPOCH);
    enum gnn_status status = gnn_batch_open(s->env->world, &batch, err);
    for (uint32_t k = 0; status == GNN_OK && k < all && k < wanted; k++) {
        status = gnn_sampling_draw(s->sampling, 0, k, batch, err);
        if (status == GNN_OK)
            most = gnn_max_u32(most, gnn_batch_view(batch)->node_count);
    }
    gnn_batch_close(s->env->world, batch);
    *batch_nodes = gnndrive_measured_batch_nodes(s->env, most);
    return status;
}

static enum gnn_status open_lists(struct gnndrive *s, struct gnn_err *err)
{
    const uint64_t limit = s->sizes.node_limit;
    const uint64_t entries = gnndrive_list_count(s->config, &s->sizes) * limit;
    GNN_MEM_NEW(s->env->world, s->lists, entries, "gnndrive node lists", GNN_MEM_PLAIN, err);
    uint32_t *next = s->lists;
    for (uint32_t i = 0; i < s->sizes.items; i++, next += limit)
        s->items[i].alias = next;
    for (uint32_t e = 0; e < s->config->extractors; e++) {
        struct gnndrive_claim *claim = &s->extractors[e].claim;
        uint32_t **lists_of[] = {&claim->load_key, &claim->load_slot, &claim->wait, &claim->pending};
        for (size_t l = 0; l < sizeof lists_of / sizeof *lists_of; l++, next += limit)
            *lists_of[l] = next;
        if (s->sizes.portion > 0) {
            s->extractors[e].stage = next;
            next += limit;
        }
    }
    assert(next == s->lists + entries);
    return GNN_OK;
}

/* Registers the staging buffer, which is everybody's, with this rank's GPU. */
static enum gnn_status pin_shared_staging(struct gnndrive *s, struct gnn_err *err)
{
    struct gnn_tensor *const tensor = s->env->tensor;
    uint64_t bytes;
    void *const memory = gnndrive_staging_all(s->shared->staging, &bytes);
    GNN_TRY(tensor->ops->pin(tensor, "gnndrive staging buffer", memory, bytes, err));
    s->pinned = memory;
    return GNN_OK;
}

/* Allocates the feature buffer: on the GPU where there is one, with a staging buffer in host memory to read into. */
static enum gnn_status open_slots(struct gnndrive *s, struct gnn_err *err)
{
    const struct gnn_env *env = s->env;
    const uint64_t bytes = gnn_mul_bytes(s->sizes.slots, s->sizes.layout.load_bytes);
    if (s->sizes.staging == 0)
        return gnn_mem_alloc(env->world, "gnndrive feature buffer", bytes, GNN_MEM_FEATURES, &s->slots, err);
    GNN_TRY(env->tensor->ops->alloc(env->tensor, "gnndrive feature buffer", bytes, &s->slots, err));
    if (s->sizes.portion > 0)
        return pin_shared_staging(s, err);
    const uint64_t loads = gnn_mul_bytes(s->config->extractors, s->sizes.staging);
    return gnn_staging_alloc(env, "gnndrive staging buffer", gnn_mul_bytes(loads, s->sizes.layout.load_bytes),
                             &s->staging, err);
}

static void close_slots(struct gnndrive *s)
{
    if (s->sizes.sharing > 1)
        return; /* they are everybody's */
    if (s->sizes.staging > 0 && s->slots != NULL)
        s->env->tensor->ops->free(s->env->tensor, s->slots);
    else
        gnn_mem_free(s->env->world, s->slots);
    gnn_staging_free(s->env, s->staging);
    if (s->pinned != NULL)
        s->env->tensor->ops->unpin(s->env->tensor, s->pinned);
}

/* The rank's feature buffer: its own, or its handle on that of all ranks. */
static enum gnn_status open_buffer(struct gnndrive *s, struct gnn_err *err)
{
    if (s->sizes.sharing == 1) {
        GNN_TRY(gnndrive_buffer_open(s->env->world, &s->sizes.buffer, &s->fb, err));
        return open_slots(s, err);
    }
    s->slots = s->shared->slots;
    return gnndrive_buffer_join(s->shared->fb, s->env->rank, &s->fb, err);
}

static enum gnn_status open_extraction(struct gnndrive *s, struct gnn_err *err)
{
    const struct gnn_env *env = s->env;
    struct gnn_reader_config reader = s->sizes.reader;
    reader.files = &s->features;
    reader.file_count = 1;
    GNN_TRY(open_buffer(s, err));
    GNN_NEW(s->extractors, s->config->extractors, err, "gnndrive: %" PRIu32 " extractors", s->config->extractors);
    for (uint32_t e = 0; e < s->config->extractors; e++) {
        GNN_TRY(gnn_reader_open(env->world, &reader, &s->extractors[e].reader, err));
        if (s->staging != NULL)
            s->extractors[e].staging = (char *)s->staging + (uint64_t)e * s->sizes.staging * s->sizes.layout.load_bytes;
    }
    GNN_TRY(open_lists(s, err));
    gnn_rows_init_wide(&s->dense, env, "gnndrive input", GNN_ROWS_TENSOR);
    gnn_training_open(env, &s->training);
    return gnn_train_input_open(env, "gnndrive input", GNN_TRANSFER_BLOCKING, &s->input, err);
}

static enum gnn_status open_items(struct gnndrive *s, struct gnn_err *err)
{
    GNN_NEW(s->items, s->sizes.items, err, "gnndrive: %" PRIu32 " mini-batches", s->sizes.items);
    for (uint32_t i = 0; i < s->sizes.items; i++)
        GNN_TRY(gnn_batch_open(s->env->world, &s->items[i].batch, err));
    const bool staged = s->sizes.staging > 0 && !s->env->workload->sample_only;
    for (uint32_t i = 0; staged && i < s->sizes.items; i++) {
        struct gnndrive_item *item = &s->items[i];
        struct gnn_tensor *tensor = s->env->tensor;
        GNN_TRY(gnn_train_input_open(s->env, "gnndrive input", GNN_TRANSFER_AHEAD, &item->input, err));
        GNN_TRY(tensor->ops->event_open(tensor, &item->rows_read, err));
    }
    return GNN_OK;
}

static void close_items(struct gnndrive *s)
{
    for (uint32_t i = 0; s->items != NULL && i < s->sizes.items; i++) {
        gnn_train_input_close(&s->items[i].input);
        if (s->items[i].rows_read != NULL)
            s->env->tensor->ops->event_close(s->env->tensor, s->items[i].rows_read);
        gnn_batch_close(s->env->world, s->items[i].batch);
    }
    free(s->items);
}

/* Opens samplers and feature file, and decides every size. Mb was given, found by open_shared, or is measured. */
static enum gnn_status open_sizes(struct gnndrive *s, uint32_t *batch_nodes, uint32_t *align_bytes, struct gnn_err *err)
{
    GNN_TRY(open_sampling(s, err));
    if (s->env->workload->sample_only)
        return gnndrive_size(s->env, s->config, 1, 0, &s->sizes, err);
    const unsigned flags = s->config->io == GNNDRIVE_IO_DIRECT ? GNN_OPEN_DIRECT : 0;
    GNN_TRY(gnn_dataset_file_open(s->env, GNN_DATASET_FEATURES, flags, &s->features, align_bytes, err));
    *batch_nodes = s->shared != NULL ? s->shared->batch_nodes : gnndrive_batch_nodes(s->env, s->config);
    if (*batch_nodes == 0)
        GNN_TRY(measure_batch_nodes(s, batch_nodes, err));
    GNN_TRY(gnndrive_size(s->env, s->config, *batch_nodes, *align_bytes, &s->sizes, err));
    struct gnn_memory_plan plan;
    gnn_plan_begin(&plan, s->env);
    gnndrive_plan_parts(s->config, &s->sizes, &plan);
    return gnn_plan_check(&plan, "", err);
}

static enum gnn_status open_all(struct gnndrive *s, struct gnn_err *err)
{
    uint32_t batch_nodes = 0, align_bytes = 0;
    GNN_TRY(open_sizes(s, &batch_nodes, &align_bytes, err));
    GNN_TRY(open_items(s, err));
    return s->env->workload->sample_only ? GNN_OK : open_extraction(s, err);
}

static void gnndrive_intend(const void *state, struct gnn_intent *intent)
{
    const struct gnndrive *const s = state;
    const struct gnn_dataset *const d = s->env->dataset;
    gnn_sampling_intend(s->sampling, intent);
    gnn_intent_reads(intent, d->indices_path, GNN_READS_MAPPED);
    if (!s->env->workload->sample_only)
        gnn_intent_reads(intent, d->features_path,
                         s->config->io == GNNDRIVE_IO_DIRECT ? GNN_READS_DIRECT : GNN_READS_BUFFERED);
}

static void gnndrive_close(void *state)
{
    struct gnndrive *s = state;
    if (s == NULL)
        return;
    struct gnn_world *world = s->env->world;
    gnn_rows_close(&s->dense);
    gnn_train_input_close(&s->input);
    for (uint32_t e = 0; s->extractors != NULL && e < s->config->extractors; e++)
        gnn_reader_close(s->extractors[e].reader);
    free(s->extractors);
    gnn_mem_free(world, s->lists);
    close_slots(s);
    gnndrive_buffer_close(s->fb);
    close_items(s);
    gnn_file_close(world, s->features);
    gnn_sampling_close(s->sampling);
    free(s->next_batch);
    free(s);
}

static enum gnn_status gnndrive_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct gnndrive *s;
    GNN_NEW(s, 1, err, "gnndrive: state");
    *state = s;
    s->env = env;
    s->config = config;
    s->shared = env->shared;
    return open_all(s, err);
}

/* ---- several ranks ---- */

/* Decides the sizes for all ranks on rank 0's part of the training nodes: closes again what each rank opens for itself,
 * keeps the feature or staging buffer where they share one. */
static enum gnn_status gnndrive_open_shared(const struct gnn_env *env, const void *config, void **shared,
                                            struct gnn_err *err)
{
    struct gnndrive_shared *own;
    void *memory = NULL;
    GNN_TRY(gnn_mem_alloc(env->world, "gnndrive: what the workers share", sizeof *own, GNN_MEM_SHARED, &memory, err));
    *shared = own = memory;
    own->env = env;
    struct gnndrive *sizing = NULL;
    void *state;
    GNN_NEW(sizing, 1, err, "gnndrive: state");
    state = sizing;
    sizing->env = env;
    sizing->config = config;
    enum gnn_status status = open_sizes(sizing, &own->batch_nodes, &own->align_bytes, err);
    const struct gnndrive_sizes sizes = sizing->sizes;
    gnndrive_close(state);
    own->sharing = sizes.sharing;
    if (status != GNN_OK || env->workload->sample_only)
        return status;
    if (sizes.portion > 0) {
        const struct gnndrive_staging_config staging = gnndrive_staging_of(env, &sizes);
        return gnndrive_staging_open(env->world, &staging, &own->staging, err);
    }
    if (sizes.sharing == 1)
        return GNN_OK;
    GNN_TRY(gnndrive_buffer_open(env->world, &sizes.buffer, &own->fb, err));
    return gnn_mem_alloc(env->world, "gnndrive feature buffer", gnn_mul_bytes(sizes.slots, sizes.layout.load_bytes),
                         GNN_MEM_FEATURES | GNN_MEM_SHARED, &own->slots, err);
}

static void gnndrive_close_shared(void *shared)
{
    struct gnndrive_shared *const own = shared;
    if (own == NULL)
        return;
    gnn_mem_free(own->env->world, own->slots);
    gnndrive_buffer_close(own->fb);
    gnndrive_staging_close(own->staging);
    gnn_mem_free(own->env->world, own);
}

const struct gnn_system gnn_system_gnndrive = {
    .abi = GNN_SYSTEM_ABI,
    .name = "gnndrive",
    .title = "GNNDrive (ICPP 2024)",
    .variants = GNN_VARIANT_CPU | GNN_VARIANT_GPU | GNN_VARIANT_SAMPLE_ONLY,
    .options = gnndrive_options,
    .config_bytes = sizeof(struct gnndrive_config),
    .complete = gnndrive_complete,
    .workers_max = GNN_RANKS_MAX,
    .plan = gnndrive_plan,
    .open_shared = gnndrive_open_shared,
    .close_shared = gnndrive_close_shared,
    .open = gnndrive_open,
    .intend = gnndrive_intend,
    .train_epoch = gnndrive_train_epoch,
    .close = gnndrive_close,
};
