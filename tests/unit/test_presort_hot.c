/* SPDX-License-Identifier: MIT */
/* presort's packed file of rows in use: what is packed, where it lies and how it is swept, request by request; limits,
 * full disks and failures (docs/invariants.md, presort: 1, 3, 10, 11). */
#include "harness/system/plan.h"
#include "systems/presort/presort.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"
#include "tests/support/io_log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 12000, TRAIN = 160, BATCH = 8, BATCHES = TRAIN / BATCH, EPOCHS = 3, ROW_BYTES = 512, PAGE = 4096 };

/* Rows in use lie far enough from each other for packing to pay. */
static const struct train_graph_config usual = {
    .nodes = NODES, .mean_degree = 6, .dim = ROW_BYTES / 4, .classes = 5, .train = TRAIN, .seed = 11};
static const struct train_graph_config straddling = {
    .nodes = NODES, .mean_degree = 6, .dim = 100, .classes = 5, .train = TRAIN, .seed = 11};

static void init_run(struct train_run *run, struct fixture *f, const char *const *options)
{
    train_run_init(run, f->world, "presort");
    run->options = options;
    run->workload.epochs = EPOCHS;
    run->workload.batch_size = BATCH;
    run->check_rows = !f->config.simulated;
    run->modelled = f->config.simulated ? &f->profile : NULL;
}

#define SORTED "row_memory=1", "classes=sorted"
#define HOT SORTED, "hot=run"

/* Of one epoch. */
struct figures {
    uint64_t planned, direct, sorted, sweep_rows, sweep_bytes, written, scratch_read, scratch_full;
    uint64_t hot_rows, hot_written, hot_read, hot_full, hot_places, requested_written;
};

/* 0: the run has no such figure. */
static uint64_t hot_figure(const struct train_run *run, const char *name)
{
    for (uint32_t i = 0; i < run->result.figure_count; i++)
        if (strcmp(run->result.figures[i].name, name) == 0)
            return run->result.figures[i].value;
    return 0;
}

static struct figures figures_of(const struct train_run *run)
{
    return (struct figures){.planned = train_run_extra(run, "planned_loads"),
                            .direct = train_run_extra(run, "direct_loads"),
                            .sorted = train_run_extra(run, "sorted_loads"),
                            .sweep_rows = train_run_extra(run, "sweep_rows"),
                            .sweep_bytes = train_run_extra(run, "sweep_read_bytes"),
                            .written = train_run_extra(run, "scratch_write_bytes"),
                            .scratch_read = train_run_extra(run, "scratch_read_bytes"),
                            .scratch_full = train_run_extra(run, "scratch_full"),
                            .hot_rows = hot_figure(run, "hot_rows"),
                            .hot_written = hot_figure(run, "hot_write_bytes"),
                            .hot_read = hot_figure(run, "hot_read_bytes"),
                            .hot_full = hot_figure(run, "hot_full"),
                            .hot_places = hot_figure(run, "hot_places"),
                            .requested_written = run->result.counters.requested_write_bytes};
}

static void add_figures(struct figures *sum, const struct figures *f)
{
    sum->planned += f->planned;
    sum->direct += f->direct;
    sum->sorted += f->sorted;
    sum->sweep_rows += f->sweep_rows;
    sum->sweep_bytes += f->sweep_bytes;
    sum->written += f->written;
    sum->scratch_read += f->scratch_read;
    sum->scratch_full += f->scratch_full;
    sum->hot_rows += f->hot_rows;
    sum->hot_written += f->hot_written;
    sum->hot_read += f->hot_read;
    sum->hot_full += f->hot_full;
    sum->hot_places = f->hot_places;
    sum->requested_written += f->requested_written;
}

/* What a run of all epochs did, and the loss of each mini-batch. */
struct outcome {
    struct figures sum;
    double loss[EPOCHS][BATCHES];
    uint32_t used; /* rows that any epoch used */
    uint64_t digest[EPOCHS];
};

