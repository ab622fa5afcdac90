/* SPDX-License-Identifier: MIT */
#include "harness/tensor/modelled/state.h"

#include <assert.h>
#include <stdlib.h>

/* An operation takes what the table hands to it, needed or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* ---- a mini-batch's lists ---- */

enum gnn_status modelled_resident_open(struct gnn_tensor *t, struct gnn_resident **out, struct gnn_err *err)
{
    GNN_NEW(*out, 1, err, "lists of a mini-batch on a modelled GPU");
    return GNN_OK;
}

void modelled_resident_close(struct gnn_tensor *t, struct gnn_resident *room)
{
    assert(room == NULL || modelled_of(t)->in_use != room);
    free(room);
}

static uint64_t lists_bytes(const struct gnn_batch_lists *lists)
{
    const struct gnn_batch_view *const view = lists->view;
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < view->layer_count; k++)
        if (k == 0 || !gnn_block_is_head(&view->blocks[k], &view->blocks[k - 1]))
            bytes += gnn_cost_block_bytes(&view->blocks[k]);
    bytes += lists->labels != NULL ? view->seed_count * (uint64_t)sizeof *lists->labels : 0;
    return bytes + (lists->rows != NULL ? view->node_count * (uint64_t)sizeof *lists->rows : 0);
}

/* Room in a half whose copy has landed. */
static enum gnn_status reserve_half(struct modelled *m, struct lane *own, uint32_t half, uint64_t bytes,
                                    struct gnn_err *err)
{
    if (bytes <= own->half_bytes[half])
        return GNN_OK;
    if (own->half[half] != NULL)
        m->env.free(m->env.ctx, own->half[half]);
    own->half[half] = NULL;
    own->half_bytes[half] = 0;
    GNN_TRY(m->env.alloc(m->env.ctx, "staging of mini-batches' lists", bytes + bytes / 8, &own->half[half], err));
    own->half_bytes[half] = bytes + bytes / 8;
    return GNN_OK;
}

/* A core copies the lists into the half of the lane's staging memory whose last copy has landed; one copy brings them
 * up, once the ops that read the room before have ended. */
enum gnn_status modelled_resident_stage(struct gnn_tensor *t, struct gnn_resident *room, uint32_t lane,
                                        const struct gnn_batch_lists *lists, struct gnn_err *err)
{
    struct modelled *m = modelled_of(t);
    assert(lane < GNN_LANES_MAX);
    lock(m);
    assert(m->in_use != room);
    unlock(m);
    room->lists = *lists;
    if (!m->env.gpu)
        return GNN_OK;
    struct lane *const own = &m->lanes[lane];
    const uint32_t half = own->next_half;
    own->next_half = (half + 1) % HALVES;
    m->env.wait_until(m->env.ctx, own->half_landed_ns[half]);
    GNN_TRY(reserve_half(m, own, half, lists_bytes(lists), err));
    modelled_host_copy(m, lists_bytes(lists) + lists->wider_ids_bytes);
    lock(m);
    own->free_ns = gnn_max_u64(own->free_ns, room->read_ns);
    unlock(m);
    modelled_lane_copy(m, lane, lists_bytes(lists) + lists->wider_ids_bytes);
    own->half_landed_ns[half] = room->landed_ns = own->free_ns;
    return GNN_OK;
}

void modelled_resident_use(struct gnn_tensor *t, struct gnn_resident *room)
{
    struct modelled *m = modelled_of(t);
    lock(m);
    if (room == NULL && m->in_use != NULL)
        m->in_use->read_ns = m->device->stream_free_ns;
    if (room != NULL)
        m->device->stream_free_ns = gnn_max_u64(m->device->stream_free_ns, room->landed_ns);
    m->in_use = room;
    unlock(m);
}

/* A step is launched op by op: what a graph would save is not modelled. */
/* A framework's step on a GPU has a length below which its launches do not come, however short the ops are. */
void modelled_step_begin(struct gnn_tensor *t, const struct gnn_batch_lists *lists)
{
    struct modelled *m = modelled_of(t);
    uint64_t edges = 0;
    m->in_step = true;
    if (!m->env.gpu || (m->framework.step_ns == 0 && m->framework.step_edge_ps == 0))
        return; /* the clock is not looked at either: that would let others run */
    for (uint32_t k = 0; k < lists->view->layer_count; k++)
        edges += lists->view->blocks[k].edge_count;
    const uint64_t now_ns = now(m);
    lock(m);
    m->step_start_ns = gnn_max_u64(now_ns, m->device->stream_free_ns);
    m->step_least_ns = m->framework.step_ns + gnn_mul_bytes(edges, m->framework.step_edge_ps) / 1000;
    unlock(m);
}

bool modelled_step_end(struct gnn_tensor *t)
{
    struct modelled *m = modelled_of(t);
    m->in_step = false;
    lock(m);
    m->device->stream_free_ns = gnn_max_u64(m->device->stream_free_ns, m->step_start_ns + m->step_least_ns);
    unlock(m);
    return true;
}

void modelled_take_times(struct gnn_tensor *t, struct gnn_device_times *out)
{
    struct modelled *m = modelled_of(t);
    *out = (struct gnn_device_times){0};
    if (!m->env.gpu)
        return;
    lock(m);
    const struct gnn_modelled_counts *const all = &m->counts, *const taken = &m->taken;
    out->kernel_ns = all->busy_ns - taken->busy_ns;
    out->copy_ns = all->bus_busy_ns - taken->bus_busy_ns;
    out->uploaded_bytes = all->uploaded_bytes - taken->uploaded_bytes;
    out->downloaded_bytes = all->downloaded_bytes - taken->downloaded_bytes;
    out->launches = all->launches - taken->launches;
    m->taken = m->counts;
    unlock(m);
}

void modelled_range(struct gnn_tensor *t, const char *name)
{
    /* Does nothing: a modelled time line is not drawn. */
}

/* Whether the lists of the batch in use hold a block. */
static bool block_in_use(const struct modelled *m, const struct gnn_block *b)
{
    const struct gnn_batch_view *const view = m->in_use != NULL ? m->in_use->lists.view : NULL;
    for (uint32_t k = 0; view != NULL && k < view->layer_count; k++)
        if (view->blocks[k].col == b->col)
            return true;
    return false;
}

void modelled_upload_block(struct modelled *m, const struct gnn_block *b)
{
    lock(m);
    bool there = block_in_use(m, b);
    for (uint32_t i = 0; i < m->resident_count; i++)
        there = there || m->resident[i] == b->col;
    if (!there && m->resident_count < BLOCKS_MAX)
        m->resident[m->resident_count++] = b->col;
    unlock(m);
    if (!there)
        modelled_copy_and_wait(m, gnn_cost_block_bytes(b), &m->counts.uploaded_bytes);
}
