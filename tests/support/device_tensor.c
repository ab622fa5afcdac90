/* SPDX-License-Identifier: MIT */
#include "tests/support/device_tensor.h"

#include "harness/tensor/gat_rows.h"
#include "harness/tensor/ref/link.h"
#include "harness/tensor/ref/ref.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LANES = GNN_LANES_MAX, LANE_COPIES = 65536, PINS = 64 };

/* Two halves of address space: what is handed out, without access; and the bytes behind it. */
#define HALF_BYTES (UINT64_C(1) << 30)

struct copy {
    void *dst;
    const void *src;
    uint64_t bytes;
};

struct pin {
    const unsigned char *host; /* NULL: free */
    uint64_t bytes;
};

/* A step's results, which come back with the next synchronize. */
struct result {
    double *loss_to, loss;
    uint32_t *correct_to, correct;
    double *link_loss_to, link_loss; /* of links; added */
};

struct device {
    struct gnn_tensor base;
    unsigned char *arena; /* (2 * HALF_BYTES) */
    _Atomic uint64_t used_bytes, lane_copies;
    struct gnn_tensor host; /* what the reference's functions are given; they look at nothing of it */
    pthread_mutex_t mutex;  /* of what follows */
    struct {
        struct copy *copies;  /* (LANE_COPIES), a ring */
        uint64_t count, made; /* given, and landed */
    } lanes[LANES];
    struct pin pins[PINS];
    const struct gnn_resident *_Atomic in_use; /* the trainer's; who stages asks whether it is their room */
    struct result result;
    struct device_tensor_counts counts;
};

/* A lane and how many of its copies had been given; a point of the stream has passed when it is recorded. */
struct gnn_event {
    uint32_t lane;
    uint64_t count;
};

/* A mini-batch's lists as they were when they were staged. */
struct gnn_resident {
    struct gnn_batch_view view; /* arrays of its own */
    const struct gnn_batch_view *host;
    const int32_t *host_labels;
    const uint32_t *host_rows;
    int32_t *labels;
    uint32_t *rows;
};

static struct device *device_of(struct gnn_tensor *t)
{
    return (struct device *)t;
}

static bool on_device(const struct device *d, const void *ptr)
{
    const unsigned char *at = ptr;
    return at >= d->arena && at < d->arena + HALF_BYTES;
}

/* The bytes behind a device pointer; NULL stays NULL. */
static void *bytes_of(struct gnn_tensor *t, const void *ptr)
{
    struct device *d = device_of(t);
    if (ptr == NULL)
        return NULL;
    assert(on_device(d, ptr)); /* else: a missed upload */
    return d->arena + HALF_BYTES + ((const unsigned char *)ptr - d->arena);
}

static struct gnn_mat mat_of(struct gnn_tensor *t, struct gnn_mat m)
{
    m.data = bytes_of(t, m.data);
    return m;
}

