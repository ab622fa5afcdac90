/* SPDX-License-Identifier: MIT */
/* How far batched packing is: a small file beside the parts that are being written, from which a packing that was
 * killed or stopped goes on. It is written after every so many bytes (option checkpoint), when all that it speaks of is
 * on the disk, and removed before the parts get their names. What is written behind it is written again, to the same
 * places.
 *
 * Nothing in it depends on partitions, workers or memory, but for the length of a window; which rows a target has
 * already follows from the tables. The pages that were not full when it was written are filled again from the features.
 *
 * Disk caches are put in order in place, so whatever window was being moved is lost: it and those behind it are packed
 * once more, and nothing else. */
#include "harness/base/log.h"
#include "harness/storage/exact.h"
#include "systems/diskgnn/pack.h"

#include <inttypes.h>

static const char kept_magic[16] = "diskgnn packing";
static const char kept_name[] = "packing";
enum kept_word { WORD_ORDERING, WORD_NEXT_NODE, WORD_ORDERED, WORD_WINDOW_ROWS, WORD_ROWS };

/* ---- the file ---- */

void diskgnn_kept_remove(const struct diskgnn_job *job)
{
    (void)gnn_file_remove(job->env->world, diskgnn_path_of(job, kept_name, ".part").text, NULL);
    diskgnn_remove(job, kept_name);
}

/* Whether this packing can go on from there: partitions begin on pages, windows too, and two of them fit its memory. */
static bool fits(const struct diskgnn_packer *p, const struct diskgnn_kept *kept)
{
    const struct gnn_dataset *const d = p->job->env->dataset;
    const struct diskgnn_rows *const rows = &p->layout->rows;
    const uint32_t window = kept->window_rows, most = p->layout->disk_rows_most;
    const uint64_t begin = kept->next_node * (uint64_t)d->row_bytes;
    if (kept->next_node > d->node_count || (kept->next_node < d->node_count && begin % GNN_PAGE_BYTES != 0))
        return false;
    if (window > most || (window == 0 && most > 0) || (window < most && window % rows->per_page != 0))
        return false;
    const uint64_t least = 2 * (uint64_t)rows->page_bytes;
    return 2 * diskgnn_rows_pages(rows, window) * rows->page_bytes <= gnn_max_u64(p->memory_bytes, least);
}

enum gnn_status diskgnn_kept_read(struct diskgnn_packer *p, struct gnn_err *err)
{
    struct diskgnn_table_file table = {.name = kept_name, .key = p->layout->key};
    struct gnn_err local = {.status = GNN_OK};
    bool found = false;
    uint64_t bytes;
    memcpy(table.magic, kept_magic, sizeof table.magic);
    p->kept = (struct diskgnn_kept){.any = false};
    const enum gnn_status status = diskgnn_read_table(p->job, &table, &found, &bytes, &local);
    for (size_t i = 0; i < 2; i++) /* it has none */
        gnn_mem_free(p->job->env->world, table.array[i].data);
    if (status != GNN_OK && status != GNN_EFORMAT)
        return gnn_fail(err, status, "%s", local.message);
    if (status != GNN_OK || !found)
        return GNN_OK;
    p->kept = (struct diskgnn_kept){.any = true,
                                    .ordering = table.words[WORD_ORDERING] != 0,
                                    .next_node = (uint32_t)table.words[WORD_NEXT_NODE],
                                    .ordered = (uint32_t)table.words[WORD_ORDERED],
                                    .window_rows = (uint32_t)table.words[WORD_WINDOW_ROWS],
                                    .rows = table.words[WORD_ROWS]};
    if (!fits(p, &p->kept))
        p->kept = (struct diskgnn_kept){.any = false};
    return GNN_OK;
}

/* Whether a target is complete when `ordered` windows are in order, and those behind them lost. */
static bool is_complete(const struct diskgnn_packer *p, uint32_t target, uint32_t ordered)
{
    const uint32_t first_window = DISKGNN_TARGET_CHUNKS + p->layout->batches;
    return target < first_window || target - first_window < ordered;
}

/* Rows that are there in all targets. */
static uint64_t rows_there(const struct diskgnn_packer *p, const struct diskgnn_kept *now)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < p->target_count; i++)
        rows += !now->ordering || is_complete(p, i, now->ordered) ? p->targets[i].done : 0;
    return rows;
}

