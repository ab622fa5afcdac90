/* Preparation: the dataset's topology and features as blocks, in <dataset>/agnes-<layout>-<Z>-<w>-<digest>/.
 *
 *   graph            graph blocks                          (graph_blocks.h)
 *   order            new ID -> old ID, uint32; absent for layout=input
 *   index            header of one page, then the object index table; written last: with it the three are whole
 *   features-d<dim>  feature blocks: block i holds rows [i r, (i + 1) r), r = floor(Z / R); the rest of Z is unused
 *
 * Every file is written as <name>.part, synced, and renamed: a name is a promise. What a crash leaves is overwritten by
 * the next preparation. Blocks are filled window by window, each from one pass over the dataset's file: the number of
 * passes is the file's size over the window's, and nothing but the maps grows with the graph.
 *
 * Source   AGNES (KDD 2026) section 3.2; specs/agnes.md section 2
 * Memory   8 bytes a node, 16 a graph block, one window, read-ahead
 * Errors   those of the files; GNN_EFORMAT: files that are not what they say; GNN_EUSAGE: a row above Z */
#include "systems/agnes/agnes.h"

#include "harness/base/rng.h"
#include "harness/storage/exact.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t window_bytes_most = UINT64_C(256) << 20, window_bytes_least = UINT64_C(1) << 20;
static const char index_magic[16] = "agnes blocks 1";

struct index_header {
    char magic[16];
    uint32_t block_bytes, id_bytes, blocks, node_count;
    uint64_t edge_count, checksum;
};
_Static_assert(sizeof(struct index_header) <= GNN_PAGE_BYTES, "one page on disk");

struct job {
    const struct gnn_env *env;
    const struct agnes_config *config;
    struct agnes_layout_files *files;
    gnn_node *old_to_new; /* NULL: identity */
    uint64_t window_bytes;
    uint32_t row_blocks; /* of features */
};

/* ---- names ---- */

enum { PATH_BYTES = 800 };

static void name_of(const struct agnes_layout_files *files, const char *name, const char *suffix, char *path)
{
    (void)snprintf(path, PATH_BYTES, "%s/%s%s", files->dir, name, suffix);
}

static void features_name(const struct gnn_env *env, char *name, size_t bytes)
{
    (void)snprintf(name, bytes, "features-d%" PRIu32, env->dataset->dim);
}

static unsigned direct_flag(const struct agnes_config *config)
{
    return config->io == AGNES_IO_DIRECT ? (unsigned)GNN_OPEN_DIRECT : 0U;
}

/* Opens <name>.part for writing. */
static enum gnn_status part_open(const struct job *job, const char *name, unsigned flags, struct gnn_file **out,
                                 struct gnn_err *err)
{
    char path[PATH_BYTES];
    name_of(job->files, name, ".part", path);
    return gnn_file_open(job->env->world, path, GNN_OPEN_WRITE | GNN_OPEN_TRUNCATE | flags, out, err);
}

/* Closes it; a good one gets its name, a bad one goes away. */
static enum gnn_status part_close(const struct job *job, const char *name, struct gnn_file *file,
                                  enum gnn_status status, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    char part[PATH_BYTES], path[PATH_BYTES];
    name_of(job->files, name, ".part", part);
    name_of(job->files, name, "", path);
    struct gnn_file_info info = {0};
    if (file != NULL)
        gnn_file_info(world, file, &info);
    if (status == GNN_OK)
        status = gnn_file_sync(world, file, err);
    gnn_file_close(world, file);
    if (status == GNN_OK)
        status = gnn_file_rename(world, part, path, err);
    if (status == GNN_OK)
        job->files->written_bytes += info.size_bytes;
    else if (file != NULL)
        (void)gnn_file_remove(world, part, NULL);
    return status;
}

