/* SPDX-License-Identifier: MIT */
/* MariusGNN's prepared store, and what is read from it: partitions and edge buckets against a plain statement of where
 * every row and edge belongs, resident subgraphs against the dataset's lists, and the partition buffer's bytes. */
#include "harness/storage/exact.h"
#include "systems/mariusgnn/partition_buffer.h"
#include "systems/mariusgnn/policy.h"
#include "systems/mariusgnn/resident_edges.h"
#include "systems/mariusgnn/store.h"
#include "tests/support/data_files.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"
#include "tests/support/seed.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct train_graph_config usual = {
    .nodes = 997, .mean_degree = 7, .dim = 9, .classes = 3, .train = 120, .seed = 11};
static const struct train_graph_config wide_ids = {
    .nodes = 300, .mean_degree = 4, .dim = 5, .classes = 3, .train = 30, .seed = 12, .id_bytes = 8};

struct pair {
    gnn_node source, destination;
};

/* A whole file of the store. */
static unsigned char *slurp(const struct marius_store *store, const char *name, size_t *bytes)
{
    char *const data = data_read(store->prepared.dir, name, bytes);
    assert_non_null(data);
    return (unsigned char *)data;
}

static void open_store(struct fixture *f, uint32_t partitions, bool training_first, struct marius_store *store)
{
    const struct marius_store_config config = {.partitions = partitions, .training_first = training_first};
    must(marius_store_open(&f->env, &config, store, &f->err), &f->err);
}

/* ---- the files ---- */

static void check_order(const struct fixture *f, const struct marius_store *store, bool training_first)
{
    const struct gnn_dataset *const d = &f->graph.dataset;
    bool *const seen = calloc(d->node_count, sizeof *seen);
    uint32_t moved = 0;
    assert_non_null(seen);
    for (uint32_t v = 0; v < d->node_count; v++) {
        assert_true(store->new_to_old[v] < d->node_count);
        assert_false(seen[store->new_to_old[v]]);
        seen[store->new_to_old[v]] = true;
        moved += store->new_to_old[v] != v;
        if (training_first && v < d->train.count)
            assert_int_equal(store->new_to_old[v], d->train.nodes[v]);
    }
    assert_true(moved > d->node_count / 2);
    free(seen);
}

/* Every edge of the dataset stands in its bucket, in the dataset's order. */
static void check_edges(const struct fixture *f, const struct marius_store *store)
{
    const struct gnn_dataset *const d = &f->graph.dataset;
    const uint32_t p = store->partitions;
    size_t bytes;
    unsigned char *const file = slurp(store, "edges", &bytes);
    const struct pair *const edges = (const struct pair *)(const void *)file;
    uint64_t *const next = malloc((size_t)p * p * sizeof *next);
    gnn_node *const old_to_new = malloc(d->node_count * sizeof *old_to_new);
    assert_true(next != NULL && old_to_new != NULL);
    assert_int_equal(bytes % GNN_PAGE_BYTES, 0);
    assert_int_equal(store->bucket_start[0], 0);
    assert_int_equal(store->bucket_start[(uint64_t)p * p], d->edge_count);
    memcpy(next, store->bucket_start, (size_t)p * p * sizeof *next);
    marius_invert(store->new_to_old, d->node_count, old_to_new);
    for (uint32_t v = 0; v < d->node_count; v++)
        for (uint64_t e = d->indptr[v]; e < d->indptr[v + 1]; e++) {
            const gnn_node source = old_to_new[f->graph.indices[e]], destination = old_to_new[v];
            const uint64_t bucket = (uint64_t)(source / store->rows) * p + destination / store->rows;
            assert_true(next[bucket] < store->bucket_start[bucket + 1]);
            assert_int_equal(edges[next[bucket]].source, source);
            assert_int_equal(edges[next[bucket]].destination, destination);
            next[bucket]++;
        }
    free(old_to_new);
    free(next);
    free(file);
}

static void check_rows(const struct fixture *f, const struct marius_store *store)
{
    const struct gnn_dataset *const d = &f->graph.dataset;
    char name[32];
    size_t bytes;
    (void)snprintf(name, sizeof name, "features-d%" PRIu32, d->dim);
    unsigned char *const file = slurp(store, name, &bytes);
    assert_int_equal(bytes, store->partitions * store->slot_bytes);
    for (uint32_t v = 0; v < d->node_count; v++) {
        float row[16];
        memcpy(row, file + (v / store->rows) * store->slot_bytes + (size_t)(v % store->rows) * d->row_bytes,
               d->row_bytes);
        for (uint32_t c = 0; c < d->dim; c++)
            assert_true(row[c] == train_feature(store->new_to_old[v], c));
    }
    free(file);
}

