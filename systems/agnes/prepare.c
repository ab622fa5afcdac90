/* SPDX-License-Identifier: MIT */
/* Preparation of the block files: see layout.h. */
#include "systems/agnes/layout.h"

#include "harness/base/rng.h"
#include "harness/storage/exact.h"
#include "harness/storage/meta.h"
#include "systems/agnes/agnes.h"

#include <inttypes.h>
#include <stdio.h>

static const uint64_t node_map_bytes = 32; /* of a node while it is renumbered: the breadth-first search has most */
static const uint64_t window_bytes_most = UINT64_C(256) << 20, window_bytes_least = UINT64_C(1) << 20;
/* A change of order or format raises the number, and adds it to the names of features, which have no header. */
static const char index_magic[16] = "agnes blocks 1";

struct index_header {
    char magic[16];
    uint32_t block_bytes, id_bytes, blocks, node_count;
    uint64_t edge_count, checksum;
};
_Static_assert(sizeof(struct index_header) == 48, "its layout on disk");
_Static_assert(sizeof(struct index_header) <= GNN_PAGE_BYTES, "the table follows on the next page");

struct job {
    const struct gnn_env *env;
    const struct agnes_config *config;
    struct agnes_layout_files *files;
    agnes_node *old_to_new; /* NULL: both numberings are the same, or not needed yet */
    uint64_t window_bytes;
    uint32_t row_blocks;         /* of features */
    char features[GNN_NAME_MAX]; /* name of their file */
};

/* ---- windows of blocks ---- */

struct window { /* the blocks [first, end) of a file, in the making */
    const struct job *job;
    uint32_t first, end;
    uint32_t block_bytes;
    unsigned char *memory; /* (end - first, Z) */
    gnn_node node;         /* graph: whose list the scan is in */
};

typedef enum gnn_status fill_window_fn(struct window *window, struct gnn_err *err);

static enum gnn_status write_windows(struct window *w, struct gnn_file *file, uint32_t blocks, uint32_t window_blocks,
                                     fill_window_fn *fill, struct gnn_err *err)
{
    for (w->first = 0; w->first < blocks; w->first = w->end) {
        w->end = w->first + gnn_min_u32(blocks - w->first, window_blocks);
        GNN_TRY(fill(w, err));
        GNN_TRY(gnn_write_all(w->job->env->world, file, (uint64_t)w->first * w->block_bytes, w->memory,
                              (uint64_t)(w->end - w->first) * w->block_bytes, err));
    }
    return GNN_OK;
}

/* Writes a file of blocks, as many at a time as the window holds. */
static enum gnn_status write_blocks(const struct job *job, const char *name, uint32_t blocks, unsigned mem_flags,
                                    fill_window_fn *fill, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    const uint32_t block_bytes = job->files->index.block_bytes;
    const uint32_t window_blocks =
        (uint32_t)gnn_min_u64(gnn_max_u64(job->window_bytes / block_bytes, 1), gnn_max_u32(blocks, 1));
    struct window window = {.job = job, .block_bytes = block_bytes};
    struct gnn_file *file = NULL;
    GNN_MEM_NEW(world, window.memory, (uint64_t)window_blocks * block_bytes, "agnes window of blocks",
                mem_flags | GNN_MEM_LARGE, err);
    enum gnn_status status =
        gnn_prepared_begin(&job->files->prepared, name, agnes_direct_flag(job->config), &file, err);
    GNN_NEXT(status, write_windows(&window, file, blocks, window_blocks, fill, err));
    gnn_mem_free(world, window.memory);
    return gnn_prepared_end(&job->files->prepared, name, file, status, err);
}

/* ---- graph blocks ---- */

