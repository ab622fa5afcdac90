/* SPDX-License-Identifier: MIT */
#include "systems/mariusgnn/store.h"

#include "harness/base/log.h"
#include "harness/base/rng.h"
#include "harness/graph/triples.h"
#include "harness/storage/exact.h"
#include "harness/storage/meta.h"
#include "harness/system/epoch.h"
#include "harness/system/scan.h"
#include "systems/mariusgnn/policy.h"

#include <inttypes.h>
#include <stdio.h>

static const uint64_t window_bytes_most = UINT64_C(256) << 20, window_bytes_least = UINT64_C(1) << 20;
static const uint64_t loaded_round_bytes = UINT64_C(1) << 20; /* of a range read back, and small things */
static const uint64_t nap_ns = UINT64_C(50000000);            /* between two tries to get the lock */
/* A change of order or format raises the number, and adds it to the names of features, which have no header. */
static const char table_magic[16] = "marius buckets 1";

struct table_header {
    char magic[16];
    uint32_t partitions, node_count;
    uint64_t edge_count, checksum;
};
_Static_assert(sizeof(struct table_header) == 40, "its layout on disk");

struct job {
    const struct gnn_env *env;
    const struct marius_store_config *config;
    struct marius_store *store;
    gnn_node *old_to_new;  /* NULL: not needed yet */
    struct gnn_file *lock; /* NULL: nothing has to be prepared */
    char features[GNN_NAME_MAX];
};

/* A table of where edge buckets begin. */
struct bucket_table {
    const char *name;
    uint64_t edge_count;
    uint64_t **start; /* of the store */
};

static struct bucket_table table_of(const struct job *job, bool triples)
{
    const struct gnn_dataset *const d = job->env->dataset;
    if (triples)
        return (struct bucket_table){"triple-buckets", d->triple_count[GNN_TRIPLES_TRAIN], &job->store->triple_start};
    return (struct bucket_table){"buckets", d->edge_count, &job->store->bucket_start};
}

/* Edges by bucket are what neighbourhoods are drawn from. */
static bool has_graph(const struct gnn_env *env)
{
    return env->workload->task != GNN_TASK_LINK || env->workload->layers > 0;
}

static bool has_features(const struct gnn_env *env)
{
    return env->workload->task != GNN_TASK_LINK && !env->workload->sample_only;
}

static uint64_t bucket_count(const struct job *job)
{
    return (uint64_t)job->store->partitions * job->store->partitions;
}

static uint64_t table_checksum(const struct job *job, const struct bucket_table *table)
{
    uint64_t sum = 0;
    for (uint64_t b = 0; b <= bucket_count(job); b++)
        sum = gnn_rng_fold(sum, (*table->start)[b]);
    return sum;
}

static struct table_header header_of(const struct job *job, const struct bucket_table *table)
{
    struct table_header header = {.partitions = job->store->partitions,
                                  .node_count = job->env->dataset->node_count,
                                  .edge_count = table->edge_count};
    memcpy(header.magic, table_magic, sizeof header.magic);
    return header;
}

/* ---- reading what is there ---- */

/* *outdated: another version of this program wrote the file, and nothing was read. */
static enum gnn_status read_table(const struct job *job, const struct bucket_table *table, struct gnn_file *file,
                                  bool *outdated, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    const uint64_t bytes = (bucket_count(job) + 1) * sizeof **table->start;
    const char *const path = gnn_file_path(world, file);
    struct table_header found, expected = header_of(job, table);
    struct gnn_file_info info;
    gnn_file_info(world, file, &info);
    if (info.size_bytes < sizeof found)
        return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " bytes, too few: remove the directory to prepare it again",
                        path, info.size_bytes);
    GNN_TRY(gnn_read_all(world, file, 0, &found, sizeof found, err));
    *outdated = gnn_prepared_other_version(path, found.magic, table_magic);
    if (*outdated)
        return GNN_OK;
    if (info.size_bytes != GNN_PAGE_BYTES + bytes)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: %" PRIu64 " bytes, %" PRIu64 " expected: remove the directory to "
                        "prepare it again",
                        path, info.size_bytes, GNN_PAGE_BYTES + bytes);
    expected.checksum = found.checksum;
    if (memcmp(&found, &expected, sizeof found) != 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: does not match this dataset; remove the directory to prepare it again",
                        path);
    GNN_MEM_NEW(world, *table->start, bucket_count(job) + 1, "edge bucket table", GNN_MEM_PLAIN, err);
    GNN_TRY(gnn_read_all(world, file, GNN_PAGE_BYTES, *table->start, bytes, err));
    if (table_checksum(job, table) != found.checksum || (*table->start)[bucket_count(job)] != found.edge_count)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: wrong checksum, the file is damaged; remove the directory to prepare it again", path);
    return GNN_OK;
}

