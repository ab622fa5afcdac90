/* SPDX-License-Identifier: MIT */
#include "tests/support/prepared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

void prepared_init(const struct fixture *f, struct prepared *p)
{
    *p = (struct prepared){.config = {.samplers = 2,
                                      .hashes = 2,
                                      .pack_workers = 2,
                                      .pack_depth = 8,
                                      .reuse = true,
                                      .io = f->direct ? DISKGNN_IO_DIRECT : DISKGNN_IO_BUFFERED}};
}

enum gnn_status prepared_try(struct fixture *f, struct prepared *p)
{
    GNN_TRY(diskgnn_sampled_open(&f->env, &p->config, 0, &p->sampled, &f->err));
    GNN_TRY(diskgnn_layout_open(&f->env, &p->config, &p->sampled, &p->caches, &p->layout, &f->err));
    return diskgnn_layout_pack(&f->env, &p->config, &p->sampled, &p->layout, &f->err);
}

static void load_lists(struct fixture *f, struct prepared *p)
{
    p->lists = calloc(p->sampled.batches, sizeof *p->lists);
    p->uses = calloc(f->graph.dataset.node_count, sizeof *p->uses);
    for (uint32_t i = 0; i < p->sampled.batches; i++) {
        const struct diskgnn_sample *const sample = &p->sampled.of[i];
        const uint64_t bytes = gnn_round_up(diskgnn_sample_bytes(sample), GNN_PAGE_BYTES);
        p->lists[i] = aligned_alloc(GNN_PAGE_BYTES, bytes);
        must(gnn_read_all(f->inner, p->sampled.samples, sample->offset_bytes, p->lists[i], bytes, &f->err), &f->err);
        for (uint32_t j = 0; j < diskgnn_sample_nodes(sample); j++)
            p->uses[p->lists[i][j]]++;
    }
}

void prepared_open(struct fixture *f, struct prepared *p)
{
    must(prepared_try(f, p), &f->err);
    load_lists(f, p);
}

void prepared_close(struct fixture *f, struct prepared *p)
{
    for (uint32_t i = 0; p->lists != NULL && i < p->sampled.batches; i++)
        free(p->lists[i]);
    free(p->lists);
    free(p->uses);
    p->lists = NULL;
    p->uses = NULL;
    diskgnn_layout_close(f->inner, &p->layout);
    diskgnn_sampled_close(f->inner, &p->sampled);
}

/* ---- plain answers ---- */

struct counted {
    gnn_node node;
    uint32_t count;
    uint32_t key[DISKGNN_HASHES_MAX];
};

static int by_popularity(const void *a, const void *b)
{
    const struct counted *const x = a, *const y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->node < y->node ? -1 : 1;
}