/* gnn_scan_fn: puts those edges into the window that belong there. */
static enum gnn_status put_edges(void *ctx, uint64_t first, void *data, uint64_t edges, struct gnn_err *err)
{
    (void)err;
    struct window *const w = ctx;
    const struct gnn_dataset *const d = w->job->env->dataset;
    const struct agnes_index *const index = &w->job->files->index;
    gnn_node *const ids = data;
    const uint64_t end = first + edges;
    const agnes_node low = index->ranges[w->first].first, high = index->ranges[w->end - 1].last;
    for (uint64_t e = first; e < end;) {
        while (d->indptr[w->node + 1] <= e)
            w->node++;
        const uint64_t count = gnn_min_u64(d->indptr[w->node + 1], end) - e;
        const agnes_node v = agnes_to_new(w->job->old_to_new, w->node);
        if (v >= low && v <= high) {
            gnn_node *const list = ids + (e - first);
            for (uint64_t i = 0; i < count; i++)
                list[i] = agnes_to_new(w->job->old_to_new, list[i]);
            agnes_blocks_put(index, w->first, w->end, v, e - d->indptr[w->node], list, count, w->memory);
        }
        e += count;
    }
    gnn_charge(w->job->env->world, GNN_WORK_TABLE_ENTRY, edges);
    return GNN_OK;
}

/* fill_window_fn. Without renumbering a window's edges lie together; else they lie anywhere. */
static enum gnn_status fill_with_edges(struct window *w, struct gnn_err *err)
{
    const struct job *const job = w->job;
    const struct gnn_dataset *const d = job->env->dataset;
    const struct agnes_index *const index = &job->files->index;
    for (uint32_t b = w->first; b < w->end; b++)
        agnes_block_format(index, b, d->indptr, job->files->new_to_old,
                           w->memory + (uint64_t)(b - w->first) * w->block_bytes);
    struct gnn_scan scan = gnn_scan_of_edges(job->env, job->config->io == AGNES_IO_DIRECT);
    if (job->old_to_new == NULL) {
        scan.begin_bytes = gnn_round_down(index->ranges[w->first].edge_begin * d->id_bytes, GNN_PAGE_BYTES);
        scan.end_bytes = index->ranges[w->end].edge_begin * d->id_bytes;
    }
    w->node = 0;
    return gnn_scan_file(job->env, &scan, put_edges, w, err);
}

/* ---- the index ---- */

static uint64_t ranges_checksum(const struct agnes_object_range *ranges, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        sum = gnn_rng_fold(sum, (uint64_t)ranges[i].first << 32 | ranges[i].last);
        sum = gnn_rng_fold(sum, ranges[i].edge_begin);
    }
    return sum;
}

/* Cuts the nodes into blocks; the table is in memory from here on. */
static enum gnn_status make_index(const struct job *job, struct gnn_err *err)
{
    const struct gnn_dataset *const d = job->env->dataset;
    struct agnes_index *const index = &job->files->index;
    index->blocks =
        agnes_blocks_cut(d->indptr, job->files->new_to_old, d->node_count, index->block_bytes, index->id_bytes, NULL);
    GNN_MEM_NEW(job->env->world, index->ranges, index->blocks + UINT64_C(1), "agnes object index", GNN_MEM_PLAIN, err);
    (void)agnes_blocks_cut(d->indptr, job->files->new_to_old, d->node_count, index->block_bytes, index->id_bytes,
                           index->ranges);
    return GNN_OK;
}

static enum gnn_status write_index(const struct job *job, struct gnn_err *err)
{
    const struct agnes_index *const index = &job->files->index;
    struct gnn_world *const world = job->env->world;
    const uint64_t count = index->blocks + UINT64_C(1), bytes = GNN_PAGE_BYTES + count * sizeof *index->ranges;
    struct index_header header = {.block_bytes = index->block_bytes,
                                  .id_bytes = index->id_bytes,
                                  .blocks = index->blocks,
                                  .node_count = index->node_count,
                                  .edge_count = job->env->dataset->edge_count,
                                  .checksum = ranges_checksum(index->ranges, count)};
    memcpy(header.magic, index_magic, sizeof header.magic);
    void *memory = NULL;
    GNN_TRY(gnn_mem_alloc(world, "agnes index file", bytes, GNN_MEM_PLAIN, &memory, err));
    memcpy(memory, &header, sizeof header);
    memcpy((unsigned char *)memory + GNN_PAGE_BYTES, index->ranges, count * sizeof *index->ranges);
    const enum gnn_status status = gnn_prepared_write(&job->files->prepared, "index", memory, bytes, err);
    gnn_mem_free(world, memory);
    return status;
}

