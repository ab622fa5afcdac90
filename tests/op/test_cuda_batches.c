/* SPDX-License-Identifier: MIT */
/* What the CUDA back-end does beside arithmetic, run on the host by the test suite's launcher: lists staged ahead,
 * lanes and events, rows out of pinned memory, placement maps, steps captured as graphs; and every one of them failing.
 * What a launcher cannot show stands in tests/support/cuda_host.h. */
#include "harness/model/model.h"
#include "harness/tensor/cuda/backend.h"
#include "harness/world/measured/measured.h"
#include "tests/support/must.h"
#include "tests/support/toy_block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

extern uint64_t cuda_host_capacity_bytes; /* tests/support/cuda_host.cc */
extern uint32_t cuda_host_refuse_pin, cuda_host_refuse_event, cuda_host_fail_upload, cuda_host_fail_capture;
extern uint64_t cuda_host_order, cuda_host_capture_ns, cuda_host_launch_ns, cuda_host_clock_ns;
extern bool cuda_host_no_capture;
extern const char *cuda_host_doze_in;
extern uint64_t cuda_host_doze_ns;

/* Orders of the streams (enum cuda_host_order): all late, one kind of stream ahead of the other, and by seeds. */
enum { ORDER_LATE, ORDER_LANES_EARLY, ORDER_LANES_LATE, ORDERS = 7 };
enum { LAYERS = 3, SEEDS = 24, DIM = 12, CLASSES = 7, BATCHES = 4 };

/* ---- mini-batches to train ---- */

/* Lists of every block apart; those that blocks share; copies of these apart. */
enum toy_lists { TOY_APART, TOY_SHARED, TOY_SHARED_APART };

struct toy_input {
    enum toy_lists lists;
    struct gnn_batch_view batch;
    gnn_real *x;
    int32_t *labels;
};

static struct toy_input toy_input_of(uint64_t number, enum toy_lists lists)
{
    struct gnn_rng rng = gnn_rng_at(100 + number);
    const struct toy_degree degree = {0, 4};
    struct toy_input in = {.lists = lists};
    in.batch = lists == TOY_APART ? toy_batch(&rng, LAYERS, SEEDS, 1, degree)
                                  : toy_shared_batch(&rng, LAYERS, SEEDS, 1, degree);
    if (lists == TOY_SHARED_APART) {
        struct gnn_batch_view shared = in.batch;
        in.batch = toy_batch_apart(&shared);
        toy_block_free(&shared.blocks[0]);
    }
    in.batch.batch = number;
    in.x = toy_reals(&rng, (uint64_t)in.batch.node_count * DIM, -1, 1);
    in.labels = toy_labels(&rng, SEEDS, CLASSES);
    return in;
}

static struct toy_input toy_input(uint64_t number)
{
    return toy_input_of(number, TOY_APART);
}

static void toy_input_free(struct toy_input *in)
{
    free(in->x);
    free(in->labels);
    if (in->lists == TOY_SHARED)
        toy_block_free(&in->batch.blocks[0]);
    else
        toy_batch_free(&in->batch);
}

/* Lets the device read the features where they are, as a kernel of a real one must be let. */
static enum gnn_status toy_input_pin(struct gnn_tensor *t, const struct toy_input *in, struct gnn_err *err)
{
    return t->ops->pin(t, "x", in->x, in->batch.node_count * (uint64_t)DIM * sizeof *in->x, err);
}

static struct gnn_model_config config_of(enum gnn_model_kind kind)
{
    return (struct gnn_model_config){.kind = kind,
                                     .layers = LAYERS,
                                     .in_dim = DIM,
                                     .hidden = 32,
                                     .heads = 4,
                                     .classes = CLASSES,
                                     .dropout = 0.5,
                                     .lr = 0.003,
                                     .gat_width_total = true,
                                     .seed = 5};
}

static struct gnn_tensor *open_cuda(struct toy_memory *memory, bool graphs)
{
    const struct gnn_tensor_env env = {
        .threads = 1, .graphs = graphs, .alloc = toy_alloc, .free = toy_free, .ctx = memory};
    struct gnn_tensor *t = NULL;
    assert_int_equal(gnn_tensor_cuda.open(&env, NULL, &t, NULL), GNN_OK);
    return t;
}

struct outcome {
    double loss[BATCHES];
    struct gnn_device_times times;
    uint64_t late_allocations; /* in the last quarter of the steps */
};

/* Trains the batches over and over; staged: batch k + 1 goes up before batch k trains. */
static struct outcome train_lists(enum gnn_model_kind kind, bool graphs, bool staged, uint32_t rounds,
                                  enum toy_lists lists_kind)
{
    const struct gnn_model_config config = config_of(kind);
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, graphs);
    struct gnn_resident *room[2];
    struct toy_input in[BATCHES];
    struct gnn_model *model = NULL;
    struct outcome out = {.late_allocations = 0};
    uint64_t before = 0;
    assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
    for (uint32_t i = 0; i < BATCHES; i++)
        in[i] = toy_input_of(i, lists_kind);
    for (uint32_t i = 0; i < BATCHES; i++)
        assert_int_equal(toy_input_pin(t, &in[i], NULL), GNN_OK);
    for (uint32_t r = 0; r < 2; r++)
        assert_int_equal(t->ops->resident_open(t, &room[r], NULL), GNN_OK);
    const uint32_t steps = rounds * BATCHES;
    for (uint32_t k = 0; k <= steps; k++) {
        const struct toy_input *next = &in[k % BATCHES], *now = &in[(k + BATCHES - 1) % BATCHES];
        const struct gnn_batch_lists lists = {.view = &next->batch, .labels = next->labels};
        struct gnn_step_result step;
        if (staged && k < steps)
            assert_int_equal(t->ops->resident_stage(t, room[k % 2], 1, &lists, NULL), GNN_OK);
        if (k == steps - steps / 4)
            before = gnn_cuda_allocations(t);
        if (k == 0)
            continue;
        if (staged)
            t->ops->resident_use(t, room[(k - 1) % 2]);
        assert_int_equal(gnn_model_train(model, &now->batch, now->x, now->labels, &step, NULL), GNN_OK);
        t->ops->resident_use(t, NULL);
        out.loss[(k - 1) % BATCHES] = step.loss;
    }
    out.late_allocations = gnn_cuda_allocations(t) - before;
    t->ops->take_times(t, &out.times);
    for (uint32_t r = 0; r < 2; r++)
        t->ops->resident_close(t, room[r]);
    for (uint32_t i = 0; i < BATCHES; i++)
        t->ops->unpin(t, in[i].x);
    for (uint32_t i = 0; i < BATCHES; i++)
        toy_input_free(&in[i]);
    gnn_model_close(model);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
    return out;
}

static struct outcome train(enum gnn_model_kind kind, bool graphs, bool staged, uint32_t rounds)
{
    return train_lists(kind, graphs, staged, rounds, TOY_APART);
}

