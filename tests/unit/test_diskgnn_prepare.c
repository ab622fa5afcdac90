/* SPDX-License-Identifier: MIT */
/* What DiskGNN prepares: samples are the harness's mini-batches, every row that a mini-batch needs lies in exactly one
 * place and is the dataset's, files are whole or absent, a preparation that was cut short is resumed, and two at once
 * do not harm each other. Which rows lie where is in test_diskgnn_search.c. */
#include "harness/system/sampling.h"
#include "tests/support/hang.h"
#include "tests/support/prepared.h"

#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct train_graph_config usual = {
    .nodes = 900, .mean_degree = 6, .dim = 128, .classes = 5, .train = 150, .seed = 11};

/* ---- samples ---- */

static void compare_batch(const struct gnn_batch_view *a, const struct gnn_batch_view *b)
{
    assert_int_equal(a->node_count, b->node_count);
    assert_int_equal(a->seed_count, b->seed_count);
    assert_int_equal(a->layer_count, b->layer_count);
    assert_memory_equal(a->nodes, b->nodes, a->node_count * sizeof *a->nodes);
    for (uint32_t l = 0; l < a->layer_count; l++) {
        const struct gnn_block *const x = &a->blocks[l], *const y = &b->blocks[l];
        assert_int_equal(x->dst_count, y->dst_count);
        assert_int_equal(x->src_count, y->src_count);
        assert_int_equal(x->edge_count, y->edge_count);
        assert_memory_equal(x->row_start, y->row_start, (x->dst_count + 1) * sizeof *x->row_start);
        assert_memory_equal(x->col, y->col, x->edge_count * sizeof *x->col);
    }
}

/* Draws every mini-batch of the epoch once more, with the harness. */
static void check_samples(struct fixture *f, const struct diskgnn_sampled *sampled)
{
    const struct gnn_sampling_config config = {.workers = 1, .advice = GNN_MAP_RANDOM};
    struct gnn_sampling *sampling = NULL;
    struct gnn_batch *batch = NULL;
    must(gnn_sampling_open(&f->env, &config, &sampling, &f->err), &f->err);
    must(gnn_batch_open(f->world, &batch, &f->err), &f->err);
    gnn_sampling_begin(sampling, sampled->epoch);
    assert_int_equal(sampled->batches, gnn_sampling_batches(sampling));
    for (uint32_t i = 0; i < sampled->batches; i++) {
        const struct diskgnn_sample *const sample = &sampled->of[i];
        const uint64_t bytes = gnn_round_up(diskgnn_sample_bytes(sample), GNN_PAGE_BYTES);
        uint32_t *const record = aligned_alloc(GNN_PAGE_BYTES, bytes);
        struct gnn_batch_view view;
        assert_true(bytes <= sampled->record_bytes_most);
        must(gnn_read_all(f->world, sampled->samples, sample->offset_bytes, record, bytes, &f->err), &f->err);
        diskgnn_sample_view(sample, sampled->epoch, i, record, &view);
        must(gnn_sampling_draw(sampling, 0, i, batch, &f->err), &f->err);
        compare_batch(&view, gnn_batch_view(batch));
        assert_true(sample->digest == gnn_batch_digest(&view, NULL));
        assert_true(sample->digest == gnn_batch_digest(gnn_batch_view(batch), NULL));
        free(record);
    }
    gnn_batch_close(f->world, batch);
    gnn_sampling_close(sampling);
}

static void test_samples_are_the_harness_s(void **state)
{
    (void)state;
    static const uint64_t epochs[] = {0, 5};
    for (uint32_t samplers = 1; samplers <= 7; samplers += 3)
        for (size_t e = 0; e < 2; e++) {
            struct fixture f;
            struct prepared p;
            fixture_open(&f, .graph = &usual);
            prepared_init(&f, &p);
            p.config.samplers = samplers;
            must(diskgnn_sampled_open(&f.env, &p.config, epochs[e], &p.sampled, &f.err), &f.err);
            check_samples(&f, &p.sampled);
            prepared_close(&f, &p);
            fixture_close(&f);
        }
}

/* Other workloads are prepared as something else; a part of an epoch is the whole one. */
static void test_samples_are_of_one_key(void **state)
{
    (void)state;
    struct fixture f;
    struct prepared p;
    uint64_t key = 0;
    fixture_open(&f, .graph = &usual);
    prepared_init(&f, &p);
    for (int c = 0; c < 5; c++) {
        f.workload.seed = c == 1 ? 8 : 7;
        f.workload.batch_size = c == 2 ? 25 : 20;
        f.workload.fanout[1] = c == 3 ? 2 : 3;
        f.workload.max_batches = c == 0 ? 3 : 0;
        must(diskgnn_sampled_open(&f.env, &p.config, 0, &p.sampled, &f.err), &f.err);
        f.workload.max_batches = 0;
        assert_int_equal(p.sampled.written_bytes > 0, c < 4); /* the last is the first again */
        assert_int_equal(p.sampled.prepare_ns > 0, c < 4);
        assert_int_equal(p.sampled.batches, c == 2 ? 6 : 8);
        assert_true(c == 0 || (p.sampled.key == key) == (c == 4));
        key = c == 0 ? p.sampled.key : key;
        check_samples(&f, &p.sampled);
        prepared_close(&f, &p);
    }
    fixture_close(&f);
}

