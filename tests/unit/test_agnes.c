/* SPDX-License-Identifier: MIT */
/* AGNES' parts against worked-out and brute-force results: blocks and index, renumbering, prepared files, frames,
 * bucket. Its epochs: test_agnes_epochs.c. */
#include "harness/base/rng.h"
#include "systems/agnes/agnes.h"
#include "systems/agnes/bucket.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"
#include "tests/support/seed.h"
#include "tests/support/small_graph.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { Z = 4096, TRAIN = 150, BATCH = 20 };

static const struct train_graph_config usual = {
    .nodes = 900, .mean_degree = 6, .dim = 100, .classes = 5, .train = TRAIN, .seed = 11};

/* ---- graph blocks ---- */

struct lists {
    uint32_t nodes;
    uint64_t *indptr;
    gnn_node *ids;
};

static void make_lists(const uint32_t *degrees, uint32_t nodes, struct lists *out)
{
    *out = (struct lists){.nodes = nodes, .indptr = calloc(nodes + 1, sizeof *out->indptr)};
    for (uint32_t v = 0; v < nodes; v++)
        out->indptr[v + 1] = out->indptr[v] + degrees[v];
    out->ids = calloc(out->indptr[nodes] + 1, sizeof *out->ids);
    for (uint64_t e = 0; e < out->indptr[nodes]; e++)
        out->ids[e] = (gnn_node)(gnn_splitmix64_at(7, e) % 1000000);
}

static void free_lists(struct lists *l)
{
    free(l->indptr);
    free(l->ids);
}

/* The neighbour at `at` of new node v, decoded. */
static gnn_node decoded(const struct agnes_index *index, const unsigned char *memory, gnn_node v, uint64_t at)
{
    uint32_t block = agnes_index_find(index, v);
    if (agnes_index_is_run(index, block)) {
        const uint32_t run_ids = agnes_run_ids(index->block_bytes, index->id_bytes);
        block += (uint32_t)(at / run_ids);
        return agnes_block_id(memory + (uint64_t)block * Z, index->id_bytes, 0, at % run_ids);
    }
    const unsigned char *const data = memory + (uint64_t)block * Z;
    const struct agnes_slot slot = agnes_block_slot(data, Z, v - index->ranges[block].first);
    assert_true(at < (uint64_t)slot.count);
    return agnes_block_id(data, index->id_bytes, (uint64_t)slot.offset_bytes, at);
}

static uint64_t degree_in_blocks(const struct agnes_index *index, const unsigned char *memory, gnn_node v)
{
    const uint32_t begin = agnes_index_find(index, v);
    uint32_t end;
    if (agnes_index_is_run(index, begin)) {
        uint64_t sum = 0;
        const uint64_t whole = agnes_index_run(index, begin, &end);
        for (uint32_t b = begin; b < end; b++)
            sum += (uint64_t)agnes_block_slot(memory + (uint64_t)b * Z, Z, 0).count;
        assert_int_equal(sum, whole);
        return sum;
    }
    const unsigned char *const data = memory + (uint64_t)begin * Z;
    return (uint64_t)agnes_block_slot(data, Z, v - index->ranges[begin].first).count;
}