static void test_staging_and_graphs_change_no_bit(void **state)
{
    (void)state;
    for (enum gnn_model_kind kind = GNN_MODEL_SAGE; kind < GNN_MODEL_KINDS; kind++) {
        const struct outcome plain = train(kind, false, false, 2);
        for (int graphs = 0; graphs < 2; graphs++)
            for (int staged = 0; staged < 2; staged++) {
                const struct outcome other = train(kind, graphs == 1, staged == 1, 2);
                assert_memory_equal(plain.loss, other.loss, sizeof plain.loss);
                assert_int_equal(other.times.graph_steps > 0, graphs);
            }
    }
}

static void test_no_order_of_the_streams_changes_a_bit(void **state)
{
    (void)state;
    const uint64_t order = cuda_host_order;
    const struct outcome plain = train(GNN_MODEL_SAGE, false, false, 2);
    for (cuda_host_order = 0; cuda_host_order < ORDERS; cuda_host_order++)
        for (int graphs = 0; graphs < 2; graphs++) {
            const struct outcome other = train(GNN_MODEL_SAGE, graphs == 1, true, 2);
            assert_memory_equal(plain.loss, other.loss, sizeof plain.loss);
        }
    cuda_host_order = order;
}

/* Blocks whose lists are the head of another's (MariusGNN): brought once, staged or not, and the same to every op. */
static void test_shared_lists_change_no_bit(void **state)
{
    (void)state;
    for (enum gnn_model_kind kind = GNN_MODEL_SAGE; kind < GNN_MODEL_KINDS; kind++) {
        const struct outcome apart = train_lists(kind, false, false, 1, TOY_SHARED_APART);
        for (int staged = 0; staged < 2; staged++) {
            const struct outcome shared = train_lists(kind, staged == 1, staged == 1, 1, TOY_SHARED);
            assert_memory_equal(apart.loss, shared.loss, sizeof apart.loss);
            assert_true(shared.times.uploaded_bytes < apart.times.uploaded_bytes);
        }
    }
}

/* Steps of one shape are launched as one graph, which is built once; nothing is allocated any more. */
static void test_a_step_is_one_graph(void **state)
{
    (void)state;
    const struct outcome out = train(GNN_MODEL_SAGE, true, true, 4);
    assert_int_equal(out.late_allocations, 0);
    assert_true(out.times.graph_steps >= 4 * BATCHES - 2); /* the first one allocates as it goes */
    assert_true(out.times.graph_builds <= 8);
    cuda_host_no_capture = true; /* a device that cannot: kernel by kernel */
    const struct outcome plain = train(GNN_MODEL_SAGE, true, true, 4);
    cuda_host_no_capture = false;
    assert_int_equal(plain.times.graph_steps, 0);
    assert_memory_equal(plain.loss, out.loss, sizeof out.loss);
}

/* Steps of two shapes that take turns: each shape's graph is built once and kept. */
static void test_every_shape_keeps_its_graph(void **state)
{
    enum { ROUNDS = 24 };
    (void)state;
    const struct gnn_model_config config = config_of(GNN_MODEL_SAGE);
    const struct toy_degree none = {0, 0};
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, true), *plain = open_cuda(&memory, false);
    struct gnn_model *model = NULL, *expected = NULL;
    struct toy_input in[2] = {toy_input(1), toy_input(1)};
    struct gnn_rng rng = gnn_rng_at(3);
    toy_batch_free(&in[1].batch);
    in[1].batch = toy_batch(&rng, LAYERS, SEEDS, 1, none); /* without an edge: nothing to sort, nothing to sum */
    assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
    assert_int_equal(gnn_model_open(plain, &config, &expected, NULL), GNN_OK);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(toy_input_pin(t, &in[i], NULL), GNN_OK);
        assert_int_equal(toy_input_pin(plain, &in[i], NULL), GNN_OK);
    }
    for (uint32_t k = 0; k < 2 * ROUNDS; k++) {
        const struct toy_input *now = &in[k % 2];
        struct gnn_step_result step, want;
        struct gnn_device_times times;
        assert_int_equal(gnn_model_train(model, &now->batch, now->x, now->labels, &step, NULL), GNN_OK);
        assert_int_equal(gnn_model_train(expected, &now->batch, now->x, now->labels, &want, NULL), GNN_OK);
        assert_true(step.loss == want.loss);
        t->ops->take_times(t, &times);
        assert_true(k < 4 || (times.graph_steps == 1 && times.graph_builds == 0)); /* the first ones allocate */
    }
    gnn_model_close(model);
    gnn_model_close(expected);
    for (uint32_t i = 0; i < 2; i++) {
        t->ops->unpin(t, in[i].x);
        plain->ops->unpin(plain, in[i].x);
    }
    toy_input_free(&in[0]);
    toy_input_free(&in[1]);
    t->ops->close(t);
    plain->ops->close(plain);
    assert_int_equal(memory.current_bytes, 0);
}

/* One copy brings a batch's lists. */
static void one_copy_of(enum toy_lists kind)
{
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, false);
    struct toy_input in = toy_input_of(1, kind);
    struct gnn_resident *room = NULL;
    struct gnn_device_times times;
    const struct gnn_batch_lists lists = {.view = &in.batch, .labels = in.labels};
    assert_int_equal(t->ops->resident_open(t, &room, NULL), GNN_OK);
    t->ops->take_times(t, &times);
    cuda_host_fail_upload = 2; /* there is no second one */
    assert_int_equal(t->ops->resident_stage(t, room, 0, &lists, NULL), GNN_OK);
    assert_int_equal(cuda_host_fail_upload, 1);
    cuda_host_fail_upload = 0;
    t->ops->resident_use(t, room);
    t->ops->take_times(t, &times);
    uint64_t bytes = SEEDS * sizeof *in.labels;
    for (uint32_t k = 0; k < (kind == TOY_SHARED ? 1 : LAYERS); k++)
        bytes += (in.batch.blocks[k].dst_count + UINT64_C(1) + in.batch.blocks[k].edge_count) * sizeof(uint32_t);
    assert_true(times.uploaded_bytes >= bytes && times.uploaded_bytes <= bytes + (2 * LAYERS + 1) * 16);
    t->ops->resident_use(t, NULL);
    t->ops->resident_close(t, room);
    toy_input_free(&in);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
}

static void test_one_copy_a_batch(void **state)
{
    (void)state;
    one_copy_of(TOY_APART);
    one_copy_of(TOY_SHARED);
}

/* ---- rows out of pinned memory ---- */

enum { ROWS = 2053, SLOTS = 2200 };