/* ---- every row in one place ---- */

static unsigned char *read_file(struct fixture *f, struct gnn_file *file, uint64_t bytes)
{
    struct gnn_file_info info;
    unsigned char *const data = aligned_alloc(GNN_PAGE_BYTES, gnn_round_up(bytes + 1, GNN_PAGE_BYTES));
    gnn_file_info(f->inner, file, &info);
    assert_int_equal(info.size_bytes, bytes);
    must(gnn_read_all(f->inner, file, 0, data, bytes, &f->err), &f->err);
    return data;
}

struct contents {
    unsigned char *tables, *chunks, *disk, *cached;
};

static void read_contents(struct fixture *f, const struct prepared *p, struct contents *c)
{
    c->tables = read_file(f, p->layout.tables, p->layout.tables_bytes);
    c->chunks = read_file(f, p->layout.chunks, p->layout.chunks_bytes);
    c->disk = read_file(f, p->layout.disk, p->layout.disk_bytes);
    c->cached = read_file(f, p->layout.cached, p->layout.cached_bytes);
}

static void free_contents(struct contents *c)
{
    free(c->tables);
    free(c->chunks);
    free(c->disk);
    free(c->cached);
}

/* Says that position `at` of the mini-batch gets this row. */
static void take_row(const struct fixture *f, const gnn_node *list, uint32_t at, const unsigned char *row, bool *seen)
{
    assert_false(seen[at]);
    seen[at] = true;
    for (uint32_t c = 0; c < f->graph.dataset.dim; c++) {
        float value;
        memcpy(&value, row + c * sizeof value, sizeof value);
        assert_true(value == train_feature(list[at], c));
    }
}

static void take_cached(const struct fixture *f, const struct prepared *p, const struct contents *c,
                        const struct diskgnn_place *place, const struct diskgnn_table *t, const gnn_node *list,
                        bool *seen)
{
    const struct diskgnn_layout *const l = &p->layout;
    for (uint32_t j = 0; j < place->gpu + place->cpu; j++) {
        const uint32_t row = t->cached_row[j];
        const bool gpu = row < l->gpu_rows;
        assert_int_equal(gpu, j < place->gpu);
        assert_true(row < l->gpu_rows + l->cpu_rows);
        assert_true(j == 0 || j == place->gpu || row > t->cached_row[j - 1]);
        const uint64_t offset = gpu ? (uint64_t)row * l->rows.row_bytes
                                    : l->cpu_offset_bytes + (uint64_t)(row - l->gpu_rows) * l->rows.row_bytes;
        take_row(f, list, t->cached_at[j], c->cached + offset, seen);
    }
}

static void check_batch(const struct fixture *f, const struct prepared *p, const struct contents *c, uint32_t i)
{
    const struct diskgnn_layout *const l = &p->layout;
    const struct diskgnn_place *const place = &l->of[i];
    const struct diskgnn_segment *const segment = &l->segment_of[i / l->segment];
    const struct diskgnn_table t = diskgnn_table_of(place, (const uint32_t *)(c->tables + place->table_offset_bytes));
    const uint32_t count = diskgnn_sample_nodes(&p->sampled.of[i]);
    const gnn_node *const list = p->lists[i];
    bool *const seen = calloc(count, sizeof *seen);
    assert_int_equal(place->gpu + place->cpu + place->packed + place->shared, count);
    assert_int_equal(place->table_offset_bytes % l->rows.align_bytes, 0);
    assert_int_equal(place->chunk_offset_bytes % l->rows.align_bytes, 0);
    take_cached(f, p, c, place, &t, list, seen);
    for (uint32_t j = 0; j < place->packed; j++)
        take_row(f, list, t.partial_at[j], c->chunks + place->chunk_offset_bytes + (uint64_t)j * l->rows.row_bytes,
                 seen);
    for (uint32_t j = 0; j < place->shared; j++) {
        assert_true(t.disk_row[j] < segment->rows);
        assert_true(j == 0 || t.disk_row[j] > t.disk_row[j - 1]);
        const uint64_t offset = diskgnn_row_offset(&l->rows, t.disk_row[j]);
        assert_true(offset / l->rows.page_bytes == (offset + l->rows.row_bytes - 1) / l->rows.page_bytes);
        take_row(f, list, t.partial_at[place->packed + j], c->disk + segment->offset_bytes + offset, seen);
    }
    for (uint32_t at = 0; at < count; at++)
        assert_true(seen[at]);
    free(seen);
}