/* *outdated: another version of this program wrote the file, and nothing was read. */
static enum gnn_status read_index(const struct job *job, struct gnn_file *file, bool *outdated, struct gnn_err *err)
{
    struct agnes_index *const index = &job->files->index;
    struct gnn_world *const world = job->env->world;
    const struct gnn_dataset *const d = job->env->dataset;
    const char *const path = gnn_file_path(world, file);
    struct index_header header;
    GNN_TRY(gnn_read_all(world, file, 0, &header, sizeof header, err));
    *outdated = gnn_prepared_other_version(path, header.magic, index_magic);
    if (*outdated)
        return GNN_OK;
    struct gnn_file_info info;
    gnn_file_info(world, file, &info);
    const uint64_t count = header.blocks + UINT64_C(1);
    if (memcmp(header.magic, index_magic, sizeof header.magic) != 0 || header.block_bytes != index->block_bytes ||
        header.id_bytes != index->id_bytes || header.node_count != d->node_count ||
        header.edge_count != d->edge_count || header.blocks == 0 ||
        info.size_bytes != GNN_PAGE_BYTES + count * sizeof *index->ranges)
        return gnn_fail(err, GNN_EFORMAT, "%s: does not match this dataset; remove the directory to prepare it again",
                        path);
    GNN_MEM_NEW(world, index->ranges, count, "agnes object index", GNN_MEM_PLAIN, err);
    index->blocks = header.blocks;
    GNN_TRY(gnn_read_all(world, file, GNN_PAGE_BYTES, index->ranges, count * sizeof *index->ranges, err));
    const struct agnes_object_range *const last = &index->ranges[index->blocks];
    if (ranges_checksum(index->ranges, count) != header.checksum || last->first != d->node_count ||
        last->edge_begin != d->edge_count)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: wrong checksum, the file is damaged; remove the directory to prepare it again", path);
    return GNN_OK;
}

/* ---- the order of nodes ---- */

static enum gnn_status read_order(const struct job *job, struct gnn_err *err)
{
    if (job->config->layout == AGNES_LAYOUT_INPUT)
        return GNN_OK;
    struct gnn_world *const world = job->env->world;
    const uint32_t nodes = job->env->dataset->node_count;
    const struct gnn_prepared_path path = gnn_prepared_path(&job->files->prepared, "order");
    struct gnn_file *file = NULL;
    GNN_MEM_NEW(world, job->files->new_to_old, nodes, "agnes order of nodes", GNN_MEM_PLAIN, err);
    GNN_TRY(gnn_file_open(world, path.text, GNN_OPEN_READ, &file, err));
    enum gnn_status status =
        gnn_read_all(world, file, 0, job->files->new_to_old, nodes * (uint64_t)sizeof(gnn_node), err);
    gnn_file_close(world, file);
    for (uint32_t v = 0; status == GNN_OK && v < nodes; v++)
        if (job->files->new_to_old[v] >= nodes)
            status = gnn_fail(err, GNN_EFORMAT,
                              "%s: entry %" PRIu32
                              " is not a node ID, the file is damaged; remove the directory to prepare it again",
                              path.text, v);
    return status;
}

enum gnn_status agnes_layout_invert(struct gnn_world *world, const gnn_node *new_to_old, uint32_t nodes,
                                    agnes_node **out, struct gnn_err *err)
{
    GNN_MEM_NEW(world, *out, nodes, "agnes new names of nodes", GNN_MEM_PLAIN, err);
    for (agnes_node v = 0; v < nodes; v++) {
        assert(new_to_old[v] < nodes);
        (*out)[new_to_old[v]] = v;
    }
    return GNN_OK;
}