static enum gnn_status read_order(const struct job *job, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    const uint32_t nodes = job->env->dataset->node_count;
    const struct gnn_prepared_path path = gnn_prepared_path(&job->store->prepared, "order");
    struct gnn_file *file = NULL;
    GNN_TRY(gnn_file_open(world, path.text, GNN_OPEN_READ, &file, err));
    enum gnn_status status = gnn_read_all(world, file, 0, job->store->new_to_old, nodes * sizeof(gnn_node), err);
    gnn_file_close(world, file);
    for (uint32_t v = 0; status == GNN_OK && v < nodes; v++)
        if (job->store->new_to_old[v] >= nodes)
            status = gnn_fail(err, GNN_EFORMAT,
                              "%s: entry %" PRIu32
                              " is not a node ID, the file is damaged; remove the directory to prepare it again",
                              path.text, v);
    return status;
}

/* ---- preparing what is not ---- */

static enum gnn_status write_table(const struct job *job, const struct bucket_table *table, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    const uint64_t bytes = (bucket_count(job) + 1) * sizeof **table->start;
    struct table_header header = header_of(job, table);
    unsigned char page[GNN_PAGE_BYTES] = {0};
    struct gnn_file *file = NULL;
    header.checksum = table_checksum(job, table);
    memcpy(page, &header, sizeof header);
    enum gnn_status status = gnn_prepared_begin(&job->store->prepared, table->name, 0, &file, err);
    GNN_NEXT(status, gnn_write_all(world, file, 0, page, sizeof page, err));
    GNN_NEXT(status, gnn_write_all(world, file, sizeof page, *table->start, bytes, err));
    return gnn_prepared_end(&job->store->prepared, table->name, file, status, err);
}

/* Returns a quarter of what the cap leaves, halved: a range lies in memory twice. */
static uint64_t window_bytes(const struct gnn_env *env)
{
    struct gnn_mem_usage usage;
    gnn_mem_usage(env->world, &usage);
    if (env->cap_bytes == 0)
        return window_bytes_most;
    const uint64_t held = gnn_add_bytes(usage.current_bytes, env->process_bytes);
    const uint64_t window = env->cap_bytes > held ? (env->cap_bytes - held) / 8 : 0;
    return gnn_min_u64(gnn_max_u64(window, window_bytes_least), window_bytes_most);
}

/* Makes old_to_new, once. */
static enum gnn_status need_old_to_new(struct job *job, struct gnn_err *err)
{
    const uint32_t nodes = job->env->dataset->node_count;
    if (job->old_to_new != NULL)
        return GNN_OK;
    GNN_MEM_NEW(job->env->world, job->old_to_new, nodes, "new names of nodes", GNN_MEM_PLAIN, err);
    marius_invert(job->store->new_to_old, nodes, job->old_to_new);
    gnn_charge(job->env->world, GNN_WORK_TABLE_ENTRY, nodes);
    return GNN_OK;
}

static struct marius_scatter scatter_of(const struct job *job)
{
    return (struct marius_scatter){.env = job->env,
                                   .store = job->store,
                                   .old_to_new = job->old_to_new,
                                   .window_bytes = window_bytes(job->env),
                                   .direct = job->config->direct};
}