/* Nodes of a segment's disk cache: used twice at least there, each once in the file, and in no chunk of the segment. */
static void check_segment(const struct fixture *f, const struct prepared *p, const struct contents *c, uint32_t k)
{
    const struct diskgnn_layout *const l = &p->layout;
    const uint32_t nodes = f->graph.dataset.node_count, first = k * l->segment;
    uint32_t *const shared = calloc(nodes, sizeof *shared), *const packed = calloc(nodes, sizeof *packed);
    gnn_node *const at_row = malloc((l->segment_of[k].rows + 1) * sizeof *at_row);
    memset(at_row, 0xff, (l->segment_of[k].rows + 1) * sizeof *at_row);
    assert_true(l->segment_of[k].rows <= l->disk_rows);
    for (uint32_t i = first; i < gnn_min_u32(first + l->segment, l->batches); i++) {
        const struct diskgnn_place *const place = &l->of[i];
        const struct diskgnn_table t =
            diskgnn_table_of(place, (const uint32_t *)(c->tables + place->table_offset_bytes));
        for (uint32_t j = 0; j < place->packed; j++)
            packed[p->lists[i][t.partial_at[j]]]++;
        for (uint32_t j = 0; j < place->shared; j++) {
            const gnn_node v = p->lists[i][t.partial_at[place->packed + j]];
            assert_true(at_row[t.disk_row[j]] == GNN_NODE_NONE || at_row[t.disk_row[j]] == v);
            at_row[t.disk_row[j]] = v;
            shared[v]++;
        }
    }
    uint32_t rows = 0;
    for (uint32_t v = 0; v < nodes; v++) {
        assert_true(shared[v] != 1);
        assert_true(shared[v] == 0 || packed[v] == 0);
        rows += shared[v] > 0;
    }
    assert_int_equal(rows, l->segment_of[k].rows);
    free(shared);
    free(packed);
    free(at_row);
}

static void check_everything(struct fixture *f, const struct prepared *p)
{
    struct contents c;
    read_contents(f, p, &c);
    for (uint32_t i = 0; i < p->layout.batches; i++)
        check_batch(f, p, &c, i);
    for (uint32_t k = 0; k < p->layout.segments; k++)
        check_segment(f, p, &c, k);
    free_contents(&c);
}

/* The caches hold the most used nodes, the GPU's before the CPU's, as often as plain counting says. */
static void check_caches(const struct fixture *f, const struct prepared *p)
{
    uint32_t used;
    gnn_node *const order = plain_popularity(f, p, &used);
    const uint32_t gpu = p->layout.gpu_rows, all = gpu + p->layout.cpu_rows;
    uint64_t cached[2] = {0, 0}, want[2] = {0, 0};
    for (uint32_t i = 0; i < all; i++)
        want[i >= gpu] += p->uses[order[i]];
    for (uint32_t i = 0; i < p->layout.batches; i++) {
        cached[0] += p->layout.of[i].gpu;
        cached[1] += p->layout.of[i].cpu;
    }
    assert_int_equal(cached[0], want[0]);
    assert_int_equal(cached[1], want[1]);
    free(order);
}

struct shape {
    uint32_t dim, gpu, cpu, segment, disk_rows;
    enum diskgnn_page page;
};

static void open_shape(struct fixture *f, const struct shape *shape, struct prepared *p)
{
    prepared_init(f, p);
    p->caches = (struct diskgnn_caches){shape->gpu, shape->cpu};
    p->config.segment = shape->segment;
    p->config.disk_rows = shape->disk_rows;
    p->config.page = shape->page;
    if (shape->page == DISKGNN_PAGE_512)
        p->config.io = DISKGNN_IO_BUFFERED; /* direct I/O may want more */
}

static const struct shape shapes[] = {
    {128, 0, 0, 0, 0, DISKGNN_PAGE_4096},     {128, 30, 60, 0, 0, DISKGNN_PAGE_4096},
    {128, 30, 60, 3, 40, DISKGNN_PAGE_4096},  {128, 450, 450, 3, 40, DISKGNN_PAGE_4096},
    {100, 7, 9, 2, 200, DISKGNN_PAGE_4096},   {100, 0, 9, 8, 33, DISKGNN_PAGE_512},
    {256, 10, 0, 4, 50, DISKGNN_PAGE_4096},   {768, 3, 3, 3, 40, DISKGNN_PAGE_4096},
    {1024, 3, 3, 3, 40, DISKGNN_PAGE_4096},   {1280, 3, 3, 3, 40, DISKGNN_PAGE_4096},
    {1280, 3, 3, 3, 40, DISKGNN_PAGE_512},    {1, 3, 3, 3, 40, DISKGNN_PAGE_512},
    {300, 400, 450, 0, 0, DISKGNN_PAGE_4096}, /* caches of several pieces, which end with every 256th row */
};