static enum gnn_status device_open(const struct gnn_tensor_env *env, const struct gnn_profile *profile,
                                   struct gnn_tensor **out, struct gnn_err *err)
{
    (void)env;
    (void)profile;
    (void)err;
    struct device *d = calloc(1, sizeof *d);
    assert(d != NULL);
    d->base = (struct gnn_tensor){.ops = &device_tensor, .host_memory = false};
    const int mutex_error = pthread_mutex_init(&d->mutex, NULL);
    assert(mutex_error == 0);
    (void)mutex_error;
    d->arena = mmap(NULL, 2 * HALF_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert(d->arena != MAP_FAILED);
    const int error = mprotect(d->arena + HALF_BYTES, HALF_BYTES, PROT_READ | PROT_WRITE);
    assert(error == 0);
    (void)error;
    *out = &d->base;
    return GNN_OK;
}

static void device_close(struct gnn_tensor *t)
{
    struct device *d = device_of(t);
    for (uint32_t l = 0; l < LANES; l++) {
        assert(d->lanes[l].count == d->lanes[l].made); /* nobody waited for these */
        free(d->lanes[l].copies);
    }
    for (uint32_t i = 0; i < PINS; i++)
        assert(d->pins[i].host == NULL); /* still registered */
    assert(d->counts.open_events == 0 && d->counts.open_residents == 0);
    (void)pthread_mutex_destroy(&d->mutex);
    (void)munmap(d->arena, 2 * HALF_BYTES);
    free(d);
}

/* Memory is not given out twice; what was not written reads as NaN. */
static enum gnn_status device_alloc(struct gnn_tensor *t, const char *name, uint64_t bytes, void **out,
                                    struct gnn_err *err)
{
    struct device *d = device_of(t);
    const uint64_t rounded = gnn_round_up(bytes, 64);
    const uint64_t at = atomic_fetch_add(&d->used_bytes, rounded);
    if (at + rounded > HALF_BYTES)
        return gnn_fail(err, GNN_EGPU, "%s: the test's device is full", name);
    *out = d->arena + at;
    memset(bytes_of(t, *out), 0xff, bytes);
    return GNN_OK;
}

static void device_free(struct gnn_tensor *t, void *ptr)
{
    assert(ptr == NULL || on_device(device_of(t), ptr));
    (void)t;
    (void)ptr;
}

const void *device_tensor_look(const struct gnn_tensor *t, const void *device_ptr)
{
    return bytes_of((struct gnn_tensor *)(uintptr_t)t, device_ptr);
}

uint64_t device_tensor_lane_copies(const struct gnn_tensor *t)
{
    return atomic_load(&((const struct device *)t)->lane_copies);
}

/* ---- copies ---- */

static void device_upload(struct gnn_tensor *t, void *dst, const void *host_src, uint64_t bytes)
{
    assert(!on_device(device_of(t), host_src));
    memcpy(bytes_of(t, dst), host_src, bytes);
}

static void device_download(struct gnn_tensor *t, void *host_dst, const void *src, uint64_t bytes)
{
    assert(!on_device(device_of(t), host_dst));
    memcpy(host_dst, bytes_of(t, src), bytes);
}

/* ---- lanes: copies are made when somebody waits ---- */

static bool pinned(const struct device *d, const void *host, uint64_t bytes)
{
    const unsigned char *at = host;
    for (uint32_t i = 0; i < PINS; i++)
        if (d->pins[i].host != NULL && at >= d->pins[i].host && at + bytes <= d->pins[i].host + d->pins[i].bytes)
            return true;
    return false;
}

static void give_copy(struct device *d, uint32_t lane, void *dst, const void *src, uint64_t bytes)
{
    (void)pthread_mutex_lock(&d->mutex);
    assert(lane < LANES && !on_device(d, src));
    assert(pinned(d, src, bytes)); /* a copy in a lane reads registered memory */
    if (d->lanes[lane].copies == NULL)
        d->lanes[lane].copies = calloc(LANE_COPIES, sizeof(struct copy));
    assert(d->lanes[lane].copies != NULL && d->lanes[lane].count - d->lanes[lane].made < LANE_COPIES);
    d->lanes[lane].copies[d->lanes[lane].count++ % LANE_COPIES] = (struct copy){.dst = dst, .src = src, .bytes = bytes};
    d->counts.given_copies++;
    (void)pthread_mutex_unlock(&d->mutex);
}

static void device_upload_async(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    give_copy(device_of(t), lane, bytes_of(t, dst), host_src, bytes);
}

static void device_upload_rows(struct gnn_tensor *t, uint32_t lane, void *table, const uint32_t *to,
                               const void *host_rows, const uint32_t *from, uint32_t count, uint64_t row_bytes)
{
    for (uint32_t i = 0; i < count; i++)
        give_copy(device_of(t), lane, (char *)bytes_of(t, table) + to[i] * row_bytes,
                  (const char *)host_rows + from[i] * row_bytes, row_bytes);
    (void)pthread_mutex_lock(&device_of(t)->mutex);
    device_of(t)->counts.row_launches++;
    (void)pthread_mutex_unlock(&device_of(t)->mutex);
}

/* Makes the lane's first `count` copies; the mutex is held. */
static void make_copies(struct device *d, uint32_t lane, uint64_t count)
{
    for (; d->lanes[lane].made < count; d->lanes[lane].made++) {
        const struct copy *c = &d->lanes[lane].copies[d->lanes[lane].made % LANE_COPIES];
        memcpy(c->dst, c->src, c->bytes);
        atomic_fetch_add(&d->lane_copies, 1);
    }
}

static void device_upload_wait(struct gnn_tensor *t, uint32_t lane)
{
    struct device *d = device_of(t);
    assert(lane < LANES);
    (void)pthread_mutex_lock(&d->mutex);
    make_copies(d, lane, d->lanes[lane].count);
    (void)pthread_mutex_unlock(&d->mutex);
}

static enum gnn_status device_event_open(struct gnn_tensor *t, struct gnn_event **out, struct gnn_err *err)
{
    (void)err;
    *out = calloc(1, sizeof **out);
    assert(*out != NULL);
    (void)pthread_mutex_lock(&device_of(t)->mutex);
    device_of(t)->counts.open_events++;
    (void)pthread_mutex_unlock(&device_of(t)->mutex);
    return GNN_OK;
}

static void device_event_close(struct gnn_tensor *t, struct gnn_event *event)
{
    if (event == NULL)
        return;
    (void)pthread_mutex_lock(&device_of(t)->mutex);
    device_of(t)->counts.open_events--;
    (void)pthread_mutex_unlock(&device_of(t)->mutex);
    free(event);
}

static void device_event_record(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane)
{
    struct device *d = device_of(t);
    (void)pthread_mutex_lock(&d->mutex);
    *event = (struct gnn_event){0};
    if (lane != GNN_LANE_STREAM)
        *event = (struct gnn_event){lane, d->lanes[lane].count};
    (void)pthread_mutex_unlock(&d->mutex);
}

static void device_event_wait(struct gnn_tensor *t, struct gnn_event *event)
{
    struct device *d = device_of(t);
    (void)pthread_mutex_lock(&d->mutex);
    make_copies(d, event->lane, event->count);
    (void)pthread_mutex_unlock(&d->mutex);
}

static void device_event_await(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane)
{
    if (lane == GNN_LANE_STREAM || lane != event->lane) /* within a lane copies are in order anyway */
        device_event_wait(t, event);
}

/* ---- registered memory ---- */

static enum gnn_status device_pin(struct gnn_tensor *t, const char *name, void *host, uint64_t bytes,
                                  struct gnn_err *err)
{
    struct device *d = device_of(t);
    (void)pthread_mutex_lock(&d->mutex);
    const bool refused = d->counts.refuse_pin > 0 && --d->counts.refuse_pin == 0;
    uint32_t i = 0;
    while (i < PINS && d->pins[i].host != NULL)
        i++;
    assert(i < PINS);
    if (!refused)
        d->pins[i] = (struct pin){host, bytes};
    (void)pthread_mutex_unlock(&d->mutex);
    return refused ? gnn_fail(err, GNN_ENOMEM, "%s: the test's device refuses to pin it", name) : GNN_OK;
}

static void device_unpin(struct gnn_tensor *t, void *host)
{
    struct device *d = device_of(t);
    if (host == NULL)
        return;
    (void)pthread_mutex_lock(&d->mutex);
    uint32_t i = 0;
    while (i < PINS && d->pins[i].host != host)
        i++;
    assert(i < PINS); /* was never registered */
    for (uint32_t l = 0; l < LANES; l++)
        for (uint64_t c = d->lanes[l].made; c < d->lanes[l].count; c++) {
            const unsigned char *src = d->lanes[l].copies[c % LANE_COPIES].src;
            assert(src < d->pins[i].host || src >= d->pins[i].host + d->pins[i].bytes); /* a copy still reads it */
        }
    d->pins[i].host = NULL;
    (void)pthread_mutex_unlock(&d->mutex);
}

/* ---- a mini-batch's lists ---- */

static void *copy_of(const void *list, uint64_t bytes)
{
    void *copy = malloc(bytes + 1);
    assert(copy != NULL);
    memcpy(copy, list, bytes);
    return copy;
}

static void forget(struct gnn_resident *room)
{
    for (uint32_t k = 0; k < room->view.layer_count; k++) {
        free((void *)room->view.blocks[k].row_start);
        free((void *)room->view.blocks[k].col);
    }
    free(room->labels);
    free(room->rows);
    *room = (struct gnn_resident){0};
}

static enum gnn_status device_resident_open(struct gnn_tensor *t, struct gnn_resident **out, struct gnn_err *err)
{
    (void)err;
    *out = calloc(1, sizeof **out);
    assert(*out != NULL);
    (void)pthread_mutex_lock(&device_of(t)->mutex);
    device_of(t)->counts.open_residents++;
    (void)pthread_mutex_unlock(&device_of(t)->mutex);
    return GNN_OK;
}

static void device_resident_close(struct gnn_tensor *t, struct gnn_resident *room)
{
    struct device *d = device_of(t);
    if (room == NULL)
        return;
    assert(d->in_use != room);
    forget(room);
    free(room);
    (void)pthread_mutex_lock(&d->mutex);
    d->counts.open_residents--;
    (void)pthread_mutex_unlock(&d->mutex);
}

static enum gnn_status device_resident_stage(struct gnn_tensor *t, struct gnn_resident *room, uint32_t lane,
                                             const struct gnn_batch_lists *lists, struct gnn_err *err)
{
    const struct gnn_batch_view *view = lists->view;
    (void)lane;
    (void)err;
    assert(device_of(t)->in_use != room);
    forget(room);
    room->view = *view;
    for (uint32_t k = 0; k < view->layer_count; k++) {
        struct gnn_block *b = &room->view.blocks[k];
        b->row_start = copy_of(b->row_start, (b->dst_count + UINT64_C(1)) * sizeof *b->row_start);
        b->col = copy_of(b->col, b->edge_count * sizeof *b->col);
    }
    room->host = view;
    room->host_labels = lists->labels;
    room->host_rows = lists->rows;
    if (lists->labels != NULL)
        room->labels = copy_of(lists->labels, view->seed_count * sizeof *lists->labels);
    if (lists->rows != NULL)
        room->rows = copy_of(lists->rows, view->node_count * sizeof *lists->rows);
    (void)pthread_mutex_lock(&device_of(t)->mutex);
    device_of(t)->counts.staged_batches++;
    (void)pthread_mutex_unlock(&device_of(t)->mutex);
    return GNN_OK;
}

/* What was staged is what the host still holds. */
static void check_resident(const struct gnn_resident *room)
{
    assert(room->host->batch == room->view.batch && room->host->epoch == room->view.epoch);
    for (uint32_t k = 0; k < room->view.layer_count; k++) {
        const struct gnn_block *host = &room->host->blocks[k], *own = &room->view.blocks[k];
        assert(host->dst_count == own->dst_count && host->edge_count == own->edge_count);
        assert(memcmp(host->row_start, own->row_start, (own->dst_count + UINT64_C(1)) * sizeof *own->row_start) == 0);
        assert(memcmp(host->col, own->col, own->edge_count * sizeof *own->col) == 0);
    }
    assert(room->labels == NULL ||
           memcmp(room->labels, room->host_labels, room->view.seed_count * sizeof *room->labels) == 0);
    assert(room->rows == NULL || memcmp(room->rows, room->host_rows, room->view.node_count * sizeof *room->rows) == 0);
}

static void device_resident_use(struct gnn_tensor *t, struct gnn_resident *room)
{
    struct device *d = device_of(t);
    assert(room == NULL || d->in_use == NULL);
    if (room != NULL) {
        check_resident(room);
        d->counts.used_batches++;
    } else if (d->in_use != NULL) {
        check_resident(d->in_use);
    }
    d->in_use = room;
}

/* The staged copy of a block that the batch in use holds, else the block. */
static const struct gnn_block *block_of(struct gnn_tensor *t, const struct gnn_block *b)
{
    struct device *d = device_of(t);
    for (uint32_t k = 0; d->in_use != NULL && k < d->in_use->view.layer_count; k++)
        if (d->in_use->host->blocks[k].row_start == b->row_start &&
            d->in_use->host->blocks[k].dst_count == b->dst_count)
            return &d->in_use->view.blocks[k];
    d->counts.unstaged_blocks++;
    return b;
}

void device_tensor_counts(const struct gnn_tensor *t, struct device_tensor_counts *out)
{
    *out = ((const struct device *)t)->counts;
}

void device_tensor_refuse_pin(struct gnn_tensor *t, uint32_t nth)
{
    device_of(t)->counts.refuse_pin = nth;
}

static void device_step_begin(struct gnn_tensor *t, const struct gnn_batch_lists *lists)
{
    assert(!device_of(t)->counts.in_step);
    (void)lists;
    device_of(t)->counts.in_step = true;
}

static bool device_step_end(struct gnn_tensor *t)
{
    assert(device_of(t)->counts.in_step);
    device_of(t)->counts.in_step = false;
    return true;
}

static void device_take_times(struct gnn_tensor *t, struct gnn_device_times *out)
{
    (void)t;
    *out = (struct gnn_device_times){0};
}

static void device_range(struct gnn_tensor *t, const char *name)
{
    (void)t;
    (void)name;
}

static void device_copy(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count)
{
    memcpy(bytes_of(t, dst), bytes_of(t, src), count * sizeof *dst);
}

/* ---- arithmetic: the reference's, on the bytes behind the pointers ---- */

static void device_fill(struct gnn_tensor *t, gnn_real *dst, uint64_t count, gnn_real value)
{
    gnn_ref_fill(&device_of(t)->host, bytes_of(t, dst), count, value);
}

/* What a kernel may read: memory of the device, or registered memory of the host. */
static const void *readable(struct gnn_tensor *t, const void *ptr)
{
    if (on_device(device_of(t), ptr))
        return bytes_of(t, ptr);
    assert(pinned(device_of(t), ptr, 1));
    return ptr;
}

static void device_gather_rows(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                               const uint32_t *rows, uint32_t count, uint32_t cols)
{
    const struct gnn_resident *room = device_of(t)->in_use;
    if (room != NULL && room->host_rows == rows)
        rows = room->rows;
    gnn_ref_gather_rows(&device_of(t)->host, bytes_of(t, out), readable(t, table), row_stride, rows, count, cols);
}

static void device_gather_halves(struct gnn_tensor *t, gnn_real *out, const uint16_t *table, uint64_t row_stride,
                                 const uint32_t *rows, uint32_t count, uint32_t cols)
{
    const struct gnn_resident *room = device_of(t)->in_use;
    if (room != NULL && rows != NULL && room->host_rows == rows)
        rows = room->rows;
    gnn_ref_gather_halves(&device_of(t)->host, bytes_of(t, out), readable(t, table), row_stride, rows, count, cols);
}

static void device_gather_placed(struct gnn_tensor *t, gnn_real *out, const struct gnn_placement *placement,
                                 const uint32_t *rows, uint32_t count, uint32_t cols, uint32_t host_count)
{
    struct gnn_placement behind = *placement;
    for (uint32_t i = 0; i < GNN_PLACE_TABLES; i++)
        behind.table[i].rows = placement->table[i].rows == NULL ? NULL : readable(t, placement->table[i].rows);
    behind.place = bytes_of(t, placement->place);
    gnn_ref_gather_placed(&device_of(t)->host, bytes_of(t, out), &behind, rows, count, cols, host_count);
}

static void device_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a,
                        struct gnn_mat b, gnn_real beta, struct gnn_mat c)
{
    gnn_ref_gemm(&device_of(t)->host, trans_a, trans_b, alpha, mat_of(t, a), mat_of(t, b), beta, mat_of(t, c));
}