/* Rows that are read where they lie ascend in each window, also those that had been put in another order. */
static void check_direct_loads(const struct train_run *run)
{
    const struct presort *const s = run->state;
    for (uint32_t h = 0; h < PRESORT_ALIVE; h++) {
        const struct presort_hyperbatch *const x = &s->hyperbatches[h];
        for (uint32_t w = 0; w < x->windows; w++) {
            gnn_node before = GNN_NODE_NONE;
            for (uint32_t i = presort_begin_of(x->load_end, w); i < x->load_end[w]; i++) {
                if ((x->loads[i].slot & PRESORT_SORTED_LOAD) != 0)
                    continue;
                assert_true(before == GNN_NODE_NONE || x->loads[i].row > before);
                before = x->loads[i].row;
            }
        }
    }
}

static void run_epochs(struct fixture *f, const char *const *options, struct outcome *out)
{
    struct train_run run;
    bool *const used = calloc(NODES, sizeof *used);
    assert_non_null(used);
    *out = (struct outcome){.used = 0};
    init_run(&run, f, options);
    must_run(train_run_open(&run, &f->graph), &run);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        assert_int_equal(run.wrong_values, 0);
        check_direct_loads(&run);
        const struct figures of_epoch = figures_of(&run);
        add_figures(&out->sum, &of_epoch);
        memcpy(out->loss[epoch], run.loss, sizeof out->loss[epoch]);
        out->digest[epoch] = run.trained_digest;
        for (gnn_node v = 0; v < f->graph.dataset.node_count; v++) {
            out->used += run.needed[v] > 0 && !used[v];
            used[v] = used[v] || run.needed[v] > 0;
        }
    }
    const struct figures *const s = &out->sum;
    assert_int_equal(s->direct + s->sorted, s->planned);
    assert_int_equal(s->requested_written, s->written + s->hot_written);
    assert_true(s->hot_rows <= out->used); /* each is packed once at most */
    assert_true(s->hot_read <= s->sweep_bytes);
    assert_true(s->scratch_full > 0 || s->scratch_read == s->written);
    train_run_close(&run);
    free(used);
}

/* ---- the same rows, the same mini-batches, the same losses ---- */

static void test_packing_changes_no_row_and_no_loss(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS("io=buffered", HOT),
        OPTIONS("io=buffered", HOT, "hyperbatch=6", "block=4K"),
        OPTIONS("io=buffered", HOT, "hyperbatch=5", "window=1", "sweep_read=4K"),
        OPTIONS("io=buffered", HOT, "ahead=false", "topology=mapped", "random_read=2K"),
        OPTIONS("io=buffered", "row_memory=1", "hot=run", "hyperbatch=9"),
        OPTIONS("io=buffered", HOT, "list_memory=30K", "write_depth=1", "sweep_depth=1", "depth=1"),
        OPTIONS(HOT, "hyperbatch=7"),
        OPTIONS("row_memory=1", "hot=run"),
    };
    enum { BUFFERED = 6 };
    for (int kind = 0; kind < 4; kind++) {
        struct fixture f;
        struct outcome off, hot;
        fixture_open(&f, .graph = kind / 2 == 0 ? &usual : &straddling, .simulated = kind % 2 == 1);
        run_epochs(&f, OPTIONS("io=buffered", SORTED), &off);
        assert_int_equal(off.sum.hot_places, 0);
        assert_int_equal(off.sum.hot_written, 0);
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            if (c >= BUFFERED && !f.direct)
                continue;
            run_epochs(&f, cases[c], &hot);
            assert_memory_equal(hot.loss, off.loss, sizeof off.loss);
            assert_memory_equal(hot.digest, off.digest, sizeof off.digest);
            assert_int_equal(hot.sum.hot_places, NODES);
            assert_true(hot.sum.hot_rows > 0);
            assert_true(hot.sum.hot_read > 0);
            assert_int_equal(hot.sum.hot_full, 0);
        }
        fixture_close(&f);
    }
}