static void test_edges_and_rows_lie_where_they_belong(void **state)
{
    (void)state;
    static const uint32_t partitions[] = {1, 2, 8, 30};
    const struct train_graph_config *const graphs[] = {&usual, &wide_ids};
    for (size_t g = 0; g < 2; g++) {
        struct fixture f;
        fixture_open(&f, .graph = graphs[g]);
        for (size_t i = 0; i < sizeof partitions / sizeof *partitions; i++)
            for (int first = 0; first < 2; first++)
                for (int again = 0; again < 2; again++) {
                    struct marius_store store;
                    open_store(&f, partitions[i], first, &store);
                    assert_true((store.prepared.written_bytes > 0) == (again == 0));
                    assert_true((store.prepare_ns > 0) == (again == 0));
                    assert_true(store.disk_bytes > f.graph.dataset.feature_bytes + f.graph.dataset.edge_count * 8);
                    check_order(&f, &store, first);
                    check_edges(&f, &store);
                    check_rows(&f, &store);
                    marius_store_close(f.world, &store);
                }
        fixture_close(&f);
    }
}

/* Seed 1 has the placement that every run had before placements depended on the seed; each other seed has its own. */
static void test_each_seed_has_its_placement(void **state)
{
    (void)state;
    enum { SEEDS = 4, P = 8 };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    const uint32_t nodes = f.graph.dataset.node_count;
    gnn_node *const orders = calloc((size_t)SEEDS * nodes, sizeof *orders);
    gnn_node *const expected = malloc(nodes * sizeof *expected);
    assert_true(orders != NULL && expected != NULL);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        gnn_node *const order = orders + seed * nodes;
        struct marius_store store;
        f.workload.seed = seed;
        open_store(&f, P, false, &store);
        assert_true(store.prepared.written_bytes > 0); /* into a directory of its own */
        memcpy(order, store.new_to_old, nodes * sizeof *order);
        marius_store_close(f.world, &store);
        for (uint64_t other = 0; other < seed; other++)
            assert_memory_not_equal(order, orders + other * nodes, nodes * sizeof *order);
    }
    for (gnn_node v = 0; v < nodes; v++)
        expected[v] = v;
    gnn_epoch_order(UINT64_C(0x6d6172697573), 0, expected, nodes, expected);
    assert_memory_equal(orders + nodes, expected, nodes * sizeof *expected);
    free(expected);
    free(orders);
    fixture_close(&f);
}

/* Whatever fits the window, the files have the same bytes: one window of everything, ranges of many buckets, of one. */
static void test_scattering_in_ranges_gives_the_same_files(void **state)
{
    (void)state;
    static const uint64_t windows[] = {1, 4096, 10000, 30000};
    struct fixture f;
    struct marius_store store;
    size_t edge_bytes, row_bytes;
    fixture_open(&f, .graph = &usual, .scratch = true);
    open_store(&f, 8, true, &store);
    const uint32_t nodes = f.graph.dataset.node_count;
    unsigned char *const edges = slurp(&store, "edges", &edge_bytes);
    unsigned char *const rows = slurp(&store, "features-d9", &row_bytes);
    gnn_node *const old_to_new = malloc(nodes * sizeof *old_to_new);
    assert_non_null(old_to_new);
    marius_invert(store.new_to_old, nodes, old_to_new);
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
        for (int direct = 0; direct <= (f.direct ? 1 : 0); direct++) {
            struct marius_store other = {.prepared = {.world = f.world},
                                         .partitions = store.partitions,
                                         .rows = store.rows,
                                         .slot_bytes = store.slot_bytes,
                                         .new_to_old = store.new_to_old};
            const struct marius_scatter scatter = {
                .env = &f.env, .store = &other, .old_to_new = old_to_new, .window_bytes = windows[w], .direct = direct};
            size_t bytes;
            (void)snprintf(other.prepared.dir, sizeof other.prepared.dir, "%s", f.scratch.dir);
            must(marius_scatter_edges(&scatter, &f.err), &f.err);
            must(marius_scatter_rows(&scatter, "rows", &f.err), &f.err);
            unsigned char *const found_edges = slurp(&other, "edges", &bytes);
            assert_int_equal(bytes, edge_bytes);
            assert_memory_equal(found_edges, edges, edge_bytes);
            unsigned char *const found_rows = slurp(&other, "rows", &bytes);
            assert_int_equal(bytes, row_bytes);
            for (uint32_t v = 0; v < nodes; v++) { /* what fills a partition up is of no node */
                const size_t at = (v / store.rows) * store.slot_bytes + (size_t)(v % store.rows) * 36;
                assert_memory_equal(found_rows + at, rows + at, 36);
            }
            assert_memory_equal(other.bucket_start, store.bucket_start, (64 + 1) * sizeof *store.bucket_start);
            free(found_rows);
            free(found_edges);
            gnn_mem_free(f.world, other.bucket_start);
        }
    free(old_to_new);
    free(rows);
    free(edges);
    marius_store_close(f.world, &store);
    fixture_close(&f);
}