static void test_every_row_is_in_one_place_and_the_dataset_s(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct train_graph_config graph = usual;
        struct fixture f;
        struct prepared p;
        graph.dim = shapes[s].dim;
        fixture_open(&f, .graph = &graph);
        open_shape(&f, &shapes[s], &p);
        prepared_open(&f, &p);
        check_everything(&f, &p);
        check_caches(&f, &p);
        if (shapes[s].gpu + shapes[s].cpu == usual.nodes) /* nothing is read from the disk then */
            assert_int_equal(p.layout.chunks_bytes + p.layout.disk_bytes, 0);
        if (shapes[s].segment == 0)
            assert_int_equal(p.layout.disk_bytes, 0);
        prepared_close(&f, &p);
        fixture_close(&f);
    }
}

static void same_contents(const struct prepared *p, const struct contents *a, const struct contents *b)
{
    assert_memory_equal(a->tables, b->tables, p->layout.tables_bytes);
    assert_memory_equal(a->chunks, b->chunks, p->layout.chunks_bytes);
    assert_memory_equal(a->disk, b->disk, p->layout.disk_bytes);
    assert_memory_equal(a->cached, b->cached, p->layout.cached_bytes);
}

/* Batched in any number of partitions, with windows of any size, and individual packing write the same bytes. */
static void test_both_ways_of_packing_write_the_same(void **state)
{
    (void)state;
    static const struct {
        enum diskgnn_packing packing;
        uint32_t partitions, workers, depth;
        uint64_t memory;
    } ways[] = {
        {DISKGNN_PACKING_BATCHED, 1, 1, 1, 1 << 30},  {DISKGNN_PACKING_BATCHED, 8, 3, 4, 1 << 20},
        {DISKGNN_PACKING_BATCHED, 1000, 2, 64, 8192}, {DISKGNN_PACKING_BATCHED, 0, 2, 2, 100000},
        {DISKGNN_PACKING_INDIVIDUAL, 8, 2, 7, 0},     {DISKGNN_PACKING_INDIVIDUAL, 0, 1, 1, 8192},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct train_graph_config graph = usual;
        struct fixture f;
        struct contents first = {NULL, NULL, NULL, NULL};
        graph.dim = shapes[s].dim;
        fixture_open(&f, .graph = &graph);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            struct prepared p;
            struct contents c;
            open_shape(&f, &shapes[s], &p);
            p.config.packing = ways[w].packing;
            p.config.partitions = ways[w].partitions;
            p.config.pack_workers = ways[w].workers;
            p.config.pack_depth = ways[w].depth;
            p.config.pack_memory = ways[w].memory;
            p.config.reuse = false;
            prepared_open(&f, &p);
            read_contents(&f, &p, &c);
            if (w == 0)
                first = c;
            else
                same_contents(&p, &first, &c);
            if (w > 0)
                free_contents(&c);
            prepared_close(&f, &p);
        }
        free_contents(&first);
        fixture_close(&f);
    }
}

/* ---- files that are whole or absent ---- */

/* Names in the prepared directory that end like `end`, or all but the lock (end ""). */
static uint32_t count_files(const char *dir, const char *end)
{
    DIR *const all = opendir(dir);
    uint32_t count = 0;
    if (all == NULL)
        return 0;
    for (const struct dirent *entry = readdir(all); entry != NULL; entry = readdir(all)) {
        const size_t length = strlen(entry->d_name), want = strlen(end);
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "lock") == 0)
            continue;
        count += length >= want && strcmp(entry->d_name + length - want, end) == 0;
    }
    (void)closedir(all);
    return count;
}

static void remove_file(const char *dir, const char *end)
{
    DIR *const all = opendir(dir);
    assert_non_null(all);
    for (const struct dirent *entry = readdir(all); entry != NULL; entry = readdir(all)) {
        const size_t length = strlen(entry->d_name), want = strlen(end);
        if (length >= want && strcmp(entry->d_name + length - want, end) == 0)
            assert_int_equal(unlinkat(dirfd(all), entry->d_name, 0), 0);
    }
    (void)closedir(all);
}

/* What a killed preparation leaves is a stage less: the next one makes that stage alone. */
static void test_a_preparation_is_resumed_where_it_was(void **state)
{
    (void)state;
    static const struct {
        const char *lost;
        bool samples, places, rows;
    } cases[] = {{"-nothing", false, false, false},
                 {"-cached", false, false, true},
                 {"-layout", false, true, false},
                 {"-index", true, false, false}};
    struct fixture f;
    struct prepared p;
    fixture_open(&f, .graph = &usual);
    open_shape(&f, &shapes[2], &p);
    prepared_open(&f, &p);
    assert_int_equal(count_files(p.sampled.dir, ""), 8);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char dir[sizeof p.sampled.dir];
        (void)snprintf(dir, sizeof dir, "%s", p.sampled.dir);
        prepared_close(&f, &p);
        remove_file(dir, cases[c].lost);
        prepared_open(&f, &p);
        assert_int_equal(p.sampled.prepare_ns > 0, cases[c].samples);
        assert_int_equal(p.layout.place_ns > 0, cases[c].places);
        assert_int_equal(p.layout.pack_ns > 0, cases[c].rows);
        assert_int_equal(p.layout.prepare_ns > 0, cases[c].places || cases[c].rows);
        assert_int_equal(p.sampled.written_bytes + p.layout.written_bytes > 0,
                         cases[c].samples || cases[c].places || cases[c].rows);
        assert_int_equal(count_files(p.sampled.dir, ""), 8);
        check_everything(&f, &p);
    }
    uint64_t bytes = 0;
    const uint64_t parts[] = {p.sampled.samples_bytes, p.sampled.counts_bytes, p.sampled.index_bytes,
                              p.layout.tables_bytes,   p.layout.layout_bytes,  p.layout.chunks_bytes,
                              p.layout.disk_bytes,     p.layout.cached_bytes};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        bytes += parts[i];
    assert_int_equal(diskgnn_prepared_bytes(&p.sampled, &p.layout), bytes);
    diskgnn_prepared_remove(&f.env, &p.sampled, &p.layout);
    assert_int_equal(count_files(p.sampled.dir, ""), 0);
    check_everything(&f, &p); /* what is open stays */
    prepared_close(&f, &p);
    fixture_close(&f);
}