/* Packs window by window, decodes everything, checks the ranges. */
static void check_round_trip(const struct lists *l, const gnn_node *order, uint32_t id_bytes, uint32_t window)
{
    struct agnes_index index = {.block_bytes = Z, .id_bytes = id_bytes, .node_count = l->nodes};
    struct gnn_err err = {0};
    index.blocks = agnes_blocks_cut(l->indptr, order, l->nodes, Z, id_bytes, NULL);
    index.ranges = calloc(index.blocks + 1, sizeof *index.ranges);
    assert_int_equal(agnes_blocks_cut(l->indptr, order, l->nodes, Z, id_bytes, index.ranges), index.blocks);
    unsigned char *const memory = calloc(index.blocks, Z);
    for (uint32_t first = 0; first < index.blocks; first += window) {
        const uint32_t end = first + window < index.blocks ? first + window : index.blocks;
        for (uint32_t b = first; b < end; b++)
            agnes_block_format(&index, b, l->indptr, order, memory + (uint64_t)b * Z);
        for (gnn_node v = 0; v < l->nodes; v++) { /* in two pieces, as a scan may bring them */
            const gnn_node old = agnes_to_old(order, v);
            const uint64_t begin = l->indptr[old], all = l->indptr[old + 1] - begin, cut = all / 3;
            unsigned char *const at = memory + (uint64_t)first * Z;
            agnes_blocks_put(&index, first, end, v, 0, l->ids + begin, cut, at);
            agnes_blocks_put(&index, first, end, v, cut, l->ids + begin + cut, all - cut, at);
        }
    }
    uint64_t edges = 0;
    gnn_node next = 0;
    for (uint32_t b = 0; b < index.blocks; b++) {
        must(agnes_block_check(&index, b, memory + (uint64_t)b * Z, "blocks", &err), &err);
        assert_int_equal(index.ranges[b].edge_begin, edges);
        edges += index.ranges[b + 1].edge_begin - edges;
        const bool run = b > 0 && index.ranges[b].first == index.ranges[b - 1].first;
        assert_int_equal(index.ranges[b].first, run ? next - 1 : next);
        next = index.ranges[b].last + 1;
    }
    assert_int_equal(next, l->nodes);
    assert_int_equal(edges, l->indptr[l->nodes]);
    for (gnn_node v = 0; v < l->nodes; v++) {
        const gnn_node old = agnes_to_old(order, v);
        const uint64_t begin = l->indptr[old], all = l->indptr[old + 1] - begin;
        const uint32_t found = agnes_index_find(&index, v);
        assert_true(index.ranges[found].first <= v && v <= index.ranges[found].last);
        assert_true(found == 0 || index.ranges[found - 1].last < v); /* the left-most */
        assert_int_equal(degree_in_blocks(&index, memory, v), all);
        for (uint64_t i = 0; i < all; i++)
            assert_int_equal(decoded(&index, memory, v, i), l->ids[begin + i]);
    }
    free(memory);
    free(index.ranges);
}

static void test_blocks_decode_to_the_lists(void **state)
{
    (void)state;
    for (uint32_t id_bytes = 4; id_bytes <= 8; id_bytes += 4) {
        const uint32_t full = (Z - 16) / id_bytes;
        const uint32_t shapes[][7] = {
            {0, 0, 0, 0, 0, 0, 0},
            {full, 0, full, 1, full - 3, 2, 1},
            {full + 1, 0, 5, full + 1, full + 1, 0, 0},
            {3, 2 * full + 1, 4, 3 * full, 0, full, full + 7},
            {1, 2, 3, 4, 5, 6, 5 * full},
        };
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            static const gnn_node backwards[7] = {6, 5, 4, 3, 2, 1, 0};
            struct lists l;
            make_lists(shapes[s], 7, &l);
            for (uint32_t window = 1; window < 9; window += 3) {
                check_round_trip(&l, NULL, id_bytes, window);
                check_round_trip(&l, backwards, id_bytes, window);
            }
            free_lists(&l);
        }
    }
}

static void test_exactly_full_is_one_block_and_one_more_two(void **state)
{
    (void)state;
    const uint32_t full = (Z - 16) / 4;
    for (uint32_t extra = 0; extra < 2; extra++) {
        const uint32_t degree = full + extra;
        struct lists l;
        make_lists(&degree, 1, &l);
        assert_int_equal(agnes_blocks_cut(l.indptr, NULL, 1, Z, 4, NULL), 1 + extra);
        free_lists(&l);
    }
    /* 510 empty objects and their slots fill a block of 4096 - 8 bytes but for 8: 511 fit, the 512th does not */
    uint32_t none[512] = {0};
    struct lists l;
    make_lists(none, 512, &l);
    assert_int_equal(agnes_blocks_cut(l.indptr, NULL, 511, Z, 4, NULL), 1);
    assert_int_equal(agnes_blocks_cut(l.indptr, NULL, 512, Z, 4, NULL), 2);
    free_lists(&l);
}

static void test_a_random_graph_in_a_random_order(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    struct small_graph g;
    small_graph_open(&g, seed, 3000);
    gnn_node *const order = calloc(3000, sizeof *order);
    for (gnn_node v = 0; v < 3000; v++)
        order[v] = v;
    gnn_epoch_order(seed, 1, order, 3000, order);
    const struct lists l = {.nodes = 3000, .indptr = g.indptr, .ids = g.indices};
    check_round_trip(&l, NULL, 4, 5);
    check_round_trip(&l, order, 4, 3);
    check_round_trip(&l, order, 8, 100);
    free(order);
    small_graph_close(&g);
}