static void spoil(const struct marius_store *store, const char *name, long at, uint32_t value)
{
    FILE *const file = fopen(gnn_prepared_path(&store->prepared, name).text, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(&value, sizeof value, 1, file), 1);
    (void)fclose(file);
}

/* Damage is found at open, and the message says what to do. */
static void test_damaged_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        long at, cut;
        const char *says;
    } cases[] = {{"buckets", 0, 0, "does not match this dataset"},
                 {"buckets", GNN_PAGE_BYTES + 16, 0, "wrong checksum"},
                 {"buckets", -1, 4096, "bytes"},
                 {"order", 40, 0, "is not a node ID"},
                 {"edges", -1, 4096, "expected"},
                 {"features-d9", -1, 4096, "expected"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f;
        struct marius_store store;
        const struct marius_store_config config = {.partitions = 4, .training_first = true};
        fixture_open(&f, .graph = &usual);
        open_store(&f, 4, true, &store);
        if (cases[c].cut > 0)
            assert_int_equal(truncate(gnn_prepared_path(&store.prepared, cases[c].file).text, cases[c].cut), 0);
        else
            spoil(&store, cases[c].file, cases[c].at, UINT32_C(0xfffffff0));
        marius_store_close(f.world, &store);
        assert_int_equal(marius_store_open(&f.env, &config, &store, &f.err), GNN_EFORMAT);
        assert_non_null(strstr(f.err.message, cases[c].says));
        assert_non_null(strstr(f.err.message, "remove the directory"));
        marius_store_close(f.world, &store);
        fixture_close(&f);
    }
}

