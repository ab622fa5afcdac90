/* SPDX-License-Identifier: MIT */
#include "systems/presort/spool.h"

#include <inttypes.h>
#include <stdlib.h>

struct presort_spool {
    const struct presort_setup *setup;
    struct gnn_world *world;
    struct presort_tape tape; /* read */
    struct gnn_file *file;    /* of the lists */
    struct gnn_map *map;
    struct gnn_neighbour_source *mapped;
    uint32_t left; /* mini-batches of the hyperbatch that are on the tape, and were not begun */
    bool taped;    /* the one that is being drawn is */
    uint64_t mapped_batches;
};

/* ---- open, close ---- */

uint64_t presort_spool_bytes(void)
{
    return presort_tape_bytes();
}

enum gnn_status presort_spool_open(const struct presort_setup *setup, struct presort_spool **out, struct gnn_err *err)
{
    const struct gnn_env *const env = setup->env;
    struct presort_spool *s;
    GNN_NEW(s, 1, err, "presort's spool");
    *out = s;
    s->setup = setup;
    s->world = env->world;
    GNN_TRY(presort_tape_open(s->world, &s->tape, err));
    GNN_TRY(gnn_dataset_file_open(env, GNN_DATASET_INDICES, 0, &s->file, NULL, err));
    GNN_TRY(gnn_map_open(s->world, s->file, setup->config->readahead, &s->map, err));
    return gnn_source_mapped(s->world, s->map, env->dataset->id_bytes, &s->mapped, err);
}

void presort_spool_close(struct presort_spool *s)
{
    if (s == NULL)
        return;
    gnn_source_close(s->mapped);
    gnn_map_close(s->world, s->map);
    gnn_file_close(s->world, s->file);
    presort_tape_close(&s->tape);
    free(s);
}

/* ---- mini-batches ---- */

void presort_spool_begin(struct presort_spool *s, const struct presort_spooled *spooled)
{
    s->left = spooled->batches;
    if (s->left > 0)
        presort_tape_seek(&s->tape, s->setup->tapes[spooled->tape], spooled->begin_bytes, spooled->end_bytes);
}

void presort_spool_next(struct presort_spool *s)
{
    s->taped = s->left > 0;
    s->left -= s->taped;
    s->mapped_batches += !s->taped;
}

enum gnn_status presort_spool_take(struct presort_tape *tape, uint64_t count, gnn_node *out, struct gnn_err *err)
{
    uint32_t written;
    GNN_TRY(presort_tape_take(tape, &written, sizeof written, err));
    if (written == PRESORT_TAPE_GOES_ON) {
        presort_tape_pass_page(tape);
        GNN_TRY(presort_tape_take(tape, &written, sizeof written, err));
    }
    if (written != count)
        return gnn_fail(err, GNN_EFORMAT,
                        "presort: a hop of a mini-batch has %" PRIu32 " neighbours on its tape, %" PRIu64
                        " expected; the scratch file is damaged: check the disk and run again",
                        written, count);
    return presort_tape_take(tape, out, count * sizeof *out, err);
}

/* ---- the source ---- */

struct source {
    struct gnn_neighbour_source base;
    struct presort_spool *spool;
};

static enum gnn_status fetch(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                             gnn_node *out, struct gnn_err *err)
{
    struct presort_spool *const s = ((const struct source *)source)->spool;
    return s->taped ? presort_spool_take(&s->tape, count, out, err)
                    : s->mapped->ops->fetch(s->mapped, edge_offset, count, out, err);
}

static void close_source(struct gnn_neighbour_source *source)
{
    free(source);
}

static const struct gnn_neighbour_source_ops spool_ops = {.name = "spool", .fetch = fetch, .close = close_source};

enum gnn_status presort_spool_source(void *spool, uint32_t worker, struct gnn_neighbour_source **out,
                                     struct gnn_err *err)
{
    struct source *source;
    (void)worker;
    GNN_NEW(source, 1, err, "presort: source of spooled neighbours");
    *source = (struct source){.base = {&spool_ops}, .spool = spool};
    *out = &source->base;
    return GNN_OK;
}

/* ---- figures ---- */

void presort_spool_take_counts(struct presort_spool *s, struct presort_spool_counts *out)
{
    struct presort_tape_counts tape;
    presort_tape_take_counts(&s->tape, &tape);
    *out = (struct presort_spool_counts){
        .read_bytes = tape.read_bytes, .reads = tape.reads, .mapped_batches = s->mapped_batches};
    s->mapped_batches = 0;
}