/* A small file at once. data: world memory. */
static enum gnn_status write_file(const struct job *job, const char *name, const void *data, uint64_t bytes,
                                  struct gnn_err *err)
{
    struct gnn_file *file = NULL;
    enum gnn_status status = part_open(job, name, 0, &file, err);
    if (status == GNN_OK)
        status = gnn_write_all(job->env->world, file, 0, data, bytes, err);
    return part_close(job, name, file, status, err);
}

/* ---- graph blocks ---- */

struct graph_window {
    const struct job *job;
    uint32_t first, end; /* blocks */
    unsigned char *memory;
    gnn_node *ids; /* of the list in the making, renumbered */
    gnn_node node; /* old ID whose list the scan is in */
};

static enum gnn_status put_edges(void *ctx, uint64_t at_bytes, void *data, uint64_t bytes, struct gnn_err *err)
{
    struct graph_window *const w = ctx;
    const struct gnn_dataset *const d = w->job->env->dataset;
    const struct agnes_index *const index = &w->job->files->index;
    const gnn_node *const map = w->job->old_to_new;
    gnn_node *const ids = data;
    const uint64_t begin = at_bytes / sizeof *ids, end = begin + bytes / sizeof *ids;
    const gnn_node low = index->ranges[w->first].first, high = index->ranges[w->end - 1].last;
    for (uint64_t e = begin; e < end;) {
        while (d->indptr[w->node + 1] <= e)
            w->node++;
        const uint64_t list_end = d->indptr[w->node + 1] < end ? d->indptr[w->node + 1] : end;
        const gnn_node v = map == NULL ? w->node : map[w->node];
        gnn_node *const list = ids + (e - begin);
        if (v >= low && v <= high) {
            for (uint64_t i = 0; i < list_end - e; i++) {
                if (list[i] >= d->node_count)
                    return gnn_fail(err, GNN_EFORMAT,
                                    "%s: neighbour %" PRIu32 ", but there are %" PRIu32
                                    " nodes; run `oocgnn prepare --check`",
                                    d->indices_path, list[i], d->node_count);
                list[i] = map == NULL ? list[i] : map[list[i]];
            }
            agnes_blocks_put(index, w->first, w->end, v, e - d->indptr[w->node], list, list_end - e, w->memory);
        }
        e = list_end;
    }
    gnn_charge(w->job->env->world, GNN_WORK_TABLE_ENTRY, end - begin);
    return GNN_OK;
}

/* Without renumbering a window's edges lie together; else they lie anywhere. */
static enum gnn_status fill_graph_window(struct graph_window *w, struct gnn_err *err)
{
    const struct job *const job = w->job;
    const struct gnn_dataset *const d = job->env->dataset;
    const struct agnes_index *const index = &job->files->index;
    for (uint32_t b = w->first; b < w->end; b++)
        agnes_block_format(index, b, d->indptr, job->files->new_to_old,
                           w->memory + (uint64_t)(b - w->first) * index->block_bytes);
    struct agnes_scan scan = {.path = d->indices_path,
                              .direct = job->config->io == AGNES_IO_DIRECT,
                              .end_bytes = d->edge_count * sizeof(gnn_node),
                              .unit_bytes = sizeof(gnn_node),
                              .mem_flags = GNN_MEM_PLAIN};
    if (job->old_to_new == NULL) {
        scan.begin_bytes = gnn_round_down(index->ranges[w->first].edge_begin * sizeof(gnn_node), GNN_PAGE_BYTES);
        scan.end_bytes = index->ranges[w->end].edge_begin * sizeof(gnn_node);
    }
    w->node = 0;
    return agnes_scan_file(job->env, &scan, put_edges, w, err);
}

static enum gnn_status write_graph_windows(const struct job *job, struct gnn_file *file, unsigned char *memory,
                                           uint32_t window, struct gnn_err *err)
{
    const struct agnes_index *const index = &job->files->index;
    struct graph_window w = {.job = job, .memory = memory};
    for (w.first = 0; w.first < index->blocks; w.first = w.end) {
        const uint32_t left = index->blocks - w.first;
        w.end = w.first + (left < window ? left : window);
        GNN_TRY(fill_graph_window(&w, err));
        GNN_TRY(gnn_write_all(job->env->world, file, (uint64_t)w.first * index->block_bytes, memory,
                              (uint64_t)(w.end - w.first) * index->block_bytes, err));
    }
    return GNN_OK;
}