/* `count` rows of `width` bytes, given to a lane in as many launches as expected. */
static void move_rows(uint32_t count, uint64_t width, uint64_t launches)
{
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, false);
    void *host = NULL, *slots = NULL;
    uint32_t to[ROWS], from[ROWS];
    assert_int_equal(toy_alloc(&memory, "rows", count * width, &host, NULL), GNN_OK);
    for (uint64_t k = 0; k < count * width; k++)
        ((unsigned char *)host)[k] = (unsigned char)gnn_splitmix64_at(9, k);
    assert_int_equal(t->ops->pin(t, "rows", host, count * width, NULL), GNN_OK);
    assert_int_equal(t->ops->alloc(t, "slots", SLOTS * width, &slots, NULL), GNN_OK);
    for (uint32_t i = 0; i < count; i++) {
        from[i] = (i * 7) % count;
        to[i] = SLOTS - 1 - i;
    }
    t->ops->upload_rows(t, 2, slots, to, host, from, count, width);
    struct gnn_device_times times;
    t->ops->take_times(t, &times);
    assert_int_equal(times.launches, launches);
    assert_int_equal(times.uploaded_bytes, count * width);
    memset(to, 0xff, sizeof to); /* the lists were read */
    t->ops->upload_wait(t, 2);
    for (uint32_t i = 0; i < count; i++)
        assert_memory_equal((char *)slots + (SLOTS - 1 - i) * width, (char *)host + from[i] * width, width);
    t->ops->unpin(t, host);
    toy_free(&memory, host);
    t->ops->free(t, slots);
    t->ops->close(t);
}

static void test_rows_move_in_few_launches(void **state)
{
    (void)state;
    static const uint64_t widths[] = {16, 48, 100, 512}; /* bytes: whole words of 16, and not */
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        move_rows(128, widths[w], 1);
        move_rows(129, widths[w], 1);
        move_rows(ROWS, widths[w], 2);
    }
}

/* Two lists that do not fit the staging memory together: the second waits in the midst of the work, which goes on. */
static void test_a_wait_for_staging_ends_no_busy_time(void **state)
{
    enum { LIST = GNN_TENSOR_STAGING_BYTES / sizeof(uint32_t) * 3 / 4 };
    (void)state;
    static const gnn_real numbers[] = {4, 5};
    const uint64_t order = cuda_host_order;
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, false);
    gnn_real *table = NULL, *out[2], last[2];
    uint32_t *rows = calloc(LIST, sizeof *rows);
    struct gnn_device_times times;
    assert_non_null(rows);
    cuda_host_order = ORDER_LATE;
    assert_int_equal(t->ops->alloc(t, "table", sizeof numbers, (void **)&table, NULL), GNN_OK);
    t->ops->upload(t, table, numbers, sizeof numbers);
    for (uint32_t k = 0; k < 2; k++)
        assert_int_equal(t->ops->alloc(t, "out", LIST * sizeof *rows, (void **)&out[k], NULL), GNN_OK);
    t->ops->take_times(t, &times);
    for (uint32_t k = 0; k < 2; k++) {
        rows[LIST - 1] = k; /* the list before was read */
        t->ops->gather_rows(t, out[k], table, 1, rows, LIST, 1);
    }
    t->ops->synchronize(t);
    t->ops->take_times(t, &times);
    assert_int_equal(times.launches, 2);
    assert_int_equal(times.kernel_ns, times.launches);
    assert_int_equal(times.held_ns, 2 * LIST * sizeof *rows + times.launches);
    t->ops->synchronize(t); /* with nothing before it */
    t->ops->take_times(t, &times);
    assert_int_equal(times.kernel_ns + times.held_ns, 0);
    for (uint32_t k = 0; k < 2; k++)
        t->ops->download(t, &last[k], out[k] + LIST - 1, sizeof last[k]);
    assert_memory_equal(last, numbers, sizeof last);
    t->ops->fill(t, out[0], LIST, -1);
    t->ops->synchronize(t);
    for (uint32_t k = 0; k < 2; k++) /* now both fit */
        t->ops->gather_rows(t, out[k], table, 1, rows, LIST, 1);
    assert_true(out[0][LIST - 1] == -1); /* the launcher's memory: no call has waited, so nothing has run */
    t->ops->synchronize(t);
    t->ops->free(t, table);
    t->ops->free(t, out[0]);
    t->ops->free(t, out[1]);
    t->ops->close(t);
    cuda_host_order = order;
    free(rows);
    assert_int_equal(memory.current_bytes, 0);
}

static void test_gathers_over_a_placement_map(void **state)
{
    (void)state;
    static const uint32_t widths[] = {1, 5, 32, 100};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        const uint32_t cols = widths[w], stride = cols + 4;
        struct toy_memory memory = {0};
        struct gnn_tensor *t = open_cuda(&memory, false), *ref = toy_tensor_open(&gnn_tensor_ref, &memory, 1);
        struct gnn_rng rng = gnn_rng_at(cols);
        gnn_real *host = toy_reals(&rng, ROWS * (uint64_t)stride, -1, 1), *cache = NULL, *out = NULL, want[ROWS * 100];
        uint32_t *place = NULL, rows[ROWS], host_count = 0;
        assert_int_equal(t->ops->alloc(t, "cache", ROWS * (uint64_t)cols * sizeof *cache, (void **)&cache, NULL), 0);
        assert_int_equal(t->ops->alloc(t, "out", ROWS * (uint64_t)cols * sizeof *out, (void **)&out, NULL), 0);
        assert_int_equal(t->ops->alloc(t, "map", ROWS * sizeof *place, (void **)&place, NULL), GNN_OK);
        assert_int_equal(t->ops->pin(t, "host", host, ROWS * (uint64_t)stride * sizeof *host, NULL), GNN_OK);
        t->ops->fill(t, cache, ROWS * (uint64_t)cols, 3);
        t->ops->fill(t, out, ROWS * (uint64_t)cols, 7);
        for (uint32_t i = 0; i < ROWS; i++) {
            const uint32_t kind = (uint32_t)gnn_rng_below(&rng, 3), row = (uint32_t)gnn_rng_below(&rng, ROWS);
            place[i] = kind == 0 ? GNN_PLACE_NONE : gnn_place(kind - 1, row);
            rows[i] = (uint32_t)gnn_rng_below(&rng, ROWS);
            host_count += kind == 2;
        }
        struct gnn_placement placement = {.table = {{cache, cols}, {host, stride}}, .place = place};
        for (uint32_t k = 0; k < ROWS * cols; k++)
            want[k] = 7;
        ref->ops->gather_placed(ref, want, &placement, rows, ROWS, cols, host_count);
        struct gnn_device_times times;
        t->ops->take_times(t, &times);
        t->ops->gather_placed(t, out, &placement, rows, ROWS, cols, host_count);
        t->ops->synchronize(t);
        t->ops->take_times(t, &times); /* the list goes up; of the kernel what lies on the host crosses */
        assert_int_equal(times.uploaded_bytes, sizeof rows + host_count * (uint64_t)cols * sizeof *out);
        assert_int_equal(times.copy_ns, sizeof rows + times.launches);
        assert_memory_equal(out, want, ROWS * (uint64_t)cols * sizeof *out);
        t->ops->gather_rows(t, out, host, stride, rows, ROWS, cols); /* of the host's memory, where it lies */
        ref->ops->gather_rows(ref, want, host, stride, rows, ROWS, cols);
        t->ops->synchronize(t);
        assert_memory_equal(out, want, ROWS * (uint64_t)cols * sizeof *out);
        t->ops->unpin(t, host);
        free(host);
        t->ops->free(t, cache);
        t->ops->free(t, out);
        t->ops->free(t, place);
        t->ops->close(t);
        ref->ops->close(ref);
    }
}