static void device_add_bias(struct gnn_tensor *t, struct gnn_mat z, const gnn_real *bias)
{
    gnn_ref_add_bias(&device_of(t)->host, mat_of(t, z), bytes_of(t, bias));
}

static void device_column_sum(struct gnn_tensor *t, gnn_real *out, struct gnn_mat z)
{
    gnn_ref_column_sum(&device_of(t)->host, bytes_of(t, out), mat_of(t, z));
}

static void device_add(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count)
{
    gnn_ref_add(&device_of(t)->host, bytes_of(t, dst), bytes_of(t, src), count);
}

static void device_segment_reduce(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out,
                                  const struct gnn_block *b, struct gnn_mat x, uint32_t *argmax)
{
    gnn_ref_segment_reduce(&device_of(t)->host, kind, mat_of(t, out), block_of(t, b), mat_of(t, x),
                           bytes_of(t, argmax));
}

static void device_segment_reduce_back(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx,
                                       const struct gnn_block *b, struct gnn_mat dout, const uint32_t *argmax)
{
    gnn_ref_segment_reduce_back(&device_of(t)->host, kind, mat_of(t, dx), block_of(t, b), mat_of(t, dout),
                                bytes_of(t, argmax));
}

static void device_gcn_weights(struct gnn_tensor *t, enum gnn_gcn_norm norm, gnn_real *weight, gnn_real *source_sum,
                               const struct gnn_block *b)
{
    gnn_ref_gcn_weights(&device_of(t)->host, norm, bytes_of(t, weight), bytes_of(t, source_sum), block_of(t, b));
}