static uint32_t window_blocks(const struct job *job, uint32_t block_bytes, uint32_t blocks)
{
    const uint64_t window = job->window_bytes / block_bytes;
    return (uint32_t)(window < 1 ? 1 : window < blocks ? window : blocks);
}

static enum gnn_status write_graph(const struct job *job, struct gnn_err *err)
{
    const struct agnes_index *const index = &job->files->index;
    struct gnn_world *const world = job->env->world;
    const uint32_t window = window_blocks(job, index->block_bytes, index->blocks);
    struct gnn_file *file = NULL;
    void *memory = NULL;
    enum gnn_status status = gnn_mem_alloc(world, "agnes window of blocks", (uint64_t)window * index->block_bytes,
                                           GNN_MEM_PLAIN, &memory, err);
    if (status == GNN_OK)
        status = part_open(job, "graph", direct_flag(job->config), &file, err);
    if (status == GNN_OK)
        status = write_graph_windows(job, file, memory, window, err);
    gnn_mem_free(world, memory);
    return part_close(job, "graph", file, status, err);
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

/* Cuts the nodes into blocks: the table is in memory from here on. */
static enum gnn_status make_index(const struct job *job, struct gnn_err *err)
{
    const struct gnn_dataset *const d = job->env->dataset;
    struct agnes_index *const index = &job->files->index;
    index->blocks =
        agnes_blocks_cut(d->indptr, job->files->new_to_old, d->node_count, index->block_bytes, index->id_bytes, NULL);
    void *ranges = NULL;
    GNN_TRY(gnn_mem_alloc(job->env->world, "agnes object index", (index->blocks + UINT64_C(1)) * sizeof *index->ranges,
                          GNN_MEM_PLAIN, &ranges, err));
    index->ranges = ranges;
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
    const enum gnn_status status = write_file(job, "index", memory, bytes, err);
    gnn_mem_free(world, memory);
    return status;
}

static enum gnn_status read_index(const struct job *job, struct gnn_file *file, const char *path, struct gnn_err *err)
{
    struct agnes_index *const index = &job->files->index;
    struct gnn_world *const world = job->env->world;
    const struct gnn_dataset *const d = job->env->dataset;
    struct index_header header;
    GNN_TRY(gnn_read_all(world, file, 0, &header, sizeof header, err));
    struct gnn_file_info info;
    gnn_file_info(world, file, &info);
    const uint64_t count = header.blocks + UINT64_C(1);
    if (memcmp(header.magic, index_magic, sizeof header.magic) != 0 || header.block_bytes != index->block_bytes ||
        header.id_bytes != index->id_bytes || header.node_count != d->node_count ||
        header.edge_count != d->edge_count || info.size_bytes != GNN_PAGE_BYTES + count * sizeof *index->ranges)
        return gnn_fail(err, GNN_EFORMAT, "%s: not of this dataset; remove the directory to prepare it again", path);
    void *ranges = NULL;
    GNN_TRY(gnn_mem_alloc(world, "agnes object index", count * sizeof *index->ranges, GNN_MEM_PLAIN, &ranges, err));
    index->ranges = ranges;
    index->blocks = header.blocks;
    GNN_TRY(gnn_read_all(world, file, GNN_PAGE_BYTES, ranges, count * sizeof *index->ranges, err));
    if (ranges_checksum(index->ranges, count) != header.checksum)
        return gnn_fail(err, GNN_EFORMAT, "%s: checksum differs; remove the directory to prepare it again", path);
    return GNN_OK;
}

/* ---- the order of nodes ---- */

static enum gnn_status read_order(const struct job *job, struct gnn_err *err)
{
    if (job->config->layout == AGNES_LAYOUT_INPUT)
        return GNN_OK;
    struct gnn_world *const world = job->env->world;
    const uint32_t nodes = job->env->dataset->node_count;
    char path[PATH_BYTES];
    name_of(job->files, "order", "", path);
    struct gnn_file *file = NULL;
    void *memory = NULL;
    GNN_TRY(
        gnn_mem_alloc(world, "agnes order of nodes", nodes * (uint64_t)sizeof(gnn_node), GNN_MEM_PLAIN, &memory, err));
    job->files->new_to_old = memory;
    GNN_TRY(gnn_file_open(world, path, GNN_OPEN_READ, &file, err));
    enum gnn_status status = gnn_read_all(world, file, 0, memory, nodes * (uint64_t)sizeof(gnn_node), err);
    gnn_file_close(world, file);
    for (uint32_t v = 0; status == GNN_OK && v < nodes; v++)
        if (job->files->new_to_old[v] >= nodes)
            status = gnn_fail(err, GNN_EFORMAT, "%s: entry %" PRIu32 " is no node; remove the directory", path, v);
    return status;
}

static enum gnn_status invert(struct job *job, struct gnn_err *err)
{
    const gnn_node *const order = job->files->new_to_old;
    if (order == NULL || job->old_to_new != NULL)
        return GNN_OK;
    const uint32_t nodes = job->env->dataset->node_count;
    void *memory = NULL;
    GNN_TRY(gnn_mem_alloc(job->env->world, "agnes new names of nodes", nodes * (uint64_t)sizeof(gnn_node),
                          GNN_MEM_PLAIN, &memory, err));
    job->old_to_new = memory;
    for (uint32_t v = 0; v < nodes; v++)
        job->old_to_new[order[v]] = v;
    gnn_charge(job->env->world, GNN_WORK_TABLE_ENTRY, nodes);
    return GNN_OK;
}

/* ---- feature blocks ---- */

struct row_window {
    const struct job *job;
    uint32_t first, end; /* blocks */
    uint32_t rows;       /* of a block */
    unsigned char *memory;
};

static enum gnn_status put_rows(void *ctx, uint64_t at_bytes, void *data, uint64_t bytes, struct gnn_err *err)
{
    (void)err;
    const struct row_window *const w = ctx;
    const struct job *const job = w->job;
    const uint32_t row_bytes = job->env->dataset->row_bytes, block_bytes = job->files->index.block_bytes;
    const uint64_t begin = at_bytes / row_bytes, count = bytes / row_bytes;
    for (uint64_t i = 0; i < count; i++) {
        const gnn_node v = job->old_to_new == NULL ? (gnn_node)(begin + i) : job->old_to_new[begin + i];
        const uint32_t block = v / w->rows;
        if (block >= w->first && block < w->end)
            gnn_mem_copy(job->env->world,
                         w->memory + (uint64_t)(block - w->first) * block_bytes + (uint64_t)(v % w->rows) * row_bytes,
                         (unsigned char *)data + i * row_bytes, row_bytes);
    }
    gnn_charge(job->env->world, GNN_WORK_TABLE_ENTRY, count);
    return GNN_OK;
}

static enum gnn_status fill_row_window(struct row_window *w, struct gnn_err *err)
{
    const struct job *const job = w->job;
    const struct gnn_dataset *const d = job->env->dataset;
    struct agnes_scan scan = {.path = d->features_path,
                              .direct = job->config->io == AGNES_IO_DIRECT,
                              .end_bytes = d->feature_bytes,
                              .unit_bytes = d->row_bytes,
                              .mem_flags = GNN_MEM_FEATURES};
    if (job->old_to_new == NULL) { /* whole sectors and whole rows */
        const uint64_t step = (uint64_t)d->row_bytes * GNN_PAGE_BYTES;
        const uint64_t end = (uint64_t)w->end * w->rows * d->row_bytes;
        scan.begin_bytes = gnn_round_down((uint64_t)w->first * w->rows * d->row_bytes, step);
        scan.end_bytes = end < d->feature_bytes ? end : d->feature_bytes;
    }
    return agnes_scan_file(job->env, &scan, put_rows, w, err);
}

static enum gnn_status write_row_windows(const struct job *job, struct gnn_file *file, unsigned char *memory,
                                         uint32_t window, struct gnn_err *err)
{
    const uint32_t block_bytes = job->files->index.block_bytes;
    struct row_window w = {.job = job, .rows = block_bytes / job->env->dataset->row_bytes, .memory = memory};
    for (w.first = 0; w.first < job->row_blocks; w.first = w.end) {
        const uint32_t left = job->row_blocks - w.first;
        w.end = w.first + (left < window ? left : window);
        GNN_TRY(fill_row_window(&w, err));
        GNN_TRY(gnn_write_all(job->env->world, file, (uint64_t)w.first * block_bytes, memory,
                              (uint64_t)(w.end - w.first) * block_bytes, err));
    }
    return GNN_OK;
}

static enum gnn_status check_features(const struct gnn_env *env, struct gnn_err *err)
{
    struct gnn_file *file = NULL;
    struct gnn_file_info info;
    GNN_TRY(gnn_file_open(env->world, env->dataset->features_path, GNN_OPEN_READ, &file, err));
    gnn_file_info(env->world, file, &info);
    gnn_file_close(env->world, file);
    if (info.size_bytes == env->dataset->feature_bytes)
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " bytes, expected %" PRIu64 ": prepare the dataset again",
                    env->dataset->features_path, info.size_bytes, env->dataset->feature_bytes);
}