static void test_a_version_is_the_number_of_a_magic(void **state)
{
    (void)state;
    static const struct {
        const char *found, *expected;
        bool other;
    } cases[] = {
        {"some buckets 1\0", "some buckets 1\0", false},     {"some buckets 2\0", "some buckets 1\0", true},
        {"some buckets 19", "some buckets 1\0", true},       {"some buckets \0\0", "some buckets 1\0", false},
        {"some packets 2\0", "some buckets 1\0", false},     {"some buckets 2\0", "some buckets x\0", false},
        {"some buckets\0\0\0", "some buckets\0\0\0", false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        assert_int_equal(gnn_prepared_other_version("a file", cases[c].found, cases[c].expected), cases[c].other);
}

/* What another version wrote is prepared again, rows included. */
static void test_other_versions_are_prepared_again(void **state)
{
    (void)state;
    struct fixture f;
    struct marius_store store;
    fixture_open(&f, .graph = &usual);
    open_store(&f, 8, true, &store);
    const uint64_t all = store.prepared.written_bytes;
    uint32_t other;
    memcpy(&other, "ts 0", sizeof other);
    spoil(&store, "buckets", 12, other);
    spoil(&store, "features-d9", 0, 0);
    assert_int_equal(truncate(gnn_prepared_path(&store.prepared, "order").text, 4), 0);
    marius_store_close(f.world, &store);
    open_store(&f, 8, true, &store);
    assert_int_equal(store.prepared.written_bytes, all);
    check_rows(&f, &store);
    check_edges(&f, &store);
    marius_store_close(f.world, &store);
    fixture_close(&f);
}

/* The graph without rows: the rows alone are made again. Without the table: all of the graph, over what is there. */
static void test_what_was_whole_is_not_made_again(void **state)
{
    (void)state;
    struct fixture f;
    struct marius_store store;
    fixture_open(&f, .graph = &usual);
    open_store(&f, 8, true, &store);
    const uint64_t all = store.prepared.written_bytes, rows = store.partitions * store.slot_bytes;
    assert_int_equal(store.disk_bytes, all);
    assert_int_equal(unlink(gnn_prepared_path(&store.prepared, "features-d9").text), 0);
    marius_store_close(f.world, &store);
    open_store(&f, 8, true, &store);
    assert_int_equal(store.prepared.written_bytes, rows);
    check_rows(&f, &store);
    assert_int_equal(unlink(gnn_prepared_path(&store.prepared, "buckets").text), 0);
    marius_store_close(f.world, &store);
    open_store(&f, 8, true, &store);
    assert_int_equal(store.prepared.written_bytes, all - rows);
    check_edges(&f, &store);
    marius_store_close(f.world, &store);
    fixture_close(&f);
}

/* A disk that fills up at any write of the preparation: one error, no file in the making is left, and the next run ends
 * what was begun. */
static void test_a_full_disk_leaves_no_half_file(void **state)
{
    (void)state;
    static const uint64_t after[] = {0, 4000, 8000, 30000, 60000, 70000, 100000};
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        struct fixture f;
        struct marius_store store;
        const struct marius_store_config config = {.partitions = 8, .training_first = true};
        char command[900];
        fixture_open(
            &f, .graph = &usual,
            .faults = &(struct gnn_fault_plan){.seed = 1, .write_enospc = true, .write_enospc_after_bytes = after[i]});
        const enum gnn_status status = marius_store_open(&f.env, &config, &store, &f.err);
        assert_int_equal(status, GNN_ENOSPC);
        (void)snprintf(command, sizeof command, "ls '%s' | grep -q part", store.prepared.dir);
        assert_int_not_equal(system(command), 0);
        marius_store_close(f.world, &store);
        f.err = (struct gnn_err){.status = GNN_OK};
        f.env.world = f.inner;
        must(marius_store_open(&f.env, &config, &store, &f.err), &f.err);
        check_edges(&f, &store);
        check_rows(&f, &store);
        marius_store_close(f.inner, &store);
        fixture_close(&f);
    }
}

static void test_training_nodes_are_found_under_their_new_names(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (int first = 0; first < 2; first++) {
        struct marius_store store;
        gnn_node train[120];
        open_store(&f, 8, first, &store);
        must(marius_store_train(&f.env, &store, train, &f.err), &f.err);
        for (uint32_t t = 0; t < 120; t++) {
            assert_int_equal(store.new_to_old[train[t]], f.graph.dataset.train.nodes[t]);
            if (first)
                assert_int_equal(train[t], t);
        }
        marius_store_close(f.world, &store);
    }
    fixture_close(&f);
}

/* ---- resident subgraphs ---- */

static void open_edges(struct fixture *f, const struct marius_store *store, uint32_t slots, bool single,
                       struct marius_resident_edges **out)
{
    const struct marius_edges_config config = {.store = store,
                                               .nodes = f->graph.dataset.node_count,
                                               .engine = GNN_RING_POOL,
                                               .depth = 4,
                                               .slots = slots,
                                               .graphs = 2,
                                               .single = single,
                                               .out_edges = true};
    must(marius_edges_open(f->world, &config, out, &f->err), &f->err);
}

/* Lists of a resident node by a plain walk over the dataset: by partition of the other end, then in the file's order,
 * which is by destination and then the list's. */
static uint32_t expected_list(const struct fixture *f, const struct marius_store *store, const gnn_node *old_to_new,
                              const uint32_t *slot_of, gnn_node old, bool in, uint32_t *out)
{
    const struct gnn_dataset *const d = &f->graph.dataset;
    uint32_t count = 0;
    for (uint32_t partition = 0; partition < store->partitions; partition++) {
        if (slot_of[partition] == MARIUS_NONE)
            continue;
        for (gnn_node v = in ? old : 0; v < (in ? old + 1 : d->node_count); v++)
            for (uint64_t e = d->indptr[v]; e < d->indptr[v + 1]; e++) {
                const gnn_node other = in ? f->graph.indices[e] : v;
                if ((!in && f->graph.indices[e] != old) || old_to_new[other] / store->rows != partition)
                    continue;
                out[count++] = slot_of[partition] * store->rows + old_to_new[other] % store->rows;
            }
    }
    return count;
}

static void check_graph(const struct fixture *f, const struct marius_store *store, const uint32_t *partitions,
                        uint32_t slots, const struct marius_subgraph *graph)
{
    const uint32_t nodes = f->graph.dataset.node_count, rows = store->rows;
    uint32_t slot_of[64], *const expected = malloc(f->graph.dataset.edge_count * sizeof *expected);
    gnn_node *const old_to_new = malloc(nodes * sizeof *old_to_new);
    uint64_t edges = 0;
    assert_true(expected != NULL && old_to_new != NULL);
    marius_invert(store->new_to_old, nodes, old_to_new);
    memset(slot_of, 0xff, sizeof slot_of);
    for (uint32_t s = 0; s < slots; s++)
        if (partitions[s] != MARIUS_NONE)
            slot_of[partitions[s]] = s;
    assert_int_equal(graph->local_count, slots * rows);
    for (uint32_t local = 0; local < graph->local_count; local++) {
        const uint32_t partition = partitions[local / rows];
        const uint64_t node = (uint64_t)partition * rows + local % rows;
        const bool is_node = partition != MARIUS_NONE && node < nodes;
        assert_int_equal(graph->original[local], is_node ? store->new_to_old[node] : GNN_NODE_NONE);
        for (int in = 0; in < 2; in++) {
            const uint32_t *const start = in ? graph->in_start : graph->out_start;
            const uint32_t *const nbrs = in ? graph->in_nbrs : graph->out_nbrs;
            const uint32_t count =
                is_node ? expected_list(f, store, old_to_new, slot_of, graph->original[local], in, expected) : 0;
            assert_int_equal(start[local + 1] - start[local], count);
            for (uint32_t i = 0; i < count; i++)
                assert_int_equal(nbrs[start[local] + i], expected[i]);
            edges += in ? count : 0;
        }
    }
    assert_int_equal(graph->edge_count, edges);
    assert_int_equal(graph->in_start[graph->local_count], edges);
    free(old_to_new);
    free(expected);
}

/* Buckets with edges between these partitions that a state before did not hold. */
static uint64_t new_buckets(const struct marius_store *store, const uint32_t *now, const uint32_t *before,
                            uint32_t slots)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < slots; i++)
        for (uint32_t j = 0; j < slots; j++) {
            bool had_i = false, had_j = false;
            if (now[i] == MARIUS_NONE || now[j] == MARIUS_NONE || marius_bucket_edges(store, now[i], now[j]) == 0)
                continue;
            for (uint32_t s = 0; before != NULL && s < slots; s++) {
                had_i |= before[s] == now[i];
                had_j |= before[s] == now[j];
            }
            count += !had_i || !had_j;
        }
    return count;
}