/* Another run that draws anew removes what it has trained: whoever has opened it goes on. */
static void test_open_samples_outlive_their_names(void **state)
{
    (void)state;
    struct fixture f;
    struct prepared p;
    fixture_open(&f, .graph = &usual);
    open_shape(&f, &shapes[2], &p);
    must(diskgnn_sampled_open(&f.env, &p.config, 0, &p.sampled, &f.err), &f.err);
    diskgnn_prepared_remove(&f.env, &p.sampled, &p.layout);
    assert_int_equal(count_files(p.sampled.dir, ""), 0);
    must(diskgnn_layout_open(&f.env, &p.config, &p.sampled, &p.caches, &p.layout, &f.err), &f.err);
    assert_int_equal(count_files(p.sampled.dir, ""), 2);
    must(diskgnn_layout_pack(&f.env, &p.config, &p.sampled, &p.layout, &f.err), &f.err);
    assert_int_equal(count_files(p.sampled.dir, ""), 5);
    prepared_close(&f, &p);
    fixture_close(&f);
}

/* A file that says something else than its key is refused by name, and reuse=false makes it anew. */
static void test_damaged_files_are_refused(void **state)
{
    (void)state;
    static const char *const ends[] = {"-index", "-layout", "-chunks", "-tables", "-samples"};
    for (size_t c = 0; c < sizeof ends / sizeof *ends; c++) {
        struct fixture f;
        struct prepared p;
        fixture_open(&f, .graph = &usual);
        open_shape(&f, &shapes[2], &p);
        prepared_open(&f, &p);
        char path[1200], dir[sizeof p.sampled.dir];
        (void)snprintf(dir, sizeof dir, "%s", p.sampled.dir);
        (void)snprintf(path, sizeof path, "%s/e0%s", dir, ends[c]);
        if (c > 0 && c < 4)
            (void)snprintf(path, sizeof path, "%s/e0-%016" PRIx64 "%s", dir, p.layout.key, ends[c]);
        prepared_close(&f, &p);
        struct stat info;
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(truncate(path, info.st_size - GNN_PAGE_BYTES), 0);
        assert_int_equal(prepared_try(&f, &p), GNN_EFORMAT);
        assert_non_null(strstr(f.err.message, ends[c]));
        prepared_close(&f, &p);
        f.err = (struct gnn_err){0};
        p.config.reuse = false;
        prepared_open(&f, &p);
        check_everything(&f, &p);
        prepared_close(&f, &p);
        fixture_close(&f);
    }
}

/* Packing that is resumed reads tables and lists that another run has written: what they say is looked at. */
static void test_damaged_contents_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *end;
        unsigned char byte;
    } cases[] = {{"-tables", 0xff}, {"-tables", 0}, {"-samples", 0xff}, {"-counts", 0xff}, {"-counts", 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f;
        struct prepared p;
        fixture_open(&f, .graph = &usual);
        open_shape(&f, &shapes[2], &p);
        p.config.partitions = 8;
        prepared_open(&f, &p);
        char path[1200], dir[sizeof p.sampled.dir];
        (void)snprintf(dir, sizeof dir, "%s", p.sampled.dir);
        (void)snprintf(path, sizeof path, "%s/e0%s", dir, cases[c].end);
        if (c < 2)
            (void)snprintf(path, sizeof path, "%s/e0-%016" PRIx64 "%s", dir, p.layout.key, cases[c].end);
        prepared_close(&f, &p);
        remove_file(dir, c < 3 ? "-cached" : "-layout");
        FILE *const file = fopen(path, "r+");
        assert_non_null(file);
        for (int k = 0; k < 3000; k++)
            assert_int_equal(fputc(cases[c].byte, file), cases[c].byte);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(prepared_try(&f, &p), GNN_EFORMAT);
        assert_int_equal(count_files(dir, ".part"), 0);
        prepared_close(&f, &p);
        fixture_close(&f);
    }
}

