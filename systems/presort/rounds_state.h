/* SPDX-License-Identifier: MIT */
/* What rounds hold (rounds.h), for the files that draw them: hop.c one hop of a round, rounds.c the round, its tape and
 * its mini-batches. Internal to them. */
#ifndef PRESORT_ROUNDS_STATE_H
#define PRESORT_ROUNDS_STATE_H

#include "harness/base/id_map.h"
#include "harness/pipeline/team.h"
#include "systems/presort/rounds.h"
#include "systems/presort/tape.h"

/* A round that was drawn: which mini-batches it has, and where on the tape they are. */
struct round {
    uint32_t first, batches, spooled; /* of the mini-batches the first ones are on the tape */
    uint64_t begin_bytes, end_bytes;  /* of those on the tape */
};

struct presort_rounds {
    const struct presort_setup *setup;
    const struct gnn_env *env;
    struct gnn_world *world;
    struct gnn_file *file; /* of the lists */
    struct gnn_stream *lists;
    struct gnn_span_reader *reader;
    uint32_t align_bytes; /* of reads of the lists */
    uint32_t batches_max; /* of a round */
    uint64_t sample_key;

    gnn_node *drawn;       /* (words) of hop after hop, mini-batch after mini-batch; wants from its end on downwards */
    uint64_t words;        /* even */
    uint32_t *begin;       /* (layers, batches_max + 1) where in drawn a mini-batch's neighbours of a hop are */
    gnn_node *nodes;       /* (node bound) of one mini-batch */
    void *map_memory;      /* of the index of nodes */
    struct gnn_id_map map; /* of nodes */

    /* The epoch's. */
    const struct gnn_sampling *sampling;
    uint64_t epoch;
    uint32_t turn;  /* of the tapes */
    bool spools;    /* mini-batches that come will be on the tape */
    bool disk_full; /* nothing is written any more */

    /* Of the thread that reaches mini-batches. */
    struct gnn_team *team;         /* draws rounds; NULL: they are drawn where they are reached */
    bool ahead;                    /* the round behind the current one is drawn, or was; that is on the tape then */
    struct round current;          /* of the mini-batch that was reached last */
    struct presort_tape back;      /* read: it */
    uint32_t reached, reached_hop; /* the source's next */
    uint64_t reached_bytes;        /* of the mini-batch on the tape: its begin, */
    uint64_t taken_bytes;          /* and its end as far as it was taken */

    /* Of the round that is drawn, or was drawn last. */
    uint32_t first, batches;
    struct round done;        /* it, once it is */
    uint64_t next_batches;    /* that the next round begins with */
    struct presort_tape tape; /* written */
    struct presort_rounds_counts counts;
    struct gnn_reader_counters read; /* when counts were taken last */

    /* The hop's. */
    uint32_t hop; /* from 1 */
    uint64_t *wants;
    uint64_t want_count;
    uint64_t next, next_edge; /* want of the next read, and where in its list that begins unless before it */
    uint64_t served;          /* wants before it have all they draw */
    uint64_t missing;         /* neighbours that are still to come */
    uint64_t looked;          /* draws that were made in order to cut long lists */
};

/* Returns the bytes of a read of lists at most. */
static inline uint64_t read_bytes_max(const struct presort_config *config)
{
    return gnn_max_u64(config->merge, GNN_PAGE_BYTES);
}

/* Returns where the neighbours of mini-batch j of the round at a hop begin in drawn; j + 1: where they end. */
static inline uint32_t *begin_of(const struct presort_rounds *r, uint32_t hop, uint32_t j)
{
    return &r->begin[(hop - 1) * (r->batches_max + UINT64_C(1)) + j];
}

/* ---- hop.c ---- */
/* Draws r->hop of the mini-batches of the round: finds what they want, and reads the lists for it in ascending order.
 * Mini-batches without room for their wants leave the round. GNN_EFORMAT for neighbours outside the graph,
 * GNN_ECANCELLED, errors of reads. */
GNN_MUST_CHECK enum gnn_status presort_rounds_draw_hop(struct presort_rounds *r, struct gnn_err *err);

#endif
