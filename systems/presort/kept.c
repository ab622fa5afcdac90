/* SPDX-License-Identifier: MIT */
#include "systems/presort/kept.h"

#include "harness/base/log.h"

#include <assert.h>
#include <stdlib.h>

#define NOTHING UINT64_MAX /* no epoch is kept */

struct presort_kept {
    const struct presort_setup *setup;
    struct gnn_world *world;
    struct gnn_file *file;
    struct presort_tape tape;
    uint64_t end_bytes; /* of the file, of a whole epoch */
    uint64_t drawn;     /* of the epoch, or NOTHING */
    bool whole;         /* all of the epoch is there */
    bool disk_full;     /* nothing is kept any more */
};

/* What the lists of a hyperbatch begin with. */
struct counts {
    uint64_t base_bytes;
    struct presort_spooled spooled;
    uint32_t first_batch, batches, windows, loads;
    uint32_t scratch, block_bytes, block_rows, blocks;
};

/* ---- open, close ---- */

uint64_t presort_kept_bytes(void)
{
    return presort_tape_bytes();
}

enum gnn_status presort_kept_open(const struct presort_setup *setup, struct presort_kept **out, struct gnn_err *err)
{
    struct presort_kept *k;
    GNN_NEW(k, 1, err, "presort's kept epoch");
    *out = k;
    k->setup = setup;
    k->world = setup->env->world;
    k->drawn = NOTHING;
    GNN_TRY(presort_tape_open(k->world, &k->tape, err));
    return gnn_file_open(k->world, setup->scratch_dir,
                         GNN_OPEN_WRITE | GNN_OPEN_SCRATCH | presort_direct_flag(setup->config), &k->file, err);
}

void presort_kept_close(struct presort_kept *k)
{
    if (k == NULL)
        return;
    gnn_file_close(k->world, k->file);
    presort_tape_close(&k->tape);
    free(k);
}

/* ---- room ---- */

static uint64_t list_bytes(uint64_t windows, uint64_t loads, uint64_t blocks)
{
    return sizeof(struct counts) + 3 * windows * sizeof(uint32_t) + loads * sizeof(struct presort_load) +
           blocks * sizeof(uint32_t);
}

uint64_t presort_kept_list_bytes(const struct presort_hyperbatch *x)
{
    const uint64_t loads = x->load_end[x->windows - 1];
    const uint64_t blocks = x->block_rows > 0 ? loads / x->block_rows + x->windows : 0;
    return list_bytes(x->windows, loads, blocks) + GNN_PAGE_BYTES; /* the last page may hold little */
}

bool presort_kept_has_room(const struct presort_kept *k, const struct presort_hyperbatch *x, uint64_t file_bytes)
{
    return !k->disk_full && presort_tape_position(&k->tape) + presort_kept_list_bytes(x) <= file_bytes;
}

/* ---- writing ---- */

void presort_kept_begin(struct presort_kept *k, uint64_t drawn)
{
    k->drawn = drawn;
    k->whole = false;
    presort_tape_begin(&k->tape, k->file);
}

void presort_kept_forget(struct presort_kept *k)
{
    presort_kept_begin(k, NOTHING);
}

static enum gnn_status put_lists(struct presort_kept *k, const struct presort_hyperbatch *x, struct gnn_err *err)
{
    const struct counts counts = {.base_bytes = x->base_bytes,
                                  .spooled = x->spooled,
                                  .first_batch = x->first_batch,
                                  .batches = x->batches,
                                  .windows = x->windows,
                                  .loads = x->load_end[x->windows - 1],
                                  .scratch = (uint32_t)(x->scratch - k->setup->scratch),
                                  .block_bytes = x->block_bytes,
                                  .block_rows = x->block_rows,
                                  .blocks = x->stream != NULL ? x->blocks : 0};
    const uint64_t windows = x->windows * sizeof(uint32_t);
    GNN_TRY(presort_tape_put(&k->tape, &counts, sizeof counts, err));
    GNN_TRY(presort_tape_put(&k->tape, x->batch_end, windows, err));
    GNN_TRY(presort_tape_put(&k->tape, x->load_end, windows, err));
    GNN_TRY(presort_tape_put(&k->tape, x->first_block, windows, err));
    GNN_TRY(presort_tape_put(&k->tape, x->loads, counts.loads * sizeof *x->loads, err));
    return presort_tape_put(&k->tape, x->next_block, counts.blocks * sizeof *x->next_block, err);
}

enum gnn_status presort_kept_put(struct presort_kept *k, const struct presort_hyperbatch *x, bool last, bool *added,
                                 struct gnn_err *err)
{
    struct gnn_err why = {0};
    assert(k->drawn != NOTHING);
    assert(!k->whole);
    enum gnn_status status = put_lists(k, x, &why);
    if (last)
        GNN_NEXT(status, presort_tape_flush(&k->tape, &why));
    *added = status == GNN_OK;
    k->whole = *added && last;
    k->end_bytes = presort_tape_position(&k->tape);
    if (*added)
        return GNN_OK;
    presort_kept_forget(k);
    if (status != GNN_ENOSPC)
        return gnn_fail(err, status, "%s", why.message);
    k->disk_full = true;
    gnn_log_warn("presort: plans of epochs are no longer kept, but made anew: %s", why.message);
    return GNN_OK;
}

/* ---- reading ---- */

bool presort_kept_has(const struct presort_kept *k, uint64_t drawn)
{
    return k->whole && k->drawn == drawn;
}

void presort_kept_rewind(struct presort_kept *k)
{
    assert(k->whole);
    presort_tape_seek(&k->tape, k->file, 0, k->end_bytes);
}

static enum gnn_status take_lists(struct presort_kept *k, struct presort_hyperbatch *x, struct gnn_err *err)
{
    struct counts counts;
    GNN_TRY(presort_tape_take(&k->tape, &counts, sizeof counts, err));
    assert(counts.windows <= k->setup->sizes.windows_max);
    assert(counts.loads <= k->setup->sizes.members_max);
    assert(counts.blocks <= k->setup->sizes.blocks_max);
    assert(counts.scratch < PRESORT_ALIVE);
    x->scratch = &k->setup->scratch[counts.scratch];
    x->base_bytes = counts.base_bytes;
    x->spooled = counts.spooled;
    x->first_batch = counts.first_batch;
    x->batches = counts.batches;
    x->windows = counts.windows;
    x->block_bytes = counts.block_bytes;
    x->block_rows = counts.block_rows;
    x->blocks = counts.blocks;
    const uint64_t windows = x->windows * sizeof(uint32_t);
    GNN_TRY(presort_tape_take(&k->tape, x->batch_end, windows, err));
    GNN_TRY(presort_tape_take(&k->tape, x->load_end, windows, err));
    GNN_TRY(presort_tape_take(&k->tape, x->first_block, windows, err));
    GNN_TRY(presort_tape_take(&k->tape, x->loads, counts.loads * sizeof *x->loads, err));
    return presort_tape_take(&k->tape, x->next_block, counts.blocks * sizeof *x->next_block, err);
}

enum gnn_status presort_kept_take(struct presort_kept *k, struct presort_hyperbatch *x, struct gnn_err *err)
{
    x->decision = (struct presort_decision){.loads = 0};
    GNN_TRY(take_lists(k, x, err));
    return x->blocks > 0 ? presort_hyperbatch_attach(x, err) : GNN_OK;
}

void presort_kept_take_counts(struct presort_kept *k, struct presort_tape_counts *out)
{
    presort_tape_take_counts(&k->tape, out);
}