static enum gnn_status write_features(struct job *job, const char *name, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    const uint32_t block_bytes = job->files->index.block_bytes;
    GNN_TRY(invert(job, err));
    const uint32_t window = window_blocks(job, block_bytes, job->row_blocks);
    struct gnn_file *file = NULL;
    void *memory = NULL;
    enum gnn_status status =
        gnn_mem_alloc(world, "agnes window of blocks", (uint64_t)window * block_bytes, GNN_MEM_FEATURES, &memory, err);
    if (status == GNN_OK)
        status = part_open(job, name, direct_flag(job->config), &file, err);
    if (status == GNN_OK)
        status = write_row_windows(job, file, memory, window, err);
    gnn_mem_free(world, memory);
    return part_close(job, name, file, status, err);
}

/* ---- open ---- */

/* An error text of "it is not there" is nobody's error. */
static enum gnn_status open_if_there(const struct job *job, const char *name, unsigned flags, struct gnn_file **out,
                                     struct gnn_err *err)
{
    char path[PATH_BYTES];
    struct gnn_err local = {0};
    name_of(job->files, name, "", path);
    *out = NULL;
    const enum gnn_status status = gnn_file_open(job->env->world, path, flags, out, &local);
    if (status == GNN_OK || status == GNN_ENOENT)
        return GNN_OK;
    return gnn_fail(err, status, "%s", local.message);
}

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
    GNN_TRY(agnes_renumber(job->env, job->config, files->dir, job->window_bytes, &files->new_to_old, err));
    if (files->new_to_old != NULL)
        GNN_TRY(write_file(job, "order", files->new_to_old, nodes * (uint64_t)sizeof(gnn_node), err));
    GNN_TRY(make_index(job, err));
    GNN_TRY(invert(job, err));
    GNN_TRY(write_graph(job, err));
    return write_index(job, err);
}

