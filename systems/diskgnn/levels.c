/* SPDX-License-Identifier: MIT */
/* The two caches in memory: which rows they hold. Popularity is the number of mini-batches that use a node; a histogram
 * of it says where a cache ends, so that nothing is sorted. Rows lie in either cache by rising ID, whatever their
 * popularity: the file of cached rows is then a part of the features in order.
 *
 * Source   DiskGNN (SIGMOD 2025) section 4: the most popular rows on the GPU, the next in CPU memory
 * Memory   4 bytes a node */
#include "harness/storage/exact.h"
#include "systems/diskgnn/internal.h"

enum { COUNTS_AT_A_TIME = 1 << 18 };

uint64_t diskgnn_used_rows(const struct diskgnn_sampled *sampled)
{
    uint64_t used = 0;
    for (uint32_t c = 1; c <= sampled->batches; c++)
        used += sampled->histogram[c];
    return used;
}

uint64_t diskgnn_cold_accesses(const struct diskgnn_sampled *sampled, uint64_t cached)
{
    uint64_t cold = sampled->accesses;
    for (uint32_t c = sampled->batches; c > 0 && cached > 0; c--) {
        const uint64_t nodes = gnn_min_u64(sampled->histogram[c], cached);
        cached -= nodes;
        cold -= nodes * c;
    }
    return cold;
}

struct diskgnn_cut diskgnn_cut_of(const uint64_t *histogram, uint32_t batches, uint64_t rows)
{
    uint32_t c = batches;
    while (c > 0 && histogram[c] <= rows)
        rows -= histogram[c--];
    return (struct diskgnn_cut){.above = c, .ties = c > 0 ? rows : 0};
}

/* Whether a node with so many uses lies before the cut; nodes come by rising ID. */
static bool inside(struct diskgnn_cut *cut, uint32_t count)
{
    if (count > cut->above)
        return true;
    if (count < cut->above || cut->ties == 0)
        return false;
    cut->ties--;
    return true;
}

/* Gives rows to the nodes [first, first + count). */
static void give_rows(struct diskgnn_levels *levels, struct diskgnn_cut cuts[2], uint32_t next[2], const uint32_t *uses,
                      gnn_node first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = GNN_NODE_NONE;
        const bool cached = uses[i] > 0 && inside(&cuts[1], uses[i]);
        if (cached && inside(&cuts[0], uses[i]))
            row = next[0]++;
        else if (cached)
            row = next[1]++;
        levels->row_of[first + i] = row;
    }
}

static enum gnn_status read_counts(const struct diskgnn_job *job, struct gnn_file *file, struct diskgnn_levels *levels,
                                   struct diskgnn_cut cuts[2], struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    const uint32_t nodes = job->env->dataset->node_count;
    uint32_t next[2] = {0, levels->gpu_rows}, *uses = NULL;
    enum gnn_status status = GNN_OK;
    GNN_MEM_NEW(world, uses, COUNTS_AT_A_TIME, "diskgnn access counts", GNN_MEM_PLAIN, err);
    for (gnn_node first = 0; status == GNN_OK && first < nodes;) {
        const uint32_t count = gnn_min_u32(nodes - first, COUNTS_AT_A_TIME);
        const uint64_t bytes = gnn_round_up(count * sizeof *uses, GNN_PAGE_BYTES);
        GNN_NEXT(status, gnn_read_all(world, file, first * sizeof *uses, uses, bytes, err));
        if (status == GNN_OK)
            give_rows(levels, cuts, next, uses, first, count);
        first += count;
    }
    gnn_charge(world, GNN_WORK_TABLE_ENTRY, nodes);
    gnn_mem_free(world, uses);
    if (status == GNN_OK && (next[0] != levels->gpu_rows || next[1] != levels->gpu_rows + levels->cpu_rows))
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: the counts do not match the index; remove the file, or set diskgnn.reuse=false",
                        gnn_file_path(world, file));
    return status;
}

enum gnn_status diskgnn_levels_open(const struct diskgnn_job *job, const struct diskgnn_sampled *sampled,
                                    const struct diskgnn_caches *caches, struct diskgnn_levels *out,
                                    struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    const uint64_t used = diskgnn_used_rows(sampled);
    *out = (struct diskgnn_levels){.gpu_rows = (uint32_t)gnn_min_u64(caches->gpu_rows, used)};
    out->cpu_rows = (uint32_t)gnn_min_u64(caches->cpu_rows, used - out->gpu_rows);
    struct diskgnn_cut cuts[2] = {
        diskgnn_cut_of(sampled->histogram, sampled->batches, out->gpu_rows),
        diskgnn_cut_of(sampled->histogram, sampled->batches, (uint64_t)out->gpu_rows + out->cpu_rows)};
    GNN_MEM_NEW(world, out->row_of, job->env->dataset->node_count, "diskgnn rows of the caches", GNN_MEM_PLAIN, err);
    return read_counts(job, sampled->counts, out, cuts, err);
}