/* ---- by hand ---- */

/* Where each row lies packed, as it must be, and the requests of an epoch. */
struct model {
    struct train_run *run;
    const struct presort_setup *setup;
    const struct io_log *log;
    uint64_t begin, end;   /* of the epoch in the log */
    uint32_t place[NODES]; /* UINT32_MAX: it is not packed */
    uint32_t places, rows;
    bool sorted[NODES];      /* in this epoch */
    bool held[NODES];        /* in memory when it ends */
    gnn_node in_slot[NODES]; /* GNN_NODE_NONE: none yet */
};

static uint64_t row_bytes_of(const struct model *m)
{
    return m->setup->env->dataset->row_bytes;
}

static bool is_extent(const struct model *m, const struct gnn_file *file)
{
    const struct presort *const s = m->run->state;
    return file == s->scratch[0].file || file == s->scratch[1].file;
}

/* Takes the next read of the features, or of the packed file, or write to it; NULL: there is none. */
static const struct io_request *take(const struct model *m, bool packed, bool write, uint64_t *at)
{
    while (*at < m->end) {
        const struct io_request *const r = io_log_request(m->log, (*at)++);
        if (r->write == write && !is_extent(m, r->file) && (r->file == m->setup->features) == !packed)
            return r;
    }
    return NULL;
}

/* The last place that a read from `first` on goes to: through gaps that cost less than a request, in whole sectors, and
 * no further than its length. */
static uint32_t last_of_read(const struct model *m, const bool *wanted, uint32_t first, uint32_t places, uint64_t align)
{
    const uint64_t row_bytes = row_bytes_of(m), most = m->setup->config->sweep_read;
    const uint64_t begin = first * row_bytes / align * align;
    uint32_t last = first;
    for (uint32_t p = first + 1; p < places; p++) {
        const uint64_t end = gnn_round_up((p + UINT64_C(1)) * row_bytes, align);
        const bool near = (p - last) * row_bytes <= m->setup->sizes.costs.random_bytes ||
                          p * row_bytes / align < gnn_div_up((last + UINT64_C(1)) * row_bytes, align);
        if (!near || end - begin > gnn_max_u64(most, gnn_round_up(row_bytes, PAGE) + UINT64_C(2) * PAGE))
            break;
        if (wanted[p])
            last = p;
    }
    return last;
}

/* Compares the reads of the wanted places with those of the log; returns their bytes. */
static uint64_t expect_reads(const struct model *m, bool packed, const bool *wanted, uint32_t places)
{
    const uint64_t row_bytes = row_bytes_of(m), align = packed ? PAGE : m->setup->align_bytes;
    const uint64_t file_bytes = packed ? UINT64_MAX : gnn_round_down(m->setup->env->dataset->feature_bytes, align);
    uint64_t at = m->begin, sum = 0;
    for (uint32_t p = 0; p < places; p++) {
        if (!wanted[p])
            continue;
        const uint32_t last = last_of_read(m, wanted, p, places, align);
        const uint64_t begin = gnn_round_down(p * row_bytes, align);
        const uint64_t end = gnn_min_u64(gnn_round_up((last + UINT64_C(1)) * row_bytes, align), file_bytes);
        const struct io_request *const r = take(m, packed, false, &at);
        assert_non_null(r);
        assert_int_equal(r->offset_bytes, begin);
        assert_int_equal(r->len_bytes, end - begin);
        sum += r->len_bytes;
        p = last;
    }
    assert_null(take(m, packed, false, &at));
    return sum;
}

/* Whether a row is among those that are packed where it pays: it is swept among the features, and thrown out. */
static bool may_be_packed(const struct model *m, gnn_node v)
{
    return m->sorted[v] && m->place[v] == UINT32_MAX && !m->held[v];
}