static enum gnn_status open_graph(struct job *job, struct gnn_err *err)
{
    struct agnes_layout_files *const files = job->files;
    struct gnn_file *index = NULL;
    char path[PATH_BYTES];
    GNN_TRY(open_if_there(job, "index", GNN_OPEN_READ, &index, err));
    if (index == NULL) {
        GNN_TRY(prepare_graph(job, err));
    } else {
        name_of(files, "index", "", path);
        enum gnn_status status = read_index(job, index, path, err);
        if (status == GNN_OK)
            status = read_order(job, err);
        gnn_file_close(job->env->world, index);
        if (status != GNN_OK)
            return status;
    }
    name_of(files, "graph", "", path);
    GNN_TRY(gnn_file_open(job->env->world, path, GNN_OPEN_READ | direct_flag(job->config), &files->graph, err));
    return check_size(job, files->graph, files->index.blocks, err);
}

static enum gnn_status open_features(struct job *job, struct gnn_err *err)
{
    char name[GNN_NAME_MAX];
    const unsigned flags = GNN_OPEN_READ | direct_flag(job->config);
    struct gnn_file **const file = &job->files->features;
    features_name(job->env, name, sizeof name);
    GNN_TRY(check_features(job->env, err));
    GNN_TRY(open_if_there(job, name, flags, file, err));
    if (*file == NULL) {
        char path[PATH_BYTES];
        GNN_TRY(write_features(job, name, err));
        name_of(job->files, name, "", path);
        GNN_TRY(gnn_file_open(job->env->world, path, flags, file, err));
    }
    return check_size(job, *file, job->row_blocks, err);
}