static int by_keys(const void *a, const void *b)
{
    const struct counted *const x = a, *const y = b;
    for (int f = 0; f < DISKGNN_HASHES_MAX; f++)
        if (x->key[f] != y->key[f])
            return x->key[f] < y->key[f] ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

/* Nodes that are used at all; *used of them. */
static struct counted *sort_by_popularity(const uint32_t *count, uint32_t nodes, uint32_t *used)
{
    struct counted *const all = calloc(nodes, sizeof *all);
    *used = 0;
    for (uint32_t v = 0; v < nodes; v++)
        if (count[v] > 0)
            all[(*used)++] = (struct counted){.node = v, .count = count[v]};
    qsort(all, *used, sizeof *all, by_popularity);
    return all;
}

gnn_node *plain_popularity(const struct fixture *f, const struct prepared *p, uint32_t *used)
{
    const uint32_t nodes = f->graph.dataset.node_count;
    struct counted *const all = sort_by_popularity(p->uses, nodes, used);
    gnn_node *const order = calloc(nodes, sizeof *order);
    for (uint32_t i = 0; i < *used; i++)
        order[i] = all[i].node;
    free(all);
    return order;
}

/* Segment by segment. */
struct walk {
    const struct fixture *f;
    const struct prepared *p;
    struct plain_plan *out;
    struct diskgnn_rows rows;
    uint32_t *hash;
    bool *cached;                        /* (nodes) */
    uint32_t *count;                     /* (nodes) in this segment */
    uint32_t *row;                       /* (nodes) in its disk cache, or UINT32_MAX */
    uint32_t (*key)[DISKGNN_HASHES_MAX]; /* (nodes) */
};

/* key: of every node, from the mini-batches of the segment that use it. */
static void hash_nodes(const struct walk *w, uint32_t first, uint32_t end)
{
    const struct diskgnn_prepare_config *const config = &w->p->config;
    const bool pair = config->reorder == DISKGNN_REORDER_PAIR;
    memset(w->key, 0xff, w->f->graph.dataset.node_count * sizeof *w->key);
    for (uint32_t i = first; i < end; i++)
        for (uint32_t j = 0; j < diskgnn_sample_nodes(&w->p->sampled.of[i]); j++)
            for (uint32_t h = 0; h < config->hashes; h++) {
                uint32_t *const key = &w->key[w->p->lists[i][j]][pair ? h : 0];
                *key = gnn_min_u32(*key, w->hash[h * w->p->sampled.batches + i]);
            }
}

static void give_keys(const struct walk *w, struct counted *c)
{
    memcpy(c->key, w->key[c->node], sizeof c->key);
    if (w->p->config.reorder == DISKGNN_REORDER_OFF)
        c->key[0] = UINT32_MAX - c->count;
    if (w->p->config.reorder == DISKGNN_REORDER_OFF)
        c->key[1] = c->key[2] = 0;
}

static uint32_t choose_rows(struct walk *w, uint32_t m)
{
    uint32_t used, multiple = 0;
    struct counted *const all = sort_by_popularity(w->count, w->f->graph.dataset.node_count, &used);
    while (multiple < used && all[multiple].count > 1)
        multiple++;
    w->out->multiple_most = gnn_max_u64(w->out->multiple_most, multiple);
    const uint32_t rows = gnn_min_u32(multiple, m);
    for (uint32_t i = 0; i < rows; i++)
        give_keys(w, &all[i]);
    qsort(all, rows, sizeof *all, by_keys);
    for (uint32_t i = 0; i < rows; i++)
        w->row[all[i].node] = i;
    free(all);
    return rows;
}

static void add_batch(struct walk *w, uint32_t i)
{
    const struct prepared *const p = w->p;
    struct plain_batch *const batch = &w->out->batches[i];
    bool *const seen = calloc(w->f->graph.dataset.node_count, sizeof *seen);
    *batch = (struct plain_batch){.cached = 0};
    for (uint32_t j = 0; j < diskgnn_sample_nodes(&p->sampled.of[i]); j++) {
        const gnn_node v = p->lists[i][j];
        if (w->cached[v]) {
            batch->cached++;
        } else if (w->row[v] == UINT32_MAX) {
            batch->packed++;
        } else {
            batch->shared++;
            batch->pages += !seen[w->row[v] / w->rows.per_page];
            seen[w->row[v] / w->rows.per_page] = true;
        }
    }
    free(seen);
    const uint64_t words = 2 * (uint64_t)batch->cached + batch->packed + 2 * (uint64_t)batch->shared;
    w->out->table_bytes += gnn_round_up(4 * words, w->rows.align_bytes);
    w->out->chunk_bytes += gnn_round_up((uint64_t)batch->packed * w->rows.row_bytes, w->rows.align_bytes);
    w->out->packed += batch->packed;
    w->out->shared += batch->shared;
    w->out->pages += batch->pages;
}

static void walk_segment(struct walk *w, uint32_t first, uint32_t end, uint32_t m, uint32_t k)
{
    const uint32_t nodes = w->f->graph.dataset.node_count;
    memset(w->count, 0, nodes * sizeof *w->count);
    memset(w->row, 0xff, nodes * sizeof *w->row);
    for (uint32_t i = first; i < end; i++)
        for (uint32_t j = 0; j < diskgnn_sample_nodes(&w->p->sampled.of[i]); j++)
            w->count[w->p->lists[i][j]] += !w->cached[w->p->lists[i][j]];
    hash_nodes(w, first, end);
    w->out->segment_rows[k] = choose_rows(w, m);
    const uint64_t pages = gnn_div_up(w->out->segment_rows[k], w->rows.per_page);
    w->out->disk_pages += pages;
    w->out->disk_bytes += pages * w->rows.page_bytes;
    for (uint32_t i = first; i < end; i++)
        add_batch(w, i);
}

void plain_plan(const struct fixture *f, const struct prepared *p, uint32_t cached, uint32_t s, uint32_t m,
                struct plain_plan *out)
{
    const uint32_t nodes = f->graph.dataset.node_count, n = p->sampled.batches;
    uint32_t used;
    gnn_node *const order = plain_popularity(f, p, &used);
    *out = (struct plain_plan){.batches = calloc(n, sizeof *out->batches),
                               .segment_rows = calloc(n / s + 1, sizeof *out->segment_rows)};
    struct walk w = {.f = f,
                     .p = p,
                     .out = out,
                     .rows = diskgnn_rows_of(f->graph.dataset.row_bytes, diskgnn_page_bytes(&p->config)),
                     .hash = calloc((size_t)n * p->config.hashes, sizeof *w.hash),
                     .cached = calloc(nodes, sizeof *w.cached),
                     .count = calloc(nodes, sizeof *w.count),
                     .row = calloc(nodes, sizeof *w.row),
                     .key = calloc(nodes, sizeof *w.key)};
    for (uint32_t i = 0; i < gnn_min_u32(cached, used); i++)
        w.cached[order[i]] = true;
    diskgnn_minhash_draw(f->workload.seed, n, p->config.hashes, w.hash);
    for (uint32_t first = 0, k = 0; first < n; first += s, k++)
        walk_segment(&w, first, gnn_min_u32(first + s, n), m, k);
    free(w.hash);
    free(w.cached);
    free(w.count);
    free(w.row);
    free(w.key);
    free(order);
}

void plain_plan_close(struct plain_plan *plan)
{
    free(plan->batches);
    free(plan->segment_rows);
}

double plain_amplification(const struct prepared *p, const struct plain_plan *plan)
{
    const struct diskgnn_rows *const rows = &p->layout.rows;
    return ((double)plan->packed * rows->row_bytes + (double)plan->pages * rows->page_bytes) /
           ((double)(plan->packed + plan->shared) * rows->row_bytes);
}