/* ---- frames ---- */

static struct agnes_frames *open_frames(struct gnn_world *world, uint32_t frames, enum agnes_policy policy)
{
    struct agnes_frames *out;
    struct gnn_err err = {0};
    const struct agnes_frames_config config = {
        .name = "frames", .frames = frames, .blocks = 20, .block_bytes = Z, .policy = policy};
    must(agnes_frames_open(world, &config, &out, &err), &err);
    return out;
}

static void use(struct agnes_frames *f, uint32_t block)
{
    uint32_t frame = agnes_frames_find(f, block);
    if (frame == AGNES_NO_FRAME)
        frame = agnes_frames_take(f, block);
    else
        agnes_frames_pin(f, frame);
    assert_int_not_equal(frame, AGNES_NO_FRAME);
    agnes_frames_unpin(f, frame);
}

static void test_eviction_follows_the_policy(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = NULL);
    struct agnes_frames *lru = open_frames(f.world, 3, AGNES_POLICY_LRU);
    for (uint32_t b = 0; b < 3; b++)
        use(lru, b);
    use(lru, 0);
    use(lru, 3); /* 1 is the least recent */
    assert_int_equal(agnes_frames_find(lru, 1), AGNES_NO_FRAME);
    assert_int_not_equal(agnes_frames_find(lru, 0), AGNES_NO_FRAME);
    assert_int_equal(agnes_frames_evictions(lru), 1);
    agnes_frames_close(lru);

    struct agnes_frames *clock = open_frames(f.world, 3, AGNES_POLICY_CLOCK);
    for (uint32_t b = 0; b < 3; b++)
        use(clock, b);
    use(clock, 3); /* all bits are up: the hand lowers them and takes the first frame, block 0 */
    assert_int_equal(agnes_frames_find(clock, 0), AGNES_NO_FRAME);
    use(clock, 1); /* its bit is up again: 2 goes next */
    use(clock, 4);
    assert_int_equal(agnes_frames_find(clock, 2), AGNES_NO_FRAME);
    assert_int_not_equal(agnes_frames_find(clock, 1), AGNES_NO_FRAME);
    agnes_frames_close(clock);
    fixture_close(&f);
}

static void test_pinned_frames_stay(void **state)
{
    (void)state;
    for (int policy = 0; policy < 2; policy++)
        for (uint32_t frames = 1; frames < 5; frames++) {
            struct fixture f;
            fixture_open(&f, .graph = NULL);
            struct agnes_frames *all = open_frames(f.world, frames, (enum agnes_policy)policy);
            for (uint32_t b = 0; b < frames; b++)
                assert_int_not_equal(agnes_frames_take(all, b), AGNES_NO_FRAME);
            assert_int_equal(agnes_frames_take(all, 10), AGNES_NO_FRAME);
            assert_int_equal(agnes_frames_pinned(all), frames);
            const uint32_t last = agnes_frames_find(all, frames - 1);
            agnes_frames_pin(all, last);
            agnes_frames_unpin(all, last); /* one pin is left */
            assert_int_equal(agnes_frames_take(all, 10), AGNES_NO_FRAME);
            agnes_frames_unpin(all, last);
            assert_int_equal(agnes_frames_take(all, 10), last);
            assert_int_equal(agnes_frames_find(all, frames - 1), AGNES_NO_FRAME);
            agnes_frames_clear(all);
            assert_int_equal(agnes_frames_pinned(all), 0);
            assert_int_equal(agnes_frames_find(all, 10), AGNES_NO_FRAME);
            agnes_frames_close(all);
            fixture_close(&f);
        }
}

/* ---- block reader ---- */

enum { READ_BLOCKS = 40, READ_ROUNDS = 60 };

/* A block reader driven through hops, beside a list of what its buffer must hold: least recently used first. */
struct reading {
    struct gnn_world *world;
    struct gnn_team *team;
    struct agnes_block_reader *reader;
    bool resident_first;
    uint32_t frames;
    uint32_t held[READ_BLOCKS], held_count;
    uint32_t needed[READ_BLOCKS], needed_count;
    uint32_t served[READ_BLOCKS]; /* times, in this hop */
    uint64_t seed;
};