static void device_spmm(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_block *b, const gnn_real *weight,
                        struct gnn_mat x)
{
    gnn_ref_spmm(&device_of(t)->host, mat_of(t, out), block_of(t, b), bytes_of(t, weight), mat_of(t, x));
}

static void device_spmm_back(struct gnn_tensor *t, struct gnn_mat dx, const struct gnn_block *b, const gnn_real *weight,
                             struct gnn_mat dout)
{
    gnn_ref_spmm_back(&device_of(t)->host, mat_of(t, dx), block_of(t, b), bytes_of(t, weight), mat_of(t, dout));
}

static struct gnn_attention attention_of(struct gnn_tensor *t, const struct gnn_attention *att)
{
    struct gnn_attention behind = *att;
    behind.a_src = bytes_of(t, att->a_src);
    behind.a_dst = bytes_of(t, att->a_dst);
    behind.u = mat_of(t, att->u);
    behind.s = mat_of(t, att->s);
    behind.d = mat_of(t, att->d);
    behind.alpha = bytes_of(t, att->alpha);
    return behind;
}

static void device_gat_scores(struct gnn_tensor *t, const struct gnn_attention *att)
{
    const struct gnn_attention behind = attention_of(t, att);
    gnn_ref_gat_scores(&device_of(t)->host, &behind);
}