/* A lane starts after the stream and the stream after a lane, and no thread of the host waits. */
static void order_lanes_and_the_stream(void)
{
    enum { COUNT = 64 };
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, false);
    struct gnn_event *event = NULL;
    gnn_real host[COUNT], *there = NULL, *sum = NULL;
    assert_int_equal(t->ops->event_open(t, &event, NULL), GNN_OK);
    assert_int_equal(t->ops->alloc(t, "there", sizeof host, (void **)&there, NULL), GNN_OK);
    assert_int_equal(t->ops->alloc(t, "sum", sizeof host, (void **)&sum, NULL), GNN_OK);
    assert_int_equal(t->ops->pin(t, "host", host, sizeof host, NULL), GNN_OK);
    for (uint32_t k = 0; k < COUNT; k++)
        host[k] = (gnn_real)k;
    t->ops->fill(t, sum, COUNT, 1);
    t->ops->upload_async(t, 5, there, host, sizeof host);
    t->ops->event_record(t, event, 5);
    t->ops->event_await(t, event, GNN_LANE_STREAM);
    t->ops->add(t, sum, there, COUNT); /* NaN, did it not wait */
    t->ops->event_record(t, event, GNN_LANE_STREAM);
    t->ops->event_await(t, event, 6);
    t->ops->upload_async(t, 6, there, host + COUNT / 2, sizeof host / 2); /* after the sum was read from there */
    t->ops->event_wait(t, event);
    for (uint32_t k = 0; k < COUNT / 2; k++) /* the first copy was made, the second was not waited for */
        host[k] = -1;
    t->ops->upload_wait(t, 6);
    for (uint32_t k = COUNT / 2; k < COUNT; k++)
        host[k] = -1;
    t->ops->fill(t, there, COUNT / 4, 0);
    t->ops->add(t, sum, there, COUNT / 2);
    t->ops->synchronize(t);
    for (uint32_t k = 0; k < COUNT; k++)
        assert_true(sum[k] == (gnn_real)(k < COUNT / 4 || k >= COUNT / 2 ? k + 1 : 2 * k + COUNT / 2 + 1));
    t->ops->event_close(t, event);
    t->ops->event_close(t, NULL);
    t->ops->unpin(t, host);
    t->ops->free(t, there);
    t->ops->free(t, sum);
    t->ops->close(t);
}

static void test_events_order_lanes_and_the_stream(void **state)
{
    (void)state;
    const uint64_t order = cuda_host_order;
    for (cuda_host_order = 0; cuda_host_order < ORDERS; cuda_host_order++)
        order_lanes_and_the_stream();
    cuda_host_order = order;
}

/* ---- memory while work is queued ---- */

enum { LIST_ROWS = 200 };

/* Gathers rows of a table in a staged room, without waiting; the rows are number, number, ... */
static void use_rows(struct gnn_tensor *t, struct gnn_resident *room, gnn_real *out, const gnn_real *table,
                     const uint32_t *rows)
{
    t->ops->resident_use(t, room);
    t->ops->gather_rows(t, out, table, 1, rows, LIST_ROWS, 1);
    t->ops->resident_use(t, NULL);
}

/* A room is staged again while a gather may still read its lists, a lane's halves are filled again while their copies
 * may be under way, and memory is given out again while a kernel or a copy may use it. */
static void reuse_all_memory(void)
{
    enum { ROOMS = 3, USES = 3 * ROOMS };
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, false);
    struct gnn_resident *rooms[ROOMS];
    const struct gnn_batch_view view = {.node_count = LIST_ROWS};
    gnn_real numbers[USES], *table = NULL, *out[USES], got[LIST_ROWS];
    uint32_t rows[USES][LIST_ROWS];
    for (uint32_t r = 0; r < ROOMS; r++)
        assert_int_equal(t->ops->resident_open(t, &rooms[r], NULL), GNN_OK);
    assert_int_equal(t->ops->alloc(t, "table", sizeof numbers, (void **)&table, NULL), GNN_OK);
    for (uint32_t k = 0; k < USES; k++) {
        numbers[k] = (gnn_real)(k + 1);
        for (uint32_t i = 0; i < LIST_ROWS; i++)
            rows[k][i] = k;
        assert_int_equal(t->ops->alloc(t, "out", sizeof got, (void **)&out[k], NULL), GNN_OK);
    }
    t->ops->upload(t, table, numbers, sizeof numbers);
    for (uint32_t k = 0; k < USES; k++) {
        const struct gnn_batch_lists lists = {.view = &view, .rows = rows[k]};
        assert_int_equal(t->ops->resident_stage(t, rooms[k % ROOMS], 4, &lists, NULL), GNN_OK);
        if (k % ROOMS == ROOMS - 1) /* three copies out of two halves, then three uses */
            for (uint32_t u = k + 1 - ROOMS; u <= k; u++)
                use_rows(t, rooms[u % ROOMS], out[u], table, rows[u]);
    }
    void *again = NULL;
    t->ops->free(t, table);
    assert_int_equal(t->ops->alloc(t, "table", sizeof numbers, &again, NULL), GNN_OK);
    assert_ptr_not_equal(again, table); /* which gathers still read */
    t->ops->synchronize(t);
    t->ops->free(t, again);
    assert_int_equal(t->ops->alloc(t, "table", sizeof numbers, &again, NULL), GNN_OK);
    assert_ptr_equal(again, table);
    for (uint32_t k = 0; k < USES; k++) {
        t->ops->download(t, got, out[k], sizeof got);
        for (uint32_t i = 0; i < LIST_ROWS; i++)
            assert_true(got[i] == numbers[k]);
        t->ops->free(t, out[k]);
    }
    t->ops->free(t, again);
    for (uint32_t r = 0; r < ROOMS; r++)
        t->ops->resident_close(t, rooms[r]);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
}

/* An op on a block is work without a gather before it, as in an evaluation. */
static void test_an_op_on_a_block_is_work(void **state)
{
    (void)state;
    const uint64_t order = cuda_host_order;
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, false);
    const struct toy_input in = toy_input(1);
    const struct gnn_block *const block = &in.batch.blocks[0];
    const uint64_t x_bytes = block->src_count * sizeof(gnn_real), out_bytes = block->dst_count * sizeof(gnn_real);
    gnn_real *x = NULL, *out = NULL;
    void *again = NULL;
    cuda_host_order = ORDER_LATE;
    assert_int_equal(t->ops->alloc(t, "x", x_bytes, (void **)&x, NULL), GNN_OK);
    assert_int_equal(t->ops->alloc(t, "out", out_bytes, (void **)&out, NULL), GNN_OK);
    t->ops->synchronize(t);
    t->ops->segment_reduce(t, GNN_REDUCE_SUM, (struct gnn_mat){out, block->dst_count, 1}, block,
                           (struct gnn_mat){x, block->src_count, 1}, NULL);
    t->ops->free(t, x);
    assert_int_equal(t->ops->alloc(t, "x", x_bytes, &again, NULL), GNN_OK);
    assert_ptr_not_equal(again, x);
    t->ops->synchronize(t);
    t->ops->free(t, again);
    t->ops->free(t, out);
    struct toy_input own = in;
    toy_input_free(&own);
    t->ops->close(t);
    cuda_host_order = order;
}