/* Makes old_to_new, once, if nodes are renumbered. */
static enum gnn_status need_old_to_new(struct job *job, struct gnn_err *err)
{
    const uint32_t nodes = job->env->dataset->node_count;
    if (job->files->new_to_old == NULL || job->old_to_new != NULL)
        return GNN_OK;
    GNN_TRY(agnes_layout_invert(job->env->world, job->files->new_to_old, nodes, &job->old_to_new, err));
    gnn_charge(job->env->world, GNN_WORK_TABLE_ENTRY, nodes);
    return GNN_OK;
}

/* ---- feature blocks ---- */

/* gnn_scan_fn: puts those rows into the window that belong there. */
static enum gnn_status put_rows(void *ctx, uint64_t first, void *data, uint64_t count, struct gnn_err *err)
{
    (void)err;
    const struct window *const w = ctx;
    const struct job *const job = w->job;
    const uint32_t row_bytes = job->env->dataset->row_bytes, rows = w->block_bytes / row_bytes;
    for (uint64_t i = 0; i < count; i++) {
        const agnes_node v = agnes_to_new(job->old_to_new, (gnn_node)(first + i));
        const uint32_t block = v / rows;
        if (block >= w->first && block < w->end)
            gnn_mem_copy(job->env->world,
                         w->memory + (uint64_t)(block - w->first) * w->block_bytes + (uint64_t)(v % rows) * row_bytes,
                         (unsigned char *)data + i * row_bytes, row_bytes);
    }
    gnn_charge(job->env->world, GNN_WORK_TABLE_ENTRY, count);
    return GNN_OK;
}

/* fill_window_fn. */
static enum gnn_status fill_with_rows(struct window *w, struct gnn_err *err)
{
    const struct job *const job = w->job;
    const struct gnn_dataset *const d = job->env->dataset;
    struct gnn_scan scan = gnn_scan_of_rows(job->env, job->config->io == AGNES_IO_DIRECT);
    if (job->old_to_new == NULL) { /* whole sectors and whole rows */
        const uint64_t step = (uint64_t)d->row_bytes * GNN_PAGE_BYTES;
        const uint64_t block_rows_bytes = (uint64_t)(w->block_bytes / d->row_bytes) * d->row_bytes;
        scan.begin_bytes = gnn_round_down(w->first * block_rows_bytes, step);
        scan.end_bytes = gnn_min_u64(w->end * block_rows_bytes, d->feature_bytes);
    }
    return gnn_scan_file(job->env, &scan, put_rows, w, err);
}

/* ---- open ---- */

static enum gnn_status check_size(const struct job *job, struct gnn_file *file, uint64_t blocks, struct gnn_err *err)
{
    struct gnn_file_info info;
    gnn_file_info(job->env->world, file, &info);
    const uint64_t expected = blocks * job->files->index.block_bytes;
    if (info.size_bytes == expected)
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: %" PRIu64 " bytes, %" PRIu64 " expected: remove the directory to prepare it again",
                    gnn_file_path(job->env->world, file), info.size_bytes, expected);
}

static enum gnn_status prepare_graph(struct job *job, struct gnn_err *err)
{
    struct agnes_layout_files *const files = job->files;
    const uint32_t nodes = job->env->dataset->node_count;
    GNN_TRY(agnes_renumber(job->env, job->config, files->prepared.dir, job->window_bytes, &files->new_to_old, err));
    if (files->new_to_old != NULL)
        GNN_TRY(gnn_prepared_write(&job->files->prepared, "order", files->new_to_old,
                                   nodes * (uint64_t)sizeof(gnn_node), err));
    GNN_TRY(make_index(job, err));
    GNN_TRY(need_old_to_new(job, err));
    GNN_TRY(write_blocks(job, "graph", files->index.blocks, GNN_MEM_PLAIN, fill_with_edges, err));
    return write_index(job, err);
}