static enum gnn_status prepare_graph(struct job *job, struct gnn_err *err)
{
    const uint32_t nodes = job->env->dataset->node_count;
    marius_number(job->env, job->config->training_first, job->store->new_to_old);
    GNN_TRY(gnn_prepared_write(&job->store->prepared, "order", job->store->new_to_old, nodes * sizeof(gnn_node), err));
    GNN_TRY(need_old_to_new(job, err));
    const struct marius_scatter scatter = scatter_of(job);
    const struct bucket_table table = table_of(job, false);
    GNN_TRY(marius_scatter_edges(&scatter, err));
    return write_table(job, &table, err);
}

/* ---- open ---- */

static unsigned direct_flag(const struct job *job)
{
    return job->config->direct ? (unsigned)GNN_OPEN_DIRECT : 0;
}

static enum gnn_status check_size(const struct job *job, struct gnn_file *file, uint64_t expected, struct gnn_err *err)
{
    struct gnn_file_info info;
    gnn_file_info(job->env->world, file, &info);
    if (info.size_bytes == expected)
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: %" PRIu64 " bytes, %" PRIu64 " expected: remove the directory to prepare it again",
                    gnn_file_path(job->env->world, file), info.size_bytes, expected);
}

/* Waits until no other run prepares this store. What it made meanwhile is not made again. */
static enum gnn_status lock_store(struct job *job, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    bool held = false, told = false;
    if (job->lock != NULL)
        return GNN_OK;
    GNN_TRY(
        gnn_file_open(world, gnn_prepared_path(&job->store->prepared, "lock").text, GNN_OPEN_WRITE, &job->lock, err));
    for (;;) {
        GNN_TRY(gnn_file_lock(world, job->lock, &held, err));
        if (held)
            return GNN_OK;
        if (!told)
            gnn_log_info("mariusgnn: another run is preparing %s; waiting for it", job->store->prepared.dir);
        told = true;
        GNN_TRY(gnn_check_stop(job->env, err));
        gnn_sleep_until(world, gnn_now_ns(world) + nap_ns, GNN_WAIT_RESOURCE);
    }
}

/* Prepares the graph again. What other versions wrote of rows is in their order, so it is removed first. */
static enum gnn_status replace_graph(struct job *job, struct gnn_err *err)
{
    GNN_TRY(lock_store(job, err));
    (void)gnn_file_remove(job->env->world, gnn_prepared_path(&job->store->prepared, job->features).text, NULL);
    return prepare_graph(job, err);
}

static enum gnn_status open_graph(struct job *job, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    struct marius_store *const store = job->store;
    const struct bucket_table table = table_of(job, false);
    struct gnn_file *file = NULL;
    bool outdated = false;
    GNN_TRY(gnn_prepared_open(&store->prepared, table.name, GNN_OPEN_READ, &file, err));
    if (file == NULL) {
        GNN_TRY(prepare_graph(job, err));
    } else {
        enum gnn_status status = read_table(job, &table, file, &outdated, err);
        gnn_file_close(world, file);
        GNN_NEXT(status, outdated ? replace_graph(job, err) : read_order(job, err));
        GNN_TRY(status);
    }
    GNN_TRY(gnn_file_open(world, gnn_prepared_path(&store->prepared, "edges").text, GNN_OPEN_READ | direct_flag(job),
                          &store->edges, err));
    const uint64_t edge_bytes = gnn_mul_bytes(job->env->dataset->edge_count, MARIUS_EDGE_BYTES);
    return check_size(job, store->edges, gnn_round_up(gnn_max_u64(edge_bytes, 1), GNN_PAGE_BYTES), err);
}

/* Without a graph the order is drawn anew: it depends on nothing but the seed and how many nodes there are. */
static enum gnn_status open_numbering(struct job *job, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    GNN_MEM_NEW(world, job->store->new_to_old, job->env->dataset->node_count, "order of nodes", GNN_MEM_PLAIN, err);
    if (has_graph(job->env))
        return open_graph(job, err);
    marius_number(job->env, job->config->training_first, job->store->new_to_old);
    return GNN_OK;
}

static enum gnn_status prepare_triples(struct job *job, struct gnn_err *err)
{
    const struct marius_scatter scatter = scatter_of(job);
    const struct bucket_table table = table_of(job, true);
    GNN_TRY(marius_scatter_triples(&scatter, err));
    return write_table(job, &table, err);
}