static void device_gat_softmax(struct gnn_tensor *t, const struct gnn_attention *att, const struct gnn_block *b)
{
    const struct gnn_attention behind = attention_of(t, att);
    gnn_ref_gat_softmax(&device_of(t)->host, &behind, block_of(t, b));
}

static void device_gat_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                              const struct gnn_block *b)
{
    const struct gnn_attention behind = attention_of(t, att);
    gnn_ref_gat_attend(&device_of(t)->host, mat_of(t, out), &behind, block_of(t, b));
}

static struct gnn_attention_grad attention_grad_of(struct gnn_tensor *t, const struct gnn_attention_grad *grad)
{
    return (struct gnn_attention_grad){
        .du = mat_of(t, grad->du),
        .da_src = bytes_of(t, grad->da_src),
        .da_dst = bytes_of(t, grad->da_dst),
        .ds = mat_of(t, grad->ds),
        .dd = mat_of(t, grad->dd),
        .dalpha = bytes_of(t, grad->dalpha),
    };
}

static void device_gat_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad,
                            const struct gnn_attention *att, const struct gnn_block *b, struct gnn_mat dout)
{
    const struct gnn_attention behind = attention_of(t, att);
    const struct gnn_attention_grad grads = attention_grad_of(t, grad);
    gnn_ref_gat_back(&device_of(t)->host, &grads, &behind, block_of(t, b), mat_of(t, dout));
}