/* The cost of a sweep among the features over the rows that are not packed, or over those that will be loaded again. */
static uint64_t cost_of_sweep(const struct model *m, bool again)
{
    const struct presort_costs *const costs = &m->setup->sizes.costs;
    uint64_t cost = 0;
    gnn_node before = GNN_NODE_NONE;
    for (gnn_node v = 0; v < NODES; v++) {
        if (!m->sorted[v] || m->place[v] != UINT32_MAX || (again && m->held[v]))
            continue;
        const uint64_t way = before == GNN_NODE_NONE ? UINT64_MAX : (v - before) * costs->row_bytes;
        cost += gnn_min_u64(way, costs->random_bytes);
        before = v;
    }
    return cost;
}

/* All rows are sorted, so that their loads cost the same whether they are packed or not: it pays where the next sweep
 * costs more than to write the rows and read them packed. */
static bool is_worth_packing(const struct model *m)
{
    uint64_t rows = 0;
    for (gnn_node v = 0; v < NODES; v++)
        rows += may_be_packed(m, v);
    return cost_of_sweep(m, true) > rows * m->setup->sizes.costs.sorted_bytes;
}

/* Notes which rows memory holds when the hyperbatch ends. */
static void follow_slots(struct model *m, const struct presort_hyperbatch *x)
{
    for (uint32_t i = 0; i < x->load_end[x->windows - 1]; i++)
        m->in_slot[x->loads[i].slot & ~PRESORT_SORTED_LOAD] = x->loads[i].row;
    memset(m->held, 0, sizeof m->held);
    for (uint32_t slot = 0; slot < NODES; slot++)
        if (m->in_slot[slot] != GNN_NODE_NONE)
            m->held[m->in_slot[slot]] = true;
}

/* Gives the rows that are packed their places, and finds their writes: one after the other from a
 * page of their own on. Returns their bytes. */
static uint64_t expect_packed(struct model *m)
{
    const uint64_t row_bytes = row_bytes_of(m), base = gnn_round_up(m->places * row_bytes, PAGE);
    uint64_t at = m->begin, next = base, bytes = 0;
    m->places = (uint32_t)gnn_div_up(base, row_bytes);
    for (gnn_node v = 0; v < NODES; v++)
        if (may_be_packed(m, v)) {
            m->place[v] = m->places++;
            m->rows++;
        }
    for (const struct io_request *w = take(m, true, true, &at); w != NULL; w = take(m, true, true, &at)) {
        assert_int_equal(w->offset_bytes, next);
        next += w->len_bytes;
        bytes += w->len_bytes;
    }
    assert_int_equal(next, gnn_round_up(m->places * row_bytes, PAGE));
    return bytes;
}

/* A read of what is packed begins when everything that was written there before has been told. */
static void expect_written_first(const struct model *m)
{
    uint64_t reads = m->begin, told = 0;
    for (uint64_t i = 0; i < m->begin; i++) {
        const struct io_request *const r = io_log_request(m->log, i);
        if (r->write && r->told > told)
            told = r->told;
    }
    for (const struct io_request *r = take(m, true, false, &reads); r != NULL; r = take(m, true, false, &reads))
        assert_true(r->handed_over > told);
}