static void overwrite(const char *dir, const char *stem, const char *end, const void *bytes, size_t count)
{
    char path[1200];
    (void)snprintf(path, sizeof path, "%s/%s%s", dir, stem, end);
    FILE *const file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* Samples and layouts of another version are prepared again, and so is what was packed from them. */
static void test_other_versions_are_prepared_again(void **state)
{
    (void)state;
    static const unsigned char other[4000] = {1, 2, 3};
    for (int samples = 0; samples < 2; samples++) {
        struct fixture f;
        struct prepared p;
        char dir[sizeof p.sampled.dir], stem[64];
        fixture_open(&f, .graph = &usual);
        open_shape(&f, &shapes[2], &p);
        prepared_open(&f, &p);
        (void)snprintf(dir, sizeof dir, "%s", p.sampled.dir);
        (void)snprintf(stem, sizeof stem, "e0-%016" PRIx64, p.layout.key);
        prepared_close(&f, &p);
        overwrite(dir, samples ? "e0" : stem, samples ? "-index" : "-layout",
                  samples ? "diskgnn index 1" : "diskgnn layout1", 16);
        overwrite(dir, samples ? "e0" : stem, samples ? "-samples" : "-chunks", other, sizeof other);
        if (samples)
            overwrite(dir, stem, "-layout", "diskgnn layout1", 16);
        prepared_open(&f, &p);
        assert_int_equal(p.sampled.written_bytes > 0, samples);
        assert_true(p.layout.pack_ns > 0);
        check_everything(&f, &p);
        prepared_close(&f, &p);
        overwrite(dir, "e0", "-index", "diskgnn other 1", 16); /* of no version */
        assert_int_equal(prepared_try(&f, &p), GNN_EFORMAT);
        prepared_close(&f, &p);
        fixture_close(&f);
    }
}

/* ---- failures ---- */

static enum gnn_status try_with(const struct gnn_fault_plan *faults, uint64_t *injected, uint32_t *files,
                                uint32_t *parts, char *message)
{
    struct fixture f;
    struct prepared p;
    struct gnn_fault_counts counts;
    fixture_open(&f, .graph = &usual, .faults = faults);
    open_shape(&f, &shapes[2], &p);
    const enum gnn_status status = prepared_try(&f, &p);
    if (status == GNN_OK) {
        prepared_close(&f, &p);
        f.env.world = f.inner; /* no more faults */
        prepared_open(&f, &p);
        check_everything(&f, &p);
    }
    char dir[sizeof p.sampled.dir];
    (void)snprintf(dir, sizeof dir, "%s", p.sampled.dir);
    prepared_close(&f, &p);
    gnn_world_faulty_counts(f.world, &counts);
    *injected = counts.eio + counts.again + counts.shortened + counts.writes_refused + counts.writes_shortened +
                counts.allocs_refused;
    *files = count_files(dir, "");
    *parts = count_files(dir, ".part");
    (void)snprintf(message, GNN_ERR_MAX, "%s", f.err.message);
    fixture_close(&f); /* and no memory is left */
    return status;
}

/* A disk that fills while samples, tables or rows are written: one message, and nothing left of what was begun. */
static void test_a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    uint32_t full = 0, done = 0;
    for (uint64_t room = 0; done == 0; room += 40000) {
        const struct gnn_fault_plan plan = {.seed = 1, .write_enospc = true, .write_enospc_after_bytes = room};
        uint64_t injected;
        uint32_t files, parts;
        char message[GNN_ERR_MAX];
        const enum gnn_status status = try_with(&plan, &injected, &files, &parts, message);
        if (status == GNN_OK) {
            done++;
            continue;
        }
        full++;
        assert_int_equal(status, GNN_ENOSPC);
        assert_non_null(strstr(message, "free some space"));
        assert_int_equal(files, 0);
    }
    assert_true(full > 10); /* in every stage */
}

static void test_failed_reads_leave_no_half_file(void **state)
{
    (void)state;
    uint32_t failed = 0, done = 0;
    for (uint64_t n = 1; done == 0; n += n / 4 + 1) {
        const struct gnn_fault_plan plan = {.seed = 1, .read_eio_at = n};
        uint64_t injected;
        uint32_t files, parts;
        char message[GNN_ERR_MAX];
        const enum gnn_status status = try_with(&plan, &injected, &files, &parts, message);
        done += status == GNN_OK && injected == 0;
        failed += status == GNN_EIO;
        assert_true(status == GNN_OK || status == GNN_EIO);
        assert_int_equal(parts, 0);
    }
    assert_true(failed > 3);
}

static void test_failed_allocations_leave_no_half_file(void **state)
{
    (void)state;
    for (uint64_t n = 1, refused = 1; refused > 0; n++) {
        const struct gnn_fault_plan plan = {.seed = 1, .alloc_fail_at = n};
        uint32_t files, parts;
        char message[GNN_ERR_MAX];
        const enum gnn_status status = try_with(&plan, &refused, &files, &parts, message);
        assert_int_equal(status, refused > 0 ? GNN_ENOMEM : GNN_OK);
        assert_int_equal(parts, 0);
    }
}

