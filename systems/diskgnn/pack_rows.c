/* SPDX-License-Identifier: MIT */
#include "harness/storage/exact.h"
#include "systems/diskgnn/pack.h"

static struct diskgnn_target *target_of(const struct diskgnn_append *a)
{
    return &a->p->targets[a->target];
}

uint64_t diskgnn_target_offset(const struct diskgnn_packer *p, uint32_t target, uint32_t row)
{
    const struct diskgnn_rows *const rows = &p->layout->rows;
    return p->targets[target].paged ? diskgnn_row_offset(rows, row) : (uint64_t)row * rows->row_bytes;
}

static uint64_t offset_of(const struct diskgnn_append *a, uint32_t row)
{
    return diskgnn_target_offset(a->p, a->target, row);
}

static unsigned char *tail_of(const struct diskgnn_append *a)
{
    return a->p->tails + (uint64_t)a->target * a->p->layout->rows.align_bytes;
}

uint32_t diskgnn_piece_rows(const struct diskgnn_packer *p, uint32_t target, uint32_t left)
{
    const struct diskgnn_rows *const rows = &p->layout->rows;
    const struct diskgnn_target *const t = &p->targets[target];
    const uint32_t common = gnn_min_u32(rows->row_bytes & (0U - rows->row_bytes), rows->align_bytes);
    const uint32_t unit = t->paged ? rows->per_page : rows->align_bytes / common; /* rows that are whole pages */
    const uint64_t wanted = t->done + (uint64_t)gnn_max_u32(DISKGNN_WRITE_BYTES / rows->row_bytes, 1);
    const uint64_t end = gnn_max_u64(gnn_round_down(wanted, unit), gnn_round_up(t->done + UINT64_C(1), unit));
    return (uint32_t)gnn_min_u64(end - t->done, left);
}

void diskgnn_append_begin(struct diskgnn_append *a, struct diskgnn_packer *p, uint32_t target, uint32_t count,
                          uint32_t worker)
{
    struct diskgnn_target *const t = &p->targets[target];
    assert(count <= t->rows - t->done);
    *a = (struct diskgnn_append){.p = p,
                                 .target = target,
                                 .row = t->done,
                                 .end = t->done + count,
                                 .staging = p->staging + worker * p->staging_bytes};
    t->done += count;
    const uint64_t at = offset_of(a, a->row);
    a->base_bytes = gnn_round_down(at, p->layout->rows.align_bytes);
    if (at > a->base_bytes)
        gnn_mem_copy(p->job->env->world, a->staging, tail_of(a), at - a->base_bytes);
}

/* Writes the whole pages before `end`; what is left moves to the front. */
static enum gnn_status write_pages(struct diskgnn_append *a, uint64_t end_bytes, struct gnn_err *err)
{
    struct gnn_world *const world = a->p->job->env->world;
    const struct diskgnn_target *const target = target_of(a);
    const uint64_t whole = gnn_round_down(end_bytes - a->base_bytes, a->p->layout->rows.align_bytes);
    const uint64_t rest = end_bytes - a->base_bytes - whole;
    if (whole == 0)
        return GNN_OK;
    GNN_TRY(gnn_write_all(world, target->file, target->offset_bytes + a->base_bytes, a->staging, whole, err));
    if (rest > 0) /* less than a page, and a page at least lies before it */
        gnn_mem_copy(world, a->staging, a->staging + whole, rest);
    a->base_bytes += whole;
    return GNN_OK;
}

/* Zeros from one offset to another, less than a page of 4096 on. */
static void pad(const struct diskgnn_append *a, uint64_t from_bytes, uint64_t to_bytes)
{
    assert(to_bytes - from_bytes <= GNN_PAGE_BYTES);
    if (to_bytes > from_bytes)
        gnn_mem_copy(a->p->job->env->world, a->staging + (from_bytes - a->base_bytes), a->p->zeros,
                     to_bytes - from_bytes);
}

enum gnn_status diskgnn_append_row(struct diskgnn_append *a, const unsigned char *row, struct gnn_err *err)
{
    const uint32_t row_bytes = a->p->layout->rows.row_bytes;
    const uint64_t at = offset_of(a, a->row);
    assert(a->row < a->end);
    if (at - a->base_bytes + row_bytes + GNN_PAGE_BYTES > a->p->staging_bytes)
        GNN_TRY(write_pages(a, at, err));
    gnn_mem_copy(a->p->job->env->world, a->staging + (at - a->base_bytes), row, row_bytes);
    a->row++;
    pad(a, at + row_bytes, offset_of(a, a->row)); /* rows that leave a page's end free */
    return GNN_OK;
}

enum gnn_status diskgnn_append_end(struct diskgnn_append *a, struct gnn_err *err)
{
    const struct diskgnn_target *const target = target_of(a);
    const struct diskgnn_rows *const rows = &a->p->layout->rows;
    uint64_t end = offset_of(a, a->row);
    if (a->row == target->rows) {
        const uint64_t padded = target->paged ? diskgnn_rows_pages(rows, target->rows) * rows->page_bytes
                                              : diskgnn_dense_bytes(rows, target->rows);
        pad(a, end, padded);
        end = padded;
    }
    GNN_TRY(write_pages(a, end, err));
    if (end > a->base_bytes)
        gnn_mem_copy(a->p->job->env->world, tail_of(a), a->staging, end - a->base_bytes);
    return GNN_OK;
}