static void check_epoch(struct model *m, uint64_t epoch)
{
    const struct presort *const s = m->run->state;
    const struct presort_hyperbatch *const x = &s->hyperbatches[epoch % 2];
    bool packed[NODES] = {false}, apart[NODES] = {false};
    m->begin = io_log_count(m->log);
    must_run(train_run_epoch(m->run, epoch), m->run);
    m->end = io_log_count(m->log);
    assert_int_equal(m->run->wrong_values, 0);
    memset(m->sorted, 0, sizeof m->sorted);
    for (uint32_t i = 0; i < x->load_end[x->windows - 1]; i++) {
        assert_true((x->loads[i].slot & PRESORT_SORTED_LOAD) != 0);
        m->sorted[x->loads[i].row] = true;
    }
    follow_slots(m, x);
    uint64_t rows = 0;
    for (gnn_node v = 0; v < NODES; v++) {
        rows += m->sorted[v];
        if (m->sorted[v] && m->place[v] != UINT32_MAX)
            packed[m->place[v]] = true;
        apart[v] = m->sorted[v] && m->place[v] == UINT32_MAX;
    }
    const struct figures f = figures_of(m->run);
    const uint64_t hot_read = expect_reads(m, true, packed, m->places);
    const uint64_t features_read = expect_reads(m, false, apart, NODES);
    expect_written_first(m);
    const uint32_t before = m->rows;
    const bool packs = epoch + 1 < EPOCHS && is_worth_packing(m);
    const uint64_t hot_written = packs ? expect_packed(m) : 0;
    assert_int_equal(f.sweep_rows, rows);
    assert_int_equal(f.hot_read, hot_read);
    assert_in_range(f.sweep_bytes, hot_read + features_read, hot_read + features_read + PAGE); /* the file's odd end */
    assert_int_equal(f.hot_rows, m->rows - before);
    assert_int_equal(f.hot_written, hot_written);
    assert_int_equal(f.requested_written, f.written + hot_written);
}

/* An epoch is one hyperbatch: the first packs all of its rows but those that stay in memory, the second sweeps what it
 * loads of those where they are packed, and only the others among the features, and packs what it throws out of them;
 * the last packs nothing, as nobody would read it. */
static void test_sweeps_are_those_of_the_packed_rows(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS("io=buffered", HOT, "ahead=false", "first=100"),
        OPTIONS("io=buffered", HOT, "ahead=false", "first=100", "block=4K", "sweep_read=16K", "window=2"),
        OPTIONS(HOT, "ahead=false", "first=100"),
        OPTIONS(HOT, "ahead=false", "first=100", "sweep_read=12K", "random_read=2K"),
    };
    enum { BUFFERED = 2 };
    static struct model m;
    for (int kind = 0; kind < 4; kind++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            struct fixture f;
            struct train_run run;
            fixture_open(&f, .graph = kind / 2 == 0 ? &usual : &straddling, .simulated = kind % 2 == 1);
            if (c < BUFFERED || f.direct) {
                struct io_log *const log = io_log_open(f.world);
                init_run(&run, &f, cases[c]);
                must_run(train_run_open(&run, &f.graph), &run);
                m = (struct model){.run = &run, .setup = &((const struct presort *)run.state)->setup, .log = log};
                memset(m.place, 0xff, sizeof m.place);
                memset(m.in_slot, 0xff, sizeof m.in_slot);
                for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                    const uint32_t before = m.rows;
                    check_epoch(&m, epoch);
                    assert_int_equal(m.rows > before, epoch + 1 < EPOCHS); /* two are packed beside each other */
                }
                train_run_close(&run);
                io_log_close(log);
            }
            fixture_close(&f);
        }
}

/* Where rows lie beside each other a packed file would save nothing: none is made. */
static void test_dense_rows_are_not_packed(void **state)
{
    (void)state;
    static const struct train_graph_config dense = {
        .nodes = 900, .mean_degree = 6, .dim = ROW_BYTES / 4, .classes = 5, .train = TRAIN, .seed = 11};
    for (int simulated = 0; simulated < 2; simulated++) {
        struct fixture f;
        struct outcome off, hot;
        fixture_open(&f, .graph = &dense, .simulated = simulated);
        run_epochs(&f, OPTIONS("io=buffered", "row_memory=130K", "classes=sorted"), &off);
        run_epochs(&f, OPTIONS("io=buffered", "row_memory=130K", "classes=sorted", "hot=run", "random_read=900"), &hot);
        assert_int_equal(hot.sum.hot_rows, 0);
        assert_int_equal(hot.sum.hot_written, 0);
        assert_int_equal(hot.sum.written, off.sum.written);
        fixture_close(&f);
    }
}

/* ---- limits ---- */