static enum gnn_status count_served(void *ctx, uint32_t worker, uint32_t block, const void *memory, struct gnn_err *err)
{
    (void)worker;
    struct reading *const r = ctx;
    r->served[block]++;
    return *(const uint32_t *)memory == block ? GNN_OK : gnn_fail(err, GNN_EBUG, "block %u has another's bytes", block);
}

static bool holds(const struct reading *r, uint32_t block)
{
    for (uint32_t i = 0; i < r->held_count; i++)
        if (r->held[i] == block)
            return true;
    return false;
}

/* Puts the block at the end, as one that was used just now; out goes the one that was used longest ago. */
static void use_held(struct reading *r, uint32_t block)
{
    uint32_t i = 0;
    while (i < r->held_count && r->held[i] != block)
        i++;
    if (i == r->held_count && r->held_count == r->frames)
        i = 0;
    if (i < r->held_count)
        memmove(&r->held[i], &r->held[i + 1], (--r->held_count - i) * sizeof *r->held);
    r->held[r->held_count++] = block;
}

/* Returns the reads that the hop must make, and brings the list up to date. */
static uint64_t expect_hop(struct reading *r)
{
    bool resident[READ_BLOCKS] = {false};
    uint64_t reads = 0;
    for (uint32_t i = 0; r->resident_first && i < r->needed_count; i++)
        resident[i] = holds(r, r->needed[i]);
    for (uint32_t i = 0; i < r->needed_count; i++)
        if (resident[i])
            use_held(r, r->needed[i]);
    for (uint32_t i = 0; i < r->needed_count; i++) {
        if (resident[i])
            continue;
        reads += !holds(r, r->needed[i]);
        use_held(r, r->needed[i]);
    }
    return reads;
}

/* The driver's stage: READ_ROUNDS hops, each needing about half of the blocks. */
static enum gnn_status drive_hops(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    (void)worker;
    struct reading *const r = ctx;
    for (uint32_t hop = 0; hop < READ_ROUNDS; hop++) {
        struct agnes_block_counters before, after;
        r->needed_count = 0;
        for (uint32_t b = 0; b < READ_BLOCKS; b++)
            if (gnn_splitmix64_at(r->seed, hop * READ_BLOCKS + b) % 5 < 1 + hop % 4)
                r->needed[r->needed_count++] = b;
        memset(r->served, 0, sizeof r->served);
        const uint64_t reads = expect_hop(r);
        agnes_block_reader_counters(r->reader, &before);
        GNN_TRY(agnes_block_reader_serve(r->reader, r->needed, r->needed_count, count_served, r, err));
        agnes_block_reader_counters(r->reader, &after);
        if (after.reads - before.reads != reads || after.hits - before.hits != r->needed_count - reads)
            return gnn_fail(err, GNN_EBUG, "hop %u: %u reads and %u hits, expected %u of %u", hop,
                            (unsigned)(after.reads - before.reads), (unsigned)(after.hits - before.hits),
                            (unsigned)reads, r->needed_count);
        for (uint32_t b = 0, n = 0; b < READ_BLOCKS; b++) {
            const bool wanted = n < r->needed_count && r->needed[n] == b;
            n += wanted;
            if (r->served[b] != (wanted ? 1 : 0))
                return gnn_fail(err, GNN_EBUG, "hop %u: block %u was served %u times", hop, b, r->served[b]);
        }
    }
    gnn_team_done(r->team);
    return GNN_OK;
}

static void open_blocks(struct gnn_world *world, struct gnn_file **out)
{
    const char *const tmp = getenv("TMPDIR");
    char path[300];
    (void)snprintf(path, sizeof path, "%.200s/oocgnn-blocks-XXXXXX", tmp != NULL ? tmp : "/tmp");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    uint32_t block[Z / sizeof(uint32_t)] = {0};
    for (uint32_t b = 0; b < READ_BLOCKS; b++) {
        block[0] = b;
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    }
    assert_int_equal(close(fd), 0);
    struct gnn_err err = {0};
    must(gnn_file_open(world, path, GNN_OPEN_READ, out, &err), &err);
    assert_int_equal(unlink(path), 0);
}