static void test_memory_is_not_reused_while_it_is_read(void **state)
{
    (void)state;
    const uint64_t order = cuda_host_order;
    for (cuda_host_order = 0; cuda_host_order < ORDERS; cuda_host_order++)
        reuse_all_memory();
    cuda_host_order = order;
}

/* Memory of a room that was staged and closed without a use goes to its next owner after the copy. */
static void close_unused_room(void)
{
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, false);
    struct gnn_resident *room = NULL;
    const struct gnn_batch_view view = {.node_count = LIST_ROWS};
    uint32_t rows[LIST_ROWS], got[LIST_ROWS];
    const struct gnn_batch_lists lists = {.view = &view, .rows = rows};
    void *next = NULL;
    memset(rows, 0x55, sizeof rows);
    assert_int_equal(t->ops->resident_open(t, &room, NULL), GNN_OK);
    assert_int_equal(t->ops->resident_stage(t, room, 4, &lists, NULL), GNN_OK);
    t->ops->resident_close(t, room);
    assert_int_equal(t->ops->alloc(t, "next", sizeof rows, &next, NULL), GNN_OK);
    memset(rows, 0x33, sizeof rows);
    t->ops->upload(t, next, rows, sizeof rows);
    t->ops->upload_wait(t, 4);
    t->ops->download(t, got, next, sizeof got);
    assert_memory_equal(got, rows, sizeof got);
    t->ops->free(t, next);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
}

/* A back-end closes while a copy and a kernel are queued. */
static void close_with_work(void)
{
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, false);
    struct gnn_resident *room = NULL;
    const struct gnn_batch_view view = {.node_count = LIST_ROWS};
    uint32_t rows[LIST_ROWS] = {0};
    const struct gnn_batch_lists lists = {.view = &view, .rows = rows};
    gnn_real *numbers = NULL;
    assert_int_equal(t->ops->alloc(t, "numbers", sizeof rows + 64, (void **)&numbers, NULL), GNN_OK);
    assert_int_equal(t->ops->resident_open(t, &room, NULL), GNN_OK);
    assert_int_equal(t->ops->resident_stage(t, room, 4, &lists, NULL), GNN_OK);
    t->ops->gather_rows(t, numbers + 1, numbers, 1, rows, LIST_ROWS, 1); /* its list is copied out of pinned memory */
    t->ops->resident_close(t, room);
    t->ops->free(t, numbers);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
}

static void test_closing_waits(void **state)
{
    (void)state;
    const uint64_t order = cuda_host_order;
    for (cuda_host_order = 0; cuda_host_order < ORDERS; cuda_host_order++) {
        close_unused_room();
        close_with_work();
    }
    cuda_host_order = order;
}

/* ---- recorded steps ---- */

/* Copies that wait, and scratch that grows, in the midst of a recorded step: what was recorded runs before. */
static void test_a_recording_is_left_to_wait(void **state)
{
    (void)state;
    const uint64_t order = cuda_host_order;
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, true);
    const struct gnn_batch_view view = {.layer_count = 0};
    const struct gnn_batch_lists lists = {.view = &view};
    gnn_real *numbers = NULL, got[16], want[16];
    cuda_host_order = ORDER_LATE;
    assert_int_equal(t->ops->alloc(t, "numbers", sizeof got, (void **)&numbers, NULL), GNN_OK);
    for (int step = 0; step < 4; step++) { /* the first is not recorded */
        t->ops->step_begin(t, &lists);
        t->ops->fill(t, numbers, 16, (gnn_real)step);
        if (step == 2)
            t->ops->download(t, got, numbers, sizeof got);
        if (step == 3)
            t->ops->upload(t, numbers, want, sizeof want);
        assert_true(t->ops->step_end(t));
        t->ops->synchronize(t);
        if (step < 3)
            t->ops->download(t, got, numbers, sizeof got);
        for (int k = 0; k < 16; k++) {
            want[k] = (gnn_real)(7 + k);
            assert_true(step == 3 || got[k] == (gnn_real)step);
        }
    }
    t->ops->download(t, got, numbers, sizeof got);
    assert_memory_equal(got, want, sizeof got);
    t->ops->free(t, numbers);
    t->ops->close(t);
    cuda_host_order = order;
}

/* ---- times of steps ---- */

static uint64_t launcher_now_ns(void *ctx)
{
    (void)ctx;
    return cuda_host_clock_ns;
}

struct steps {
    struct toy_memory memory;
    struct gnn_tensor *t;
    struct gnn_model *model;
    struct toy_input in;
};

/* Trains one mini-batch `count` times. Writes what the last step took. */
static void steps_run(struct steps *s, uint32_t count, struct gnn_device_times *last)
{
    for (uint32_t k = 0; k < count; k++) {
        struct gnn_step_result step;
        s->t->ops->take_times(s->t, last);
        assert_int_equal(gnn_model_train(s->model, &s->in.batch, s->in.x, s->in.labels, &step, NULL), GNN_OK);
    }
    s->t->ops->take_times(s->t, last);
}

static void steps_open(struct steps *s, bool clock, bool graphs)
{
    const struct gnn_tensor_env env = {.threads = 1,
                                       .graphs = graphs,
                                       .alloc = toy_alloc,
                                       .free = toy_free,
                                       .now_ns = clock ? launcher_now_ns : NULL,
                                       .ctx = &s->memory};
    const struct gnn_model_config config = config_of(GNN_MODEL_SAGE);
    *s = (struct steps){.in = toy_input(1)};
    assert_int_equal(gnn_tensor_cuda.open(&env, NULL, &s->t, NULL), GNN_OK);
    assert_int_equal(gnn_model_open(s->t, &config, &s->model, NULL), GNN_OK);
    assert_int_equal(toy_input_pin(s->t, &s->in, NULL), GNN_OK);
}

static void steps_close(struct steps *s)
{
    s->t->ops->unpin(s->t, s->in.x);
    toy_input_free(&s->in);
    gnn_model_close(s->model);
    s->t->ops->close(s->t);
    assert_int_equal(s->memory.current_bytes, 0);
}