static struct figures first_epoch(struct fixture *f, const char *const *options)
{
    struct train_run run;
    init_run(&run, f, options);
    must_run(train_run_open(&run, &f->graph), &run);
    must_run(train_run_epoch(&run, 0), &run);
    assert_int_equal(run.wrong_values, 0);
    const struct figures figures = figures_of(&run);
    must_run(train_run_epoch(&run, 1), &run);
    assert_int_equal(run.wrong_values, 0);
    train_run_close(&run);
    return figures;
}

/* The extents come first, and what is left of an epoch's budget is packed, to the page. */
static void test_the_budget_is_kept_to_the_page(void **state)
{
    (void)state;
    for (int simulated = 0; simulated < 2; simulated++) {
        struct fixture f;
        char budget[64];
        fixture_open(&f, .graph = &usual, .simulated = simulated);
        const struct figures off =
            first_epoch(&f, OPTIONS("io=buffered", SORTED, "ahead=false", "first=100", "block=4K"));
        const struct figures all = first_epoch(&f, OPTIONS("io=buffered", HOT, "ahead=false", "first=100", "block=4K"));
        assert_int_equal(all.hot_written, gnn_round_up(all.hot_rows * ROW_BYTES, PAGE));
        assert_true(all.hot_written > 24 * PAGE);
        for (uint64_t more = 0; more < 24 * PAGE; more += 3 * PAGE + 8) {
            /* Beside the extents every window's last block counts as a whole one. */
            (void)snprintf(budget, sizeof budget, "write_budget=%llu",
                           (unsigned long long)(off.written + BATCHES * PAGE + more) / BATCHES * BATCHES);
            const struct figures b =
                first_epoch(&f, OPTIONS("io=buffered", HOT, "ahead=false", "first=100", "block=4K", budget));
            const uint64_t bytes = strtoull(strchr(budget, '=') + 1, NULL, 10);
            const uint64_t left = gnn_round_down(bytes - b.written, PAGE);
            assert_int_equal(b.written, off.written);
            assert_int_equal(b.hot_written, gnn_min_u64(left, all.hot_written));
            assert_int_equal(b.hot_rows, gnn_min_u64(left / ROW_BYTES, all.hot_rows));
            assert_true(b.requested_written <= bytes);
        }
        fixture_close(&f);
    }
}

/* A third of scratch_limit, which hyperbatches that are small enough leave to their own extents. */
static void test_the_disk_limit_is_kept_to_the_page(void **state)
{
    (void)state;
    for (int simulated = 0; simulated < 2; simulated++) {
        struct fixture f;
        struct outcome all, o;
        char limit[64];
        fixture_open(&f, .graph = &usual, .simulated = simulated);
        run_epochs(&f, OPTIONS("io=buffered", HOT, "block=4K", "hyperbatch=4"), &all);
        for (uint64_t less = 0; less < 3 * PAGE; less += PAGE / 2) {
            (void)snprintf(limit, sizeof limit, "scratch_limit=%llu",
                           (unsigned long long)(3 * (all.sum.hot_written - less)));
            run_epochs(&f, OPTIONS("io=buffered", HOT, "block=4K", "hyperbatch=4", limit), &o);
            assert_int_equal(o.sum.direct, 0);
            assert_int_equal(o.sum.written, all.sum.written);
            assert_int_equal(o.sum.hot_written, gnn_round_down(all.sum.hot_written - less, PAGE));
        }
        fixture_close(&f);
    }
}

/* ---- what fails ---- */

/* Once a write of a ring was refused, no other is handed over to it. */
static void check_silence(const struct io_log *log)
{
    for (uint64_t i = 0; i < io_log_count(log); i++) {
        const struct io_request *const refused = io_log_request(log, i);
        if (!refused->write || refused->result != -ENOSPC)
            continue;
        for (uint64_t k = i + 1; k < io_log_count(log); k++) {
            const struct io_request *const r = io_log_request(log, k);
            assert_false(r->write && r->ring == refused->ring && r->handed_over > refused->told);
        }
    }
}