/* Reads of a hop = what it needs less what is resident when it begins, each once; with the resident ones not first,
 * less what is still there when its turn comes. Every block needed is served once, whatever lies in the buffer. */
static void test_a_hop_reads_what_is_not_resident(void **state)
{
    (void)state;
    static const uint32_t frames[] = {1, 3, 8, 20, READ_BLOCKS};
    for (size_t i = 0; i < 2 * sizeof frames / sizeof *frames; i++) {
        struct fixture f;
        struct reading r = {.seed = test_seed(), .resident_first = i % 2 == 0, .frames = frames[i / 2]};
        struct gnn_pipeline *pipeline = NULL;
        struct gnn_file *file = NULL;
        fixture_open(&f, .graph = NULL);
        r.world = f.world;
        open_blocks(f.world, &file);
        must(gnn_team_open(f.world, 1, &r.team, &f.err), &f.err);
        const struct gnn_env env = {.world = f.world, .io_engine = GNN_RING_POOL};
        const struct agnes_block_reader_config config = {
            .team = r.team,
            .file = file,
            .depth = 1, /* reads end in order, so that it is known what was used last */
            .resident_first = r.resident_first,
            .buffer = {.name = "blocks", .frames = r.frames, .blocks = READ_BLOCKS, .block_bytes = Z}};
        must(agnes_block_reader_open(&env, &config, &r.reader, &f.err), &f.err);
        must(gnn_pipeline_open(f.world, &pipeline, &f.err), &f.err);
        must(gnn_pipeline_stage(pipeline, "drive", 1, drive_hops, &r, &f.err), &f.err);
        must(gnn_team_stage(r.team, pipeline, "work", &f.err), &f.err);
        must(gnn_pipeline_run(pipeline, &f.err), &f.err);
        gnn_pipeline_close(pipeline);
        agnes_block_reader_close(r.reader);
        gnn_team_close(r.team);
        gnn_file_close(f.world, file);
        fixture_close(&f);
    }
}

/* ---- bucket ---- */

enum { BUCKET_BATCHES = 37, BUCKET_BLOCKS = 50 };

/* Zero, one or two blocks, by a hash. */
static uint32_t hashed_blocks(void *ctx, uint32_t batch, uint32_t position, uint32_t *out)
{
    const uint64_t hash = gnn_splitmix64_at(*(const uint64_t *)ctx + batch, position);
    const uint32_t count = (uint32_t)(hash % 3);
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint32_t)((hash >> 8) % (BUCKET_BLOCKS - 1)) + i;
    return count;
}

static void test_the_bucket_holds_every_entry_once_in_order(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    struct fixture f;
    fixture_open(&f, .graph = NULL);
    uint32_t counts[BUCKET_BATCHES];
    for (uint32_t j = 0; j < BUCKET_BATCHES; j++)
        counts[j] = (uint32_t)(gnn_splitmix64_at(seed, j) % 40);
    for (uint32_t tasks = 1; tasks < 50; tasks += 6) {
        struct agnes_bucket bucket;
        struct gnn_err err = {0};
        must(agnes_bucket_open(f.world, BUCKET_BLOCKS, tasks, &bucket, &err), &err);
        must(agnes_bucket_build(&bucket, NULL, counts, BUCKET_BATCHES, hashed_blocks, &seed, &err), &err);
        uint64_t at = 0;
        uint32_t needed = 0;
        for (uint32_t b = 0; b < BUCKET_BLOCKS; b++) {
            const uint64_t begin = at;
            assert_int_equal(bucket.row_begin[b], at);
            for (uint32_t j = 0; j < BUCKET_BATCHES; j++)
                for (uint32_t p = 0; p < counts[j]; p++) {
                    uint32_t blocks[GNN_FANOUT_MAX];
                    const uint32_t n = hashed_blocks(&seed, j, p, blocks);
                    for (uint32_t i = 0; i < n; i++)
                        if (blocks[i] == b) {
                            assert_int_equal(bucket.entries[at].batch, j);
                            assert_int_equal(bucket.entries[at++].position, p);
                        }
                }
            if (at > begin)
                assert_int_equal(bucket.needed[needed++], b);
        }
        assert_int_equal(bucket.row_begin[BUCKET_BLOCKS], at);
        assert_int_equal(bucket.needed_count, needed);
        assert_int_equal(bucket.built_entries, at);
        agnes_bucket_close(&bucket);
    }
    fixture_close(&f);
}