/* Through a random replacement order: lists as in the dataset, only what is new is read, and the last, short partition
 * and empty slots have no edges of nobody. */
static void test_resident_lists_are_those_of_the_dataset(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &wide_ids);
    for (int single = 0; single < 2; single++) {
        struct marius_store store;
        struct marius_resident_edges *edges = NULL;
        struct marius_order order;
        struct gnn_rng rng = gnn_rng_at(test_seed());
        uint32_t now[6], before[6];
        open_store(&f, 8, false, &store);
        open_edges(&f, &store, 6, single, &edges);
        must(marius_order_replace(f.world, &rng, 8, 3, 2, &order, &f.err), &f.err); /* 3 groups, the last of 2 */
        for (uint32_t s = 0; s < order.states; s++) {
            struct marius_edges_counters counters;
            for (uint32_t i = 0; i < 6; i++)
                now[i] = marius_order_partition(&order, s, i);
            must(marius_edges_build(edges, s % 2, now, s == 0 ? MARIUS_NONE : (s - 1) % 2, &f.err), &f.err);
            check_graph(&f, &store, now, 6, marius_edges_graph(edges, s % 2));
            marius_edges_take_counters(edges, &counters);
            const uint64_t read = new_buckets(&store, now, s == 0 ? NULL : before, 6);
            assert_int_equal(counters.read_buckets, read);
            assert_int_equal(counters.copied_buckets, new_buckets(&store, now, NULL, 6) - read);
            assert_int_equal(counters.read_bytes, counters.read_edges * MARIUS_EDGE_BYTES);
            if (single)
                assert_int_equal(counters.reads, read);
            else
                assert_true(counters.reads < read);
            memcpy(before, now, sizeof before);
        }
        marius_order_close(f.world, &order);
        marius_edges_close(edges);
        marius_store_close(f.world, &store);
    }
    fixture_close(&f);
}

