/* SPDX-License-Identifier: MIT */
#include "systems/mariusgnn/vectors.h"

#include "harness/base/rng.h"
#include "harness/storage/exact.h"
#include "harness/system/epoch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const char manifest_magic[16] = "marius vectors 1";

struct manifest_header {
    char magic[16];
    uint32_t nodes, partitions, tables, dim;
    uint64_t epochs, step, reals, checksum; /* reals: of all parameters; checksum: of all that follows the page */
};
_Static_assert(sizeof(struct manifest_header) == 64, "its layout on disk");

/* ---- parameters: what an epoch changes besides the tables ---- */

enum { PARAMETERS_DOWN, PARAMETERS_UP };

/* Copies `reals` reals of the back-end to or from *host, which moves on. */
static void move_reals(const struct gnn_env *env, int way, gnn_real *at, uint64_t reals, gnn_real **host)
{
    struct gnn_tensor *const t = env->tensor;
    const uint64_t bytes = reals * sizeof *at;
    if (way == PARAMETERS_UP && !t->no_values)
        t->ops->upload(t, at, *host, bytes);
    else if (way == PARAMETERS_DOWN)
        t->ops->download(t, t->no_values ? NULL : *host, at, bytes);
    *host += reals;
}

static void move_parameters(const struct gnn_env *env, int way, gnn_real *host)
{
    const uint32_t states = gnn_optimizer_states(env->link_config->optimizer);
    env->tensor->ops->synchronize(env->tensor);
    for (uint32_t k = 0; k < 2; k++) {
        const struct gnn_link_table r = gnn_link_relations(env->link, k);
        move_reals(env, way, r.value, (uint64_t)r.rows * r.cols, &host);
        move_reals(env, way, r.state, (uint64_t)states * r.rows * r.cols, &host);
    }
    for (uint32_t i = 0; env->model != NULL && i < gnn_model_param_count(env->model); i++) {
        const struct gnn_param p = gnn_model_param(env->model, i);
        gnn_real *const arrays[] = {p.value, p.m, p.v};
        for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
            move_reals(env, way, arrays[a], (uint64_t)p.rows * p.cols, &host);
    }
    env->tensor->ops->synchronize(env->tensor);
}

/* Without the decoder and the model, which a plan has not: bounded by what their configurations say. */
static uint64_t parameter_reals(const struct gnn_env *env)
{
    const struct gnn_link_config *const c = env->link_config;
    const uint64_t relations = UINT64_C(2) * (1 + gnn_optimizer_states(c->optimizer)) * c->relations * c->dim;
    uint64_t encoder = 0;
    for (uint32_t i = 0; env->model != NULL && i < gnn_model_param_count(env->model); i++) {
        const struct gnn_param p = gnn_model_param(env->model, i);
        encoder += UINT64_C(3) * p.rows * p.cols;
    }
    if (env->model == NULL && env->workload->layers > 0)
        encoder = 3 * gnn_model_gradient_count(env->model_config);
    return relations + encoder;
}

/* ---- the manifest ---- */

static uint64_t places_bytes(uint32_t tables, uint32_t partitions)
{
    return gnn_round_up((uint64_t)tables * partitions, sizeof(uint64_t));
}

static uint64_t manifest_bytes(const struct gnn_env *env, uint32_t partitions)
{
    const uint32_t tables = 1 + gnn_optimizer_states(env->link_config->optimizer);
    const uint64_t reals = gnn_round_up(parameter_reals(env) * sizeof(gnn_real), sizeof(uint64_t));
    return GNN_PAGE_BYTES + places_bytes(tables, partitions) + reals;
}

uint64_t marius_vectors_manifest_bytes(const struct gnn_env *env, uint32_t partitions)
{
    return manifest_bytes(env, partitions);
}

static uint64_t checksum_of(const unsigned char *manifest, uint64_t bytes)
{
    uint64_t sum = 0;
    for (uint64_t at = GNN_PAGE_BYTES; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, manifest + at, sizeof word);
        sum = gnn_rng_fold(sum, word);
    }
    return sum;
}