/* ---- preparation ---- */

static void open_files(struct gnn_world *world, const struct train_graph *g, uint32_t layout,
                       struct agnes_layout_files *files)
{
    const struct gnn_workload load = {.batch_size = BATCH, .layers = 1, .fanout = {3}};
    const struct gnn_env env = {.world = world, .dataset = &g->dataset, .workload = &load};
    const struct agnes_config config = {.layout = layout, .block_bytes = Z, .io = AGNES_IO_BUFFERED};
    struct gnn_err err = {0};
    must(agnes_layout_open(&env, &config, files, &err), &err);
}

static void check_rows(struct gnn_world *world, const struct train_graph *g, const struct agnes_layout_files *files)
{
    const struct gnn_dataset *const d = &g->dataset;
    const uint32_t rows = Z / d->row_bytes;
    unsigned char *const block = calloc(1, Z);
    for (gnn_node v = 0; v < d->node_count; v++) {
        if (v % rows == 0)
            assert_int_equal(gnn_file_read(world, files->features, (uint64_t)(v / rows) * Z, block, Z), Z);
        const float *const row = (const float *)(const void *)(block + (uint64_t)(v % rows) * d->row_bytes);
        for (uint32_t c = 0; c < d->dim; c++)
            assert_true(row[c] == train_feature(agnes_to_old(files->new_to_old, v), c));
    }
    free(block);
}

static void check_graph(struct gnn_world *world, const struct train_graph *g, const struct agnes_layout_files *files)
{
    const struct gnn_dataset *const d = &g->dataset;
    const struct agnes_index *const index = &files->index;
    unsigned char *const memory = calloc(index->blocks, Z);
    assert_int_equal(gnn_file_read(world, files->graph, 0, memory, (uint64_t)index->blocks * Z),
                     (uint64_t)index->blocks * Z);
    for (gnn_node v = 0; v < d->node_count; v++) {
        const gnn_node old = agnes_to_old(files->new_to_old, v);
        const uint64_t begin = d->indptr[old], all = d->indptr[old + 1] - begin;
        assert_int_equal(degree_in_blocks(index, memory, v), all);
        for (uint64_t i = 0; i < all; i++) /* list order is kept, names are new */
            assert_int_equal(agnes_to_old(files->new_to_old, decoded(index, memory, v, i)), g->indices[begin + i]);
    }
    free(memory);
}

static void check_permutation(const struct agnes_layout_files *files, uint32_t nodes)
{
    uint8_t *const seen = calloc(nodes, 1);
    for (gnn_node v = 0; files->new_to_old != NULL && v < nodes; v++) {
        assert_int_equal(seen[files->new_to_old[v]], 0);
        seen[files->new_to_old[v]] = 1;
    }
    free(seen);
}

static void test_prepared_files_hold_the_dataset(void **state)
{
    (void)state;
    struct train_graph g;
    train_graph_open(&usual, &g);
    for (uint32_t layout = 0; layout < 4; layout++) {
        struct fixture f;
        fixture_open(&f, .graph = NULL);
        for (int again = 0; again < 2; again++) {
            struct agnes_layout_files files;
            open_files(f.world, &g, layout, &files);
            assert_true((files.prepared.written_bytes > 0) == (again == 0));
            assert_true((files.prepare_ns > 0) == (again == 0));
            assert_true((files.new_to_old == NULL) == (layout == AGNES_LAYOUT_INPUT));
            check_permutation(&files, usual.nodes);
            check_graph(f.world, &g, &files);
            check_rows(f.world, &g, &files);
            agnes_layout_close(f.world, &files);
        }
        fixture_close(&f);
    }
    train_graph_close(&g);
}