/* A quarter of what the cap leaves, so that read-ahead and page cache find room, too. */
static uint64_t window_bytes(const struct gnn_env *env)
{
    struct gnn_mem_usage usage;
    gnn_mem_usage(env->world, &usage);
    const uint64_t maps = 32 * (uint64_t)env->dataset->node_count, held = usage.current_bytes + maps;
    if (env->cap_bytes == 0)
        return window_bytes_most;
    const uint64_t window = env->cap_bytes > held ? (env->cap_bytes - held) / 4 : 0;
    return window < window_bytes_least ? window_bytes_least : window > window_bytes_most ? window_bytes_most : window;
}

static enum gnn_status open_all(struct job *job, struct gnn_err *err)
{
    GNN_TRY(gnn_dir_make(job->env->world, job->files->dir, err));
    GNN_TRY(open_graph(job, err));
    return job->env->workload->sample_only ? GNN_OK : open_features(job, err);
}

enum gnn_status agnes_layout_open(const struct gnn_env *env, const struct agnes_config *config,
                                  struct agnes_layout_files *out, struct gnn_err *err)
{
    const struct gnn_dataset *const d = env->dataset;
    *out = (struct agnes_layout_files){.index = {.block_bytes = agnes_block_bytes(env, config),
                                                 .id_bytes = config->id_width == AGNES_ID_8 ? 8 : 4,
                                                 .node_count = d->node_count}};
    const uint32_t rows = out->index.block_bytes / d->row_bytes;
    if (rows == 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "a row has %" PRIu32 " bytes, a block %" PRIu32 ": raise agnes.block to a row at least",
                        d->row_bytes, out->index.block_bytes);
    (void)snprintf(out->dir, sizeof out->dir, "%s/agnes-%s-%" PRIu32 "k-%" PRIu32 "-%.12s", d->dir,
                   agnes_layout_words[config->layout], out->index.block_bytes / 1024, out->index.id_bytes,
                   d->digest[0] != '\0' ? d->digest : "unnamed");
    struct job job = {.env = env,
                      .config = config,
                      .files = out,
                      .window_bytes = window_bytes(env),
                      .row_blocks = (uint32_t)(((uint64_t)d->node_count + rows - 1) / rows)};
    const uint64_t start_ns = gnn_now_ns(env->world);
    const enum gnn_status status = open_all(&job, err);
    gnn_mem_free(env->world, job.old_to_new);
    out->prepare_ns = out->written_bytes > 0 ? gnn_now_ns(env->world) - start_ns : 0;
    return status;
}

void agnes_layout_close(struct gnn_world *world, struct agnes_layout_files *files)
{
    gnn_file_close(world, files->features);
    gnn_file_close(world, files->graph);
    gnn_mem_free(world, files->index.ranges);
    gnn_mem_free(world, files->new_to_old);
    files->features = files->graph = NULL;
    files->index.ranges = NULL;
    files->new_to_old = NULL;
}