static struct manifest_header header_of(const struct marius_vectors *v)
{
    struct manifest_header header = {.nodes = v->env->dataset->node_count,
                                     .partitions = v->store->partitions,
                                     .tables = v->tables,
                                     .dim = v->env->dataset->dim,
                                     .epochs = v->epochs,
                                     .step = v->step,
                                     .reals = parameter_reals(v->env)};
    memcpy(header.magic, manifest_magic, sizeof header.magic);
    return header;
}

static gnn_real *parameters_in(const struct marius_vectors *v, unsigned char *manifest)
{
    return (gnn_real *)(void *)(manifest + GNN_PAGE_BYTES + places_bytes(v->tables, v->store->partitions));
}

static enum gnn_status write_manifest(struct marius_vectors *v, struct gnn_err *err)
{
    struct gnn_world *const world = v->env->world;
    const uint32_t partitions = v->store->partitions;
    const uint64_t bytes = manifest_bytes(v->env, partitions);
    struct manifest_header header = header_of(v);
    unsigned char *manifest;
    GNN_MEM_NEW(world, manifest, bytes, "manifest of the vectors", GNN_MEM_PLAIN, err);
    for (uint32_t t = 0; t < v->tables; t++)
        memcpy(manifest + GNN_PAGE_BYTES + (uint64_t)t * partitions, v->table[t].places.now, partitions);
    move_parameters(v->env, PARAMETERS_DOWN, parameters_in(v, manifest));
    header.checksum = checksum_of(manifest, bytes);
    memcpy(manifest, &header, sizeof header);
    const enum gnn_status status = gnn_prepared_write(&v->prepared, "manifest", manifest, bytes, err);
    gnn_mem_free(world, manifest);
    for (uint32_t t = 0; status == GNN_OK && t < v->tables; t++)
        memcpy(v->table[t].kept, v->table[t].places.now, partitions);
    return status;
}

static enum gnn_status refuse(const struct marius_vectors *v, const char *what, struct gnn_err *err)
{
    return gnn_fail(err, GNN_EFORMAT, "%s: %s; remove the directory to start over, or set mariusgnn.vectors=scratch",
                    gnn_prepared_path(&v->prepared, "manifest").text, what);
}

static enum gnn_status take_manifest(struct marius_vectors *v, unsigned char *manifest, uint64_t bytes,
                                     struct gnn_err *err)
{
    const uint32_t partitions = v->store->partitions;
    struct manifest_header found, expected = header_of(v);
    memcpy(&found, manifest, sizeof found);
    expected.epochs = found.epochs;
    expected.step = found.step;
    expected.checksum = found.checksum;
    if (memcmp(&found, &expected, sizeof found) != 0)
        return refuse(v, "does not match this dataset, model or number of partitions", err);
    if (checksum_of(manifest, bytes) != found.checksum)
        return refuse(v, "wrong checksum, the file is damaged", err);
    for (uint32_t t = 0; t < v->tables; t++)
        for (uint32_t p = 0; p < partitions; p++)
            v->table[t].kept[p] = v->table[t].places.now[p] =
                manifest[GNN_PAGE_BYTES + (uint64_t)t * partitions + p] != 0;
    v->epochs = found.epochs;
    v->step = found.step;
    move_parameters(v->env, PARAMETERS_UP, parameters_in(v, manifest));
    gnn_link_set_step(v->env->link, found.step);
    if (v->env->model != NULL)
        gnn_model_set_step(v->env->model, found.step);
    return GNN_OK;
}

static enum gnn_status read_manifest(struct marius_vectors *v, struct gnn_file *file, struct gnn_err *err)
{
    struct gnn_world *const world = v->env->world;
    const uint64_t bytes = manifest_bytes(v->env, v->store->partitions);
    struct gnn_file_info info;
    unsigned char *manifest;
    gnn_file_info(world, file, &info);
    if (info.size_bytes != bytes)
        return refuse(v, "its length does not match this dataset, model and number of partitions", err);
    GNN_MEM_NEW(world, manifest, bytes, "manifest of the vectors", GNN_MEM_PLAIN, err);
    enum gnn_status status = gnn_read_all(world, file, 0, manifest, bytes, err);
    GNN_NEXT(status, take_manifest(v, manifest, bytes, err));
    gnn_mem_free(world, manifest);
    return status;
}

/* ---- tables ---- */