static enum gnn_status write_kept(struct diskgnn_packer *p, const struct diskgnn_kept *now, struct gnn_err *err)
{
    struct diskgnn_table_file table = {.name = kept_name,
                                       .key = p->layout->key,
                                       .words = {[WORD_ORDERING] = now->ordering,
                                                 [WORD_NEXT_NODE] = now->next_node,
                                                 [WORD_ORDERED] = now->ordered,
                                                 [WORD_WINDOW_ROWS] = now->window_rows,
                                                 [WORD_ROWS] = rows_there(p, now)}};
    const uint64_t written = p->job->written_bytes;
    uint64_t bytes;
    memcpy(table.magic, kept_magic, sizeof table.magic);
    for (uint32_t i = 0; i < DISKGNN_FILES; i++)
        GNN_TRY(gnn_file_sync(p->job->env->world, p->files[i], err));
    GNN_TRY(diskgnn_write_table(p->job, &table, &bytes, err));
    p->job->written_bytes = written; /* it is not prepared, and goes again */
    p->unkept_bytes = 0;
    p->saved = true;
    return GNN_OK;
}

enum gnn_status diskgnn_kept_save(struct diskgnn_packer *p, const struct diskgnn_kept *now, uint64_t bytes,
                                  struct gnn_err *err)
{
    const uint64_t every = p->job->config->checkpoint_bytes;
    p->unkept_bytes += bytes;
    return every > 0 && p->unkept_bytes >= every ? write_kept(p, now, err) : GNN_OK;
}

enum gnn_status diskgnn_kept_begin_order(struct diskgnn_packer *p, struct gnn_err *err)
{
    const struct diskgnn_kept now = {.any = true, .ordering = true, .window_rows = p->window_rows};
    return p->saved && !p->kept.ordering ? write_kept(p, &now, err) : GNN_OK;
}

/* ---- taking up ---- */

uint32_t diskgnn_kept_rows(const struct diskgnn_packer *p, uint32_t target, const gnn_node *ids, uint32_t count)
{
    if (!p->kept.any)
        return 0;
    if (p->kept.ordering)
        return is_complete(p, target, p->kept.ordered) ? count : 0;
    uint32_t kept = 0;
    while (kept < count && ids[kept] < p->kept.next_node)
        kept++;
    return kept;
}

/* Copies to the target's open page, which begins at base_bytes, what of row `row`, node v's, lies in it. */
static enum gnn_status copy_row(const struct diskgnn_packer *p, uint32_t target, uint32_t row, gnn_node v,
                                uint64_t base_bytes, struct gnn_err *err)
{
    struct gnn_world *const world = p->job->env->world;
    const uint64_t row_bytes = p->layout->rows.row_bytes, at = diskgnn_target_offset(p, target, row);
    const uint64_t first = gnn_max_u64(at, base_bytes), begin = gnn_round_down(v * row_bytes, GNN_PAGE_BYTES);
    const uint64_t end = (v + UINT64_C(1)) * row_bytes;
    unsigned char *const page = p->tails + (uint64_t)target * p->layout->rows.align_bytes;
    GNN_TRY(gnn_read_window(world, p->features, begin, p->staging, gnn_round_up(end, GNN_PAGE_BYTES) - begin,
                            end - begin, err));
    gnn_mem_copy(world, page + (first - base_bytes), p->staging + (v * row_bytes - begin) + (first - at),
                 row_bytes - (first - at));
    return GNN_OK;
}

enum gnn_status diskgnn_kept_page(const struct diskgnn_packer *p, uint32_t target, const gnn_node *ids,
                                  struct gnn_err *err)
{
    const struct diskgnn_rows *const rows = &p->layout->rows;
    const struct diskgnn_target *const t = &p->targets[target];
    const uint64_t end = diskgnn_target_offset(p, target, t->done), base = gnn_round_down(end, rows->align_bytes);
    if (t->done == t->rows || end == base)
        return GNN_OK; /* complete, or whole pages */
    const uint64_t first = t->paged ? gnn_round_down(t->done, rows->per_page) : base / rows->row_bytes;
    for (uint32_t row = (uint32_t)first; row < t->done; row++)
        GNN_TRY(copy_row(p, target, row, ids[row], base, err));
    return GNN_OK;
}

enum gnn_status diskgnn_kept_check(const struct diskgnn_packer *p, struct gnn_err *err)
{
    if (!p->kept.any)
        return GNN_OK;
    if (p->kept_row_count != p->kept.rows)
        return diskgnn_not_ours(p->job, kept_name, err);
    if (p->kept.ordering)
        gnn_log_info("diskgnn: packing resumes with the order of disk caches, window %" PRIu32 " of %" PRIu32,
                     p->kept.ordered, p->window_count);
    else
        gnn_log_info("diskgnn: packing resumes at node %" PRIu32 " of %" PRIu32, p->kept.next_node,
                     p->job->env->dataset->node_count);
    return GNN_OK;
}