/* Short and repeated reads and writes change nothing. */
static void test_short_and_repeated_operations_are_finished(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const struct gnn_fault_plan plan = {.seed = seed,
                                            .read_again_probability = 0.1,
                                            .read_short_probability = 0.1,
                                            .write_short_probability = 0.1,
                                            .shuffle = true};
        uint64_t injected;
        uint32_t files, parts;
        char message[GNN_ERR_MAX];
        const enum gnn_status status = try_with(&plan, &injected, &files, &parts, message);
        if (status != GNN_OK)
            fail_msg("%s", message);
        assert_true(injected > 0);
        assert_int_equal(files, 8);
    }
}

static void test_a_stopped_preparation_leaves_whole_stages(void **state)
{
    (void)state;
    struct fixture f;
    struct prepared p;
    atomic_bool stop = true;
    fixture_open(&f, .graph = &usual);
    open_shape(&f, &shapes[2], &p);
    f.env.stop = &stop;
    assert_int_equal(prepared_try(&f, &p), GNN_ECANCELLED);
    assert_int_equal(count_files(p.sampled.dir, ""), 0);
    prepared_close(&f, &p);
    f.err = (struct gnn_err){0};
    atomic_store(&stop, false);
    must(diskgnn_sampled_open(&f.env, &p.config, 0, &p.sampled, &f.err), &f.err);
    atomic_store(&stop, true);
    assert_int_equal(diskgnn_layout_open(&f.env, &p.config, &p.sampled, &p.caches, &p.layout, &f.err), GNN_ECANCELLED);
    assert_int_equal(count_files(p.sampled.dir, ""), 3); /* samples, counts, index */
    diskgnn_layout_close(f.inner, &p.layout);
    f.err = (struct gnn_err){0};
    atomic_store(&stop, false);
    must(diskgnn_layout_open(&f.env, &p.config, &p.sampled, &p.caches, &p.layout, &f.err), &f.err);
    atomic_store(&stop, true);
    assert_int_equal(diskgnn_layout_pack(&f.env, &p.config, &p.sampled, &p.layout, &f.err), GNN_ECANCELLED);
    assert_int_equal(count_files(p.sampled.dir, ""), 5); /* and tables, layout */
    prepared_close(&f, &p);
    fixture_close(&f);
}

/* ---- two at once ---- */

struct other {
    struct fixture *f;
    struct prepared p;
    enum gnn_status status;
    struct gnn_err err;
};

static void prepare_too(void *arg)
{
    struct other *const o = arg;
    struct fixture own = {.env = o->f->env, .inner = o->f->inner};
    o->status = prepared_try(&own, &o->p);
    o->err = own.err;
}

/* Whoever comes first prepares, the others wait and find it. */
static void test_two_preparations_at_once(void **state)
{
    (void)state;
    enum { RUNS = 3 };
    struct fixture f;
    struct other runs[RUNS];
    struct gnn_thread *threads[RUNS];
    uint32_t made = 0, packed = 0;
    fixture_open(&f, .graph = &usual);
    for (int r = 0; r < RUNS; r++) {
        runs[r] = (struct other){.f = &f};
        open_shape(&f, &shapes[2], &runs[r].p);
        must(gnn_thread_start(f.world, "preparation", prepare_too, &runs[r], &threads[r], &f.err), &f.err);
    }
    for (int r = 0; r < RUNS; r++)
        gnn_thread_join(f.world, threads[r]);
    for (int r = 0; r < RUNS; r++) {
        must(runs[r].status, &runs[r].err);
        made += runs[r].p.sampled.written_bytes > 0;
        packed += runs[r].p.layout.written_bytes > 0;
        check_samples(&f, &runs[r].p.sampled);
        prepared_close(&f, &runs[r].p);
    }
    assert_int_equal(made, 1);
    assert_int_equal(packed, 1);
    fixture_close(&f);
}

/* ---- the simulated world ---- */

static void test_both_worlds_prepare_the_same(void **state)
{
    (void)state;
    struct prepared p[2];
    struct fixture f[2];
    for (int w = 0; w < 2; w++) {
        fixture_open(&f[w], .graph = &usual, .simulated = w == 1);
        open_shape(&f[w], &shapes[2], &p[w]);
        prepared_open(&f[w], &p[w]);
        check_samples(&f[w], &p[w].sampled);
        assert_true(p[w].sampled.prepare_ns > 0);
        assert_true(p[w].layout.place_ns > 0);
        assert_true(p[w].layout.pack_ns > 0);
    }
    const struct diskgnn_layout *const a = &p[0].layout, *const b = &p[1].layout;
    assert_memory_equal(a->of, b->of, a->batches * sizeof *a->of);
    assert_memory_equal(a->segment_of, b->segment_of, a->segments * sizeof *a->segment_of);
    struct gnn_file *const files[2][4] = {{a->tables, a->chunks, a->disk, a->cached},
                                          {b->tables, b->chunks, b->disk, b->cached}};
    for (int i = 0; i < 4; i++) {
        struct gnn_file_info info[2];
        for (int w = 0; w < 2; w++)
            gnn_file_info(f[w].world, files[w][i], &info[w]);
        assert_int_equal(info[0].size_bytes, info[1].size_bytes);
    }
    unsigned char *const one = read_file(&f[0], a->tables, a->tables_bytes);
    unsigned char *const two = read_file(&f[1], b->tables, b->tables_bytes);
    assert_memory_equal(one, two, a->tables_bytes); /* bytes of features do not exist there */
    free(one);
    free(two);
    for (int w = 0; w < 2; w++) {
        prepared_close(&f[w], &p[w]);
        fixture_close(&f[w]);
    }
}