/* Whatever is written when the disk is full, training goes on with the right rows. Where it was a packed row that did
 * not fit, the sorting goes on, too. */
static void test_a_full_disk_ends_the_packing_alone(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS("io=buffered", HOT, "hyperbatch=12", "staging=100K"),
        OPTIONS("io=buffered", HOT, "hyperbatch=19", "staging=100K"),             /* writes little at last */
        OPTIONS("io=buffered", HOT, "hyperbatch=15", "staging=100K", "block=1M"), /* packs in one write */
    };
    uint32_t packing_alone = 0, sorting_later = 0;
    for (int kind = 0; kind < 6; kind++) {
        const char *const *const options = cases[kind / 2];
        const bool simulated = kind % 2 == 1;
        struct fixture f;
        struct outcome free_of, o;
        fixture_open(&f, .graph = &usual, .simulated = simulated);
        run_epochs(&f, options, &free_of);
        fixture_close(&f);
        const uint64_t all = free_of.sum.requested_written;
        for (uint64_t i = (uint64_t)kind % 2; i < 76; i += 2) { /* each of the 76 in one of the two worlds */
            const uint64_t bytes = i < 48 ? i * all / 48 : all - (i - 47) * 9000;
            fixture_open(
                &f, .graph = &usual, .simulated = simulated,
                .faults = &(struct gnn_fault_plan){.seed = 1, .write_enospc = true, .write_enospc_after_bytes = bytes});
            struct io_log *const log = io_log_open(f.world);
            run_epochs(&f, options, &o);
            check_silence(log);
            io_log_close(log);
            assert_memory_equal(o.loss, free_of.loss, sizeof o.loss);
            assert_true(o.sum.hot_full <= 1);
            assert_true(o.sum.scratch_full <= 1);
            assert_true(o.sum.hot_full + o.sum.scratch_full > 0);
            assert_int_equal(o.sum.scratch_full == 1, o.sum.direct > 0);
            packing_alone += o.sum.hot_full == 1 && o.sum.scratch_full == 0;
            sorting_later += o.sum.scratch_full == 1 && o.sum.hot_read > 0;
            fixture_close(&f);
        }
    }
    assert_true(packing_alone > 0);
    assert_true(sorting_later > 0); /* loads that had been put in the packed rows' order are read where they lie */
}

/* The n-th write or read fails once: the epoch ends with it, and what was packed before is right in the next ones. */
static void test_a_failure_leaves_what_was_packed(void **state)
{
    (void)state;
    uint32_t failed = 0;
    for (int kind = 0; kind < 4; kind++)
        for (uint64_t at = 1; at < 400; at += 1 + at / 3) {
            struct fixture f;
            struct train_run run;
            struct gnn_fault_plan plan = {.seed = 1};
            *(kind / 2 == 0 ? &plan.write_eio_at : &plan.read_eio_at) = at;
            fixture_open(&f, .graph = &usual, .simulated = kind % 2 == 1, .faults = &plan);
            init_run(&run, &f, OPTIONS("io=buffered", HOT, "hyperbatch=8", "block=8K", "sweep_read=8K"));
            const enum gnn_status opened = train_run_open(&run, &f.graph); /* reads neighbour lists */
            assert_true(opened == GNN_OK || opened == GNN_EIO);
            for (uint64_t epoch = 0; opened == GNN_OK && epoch < EPOCHS; epoch++) {
                struct gnn_fault_counts before, now;
                gnn_world_faulty_counts(f.world, &before);
                const enum gnn_status status = train_run_epoch(&run, epoch);
                gnn_world_faulty_counts(f.world, &now);
                const bool injected = now.eio + now.writes_eio > before.eio + before.writes_eio;
                assert_int_equal(status, injected ? GNN_EIO : GNN_OK);
                assert_int_equal(run.wrong_values, 0);
                failed += injected;
            }
            train_run_close(&run);
            fixture_close(&f);
        }
    assert_true(failed > 20);
}