/* Everything resident and in one row of buckets: one request a piece, however many buckets. */
static void test_a_whole_graph_is_read_in_pieces(void **state)
{
    (void)state;
    struct fixture f;
    struct marius_store store;
    struct marius_resident_edges *edges = NULL;
    struct marius_edges_counters counters;
    uint32_t all[8];
    fixture_open(&f, .graph = &usual);
    for (uint32_t i = 0; i < 8; i++)
        all[i] = 7 - i; /* slots in another order than the disk */
    open_store(&f, 8, true, &store);
    open_edges(&f, &store, 8, false, &edges);
    must(marius_edges_build(edges, 0, all, MARIUS_NONE, &f.err), &f.err);
    check_graph(&f, &store, all, 8, marius_edges_graph(edges, 0));
    marius_edges_take_counters(edges, &counters);
    assert_int_equal(counters.read_edges, f.graph.dataset.edge_count);
    assert_int_equal(counters.reads, (f.graph.dataset.edge_count * MARIUS_EDGE_BYTES + MARIUS_BUCKET_PIECE_BYTES - 1) /
                                         MARIUS_BUCKET_PIECE_BYTES);
    marius_edges_close(edges);
    marius_store_close(f.world, &store);
    fixture_close(&f);
}

/* An edge that the table says is of another bucket. */
static void test_an_edge_of_another_bucket_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct marius_store store;
    struct marius_resident_edges *edges = NULL;
    const uint32_t both[2] = {0, 1};
    fixture_open(&f, .graph = &usual);
    open_store(&f, 2, true, &store);
    spoil(&store, "edges", 0, 996);
    open_edges(&f, &store, 2, false, &edges);
    assert_int_equal(marius_edges_build(edges, 0, both, MARIUS_NONE, &f.err), GNN_EFORMAT);
    assert_non_null(strstr(f.err.message, "1 edges do not belong to their bucket"));
    assert_int_equal(marius_edges_graph(edges, 0)->edge_count, 0);
    marius_edges_close(edges);
    marius_store_close(f.world, &store);
    fixture_close(&f);
}

/* ---- the partition buffer ---- */

enum { PARTITIONS = 6, SLOT = 8192 };

struct vectors { /* two arrays on the disk: byte b of partition p of array a is a * 64 + p * 8 + b % 7 */
    struct fixture f;
    struct gnn_file *files[2];
    struct marius_partition_buffer *buffer;
};

static unsigned char byte_of(uint32_t array, uint32_t partition, uint32_t b)
{
    return (unsigned char)(array * 64 + partition * 8 + b % 7);
}

static void vectors_open(struct vectors *v, uint32_t slots, uint32_t group, bool prefetch, bool always_write)
{
    static unsigned char data[SLOT];
    fixture_open(&v->f, .scratch = true);
    struct marius_buffer_config config = {.engine = GNN_RING_POOL,
                                          .depth = 3,
                                          .slots = slots,
                                          .group = group,
                                          .prefetch = prefetch,
                                          .always_write = always_write,
                                          .array_count = 2};
    for (uint32_t a = 0; a < 2; a++) {
        char path[700];
        (void)snprintf(path, sizeof path, "%s/array%" PRIu32, v->f.scratch.dir, a);
        must(gnn_file_open(v->f.world, path, GNN_OPEN_WRITE, &v->files[a], &v->f.err), &v->f.err);
        for (uint32_t p = 0; p < PARTITIONS; p++) {
            for (uint32_t b = 0; b < SLOT; b++)
                data[b] = byte_of(a, p, b);
            must(gnn_write_all(v->f.world, v->files[a], (uint64_t)p * SLOT, data, SLOT, &v->f.err), &v->f.err);
        }
        config.arrays[a] = (struct marius_array){.name = "vectors", .file = v->files[a], .slot_bytes = SLOT};
    }
    assert_int_equal(marius_buffer_bytes(&config), (slots + (prefetch ? 2 * group : 0)) * 2 * SLOT);
    must(marius_buffer_open(v->f.world, &config, &v->buffer, &v->f.err), &v->f.err);
}

static void vectors_close(struct vectors *v)
{
    marius_buffer_close(v->buffer);
    for (uint32_t a = 0; a < 2; a++)
        gnn_file_close(v->f.world, v->files[a]);
    fixture_close(&v->f);
}