/* The same by the book: adjacency matrix, queue, one node at a time. */
static void breadth_first(const struct train_graph *g, gnn_node *order)
{
    enum { N = 900 };
    static bool linked[N][N];
    static uint32_t key[N];
    static bool visited[N];
    memset(linked, 0, sizeof linked);
    memset(key, 0, sizeof key);
    memset(visited, 0, sizeof visited);
    for (uint32_t v = 0; v < N; v++)
        for (uint64_t e = g->dataset.indptr[v]; e < g->dataset.indptr[v + 1]; e++) {
            const gnn_node u = g->indices[e];
            linked[v][u] = linked[u][v] = true;
            key[v]++;
            key[u]++;
        }
    uint32_t head = 0, tail = 0;
    while (tail < N) {
        if (head == tail) {
            uint32_t root = N;
            for (uint32_t v = 0; v < N; v++)
                if (!visited[v] && (root == N || key[v] > key[root]))
                    root = v;
            visited[root] = true;
            order[tail++] = root;
        }
        const gnn_node v = order[head++];
        for (uint32_t u = 0; u < N; u++)
            if (linked[v][u] && !visited[u]) {
                visited[u] = true;
                order[tail++] = u;
            }
    }
}

static void test_the_order_is_breadth_first(void **state)
{
    (void)state;
    struct fixture f;
    static gnn_node expected[900];
    fixture_open(&f, .graph = &usual);
    breadth_first(&f.graph, expected);
    struct agnes_layout_files files;
    open_files(f.world, &f.graph, AGNES_LAYOUT_BF, &files);
    assert_memory_equal(files.new_to_old, expected, sizeof expected);
    agnes_layout_close(f.world, &files);
    open_files(f.world, &f.graph, AGNES_LAYOUT_DEGREE, &files);
    uint64_t previous = UINT64_MAX;
    for (uint32_t v = 0; v < 900; v++) { /* falling in- plus out-degree, ties by ID */
        uint64_t key = 0;
        const gnn_node old = files.new_to_old[v];
        key += f.graph.dataset.indptr[old + 1] - f.graph.dataset.indptr[old];
        for (uint64_t e = 0; e < f.graph.dataset.edge_count; e++)
            key += f.graph.indices[e] == old;
        assert_true(key <= previous);
        assert_true(v == 0 || key < previous || files.new_to_old[v - 1] < old);
        previous = key;
    }
    agnes_layout_close(f.world, &files);
    fixture_close(&f);
}

static uint32_t parts_left(const char *dir)
{
    uint32_t parts = 0;
    DIR *const all = opendir(dir);
    assert_non_null(all);
    for (const struct dirent *entry = readdir(all); entry != NULL; entry = readdir(all))
        parts += strstr(entry->d_name, ".part") != NULL;
    assert_int_equal(closedir(all), 0);
    return parts;
}

/* A crash left half a file under its other name; a whole file of something else is refused. */
static void test_a_name_is_a_promise(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct agnes_layout_files files;
    open_files(f.world, &f.graph, AGNES_LAYOUT_BF, &files);
    agnes_layout_close(f.world, &files);
    char from[900], to[900];
    (void)snprintf(from, sizeof from, "%s/index", files.prepared.dir);
    (void)snprintf(to, sizeof to, "%s/index.part", files.prepared.dir);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(parts_left(files.prepared.dir), 1);
    open_files(f.world, &f.graph, AGNES_LAYOUT_BF, &files);
    assert_true(files.prepared.written_bytes > 0);
    assert_int_equal(parts_left(files.prepared.dir), 0);
    check_graph(f.world, &f.graph, &files);
    agnes_layout_close(f.world, &files);

    (void)snprintf(from, sizeof from, "%s/graph", files.prepared.dir);
    assert_int_equal(truncate(from, 100), 0);
    const struct gnn_workload load = {.batch_size = BATCH, .layers = 1, .fanout = {3}};
    const struct gnn_env env = {.world = f.world, .dataset = &f.graph.dataset, .workload = &load};
    const struct agnes_config config = {.block_bytes = Z, .io = AGNES_IO_BUFFERED};
    struct gnn_err err = {0};
    assert_int_equal(agnes_layout_open(&env, &config, &files, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "remove the directory"));
    agnes_layout_close(f.world, &files);
    fixture_close(&f);
}