static void device_rows_scores(struct gnn_tensor *t, const struct gnn_attention *att)
{
    const struct gnn_attention behind = attention_of(t, att);
    gnn_ref_gat_rows.scores(&device_of(t)->host, &behind);
}

static void device_rows_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                               const struct gnn_block *b)
{
    const struct gnn_attention behind = attention_of(t, att);
    gnn_ref_gat_rows.attend(&device_of(t)->host, mat_of(t, out), &behind, block_of(t, b));
}

static void device_rows_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad,
                             const struct gnn_attention *att, const struct gnn_block *b, struct gnn_mat dout)
{
    const struct gnn_attention behind = attention_of(t, att);
    const struct gnn_attention_grad grads = attention_grad_of(t, grad);
    gnn_ref_gat_rows.back(&device_of(t)->host, &grads, &behind, block_of(t, b), mat_of(t, dout));
}

static struct gnn_head_mat head_mat_of(struct gnn_tensor *t, struct gnn_head_mat m)
{
    m.data = bytes_of(t, m.data);
    return m;
}

static void device_rows_product(struct gnn_tensor *t, uint32_t heads, bool trans_a, bool trans_b, gnn_real alpha,
                                struct gnn_head_mat a, struct gnn_head_mat b, gnn_real beta, struct gnn_head_mat c)
{
    gnn_ref_gat_rows.product(&device_of(t)->host, heads, trans_a, trans_b, alpha, head_mat_of(t, a), head_mat_of(t, b),
                             beta, head_mat_of(t, c));
}