static void test_short_and_late_requests_change_nothing(void **state)
{
    (void)state;
    static const struct gnn_fault_plan plans[] = {
        {.seed = 3, .write_short_probability = 0.4, .read_short_probability = 0.3},
        {.seed = 4, .write_again_probability = 0.4, .read_again_probability = 0.3, .shuffle = true},
        {.seed = 5, .write_slow_probability = 0.3, .read_slow_probability = 0.2, .slow_ns = 300000, .shuffle = true},
    };
    for (int simulated = 0; simulated < 2; simulated++) {
        struct outcome plain, o;
        struct fixture f;
        const char *const *const options = OPTIONS("io=buffered", HOT, "hyperbatch=8", "block=8K");
        fixture_open(&f, .graph = &usual, .simulated = simulated);
        run_epochs(&f, options, &plain);
        fixture_close(&f);
        for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
            fixture_open(&f, .graph = &usual, .simulated = simulated, .faults = &plans[p]);
            run_epochs(&f, options, &o);
            assert_memory_equal(&o, &plain, sizeof o);
            fixture_close(&f);
        }
    }
}

/* ---- memory ---- */

static const struct gnn_plan_part *part_of(const struct gnn_memory_plan *plan)
{
    for (uint32_t i = 0; i < plan->part_count; i++)
        if (strcmp(plan->parts[i].name, "packed rows") == 0)
            return &plan->parts[i];
    return NULL;
}

static uint64_t least_cap(struct fixture *f, const char *const *options)
{
    struct train_run run;
    struct gnn_memory_plan plan;
    init_run(&run, f, options);
    run.cap_bytes = 1;
    assert_int_equal(train_run_plan(&run, &f->graph, &plan), GNN_ECAP);
    free(run.config);
    return gnn_plan_bytes(&plan);
}

/* The index comes out of what the cap leaves: the least cap is what it is without, there nothing is packed, and the
 * record says so. */
static void test_a_cap_that_is_too_tight_turns_it_off(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    const uint64_t least = least_cap(&f, OPTIONS("io=buffered", "hot=run"));
    uint32_t with = 0, without = 0;
    assert_int_equal(least, least_cap(&f, OPTIONS("io=buffered")));
    for (uint64_t cap = least; cap < 40 * least; cap += least / 2) {
        struct train_run run;
        struct gnn_memory_plan plan;
        init_run(&run, &f, OPTIONS("io=buffered", "hot=run"));
        run.cap_bytes = cap;
        must_run(train_run_plan(&run, &f.graph, &plan), &run);
        assert_true(gnn_plan_bytes(&plan) <= cap);
        const uint64_t bytes = part_of(&plan)->bytes;
        assert_true(bytes <= cap / 16);
        with += bytes > 0;
        without += bytes == 0;
        free(run.config);
    }
    assert_true(with > 3 && without > 3);
    struct train_run run;
    init_run(&run, &f, OPTIONS("io=buffered", "hot=run"));
    run.cap_bytes = least;
    must_run(train_run_open(&run, &f.graph), &run);
    must_run(train_run_epoch(&run, 0), &run);
    assert_int_equal(train_run_extra(&run, "hot_places"), 0);
    assert_int_equal(train_run_extra(&run, "hot_write_bytes"), 0);
    train_run_close(&run);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packing_changes_no_row_and_no_loss),
        cmocka_unit_test(test_sweeps_are_those_of_the_packed_rows),
        cmocka_unit_test(test_dense_rows_are_not_packed),
        cmocka_unit_test(test_the_budget_is_kept_to_the_page),
        cmocka_unit_test(test_the_disk_limit_is_kept_to_the_page),
        cmocka_unit_test(test_a_full_disk_ends_the_packing_alone),
        cmocka_unit_test(test_a_failure_leaves_what_was_packed),
        cmocka_unit_test(test_short_and_late_requests_change_nothing),
        cmocka_unit_test(test_a_cap_that_is_too_tight_turns_it_off),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