uint64_t marius_vectors_disk_bytes(const struct gnn_env *env, uint32_t partitions, uint64_t slot_bytes, bool kept)
{
    const uint64_t table = gnn_mul_bytes(partitions, slot_bytes);
    const uint64_t tables = 1 + gnn_optimizer_states(env->link_config->optimizer);
    return gnn_mul_bytes(table, tables * (kept ? 2 : 1)) + (kept ? manifest_bytes(env, partitions) : 0);
}

/* The vectors that a partition's nodes begin with; a back-end without values gets bytes that nobody looks at. */
static void begin_partition(const struct marius_vectors *v, uint32_t partition, unsigned char *slot)
{
    const struct gnn_dataset *const d = v->env->dataset;
    const uint32_t rows = v->store->rows, first = partition * rows;
    const uint32_t end = gnn_min_u32(d->node_count - first, rows);
    for (uint32_t r = 0; r < end && !v->env->tensor->no_values; r++)
        gnn_embedding_init(v->env->workload->seed, v->store->new_to_old[first + r], d->dim,
                           (gnn_real *)(void *)(slot + (uint64_t)r * d->row_bytes));
}

static enum gnn_status fill_table(const struct marius_vectors *v, uint32_t table, unsigned char *slot,
                                  struct gnn_err *err)
{
    struct gnn_world *const world = v->env->world;
    const uint64_t slot_bytes = v->store->slot_bytes;
    for (uint32_t p = 0; p < v->store->partitions; p++) {
        GNN_TRY(gnn_check_stop(v->env, err));
        if (table == 0)
            begin_partition(v, p, slot);
        GNN_TRY(gnn_write_all(world, v->table[table].file, p * slot_bytes, slot, slot_bytes, err));
    }
    return gnn_file_evict(world, v->table[table].file, err); /* as cold as what was there before */
}

/* Writes every table anew; the slot's memory is zeroed, and what fills a partition up to a page stays so. */
static enum gnn_status fill_tables(const struct marius_vectors *v, struct gnn_err *err)
{
    enum gnn_status status = GNN_OK;
    for (uint32_t t = 0; status == GNN_OK && t < v->tables; t++) {
        unsigned char *slot;
        GNN_MEM_NEW(v->env->world, slot, v->store->slot_bytes, "vectors in the making", GNN_MEM_FEATURES, err);
        status = fill_table(v, t, slot, err);
        GNN_NEXT(status, v->kept ? gnn_file_sync(v->env->world, v->table[t].file, err) : GNN_OK);
        gnn_mem_free(v->env->world, slot);
    }
    return status;
}

static enum gnn_status open_table(struct marius_vectors *v, uint32_t table, unsigned flags, struct gnn_err *err)
{
    static const char *const names[GNN_EMBEDDING_TABLES_MAX] = {"table0", "table1", "table2"};
    assert(table < GNN_EMBEDDING_TABLES_MAX);
    struct marius_table *const t = &v->table[table];
    const uint32_t partitions = v->store->partitions;
    if (!v->kept)
        return gnn_file_open(v->env->world, v->store->prepared.dir, GNN_OPEN_WRITE | GNN_OPEN_SCRATCH | flags, &t->file,
                             err);
    GNN_NEW(t->kept, partitions, err, "places of %" PRIu32 " partitions", partitions);
    GNN_NEW(t->places.now, partitions, err, "places of %" PRIu32 " partitions", partitions);
    t->places.partitions = partitions;
    t->places.kept = t->kept;
    return gnn_file_open(v->env->world, gnn_prepared_path(&v->prepared, names[table]).text, GNN_OPEN_WRITE | flags,
                         &t->file, err);
}

/* A partition in its second place makes a table longer. */
static enum gnn_status check_tables(const struct marius_vectors *v, struct gnn_err *err)
{
    for (uint32_t t = 0; t < v->tables; t++) {
        struct gnn_file_info info;
        uint64_t end = v->store->partitions;
        for (uint32_t p = 0; p < v->store->partitions; p++)
            if (v->table[t].kept[p] != 0)
                end = UINT64_C(1) + v->store->partitions + p;
        gnn_file_info(v->env->world, v->table[t].file, &info);
        if (info.size_bytes < end * v->store->slot_bytes)
            return gnn_fail(err, GNN_EFORMAT,
                            "%s: %" PRIu64 " bytes, at least %" PRIu64 " expected; remove the directory to start over",
                            gnn_file_path(v->env->world, v->table[t].file), info.size_bytes,
                            end * v->store->slot_bytes);
    }
    return GNN_OK;
}

