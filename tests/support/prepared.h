/* SPDX-License-Identifier: MIT */
/* DiskGNN's preparation on a small graph, and what it should have done, by plain loops. */
#ifndef GNN_TESTS_PREPARED_H
#define GNN_TESTS_PREPARED_H

#include "systems/diskgnn/internal.h"
#include "tests/support/fixture.h"

struct prepared {
    struct diskgnn_prepare_config config;
    struct diskgnn_caches caches;
    struct diskgnn_sampled sampled;
    struct diskgnn_layout layout;
    uint32_t **lists; /* (batches) the records; V_i first */
    uint32_t *uses;   /* (node_count) mini-batches that use a node */
};

/* Options as `oocgnn list params diskgnn` has them, threads and io as the fixture allows. */
void prepared_init(const struct fixture *f, struct prepared *p);
/* Draws and packs; fails the test on an error. close also after prepared_try. */
void prepared_open(struct fixture *f, struct prepared *p);
enum gnn_status prepared_try(struct fixture *f, struct prepared *p);
void prepared_close(struct fixture *f, struct prepared *p);

/* ---- plain answers ---- */

/* (*used) nodes that are used at all, by falling use, equal ones by rising ID. */
gnn_node *plain_popularity(const struct fixture *f, const struct prepared *p, uint32_t *used);

struct plain_batch {
    uint32_t cached, packed, shared, pages;
};
struct plain_plan {
    uint64_t packed, shared, pages, disk_pages, table_bytes, chunk_bytes, disk_bytes;
    uint64_t multiple_most;      /* cold nodes that some segment uses more than once */
    struct plain_batch *batches; /* (batches) */
    uint32_t *segment_rows;      /* (segments) */
};
/* What segments of s mini-batches with disk caches of m rows at most come to, beside `cached` rows in memory; rows in
 * the option's order, all sorted by qsort. */
void plain_plan(const struct fixture *f, const struct prepared *p, uint32_t cached, uint32_t s, uint32_t m,
                struct plain_plan *out);
void plain_plan_close(struct plain_plan *plan);

/* Bytes read an epoch over bytes of cold rows. */
double plain_amplification(const struct prepared *p, const struct plain_plan *plan);

#endif