static enum gnn_status open_graph(struct job *job, struct gnn_err *err)
{
    struct agnes_layout_files *const files = job->files;
    struct gnn_file *index = NULL;
    bool outdated = false;
    enum gnn_status status = gnn_prepared_open(&job->files->prepared, "index", GNN_OPEN_READ, &index, err);
    if (index != NULL)
        GNN_NEXT(status, read_index(job, index, &outdated, err));
    if (outdated) /* its rows are of the old order */
        (void)gnn_file_remove(job->env->world, gnn_prepared_path(&files->prepared, job->features).text, NULL);
    GNN_NEXT(status, index == NULL || outdated ? prepare_graph(job, err) : read_order(job, err));
    gnn_file_close(job->env->world, index);
    GNN_TRY(status);
    GNN_TRY(gnn_file_open(job->env->world, gnn_prepared_path(&job->files->prepared, "graph").text,
                          GNN_OPEN_READ | agnes_direct_flag(job->config), &files->graph, err));
    return check_size(job, files->graph, files->index.blocks, err);
}

static enum gnn_status open_features(struct job *job, struct gnn_err *err)
{
    const unsigned flags = GNN_OPEN_READ | agnes_direct_flag(job->config);
    struct gnn_file **const file = &job->files->features;
    struct gnn_file *source = NULL; /* its length is checked also where the blocks are prepared already */
    const enum gnn_status status = gnn_dataset_file_open(job->env, GNN_DATASET_FEATURES, 0, &source, NULL, err);
    gnn_file_close(job->env->world, source);
    GNN_TRY(status);
    GNN_TRY(gnn_prepared_open(&job->files->prepared, job->features, flags, file, err));
    if (*file == NULL) {
        GNN_TRY(need_old_to_new(job, err));
        GNN_TRY(write_blocks(job, job->features, job->row_blocks, GNN_MEM_FEATURES, fill_with_rows, err));
        GNN_TRY(gnn_file_open(job->env->world, gnn_prepared_path(&job->files->prepared, job->features).text, flags,
                              file, err));
    }
    return check_size(job, *file, job->row_blocks, err);
}

/* Returns a quarter of what the cap leaves, so that read-ahead and page cache find room, too. */
static uint64_t window_bytes(const struct gnn_env *env)
{
    struct gnn_mem_usage usage;
    gnn_mem_usage(env->world, &usage);
    const uint64_t maps = node_map_bytes * env->dataset->node_count;
    const uint64_t held = usage.current_bytes + maps + gnn_mul_bytes(gnn_env_workers(env), env->process_bytes);
    if (env->cap_bytes == 0)
        return window_bytes_most;
    const uint64_t window = env->cap_bytes > held ? (env->cap_bytes - held) / 4 : 0;
    return gnn_min_u64(gnn_max_u64(window, window_bytes_least), window_bytes_most);
}

/* Sums up what of the layout lies on the disk, whoever wrote it. */
static enum gnn_status count_disk(struct job *job, struct gnn_err *err)
{
    const char *const names[] = {"graph", "index", "order", job->files->features == NULL ? NULL : job->features};
    for (size_t i = 0; i < sizeof names / sizeof *names && names[i] != NULL; i++)
        GNN_TRY(gnn_prepared_count(&job->files->prepared, names[i], &job->files->disk_bytes, err));
    return GNN_OK;
}

static enum gnn_status open_files(struct job *job, struct gnn_err *err)
{
    GNN_TRY(gnn_dir_make(job->env->world, job->files->prepared.dir, err));
    GNN_TRY(open_graph(job, err));
    if (!job->env->workload->sample_only)
        GNN_TRY(open_features(job, err));
    return count_disk(job, err);
}