static enum gnn_status open_triples(struct job *job, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    struct marius_store *const store = job->store;
    const struct bucket_table table = table_of(job, true);
    struct gnn_file *file = NULL;
    GNN_TRY(need_old_to_new(job, err));
    store->old_to_new = job->old_to_new; /* the store's to free */
    if (!job->config->triples)
        return GNN_OK;
    GNN_TRY(gnn_prepared_open(&store->prepared, table.name, GNN_OPEN_READ, &file, err));
    bool outdated = false;
    enum gnn_status status = file == NULL ? prepare_triples(job, err) : read_table(job, &table, file, &outdated, err);
    gnn_file_close(world, file);
    if (outdated)
        status = lock_store(job, err);
    if (outdated)
        GNN_NEXT(status, prepare_triples(job, err));
    GNN_TRY(status);
    GNN_TRY(gnn_file_open(world, gnn_prepared_path(&store->prepared, "triples").text, GNN_OPEN_READ | direct_flag(job),
                          &store->triples, err));
    return check_size(job, store->triples, table.edge_count * sizeof(struct gnn_triple), err);
}

static enum gnn_status open_features(struct job *job, struct gnn_err *err)
{
    struct marius_store *const store = job->store;
    const unsigned flags = direct_flag(job) | (job->config->writable ? (unsigned)GNN_OPEN_WRITE : GNN_OPEN_READ);
    uint64_t there_bytes = 0;
    struct gnn_file *source = NULL; /* its length is checked also where the partitions are prepared already */
    const enum gnn_status status = gnn_dataset_file_open(job->env, GNN_DATASET_FEATURES, 0, &source, NULL, err);
    gnn_file_close(job->env->world, source);
    GNN_TRY(status);
    GNN_TRY(gnn_prepared_count(&store->prepared, job->features, &there_bytes, err));
    if (there_bytes == 0) {
        GNN_TRY(need_old_to_new(job, err));
        const struct marius_scatter scatter = scatter_of(job);
        GNN_TRY(marius_scatter_rows(&scatter, job->features, err));
    }
    GNN_TRY(gnn_file_open(job->env->world, gnn_prepared_path(&store->prepared, job->features).text, flags,
                          &store->features, err));
    return check_size(job, store->features, store->partitions * store->slot_bytes, err);
}

static enum gnn_status open_files(struct job *job, struct gnn_err *err)
{
    const struct gnn_prepared *const prepared = &job->store->prepared;
    const char *const names[] = {"order", "edges", "buckets"}, *const of_links[] = {"triples", "triple-buckets"};
    uint64_t *const disk_bytes = &job->store->disk_bytes;
    GNN_TRY(open_numbering(job, err));
    if (has_features(job->env)) {
        GNN_TRY(open_features(job, err));
        GNN_TRY(gnn_prepared_count(prepared, job->features, disk_bytes, err));
    }
    if (job->env->workload->task == GNN_TASK_LINK)
        GNN_TRY(open_triples(job, err));
    for (size_t i = 0; i < sizeof names / sizeof *names && has_graph(job->env); i++)
        GNN_TRY(gnn_prepared_count(prepared, names[i], disk_bytes, err));
    for (size_t i = 0; i < sizeof of_links / sizeof *of_links && job->config->triples; i++)
        GNN_TRY(gnn_prepared_count(prepared, of_links[i], disk_bytes, err));
    return GNN_OK;
}

/* Names the files of the store. */
static void begin_job(const struct gnn_env *env, const struct marius_store_config *config, struct marius_store *store,
                      struct job *job)
{
    const struct gnn_dataset *const d = env->dataset;
    *store = (struct marius_store){.prepared = {.world = env->world},
                                   .partitions = config->partitions,
                                   .training_first = config->training_first,
                                   .rows = marius_partition_rows(d->node_count, config->partitions)};
    store->slot_bytes = marius_slot_bytes(store->rows, d->row_bytes);
    (void)snprintf(store->prepared.dir, sizeof store->prepared.dir, "%s/mariusgnn-%s-s%" PRIu64 "-p%" PRIu32 "-%.12s",
                   d->dir, config->training_first ? "training" : "random", env->workload->seed, config->partitions,
                   d->digest[0] != '\0' ? d->digest : "unnamed");
    *job = (struct job){.env = env, .config = config, .store = store};
    gnn_meta_features_name(d->dim, d->feature_type, job->features, sizeof job->features);
}