static void check_slot(const struct vectors *v, uint32_t slot, uint32_t partition, uint32_t added)
{
    assert_int_equal(marius_buffer_partition(v->buffer, slot), partition);
    for (uint32_t a = 0; a < 2; a++) {
        const unsigned char *const rows = marius_buffer_slot(v->buffer, a, slot);
        for (uint32_t b = 0; b < SLOT; b++)
            assert_int_equal(rows[b], (unsigned char)(byte_of(a, partition, b) + (a == 0 ? added : 0)));
    }
}

/* As an update of the first array would. */
static void add_to_slot(const struct vectors *v, uint32_t slot)
{
    unsigned char *const rows = marius_buffer_slot(v->buffer, 0, slot);
    for (uint32_t b = 0; b < SLOT; b++)
        rows[b]++;
    marius_buffer_touch(v->buffer, 0, slot);
}

static void check_disk(const struct vectors *v, uint32_t partition, uint32_t added)
{
    unsigned char data[SLOT];
    struct gnn_err err = {0};
    for (uint32_t a = 0; a < 2; a++) {
        must(gnn_read_all(v->f.world, v->files[a], (uint64_t)partition * SLOT, data, SLOT, &err), &err);
        for (uint32_t b = 0; b < SLOT; b++)
            assert_int_equal(data[b], (unsigned char)(byte_of(a, partition, b) + (a == 0 ? added : 0)));
    }
}

static void test_a_buffer_reads_what_is_not_there(void **state)
{
    (void)state;
    struct vectors v;
    struct marius_buffer_counters counters;
    const uint32_t first[3] = {4, 0, 2}, then[3] = {4, 5, 2};
    vectors_open(&v, 3, 1, false, false);
    must(marius_buffer_fill(v.buffer, first, true, &v.f.err), &v.f.err);
    for (uint32_t s = 0; s < 3; s++)
        check_slot(&v, s, first[s], 0);
    marius_buffer_take_counters(v.buffer, &counters);
    assert_int_equal(counters.read_partitions, 3);
    assert_int_equal(counters.read_bytes, 3 * 2 * SLOT);
    assert_int_equal(counters.left_partitions, 0);
    must(marius_buffer_fill(v.buffer, then, true, &v.f.err), &v.f.err);
    for (uint32_t s = 0; s < 3; s++)
        check_slot(&v, s, then[s], 0);
    marius_buffer_take_counters(v.buffer, &counters);
    assert_int_equal(counters.read_partitions, 1);
    assert_int_equal(counters.left_partitions, 1);
    assert_int_equal(counters.written_partitions, 0);
    must(marius_buffer_fill(v.buffer, then, false, &v.f.err), &v.f.err);
    marius_buffer_take_counters(v.buffer, &counters);
    assert_int_equal(counters.read_partitions, 3);
    vectors_close(&v);
}

/* What was changed comes back when it is read again, and nothing else is written. */
static void test_changes_survive_leaving(void **state)
{
    (void)state;
    static const struct {
        bool prefetch, always;
        uint64_t written;
    } cases[] = {{false, false, 1}, {true, false, 1}, {false, true, 4}, {true, true, 4}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct vectors v;
        struct marius_buffer_counters counters;
        const uint32_t first[4] = {0, 1, 2, 3}, in[2] = {4, 5}, back[2] = {1, MARIUS_NONE};
        vectors_open(&v, 4, 2, cases[c].prefetch, cases[c].always);
        must(marius_buffer_fill(v.buffer, first, false, &v.f.err), &v.f.err);
        add_to_slot(&v, 1);
        const uint32_t *const entering[2] = {in, back};
        for (int turn = 0; turn < 2; turn++) {
            if (cases[c].prefetch) {
                must(marius_buffer_look_ahead(v.buffer, entering[turn], 2, &v.f.err), &v.f.err);
                marius_buffer_turn(v.buffer, 0, 2);
                must(marius_buffer_write_back(v.buffer, &v.f.err), &v.f.err);
            } else {
                must(marius_buffer_exchange(v.buffer, 0, entering[turn], 2, &v.f.err), &v.f.err);
            }
            if (turn == 0) {
                check_slot(&v, 0, 4, 0);
                check_slot(&v, 1, 5, 0);
                check_disk(&v, 1, 1);
            }
        }
        check_slot(&v, 0, 1, 1);
        assert_int_equal(marius_buffer_partition(v.buffer, 1), MARIUS_NONE);
        check_slot(&v, 3, 3, 0);
        marius_buffer_take_counters(v.buffer, &counters);
        assert_int_equal(counters.written_partitions, cases[c].written);
        assert_int_equal(counters.written_bytes, cases[c].always ? 4 * 2 * SLOT : SLOT);
        for (uint32_t p = 0; p < PARTITIONS; p++)
            check_disk(&v, p, p == 1);
        vectors_close(&v);
    }
}