/* ---- open ---- */

/* Names the directory after what its vectors are: two that differ in it cannot go on from each other. */
static enum gnn_status open_directory(struct marius_vectors *v, struct gnn_err *err)
{
    const struct gnn_env *const env = v->env;
    const uint32_t layers = env->workload->layers;
    char encoder[32] = "";
    bool held = false;
    if (layers > 0)
        (void)snprintf(encoder, sizeof encoder, "-%s%" PRIu32, gnn_model_names[env->model_config->kind], layers);
    v->prepared.world = env->world;
    (void)snprintf(v->prepared.dir, sizeof v->prepared.dir, "%.500s/vectors-d%" PRIu32 "-%s-%s%s-s%" PRIu64,
                   v->store->prepared.dir, env->dataset->dim, gnn_decoder_words[env->link_config->decoder],
                   gnn_optimizer_words[env->link_config->optimizer], encoder, env->workload->seed);
    GNN_TRY(gnn_dir_make(env->world, v->prepared.dir, err));
    GNN_TRY(gnn_file_open(env->world, gnn_prepared_path(&v->prepared, "lock").text, GNN_OPEN_WRITE, &v->lock, err));
    GNN_TRY(gnn_file_lock(env->world, v->lock, &held, err));
    if (held)
        return GNN_OK;
    return gnn_fail(
        err, GNN_EUSAGE,
        "another run is learning the vectors in %s: wait for it, or set mariusgnn.vectors=scratch or another --seed",
        v->prepared.dir);
}

/* Where there is no manifest, nothing was ever complete. */
static enum gnn_status begin_kept(struct marius_vectors *v, struct gnn_err *err)
{
    struct gnn_file *manifest = NULL;
    GNN_TRY(gnn_prepared_open(&v->prepared, "manifest", GNN_OPEN_READ, &manifest, err));
    if (manifest == NULL) {
        GNN_TRY(fill_tables(v, err));
        return write_manifest(v, err);
    }
    enum gnn_status status = read_manifest(v, manifest, err);
    gnn_file_close(v->env->world, manifest);
    GNN_NEXT(status, check_tables(v, err));
    return status;
}

enum gnn_status marius_vectors_open(const struct gnn_env *env, const struct marius_store *store, bool direct, bool kept,
                                    struct marius_vectors *out, struct gnn_err *err)
{
    *out = (struct marius_vectors){
        .env = env, .store = store, .kept = kept, .tables = 1 + gnn_optimizer_states(env->link_config->optimizer)};
    assert(out->tables <= GNN_EMBEDDING_TABLES_MAX);
    if (kept)
        GNN_TRY(open_directory(out, err));
    for (uint32_t t = 0; t < out->tables; t++)
        GNN_TRY(open_table(out, t, direct ? (unsigned)GNN_OPEN_DIRECT : 0, err));
    return kept ? begin_kept(out, err) : fill_tables(out, err);
}

void marius_vectors_close(struct marius_vectors *vectors)
{
    if (vectors->env == NULL)
        return;
    struct gnn_world *const world = vectors->env->world;
    for (uint32_t t = 0; t < vectors->tables; t++) {
        gnn_file_close(world, vectors->table[t].file);
        free(vectors->table[t].places.now);
        free(vectors->table[t].kept);
    }
    gnn_file_close(world, vectors->lock);
    *vectors = (struct marius_vectors){.env = NULL};
}

enum gnn_status marius_vectors_complete(struct marius_vectors *vectors, uint64_t step, struct gnn_err *err)
{
    vectors->epochs++;
    vectors->step = step;
    return vectors->kept ? write_manifest(vectors, err) : GNN_OK;
}

enum gnn_status marius_vectors_read(const struct marius_vectors *vectors, uint32_t table, uint32_t partition, void *dst,
                                    struct gnn_err *err)
{
    const struct marius_table *const t = &vectors->table[table];
    const struct marius_array array = {.slot_bytes = vectors->store->slot_bytes,
                                       .places = vectors->kept ? &t->places : NULL};
    return gnn_read_all(vectors->env->world, t->file, marius_array_offset_bytes(&array, partition), dst,
                        vectors->store->slot_bytes, err);
}