static bool is_there(const struct job *job, const char *name)
{
    uint64_t bytes = 0;
    struct gnn_err err = {0};
    return gnn_prepared_count(&job->store->prepared, name, &bytes, &err) == GNN_OK && bytes > 0;
}

static bool all_there(const struct job *job)
{
    return (!has_graph(job->env) || is_there(job, "buckets")) &&
           (!has_features(job->env) || is_there(job, job->features)) &&
           (!job->config->triples || is_there(job, "triple-buckets"));
}

uint64_t marius_store_least_bytes(const struct gnn_env *env, const struct marius_store_config *config)
{
    const struct gnn_dataset *const d = env->dataset;
    const bool rows = has_features(env);
    struct marius_store store;
    struct job job;
    begin_job(env, config, &store, &job);
    if (all_there(&job))
        return 0;
    /* A range is a bucket or a partition at least; placement is no more even than twice the mean. */
    const uint64_t edge_count = gnn_max_u64(has_graph(env) ? d->edge_count : 0, d->triple_count[GNN_TRIPLES_TRAIN]);
    const uint64_t edge_bytes = config->triples ? sizeof(struct gnn_triple) : MARIUS_EDGE_BYTES;
    const uint64_t buckets = gnn_mul_bytes(2 * edge_bytes, gnn_div_up(edge_count, bucket_count(&job)));
    const uint64_t edges = gnn_min_u64(buckets, gnn_mul_bytes(edge_bytes, edge_count));
    const uint64_t window = gnn_max_u64(window_bytes_least, gnn_max_u64(edges, rows ? store.slot_bytes : 0));
    const uint64_t scans = gnn_max_u64(gnn_scan_bytes(config->triples ? edge_bytes : d->id_bytes),
                                       rows ? gnn_scan_bytes(d->row_bytes) : 0);
    return d->node_count * (uint64_t)sizeof(gnn_node) + 2 * window + window / 16 + scans + loaded_round_bytes;
}

enum gnn_status marius_store_open(const struct gnn_env *env, const struct marius_store_config *config,
                                  struct marius_store *out, struct gnn_err *err)
{
    struct job job;
    assert(marius_partitions_fit(env->dataset->node_count, config->partitions));
    begin_job(env, config, out, &job);
    const uint64_t start_ns = gnn_now_ns(env->world);
    enum gnn_status status = gnn_dir_make(env->world, out->prepared.dir, err); /* for what is learned, too */
    GNN_NEXT(status, all_there(&job) ? GNN_OK : lock_store(&job, err));
    GNN_NEXT(status, open_files(&job, err));
    gnn_file_close(env->world, job.lock);
    if (out->old_to_new == NULL)
        gnn_mem_free(env->world, job.old_to_new);
    out->prepare_ns = out->prepared.written_bytes > 0 ? gnn_now_ns(env->world) - start_ns : 0;
    return status;
}

void marius_store_close(struct gnn_world *world, struct marius_store *store)
{
    gnn_file_close(world, store->triples);
    gnn_file_close(world, store->features);
    gnn_file_close(world, store->edges);
    gnn_mem_free(world, store->triple_start);
    gnn_mem_free(world, store->old_to_new);
    gnn_mem_free(world, store->bucket_start);
    gnn_mem_free(world, store->new_to_old);
    *store = (struct marius_store){.edges = NULL};
}

enum gnn_status marius_store_train(const struct gnn_env *env, const struct marius_store *store, gnn_node *train,
                                   struct gnn_err *err)
{
    const struct gnn_dataset *const d = env->dataset;
    gnn_node *old_to_new;
    GNN_MEM_NEW(env->world, old_to_new, d->node_count, "new names of nodes", GNN_MEM_PLAIN, err);
    marius_invert(store->new_to_old, d->node_count, old_to_new);
    for (uint32_t t = 0; t < d->train.count; t++)
        train[t] = old_to_new[d->train.nodes[t]];
    gnn_mem_free(env->world, old_to_new);
    return GNN_OK;
}