/* The time to record a step, and to give the lists to the driver, is not the device's. */
static void test_a_slow_recording_is_no_kernel_time(void **state)
{
    (void)state;
    const uint64_t order = cuda_host_order, capture_ns = cuda_host_capture_ns;
    struct gnn_device_times plain, graph, slow;
    struct steps s;
    cuda_host_order = ORDER_LATE;
    steps_open(&s, false, false);
    steps_run(&s, 4, &plain);
    steps_close(&s);
    steps_open(&s, false, true);
    steps_run(&s, 4, &graph);
    cuda_host_capture_ns = 50000;
    steps_run(&s, 1, &slow);
    steps_close(&s);
    cuda_host_capture_ns = capture_ns;
    cuda_host_order = order;
    assert_int_equal(graph.graph_steps, 1);
    assert_int_equal(graph.graph_builds, 0);
    assert_true(plain.kernel_ns >= plain.launches);
    assert_int_equal(graph.kernel_ns, plain.kernel_ns);
    assert_int_equal(slow.kernel_ns, plain.kernel_ns);
    assert_int_equal(plain.held_ns, plain.kernel_ns + plain.uploaded_bytes);
    assert_true(slow.held_ns >= graph.held_ns + UINT64_C(49000) * slow.launches);
}

/* A recording that fails has run nothing: the step is repeated op by op, as are all later ones. */
static void test_a_failed_recording_is_repeated(void **state)
{
    enum { STEPS = 6 };
    (void)state;
    double plain[STEPS];
    for (uint32_t nth = 0; nth < STEPS; nth++) {
        struct gnn_device_times times;
        struct gnn_step_result step;
        struct steps s;
        uint64_t graphs = 0;
        steps_open(&s, false, nth > 0);
        cuda_host_fail_capture = nth;
        for (uint32_t k = 0; k < STEPS; k++) {
            assert_int_equal(gnn_model_train(s.model, &s.in.batch, s.in.x, s.in.labels, &step, NULL), GNN_OK);
            plain[k] = nth == 0 ? step.loss : plain[k];
            assert_true(step.loss == plain[k]);
            s.t->ops->take_times(s.t, &times);
            graphs += times.graph_steps;
        }
        assert_int_equal(cuda_host_fail_capture, 0);
        assert_int_equal(graphs, nth > 0 ? nth - 1 : 0);
        steps_close(&s);
    }
}

/* A mini-batch waits between its gather and its step: no time of the device. */
static void test_the_gap_after_a_gather_is_no_kernel_time(void **state)
{
    (void)state;
    const uint64_t launch_ns = cuda_host_launch_ns;
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, false);
    struct gnn_device_times times;
    const uint32_t rows[LIST_ROWS] = {0};
    gnn_real *numbers = NULL;
    assert_int_equal(t->ops->alloc(t, "numbers", sizeof rows + 64, (void **)&numbers, NULL), GNN_OK);
    t->ops->take_times(t, &times);
    cuda_host_launch_ns = 5000;
    t->ops->gather_rows(t, numbers + 1, numbers, 1, rows, LIST_ROWS, 1);
    t->ops->fill(t, numbers, LIST_ROWS, 1);
    t->ops->synchronize(t);
    cuda_host_launch_ns = launch_ns;
    t->ops->take_times(t, &times);
    assert_int_equal(times.kernel_ns, 2);
    assert_true(times.held_ns > 5000);
    t->ops->free(t, numbers);
    t->ops->close(t);
}

/* ---- graphs or plain launches ---- */

static void choose(uint64_t capture_ns, uint64_t launch_ns, bool graphs)
{
    enum { DECIDED = 1 + 8 + 16 };
    const uint64_t before[] = {cuda_host_capture_ns, cuda_host_launch_ns};
    struct gnn_device_times times;
    struct steps s;
    cuda_host_capture_ns = capture_ns;
    cuda_host_launch_ns = launch_ns;
    steps_open(&s, true, true);
    steps_run(&s, DECIDED - 1, &times);
    assert_int_equal(times.plain_step_ns + times.graph_step_ns, 0);
    steps_run(&s, 1, &times);
    assert_int_equal(times.graph_steps, 0); /* the last one that was timed */
    assert_true(times.plain_step_ns > 0);
    assert_int_equal(times.graph_step_ns <= times.plain_step_ns, graphs);
    steps_run(&s, 3, &times);
    assert_int_equal(times.graph_steps, graphs);
    steps_close(&s);
    cuda_host_capture_ns = before[0];
    cuda_host_launch_ns = before[1];
}

static void test_the_faster_way_is_chosen(void **state)
{
    (void)state;
    choose(100, 3000, true);
    choose(3000, 100, false);
}

/* Steps whose shapes never come again need a graph each; five of them are enough. */
static void test_many_shapes_end_the_graphs(void **state)
{
    (void)state;
    enum { STEPS = 12 };
    struct toy_memory memory = {0};
    struct gnn_tensor *t = open_cuda(&memory, true);
    const struct gnn_batch_view view = {.layer_count = 0};
    const struct gnn_batch_lists lists = {.view = &view};
    struct gnn_device_times times;
    gnn_real *numbers = NULL;
    assert_int_equal(t->ops->alloc(t, "numbers", 64, (void **)&numbers, NULL), GNN_OK);
    for (int step = 0; step < STEPS; step++) {
        t->ops->step_begin(t, &lists);
        for (int k = 0; k <= step; k++)
            t->ops->fill(t, numbers, 16, 1);
        assert_true(t->ops->step_end(t));
        t->ops->synchronize(t);
    }
    t->ops->take_times(t, &times);
    assert_int_equal(times.graph_steps, 5);
    assert_int_equal(times.graph_builds, 5);
    t->ops->free(t, numbers);
    t->ops->close(t);
}

/* ---- times of copies ---- */

enum { LANES = 4, PIECE = 100, LARGE = 5000 };

struct timed {
    struct toy_memory memory;
    struct gnn_tensor *t;
    struct gnn_event *event;
    unsigned char host[LARGE];
    void *there;
};

static void timed_open(struct timed *x)
{
    *x = (struct timed){.t = NULL};
    x->t = open_cuda(&x->memory, false);
    assert_int_equal(x->t->ops->event_open(x->t, &x->event, NULL), GNN_OK);
    assert_int_equal(x->t->ops->alloc(x->t, "there", LARGE, &x->there, NULL), GNN_OK);
    assert_int_equal(x->t->ops->pin(x->t, "host", x->host, LARGE, NULL), GNN_OK);
}

static void timed_close(struct timed *x)
{
    x->t->ops->event_close(x->t, x->event);
    x->t->ops->unpin(x->t, x->host);
    x->t->ops->free(x->t, x->there);
    x->t->ops->close(x->t);
}

static void copy_in(struct timed *x, uint32_t lane, uint64_t bytes)
{
    x->t->ops->upload_async(x->t, lane, x->there, x->host, bytes);
}

static uint64_t taken_ns(struct timed *x)
{
    struct gnn_device_times times;
    x->t->ops->take_times(x->t, &times);
    return times.copy_ns;
}