/* Names the files of the layout. rows: of a feature block. */
static void begin_job(const struct gnn_env *env, const struct agnes_config *config, uint32_t rows,
                      struct agnes_layout_files *files, struct job *job)
{
    const struct gnn_dataset *const d = env->dataset;
    files->prepared.world = env->world;
    (void)snprintf(files->prepared.dir, sizeof files->prepared.dir, "%s/agnes-%s-%" PRIu32 "k-%" PRIu32 "-%.12s",
                   d->dir, agnes_layout_words[config->layout], files->index.block_bytes / 1024, files->index.id_bytes,
                   d->digest[0] != '\0' ? d->digest : "unnamed");
    *job = (struct job){.env = env,
                        .config = config,
                        .files = files,
                        .window_bytes = window_bytes(env),
                        .row_blocks = (uint32_t)gnn_div_up(d->node_count, rows)};
    gnn_meta_features_name(d->dim, d->feature_type, job->features, sizeof job->features);
}

static bool is_there(const struct job *job, const char *name)
{
    struct gnn_file *file = NULL;
    struct gnn_err err = {0};
    const enum gnn_status status = gnn_prepared_open(&job->files->prepared, name, GNN_OPEN_READ, &file, &err);
    gnn_file_close(job->env->world, file);
    return status == GNN_OK && file != NULL;
}

uint64_t agnes_layout_least_bytes(const struct gnn_env *env, const struct agnes_config *config)
{
    const struct gnn_dataset *const d = env->dataset;
    struct agnes_layout_files files = {
        .index = {.block_bytes = agnes_block_bytes(env, config), .id_bytes = agnes_id_bytes(env, config)}};
    struct job job;
    begin_job(env, config, gnn_max_u32(files.index.block_bytes / d->row_bytes, 1), &files, &job);
    if (is_there(&job, "index") && (env->workload->sample_only || is_there(&job, job.features)))
        return 0;
    const uint64_t maps = config->layout == AGNES_LAYOUT_INPUT ? 0 : node_map_bytes * d->node_count;
    const uint64_t blocks = d->edge_count * files.index.id_bytes / files.index.block_bytes + d->node_count / 100 + 2;
    const uint64_t tables = 2 * blocks * sizeof(struct agnes_object_range) + 16 * (uint64_t)GNN_PAGE_BYTES;
    const uint64_t window = gnn_max_u64(window_bytes_least, files.index.block_bytes);
    return maps + tables + window + window / 16 +
           gnn_max_u64(gnn_scan_bytes(d->id_bytes), env->workload->sample_only ? 0 : gnn_scan_bytes(d->row_bytes));
}

enum gnn_status agnes_layout_open(const struct gnn_env *env, const struct agnes_config *config,
                                  struct agnes_layout_files *out, struct gnn_err *err)
{
    const struct gnn_dataset *const d = env->dataset;
    *out = (struct agnes_layout_files){.index = {.block_bytes = agnes_block_bytes(env, config),
                                                 .id_bytes = agnes_id_bytes(env, config),
                                                 .node_count = d->node_count}};
    const uint32_t rows = out->index.block_bytes / d->row_bytes;
    if (rows == 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "a feature row of %" PRIu32 " bytes does not fit into agnes.block=%" PRIu32
                        ": raise agnes.block to at least one row",
                        d->row_bytes, out->index.block_bytes);
    struct job job;
    begin_job(env, config, rows, out, &job);
    const uint64_t start_ns = gnn_now_ns(env->world);
    const enum gnn_status status = open_files(&job, err);
    gnn_mem_free(env->world, job.old_to_new);
    out->prepare_ns = out->prepared.written_bytes > 0 ? gnn_now_ns(env->world) - start_ns : 0;
    return status;
}

void agnes_layout_close(struct gnn_world *world, struct agnes_layout_files *files)
{
    gnn_file_close(world, files->features);
    gnn_file_close(world, files->graph);
    gnn_mem_free(world, files->index.ranges);
    gnn_mem_free(world, files->new_to_old);
}