static const struct gnn_gat_rows_ops device_gat_rows = {.scores = device_rows_scores,
                                                        .attend = device_rows_attend,
                                                        .back = device_rows_back,
                                                        .product = device_rows_product};

static void device_head_mean(struct gnn_tensor *t, struct gnn_mat out, struct gnn_mat x, uint32_t heads)
{
    gnn_ref_head_mean(&device_of(t)->host, mat_of(t, out), mat_of(t, x), heads);
}

static void device_head_mean_back(struct gnn_tensor *t, struct gnn_mat dx, struct gnn_mat dout, uint32_t heads)
{
    gnn_ref_head_mean_back(&device_of(t)->host, mat_of(t, dx), mat_of(t, dout), heads);
}

static void device_activate(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat z, const gnn_real *bias,
                            const struct gnn_dropout *drop)
{
    gnn_ref_activate(&device_of(t)->host, act, mat_of(t, z), bytes_of(t, bias), drop);
}

static void device_activate_back(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat dy, struct gnn_mat y,
                                 const struct gnn_dropout *drop)
{
    gnn_ref_activate_back(&device_of(t)->host, act, mat_of(t, dy), mat_of(t, y), drop);
}

static void device_softmax_nll(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                               uint32_t *correct)
{
    struct device *d = device_of(t);
    assert(!on_device(d, labels));
    if (d->in_use != NULL && d->in_use->host_labels == labels)
        labels = d->in_use->labels;
    struct result result = {.loss_to = loss, .correct_to = correct};
    gnn_ref_softmax_nll(&d->host, mat_of(t, logits), labels, &result.loss, &result.correct);
    if (d->counts.in_step) {
        d->result = result;
        return;
    }
    *loss = result.loss;
    *correct = result.correct;
}

static void device_adam(struct gnn_tensor *t, gnn_real *param, const gnn_real *grad, gnn_real *m, gnn_real *v,
                        uint64_t count, const struct gnn_adam *adam)
{
    gnn_ref_adam(&device_of(t)->host, bytes_of(t, param), bytes_of(t, grad), bytes_of(t, m), bytes_of(t, v), count,
                 adam);
}

static void device_synchronize(struct gnn_tensor *t)
{
    struct result *result = &device_of(t)->result;
    if (result->link_loss_to != NULL)
        *result->link_loss_to += result->link_loss;
    if (result->loss_to != NULL) {
        *result->loss_to = result->loss;
        *result->correct_to = result->correct;
    }
    *result = (struct result){0};
}

/* ---- link prediction ---- */