/* The launcher's time is a nanosecond a byte copied, by whichever lane. */
static void test_copies_are_timed_without_the_gaps_between(void **state)
{
    (void)state;
    struct timed x;
    const uint64_t order = cuda_host_order;
    cuda_host_order = ORDER_LATE;
    timed_open(&x);
    for (int k = 0; k < 3; k++) /* one after the other, the lane never idle */
        copy_in(&x, 1, PIECE);
    assert_int_equal(taken_ns(&x), 0); /* under way */
    x.t->ops->upload_wait(x.t, 1);
    assert_int_equal(taken_ns(&x), 3 * PIECE);
    assert_int_equal(taken_ns(&x), 0); /* since the last call */
    for (int k = 0; k < 2; k++) {      /* lane 1 stands idle while lane 2 copies */
        copy_in(&x, 1, PIECE);
        x.t->ops->upload_wait(x.t, 1);
        copy_in(&x, 2, LARGE);
        x.t->ops->upload_wait(x.t, 2);
    }
    assert_int_equal(taken_ns(&x), 2 * (PIECE + LARGE));
    copy_in(&x, 2, LARGE); /* lane 1 waits for lane 2, between two copies that nobody has seen pass */
    x.t->ops->event_record(x.t, x.event, 2);
    copy_in(&x, 1, PIECE);
    x.t->ops->event_await(x.t, x.event, 1);
    copy_in(&x, 1, PIECE);
    x.t->ops->upload_wait(x.t, 1);
    assert_int_equal(taken_ns(&x), 2 * PIECE + LARGE);
    timed_close(&x);
    cuda_host_order = order;
}

/* More spans than are kept, none of which had passed when the next one began: the time of the later ones is left out,
 * and no call waits. Spans after these are timed again. */
static void test_more_spans_than_are_kept(void **state)
{
    enum { SPANS = 200, KEPT = 128 };
    (void)state;
    struct timed x;
    const uint64_t order = cuda_host_order;
    cuda_host_order = ORDER_LATE;
    timed_open(&x);
    x.t->ops->event_record(x.t, x.event, GNN_LANE_STREAM);
    for (int k = 0; k < SPANS; k++) {
        copy_in(&x, 3, PIECE);
        x.t->ops->event_await(x.t, x.event, 3);
    }
    x.t->ops->upload_wait(x.t, 3);
    assert_int_equal(taken_ns(&x), KEPT * PIECE);
    copy_in(&x, 3, LARGE);
    x.t->ops->upload_wait(x.t, 3);
    assert_int_equal(taken_ns(&x), LARGE);
    timed_close(&x);
    cuda_host_order = order;
}

/* Copies that the computing thread waits for, either way, and kernels that read the host's memory. */
static void test_copies_of_the_stream_are_timed(void **state)
{
    (void)state;
    struct timed x;
    const uint32_t row[] = {0};
    timed_open(&x);
    x.t->ops->upload(x.t, x.there, x.host, LARGE);
    assert_int_equal(taken_ns(&x), LARGE);
    x.t->ops->download(x.t, x.host, x.there, PIECE);
    assert_int_equal(taken_ns(&x), PIECE);
    x.t->ops->copy(x.t, x.there, (gnn_real *)x.there + PIECE, PIECE); /* on the device */
    assert_int_equal(taken_ns(&x), 0);
    x.t->ops->upload_rows(x.t, 0, x.there, row, x.host, row, 1, PIECE);
    x.t->ops->upload_wait(x.t, 0);
    assert_int_equal(taken_ns(&x), 1); /* a launch */
    timed_close(&x);
}

/* ---- calls that sleep ---- */

enum { DOZE_NS = 30 * 1000 * 1000 };

struct clocked {
    struct toy_memory memory; /* first: toy_alloc takes the whole for it */
    struct gnn_world *world;
};

static uint64_t clocked_now_ns(void *ctx)
{
    return gnn_now_ns(((struct clocked *)ctx)->world);
}

static void clocked_waited(void *ctx, uint64_t ns)
{
    gnn_add_wait(((struct clocked *)ctx)->world, GNN_WAIT_COMPUTE, ns);
}

static int64_t clocked_asleep_ns(void *ctx)
{
    struct gnn_time_split split;
    gnn_thread_split(((struct clocked *)ctx)->world, &split);
    return gnn_split_unnamed_ns(&split);
}

/* Every call that may sleep; the model has trained before, so that its step is a graph. */
static void call_all(struct gnn_tensor *t, struct gnn_model *model, const struct toy_input *in)
{
    static gnn_real host[1024];
    const struct gnn_batch_lists lists = {.view = &in->batch, .labels = in->labels};
    struct gnn_resident *room = NULL;
    struct gnn_event *event = NULL;
    struct gnn_device_times times;
    struct gnn_step_result step;
    void *there = NULL;
    assert_int_equal(t->ops->alloc(t, "there", 777216, &there, NULL), GNN_OK); /* of no size that lies there */
    assert_int_equal(t->ops->pin(t, "host", host, sizeof host, NULL), GNN_OK);
    assert_int_equal(t->ops->event_open(t, &event, NULL), GNN_OK);
    assert_int_equal(t->ops->resident_open(t, &room, NULL), GNN_OK);
    assert_int_equal(t->ops->resident_stage(t, room, 1, &lists, NULL), GNN_OK);
    t->ops->upload_async(t, 2, there, host, sizeof host);
    t->ops->event_record(t, event, 2);
    t->ops->event_wait(t, event);
    t->ops->upload_wait(t, 2);
    t->ops->resident_use(t, room); /* the stream awaits its copy */
    assert_int_equal(gnn_model_train(model, &in->batch, in->x, in->labels, &step, NULL), GNN_OK);
    t->ops->resident_use(t, NULL);
    t->ops->upload(t, there, host, sizeof host);
    t->ops->download(t, host, there, sizeof host);
    t->ops->take_times(t, &times);
    t->ops->resident_close(t, room);
    t->ops->event_close(t, event);
    t->ops->unpin(t, host);
    t->ops->free(t, there);
}