/* Individual packing reads pages again and again: it costs more virtual time than batched packing. */
static void test_batched_packing_is_faster(void **state)
{
    (void)state;
    uint64_t ns[2], read_ns[2];
    for (uint32_t packing = 0; packing < 2; packing++) {
        struct fixture f;
        struct prepared p;
        fixture_open(&f, .graph = &usual, .simulated = true);
        open_shape(&f, &shapes[2], &p);
        p.config.packing = packing == 0 ? DISKGNN_PACKING_BATCHED : DISKGNN_PACKING_INDIVIDUAL;
        prepared_open(&f, &p);
        ns[packing] = p.layout.pack_ns;
        read_ns[packing] = p.layout.pack_read_ns;
        prepared_close(&f, &p);
        fixture_close(&f);
    }
    assert_true(ns[0] < ns[1]);
    assert_true(read_ns[0] < read_ns[1]);
}

/* The paper's two claims for batched packing, on a machine of round figures: the drive is busy four fifths of the time
 * with sequential reads of the features and writes of what is packed, and a read a row takes five times as long. */
static void test_batched_packing_is_as_fast_as_the_device(void **state)
{
    (void)state;
    const struct train_graph_config graph = {
        .nodes = 60000, .mean_degree = 6, .dim = 128, .classes = 5, .train = 4000, .seed = 11};
    uint64_t ns[2];
    for (uint32_t packing = 0; packing < 2; packing++) {
        struct fixture f;
        struct prepared p;
        fixture_open(&f, .graph = &graph, .simulated = true);
        f.workload.batch_size = 200; /* as many rows a mini-batch as a scaled graph has */
        prepared_init(&f, &p);
        p.caches = (struct diskgnn_caches){4000, 6000};
        p.config.packing = packing == 0 ? DISKGNN_PACKING_BATCHED : DISKGNN_PACKING_INDIVIDUAL;
        p.config.pack_workers = 8;
        p.config.pack_depth = 64;
        p.config.pack_memory = 8 << 20;
        prepared_open(&f, &p);
        const struct gnn_profile_storage *const s = &f.profile.storage;
        const uint64_t written = p.layout.chunks_bytes + p.layout.cached_bytes;
        const uint64_t read_ns = f.graph.dataset.feature_bytes * s->read_ps[s->size_count - 1][0] / 1000 / (1 << 20);
        const uint64_t write_ns = written * 1000 / (s->write_bytes_per_s / 1000000);
        ns[packing] = p.layout.pack_ns;
        print_message("%" PRIu64 " us, of them %" PRIu64 " reading and %" PRIu64 " writing\n", ns[packing] / 1000,
                      read_ns / 1000, write_ns / 1000);
        if (packing == 0)
            assert_true(10 * (read_ns + write_ns) >= 8 * ns[packing]);
        prepared_close(&f, &p);
        fixture_close(&f);
    }
    assert_true(ns[1] >= 5 * ns[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_are_the_harness_s),
        cmocka_unit_test(test_samples_are_of_one_key),
        cmocka_unit_test(test_every_row_is_in_one_place_and_the_dataset_s),
        cmocka_unit_test(test_both_ways_of_packing_write_the_same),
        cmocka_unit_test(test_a_preparation_is_resumed_where_it_was),
        cmocka_unit_test(test_open_samples_outlive_their_names),
        cmocka_unit_test(test_damaged_files_are_refused),
        cmocka_unit_test(test_damaged_contents_are_refused),
        cmocka_unit_test(test_other_versions_are_prepared_again),
        cmocka_unit_test(test_a_full_disk_leaves_nothing),
        cmocka_unit_test(test_failed_reads_leave_no_half_file),
        cmocka_unit_test(test_failed_allocations_leave_no_half_file),
        cmocka_unit_test(test_short_and_repeated_operations_are_finished),
        cmocka_unit_test(test_a_stopped_preparation_leaves_whole_stages),
        cmocka_unit_test(test_two_preparations_at_once),
        cmocka_unit_test(test_both_worlds_prepare_the_same),
        cmocka_unit_test(test_batched_packing_is_faster),
        cmocka_unit_test(test_batched_packing_is_as_fast_as_the_device),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