static void device_link_combine(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat q, struct gnn_mat a,
                                struct gnn_mat r)
{
    gnn_ref_link_combine(&device_of(t)->host, decoder, mat_of(t, q), mat_of(t, a), mat_of(t, r));
}

static void device_link_combine_back(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat da,
                                     struct gnn_mat dr, struct gnn_mat dq, struct gnn_mat a, struct gnn_mat r)
{
    gnn_ref_link_combine_back(&device_of(t)->host, decoder, mat_of(t, da), mat_of(t, dr), mat_of(t, dq), mat_of(t, a),
                              mat_of(t, r));
}

static void device_link_pair_scores(struct gnn_tensor *t, enum gnn_decoder decoder, gnn_real *out, struct gnn_mat q,
                                    struct gnn_mat x)
{
    gnn_ref_link_pair_scores(&device_of(t)->host, decoder, bytes_of(t, out), mat_of(t, q), mat_of(t, x));
}

static void device_link_pair_scores_back(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat dq,
                                         struct gnn_mat dx, const gnn_real *g, struct gnn_mat q, struct gnn_mat x)
{
    gnn_ref_link_pair_scores_back(&device_of(t)->host, decoder, mat_of(t, dq), mat_of(t, dx), bytes_of(t, g),
                                  mat_of(t, q), mat_of(t, x));
}

static void device_link_distances(struct gnn_tensor *t, struct gnn_mat scores, struct gnn_mat q, struct gnn_mat x)
{
    gnn_ref_link_distances(&device_of(t)->host, mat_of(t, scores), mat_of(t, q), mat_of(t, x));
}

static void device_link_distances_back(struct gnn_tensor *t, struct gnn_mat g, struct gnn_mat scores, struct gnn_mat q,
                                       struct gnn_mat x, struct gnn_mat dq, struct gnn_mat dx)
{
    gnn_ref_link_distances_back(&device_of(t)->host, mat_of(t, g), mat_of(t, scores), mat_of(t, q), mat_of(t, x),
                                mat_of(t, dq), mat_of(t, dx));
}

static void device_link_loss(struct gnn_tensor *t, struct gnn_mat scores, gnn_real *positive, const uint32_t *own,
                             double *loss)
{
    struct device *d = device_of(t);
    assert(!on_device(d, own));
    assert(d->result.link_loss_to == NULL || d->result.link_loss_to == loss);
    d->result.link_loss_to = loss;
    gnn_ref_link_loss(&d->host, mat_of(t, scores), bytes_of(t, positive), own, &d->result.link_loss);
}

static void device_link_scatter_add(struct gnn_tensor *t, gnn_real *table, const uint32_t *rows, struct gnn_mat x)
{
    assert(!on_device(device_of(t), rows));
    gnn_ref_link_scatter_add(&device_of(t)->host, bytes_of(t, table), rows, mat_of(t, x));
}

static void device_link_adagrad(struct gnn_tensor *t, gnn_real *value, const gnn_real *grad, gnn_real *state,
                                uint64_t count, const struct gnn_adagrad *adagrad)
{
    gnn_ref_link_adagrad(&device_of(t)->host, bytes_of(t, value), bytes_of(t, grad), bytes_of(t, state), count,
                         adagrad);
}

static void device_link_cubes_back(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat dx, double weight,
                                   struct gnn_mat x)
{
    gnn_ref_link_cubes_back(&device_of(t)->host, decoder, mat_of(t, dx), weight, mat_of(t, x));
}

#define DEVICE_LINK(op) .op = device_link_##op,
static const struct gnn_link_ops device_link = {GNN_LINK_OPS(DEVICE_LINK)};

#define DEVICE(op) .op = device_##op,

/* clang-format off */
const struct gnn_tensor_ops device_tensor = {
    .name = "device", .open = device_open, .gemm = device_gemm, .link = &device_link,
    .gat_rows = &device_gat_rows,
    GNN_TENSOR_MEMORY_OPS(DEVICE) GNN_TENSOR_PLAIN_OPS(DEVICE) GNN_TENSOR_TUNED_OPS(DEVICE)
};
/* clang-format on */