/* What a driver's call sleeps is a wait for the device, whichever call it is, and none of it is work. */
static void test_a_call_that_sleeps_is_a_wait(void **state)
{
    static const char *const calls[] = {"alloc",           "pin",        "unpin",  "event open", "event record",
                                        "event await",     "event wait", "upload", "download",   "copy in a lane",
                                        "wait for a lane", "launch",     "graph",  "times",      "synchronize"};
    const struct gnn_model_config config = config_of(GNN_MODEL_SAGE);
    (void)state;
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        struct clocked clocked = {.world = NULL};
        struct gnn_err err = {0};
        must(gnn_world_measured_open(NULL, &clocked.world, &err), &err);
        const struct gnn_tensor_env env = {.threads = 1,
                                           .graphs = true,
                                           .alloc = toy_alloc,
                                           .free = toy_free,
                                           .now_ns = clocked_now_ns,
                                           .waited = clocked_waited,
                                           .asleep_ns = clocked_asleep_ns,
                                           .ctx = &clocked};
        struct gnn_tensor *t = NULL;
        struct gnn_model *model = NULL;
        struct toy_input in = toy_input(1);
        struct gnn_step_result step;
        struct gnn_time_split before, after;
        must(gnn_tensor_cuda.open(&env, NULL, &t, &err), &err);
        must(gnn_model_open(t, &config, &model, &err), &err);
        must(toy_input_pin(t, &in, &err), &err);
        for (int k = 0; k < 2; k++)
            must(gnn_model_train(model, &in.batch, in.x, in.labels, &step, &err), &err);
        cuda_host_doze_in = calls[c];
        cuda_host_doze_ns = DOZE_NS;
        gnn_thread_split(clocked.world, &before);
        call_all(t, model, &in);
        gnn_thread_split(clocked.world, &after);
        assert_null(cuda_host_doze_in);
        const uint64_t waited_ns = after.wait_ns[GNN_WAIT_COMPUTE] - before.wait_ns[GNN_WAIT_COMPUTE];
        const int64_t unnamed_ns = gnn_split_unnamed_ns(&after) - gnn_split_unnamed_ns(&before);
        const bool told = before.queued_ns != GNN_UNKNOWN; /* else calls that may compute, too, are not looked at */
        if ((told && waited_ns < DOZE_NS / 3 * 2) || unnamed_ns > DOZE_NS / 3)
            fail_msg("%s slept 30 ms: %.1f ms are waits, %.1f ms are nothing", calls[c], (double)waited_ns * 1e-6,
                     (double)unnamed_ns * 1e-6);
        t->ops->unpin(t, in.x);
        toy_input_free(&in);
        gnn_model_close(model);
        t->ops->close(t);
        gnn_world_measured_close(clocked.world);
    }
}

/* ---- failures ---- */

enum { WHAT_MEMORY, WHAT_HOST_MEMORY, WHAT_PIN, WHAT_EVENT, WHAT_COPY, WHATS };

static void arm(int what, uint32_t nth, struct toy_memory *memory)
{
    cuda_host_capacity_bytes = what == WHAT_MEMORY ? nth * UINT64_C(4096) : UINT64_MAX;
    memory->fail_after = what == WHAT_HOST_MEMORY ? nth : 0;
    cuda_host_refuse_pin = what == WHAT_PIN ? nth : 0;
    cuda_host_refuse_event = what == WHAT_EVENT ? nth : 0;
    cuda_host_fail_upload = what == WHAT_COPY ? nth : 0;
}

/* Opens, stages and trains two batches; the first failure. Everything is closed whatever happened. */
static enum gnn_status two_batches(struct toy_memory *memory, struct gnn_err *err)
{
    const struct gnn_tensor_env env = {
        .threads = 1, .graphs = true, .alloc = toy_alloc, .free = toy_free, .ctx = memory};
    const struct gnn_model_config config = config_of(GNN_MODEL_GAT);
    struct gnn_tensor *t = NULL;
    struct gnn_model *model = NULL;
    struct gnn_resident *room = NULL;
    enum gnn_status status = gnn_tensor_cuda.open(&env, NULL, &t, err);
    if (status != GNN_OK)
        return status;
    status = gnn_model_open(t, &config, &model, err);
    GNN_NEXT(status, t->ops->resident_open(t, &room, err));
    for (uint64_t k = 0; k < 2 && status == GNN_OK; k++) {
        struct toy_input in = toy_input(k);
        const struct gnn_batch_lists lists = {.view = &in.batch, .labels = in.labels};
        struct gnn_step_result step;
        GNN_NEXT(status, toy_input_pin(t, &in, err));
        const bool pinned = status == GNN_OK;
        GNN_NEXT(status, t->ops->resident_stage(t, room, 0, &lists, err));
        if (status == GNN_OK) {
            t->ops->resident_use(t, room);
            status = gnn_model_train(model, &in.batch, in.x, in.labels, &step, err);
            t->ops->resident_use(t, NULL);
        }
        t->ops->unpin(t, pinned ? in.x : NULL);
        toy_input_free(&in);
    }
    t->ops->upload_wait(t, 0);
    t->ops->resident_close(t, room);
    gnn_model_close(model);
    t->ops->close(t); /* the launcher fails the test when anything of the device is left */
    return status;
}

static void test_every_failure_is_a_result_and_leaks_nothing(void **state)
{
    (void)state;
    static const enum gnn_status expected[WHATS] = {GNN_EGPU, GNN_ENOMEM, GNN_ENOMEM, GNN_EGPU, GNN_EIO};
    for (int what = 0; what < WHATS; what++) {
        uint32_t failed = 0, nth = 0;
        enum gnn_status status;
        do {
            struct toy_memory memory = {0};
            struct gnn_err err = {0};
            nth = what == WHAT_MEMORY && nth >= 4 ? nth + nth / 4 : nth + 1;
            arm(what, nth, &memory);
            status = two_batches(&memory, &err);
            assert_true(status == GNN_OK || (status == expected[what] && err.status == status));
            assert_int_equal(memory.current_bytes, 0);
            failed += status != GNN_OK;
        } while (status != GNN_OK);
        arm(-1, 0, &(struct toy_memory){0});
        print_message("failure %d: %u places\n", what, failed);
        assert_true(failed >= 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_staging_and_graphs_change_no_bit),
        cmocka_unit_test(test_no_order_of_the_streams_changes_a_bit),
        cmocka_unit_test(test_shared_lists_change_no_bit),
        cmocka_unit_test(test_a_step_is_one_graph),
        cmocka_unit_test(test_every_shape_keeps_its_graph),
        cmocka_unit_test(test_one_copy_a_batch),
        cmocka_unit_test(test_rows_move_in_few_launches),
        cmocka_unit_test(test_a_wait_for_staging_ends_no_busy_time),
        cmocka_unit_test(test_gathers_over_a_placement_map),
        cmocka_unit_test(test_events_order_lanes_and_the_stream),
        cmocka_unit_test(test_memory_is_not_reused_while_it_is_read),
        cmocka_unit_test(test_an_op_on_a_block_is_work),
        cmocka_unit_test(test_closing_waits),
        cmocka_unit_test(test_a_recording_is_left_to_wait),
        cmocka_unit_test(test_a_failed_recording_is_repeated),
        cmocka_unit_test(test_a_slow_recording_is_no_kernel_time),
        cmocka_unit_test(test_the_gap_after_a_gather_is_no_kernel_time),
        cmocka_unit_test(test_the_faster_way_is_chosen),
        cmocka_unit_test(test_many_shapes_end_the_graphs),
        cmocka_unit_test(test_copies_are_timed_without_the_gaps_between),
        cmocka_unit_test(test_more_spans_than_are_kept),
        cmocka_unit_test(test_copies_of_the_stream_are_timed),
        cmocka_unit_test(test_a_call_that_sleeps_is_a_wait),
        cmocka_unit_test(test_every_failure_is_a_result_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