static void test_sync_writes_what_is_still_resident(void **state)
{
    (void)state;
    struct vectors v;
    struct marius_buffer_counters counters;
    const uint32_t first[2] = {3, 0};
    vectors_open(&v, 2, 1, false, false);
    must(marius_buffer_fill(v.buffer, first, false, &v.f.err), &v.f.err);
    add_to_slot(&v, 0);
    check_disk(&v, 3, 0);
    must(marius_buffer_sync(v.buffer, &v.f.err), &v.f.err);
    check_disk(&v, 3, 1);
    must(marius_buffer_sync(v.buffer, &v.f.err), &v.f.err);
    marius_buffer_take_counters(v.buffer, &counters);
    assert_int_equal(counters.written_partitions, 1);
    vectors_close(&v);
}

/* A partition in the write-back block is not read before it is written: the reader waits for the writer. */
struct late_writer {
    struct vectors *v;
    enum gnn_status status;
    struct gnn_err err;
};

static void write_late(void *arg)
{
    struct late_writer *const w = arg;
    gnn_sleep_until(w->v->f.world, gnn_now_ns(w->v->f.world) + 50000000, GNN_WAIT_RESOURCE);
    w->status = marius_buffer_write_back(w->v->buffer, &w->err);
}

static void test_a_partition_is_read_after_it_was_written(void **state)
{
    (void)state;
    struct vectors v;
    struct gnn_thread *thread;
    const uint32_t first[2] = {0, 1}, in[1] = {2}, again[1] = {0};
    vectors_open(&v, 2, 1, true, false);
    must(marius_buffer_fill(v.buffer, first, false, &v.f.err), &v.f.err);
    add_to_slot(&v, 0);
    must(marius_buffer_look_ahead(v.buffer, in, 1, &v.f.err), &v.f.err);
    marius_buffer_turn(v.buffer, 0, 1);
    struct late_writer writer = {.v = &v};
    must(gnn_thread_start(v.f.world, "writer", write_late, &writer, &thread, &v.f.err), &v.f.err);
    must(marius_buffer_look_ahead(v.buffer, again, 1, &v.f.err), &v.f.err);
    gnn_thread_join(v.f.world, thread);
    must(writer.status, &writer.err);
    marius_buffer_turn(v.buffer, 0, 1);
    check_slot(&v, 0, 0, 1);
    /* and a pipeline that stops wakes it */
    add_to_slot(&v, 1);
    must(marius_buffer_look_ahead(v.buffer, in, 1, &v.f.err), &v.f.err);
    marius_buffer_turn(v.buffer, 1, 1);
    marius_buffer_cancel(v.buffer);
    const uint32_t left[1] = {1};
    assert_int_equal(marius_buffer_look_ahead(v.buffer, left, 1, &v.f.err), GNN_ECANCELLED);
    must(marius_buffer_write_back(v.buffer, &v.f.err), &v.f.err);
    vectors_close(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges_and_rows_lie_where_they_belong),
        cmocka_unit_test(test_each_seed_has_its_placement),
        cmocka_unit_test(test_scattering_in_ranges_gives_the_same_files),
        cmocka_unit_test(test_damaged_files_are_refused),
        cmocka_unit_test(test_a_version_is_the_number_of_a_magic),
        cmocka_unit_test(test_other_versions_are_prepared_again),
        cmocka_unit_test(test_what_was_whole_is_not_made_again),
        cmocka_unit_test(test_a_full_disk_leaves_no_half_file),
        cmocka_unit_test(test_training_nodes_are_found_under_their_new_names),
        cmocka_unit_test(test_resident_lists_are_those_of_the_dataset),
        cmocka_unit_test(test_a_whole_graph_is_read_in_pieces),
        cmocka_unit_test(test_an_edge_of_another_bucket_is_refused),
        cmocka_unit_test(test_a_buffer_reads_what_is_not_there),
        cmocka_unit_test(test_changes_survive_leaving),
        cmocka_unit_test(test_sync_writes_what_is_still_resident),
        cmocka_unit_test(test_a_partition_is_read_after_it_was_written),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