static void overwrite(const char *dir, const char *name, const void *bytes, size_t count)
{
    char path[900];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *const file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* Blocks of another version are prepared again, and so are the rows in their order. */
static void test_other_versions_are_prepared_again(void **state)
{
    (void)state;
    static const unsigned char other[600] = {1, 2, 3};
    struct fixture f;
    struct agnes_layout_files files;
    char features[GNN_NAME_MAX];
    fixture_open(&f, .graph = &usual);
    (void)snprintf(features, sizeof features, "features-d%" PRIu32, f.graph.dataset.dim);
    open_files(f.world, &f.graph, AGNES_LAYOUT_BF, &files);
    const uint64_t all = files.prepared.written_bytes;
    overwrite(files.prepared.dir, "index", "agnes blocks 0\0", 16);
    overwrite(files.prepared.dir, "graph", other, sizeof other);
    overwrite(files.prepared.dir, features, other, sizeof other);
    agnes_layout_close(f.world, &files);
    open_files(f.world, &f.graph, AGNES_LAYOUT_BF, &files);
    assert_int_equal(files.prepared.written_bytes, all);
    check_graph(f.world, &f.graph, &files);
    check_rows(f.world, &f.graph, &files);
    agnes_layout_close(f.world, &files);
    fixture_close(&f);
}

/* Prepares and trains an epoch on a disk that fails in `plan`'s way; the status of the whole. */
static enum gnn_status faulty_epoch(const struct gnn_fault_plan *plan, const struct train_graph *g, char *prepared,
                                    size_t prepared_bytes)
{
    struct fixture f;
    struct train_run run;
    fixture_open(&f, .faults = plan);
    train_run_init(&run, f.world, "agnes");
    run.options = OPTIONS("io=buffered", "block=4K", "hyperbatch=4", "feature_cache=1");
    enum gnn_status status = train_run_open(&run, g);
    if (status == GNN_OK)
        status = train_run_epoch(&run, 0);
    assert_int_equal(run.wrong_values, 0);
    (void)snprintf(prepared, prepared_bytes, "%s/agnes-bf-4k-4-unnamed", g->dataset.dir);
    train_run_close(&run);
    fixture_close(&f);
    return status;
}

/* The disk is full at any moment of preparation, spooling and spilling: no half file stays, and what is whole is used
 * by the next try. */
static void test_a_full_disk_leaves_no_half_file(void **state)
{
    (void)state;
    struct train_graph g;
    train_graph_open(&usual, &g);
    char prepared[700];
    uint32_t refused = 0;
    for (uint64_t room = 0;; room += 50000) {
        const struct gnn_fault_plan plan = {.seed = 1, .write_enospc = true, .write_enospc_after_bytes = room};
        const enum gnn_status status = faulty_epoch(&plan, &g, prepared, sizeof prepared);
        assert_int_equal(parts_left(prepared), 0);
        if (status == GNN_OK)
            break;
        assert_int_equal(status, GNN_ENOSPC);
        refused++;
    }
    assert_in_range(refused, 5, 100);
    train_graph_close(&g);
}

static void test_a_failed_read_while_preparing_leaves_no_half_file(void **state)
{
    (void)state;
    char prepared[700];
    for (uint64_t at = 1; at < 40; at += 2) {
        struct train_graph g;
        train_graph_open(&usual, &g);
        const struct gnn_fault_plan plan = {.seed = 1, .read_eio_at = at};
        assert_int_equal(faulty_epoch(&plan, &g, prepared, sizeof prepared), GNN_EIO);
        assert_int_equal(parts_left(prepared), 0);
        assert_int_equal(faulty_epoch(&(struct gnn_fault_plan){.seed = 1}, &g, prepared, sizeof prepared), GNN_OK);
        train_graph_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_decode_to_the_lists),
        cmocka_unit_test(test_exactly_full_is_one_block_and_one_more_two),
        cmocka_unit_test(test_a_random_graph_in_a_random_order),
        cmocka_unit_test(test_eviction_follows_the_policy),
        cmocka_unit_test(test_pinned_frames_stay),
        cmocka_unit_test(test_a_hop_reads_what_is_not_resident),
        cmocka_unit_test(test_the_bucket_holds_every_entry_once_in_order),
        cmocka_unit_test(test_prepared_files_hold_the_dataset),
        cmocka_unit_test(test_the_order_is_breadth_first),
        cmocka_unit_test(test_a_name_is_a_promise),
        cmocka_unit_test(test_other_versions_are_prepared_again),
        cmocka_unit_test(test_a_full_disk_leaves_no_half_file),
        cmocka_unit_test(test_a_failed_read_while_preparing_leaves_no_half_file),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
