/* SPDX-License-Identifier: MIT */
/* The state of rounds (rounds.h), internal to the files that draw them: hop.c draws one hop of a round, rounds.c the
 * round, its tape and its mini-batches. */
#ifndef PRESORT_ROUNDS_STATE_H
#define PRESORT_ROUNDS_STATE_H

#include "harness/base/id_map.h"
#include "harness/pipeline/team.h"
#include "systems/presort/rounds.h"
#include "systems/presort/tape.h"

/* A round that was drawn: its mini-batches, and their place on the tape. */
struct round {
    uint32_t first, batches, spooled; /* spooled: number of mini-batches, from the first on, on the tape */
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

    gnn_node *drawn;       /* (words) hop after hop, mini-batch after mini-batch; requests from its end downwards */
    uint64_t words;        /* even */
    uint32_t *begin;       /* (layers, batches_max + 1) index in drawn of a mini-batch's neighbours of a hop */
    gnn_node *nodes;       /* (node bound) of one mini-batch */
    void *map_memory;      /* of the index of nodes */
    struct gnn_id_map map; /* of nodes */

    /* Of the epoch. */
    const struct gnn_sampling *sampling;
    uint64_t epoch;
    uint32_t turn;  /* of the tapes */
    bool spools;    /* later mini-batches will be on the tape */
    bool disk_full; /* nothing more is written */

    /* Of the thread that reaches mini-batches. */
    struct gnn_team *team;         /* draws rounds; NULL: they are drawn when they are reached */
    bool ahead;                    /* the next round is or was being drawn; then the current one is on the tape */
    struct round current;          /* with the last mini-batch that was reached */
    struct presort_tape back;      /* reads the current round */
    uint32_t reached, reached_hop; /* of the source: next mini-batch and hop */
    uint64_t reached_bytes;        /* of the mini-batch on the tape: its begin, */
    uint64_t taken_bytes;          /* and the end of what was taken */

    /* Of the round that is being drawn, or was drawn last. */
    uint32_t first, batches;
    struct round done;        /* the same round, once it is drawn */
    uint64_t next_batches;    /* of the next round, before hops reduce it */
    struct presort_tape tape; /* writes the round */
    struct presort_rounds_counts counts;
    struct gnn_reader_counters read; /* when the counts were last taken */

    /* Of the hop. An entry of `wants` is a request of a node: draws from its list. */
    uint32_t hop; /* from 1 */
    uint64_t *wants;
    uint64_t want_count;
    uint64_t next, next_edge; /* request of the next read, and the edge of its list that it begins at */
    uint64_t served;          /* requests before it are complete */
    uint64_t missing;         /* neighbours that have not been read yet */
    uint64_t looked;          /* draws that were made only to cut long lists */
};

/* Returns the largest size in bytes of a read of lists. */
static inline uint64_t read_bytes_max(const struct presort_config *config)
{
    return gnn_max_u64(config->merge, GNN_PAGE_BYTES);
}

/* Returns the entry with the index in drawn where the neighbours of mini-batch j of the round at a hop begin. Entry j +
 * 1 is their end. */
static inline uint32_t *begin_of(const struct presort_rounds *r, uint32_t hop, uint32_t j)
{
    return &r->begin[(hop - 1) * (r->batches_max + UINT64_C(1)) + j];
}

/* ---- hop.c ---- */
/* Draws r->hop of the mini-batches of the round: collects their requests, and reads the lists for them in ascending
 * order. Mini-batches whose requests have no room leave the round. Returns GNN_EFORMAT if a neighbour is outside the
 * graph, GNN_ECANCELLED, or errors of reads. */
GNN_MUST_CHECK enum gnn_status presort_rounds_draw_hop(struct presort_rounds *r, struct gnn_err *err);

#endif
