/* SPDX-License-Identifier: MIT */
#include "tests/support/io_log.h"

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RINGS_MAX = 256 };

/* An open ring, and what is in flight on it. */
struct watched {
    const struct gnn_ring *ring; /* NULL: closed */
    uint64_t *in_flight;         /* (depth) numbers of requests */
    uint32_t count;
};

struct io_log {
    struct gnn_world_ops ops; /* first: a hook finds the log by its world's table */
    const struct gnn_world_ops *real;
    struct gnn_world *world;
    pthread_mutex_t mutex; /* guards the rest, and is not held while the real hooks run */
    struct io_request *requests;
    uint64_t count, capacity, moment;
    struct watched rings[RINGS_MAX];
    uint32_t ring_count;
};

static struct io_log *log_of(const struct gnn_world *w)
{
    return (struct io_log *)w->ops;
}

/* Returns the number of an open ring; RINGS_MAX when it is not watched. */
static uint32_t number_of(const struct io_log *log, const struct gnn_ring *ring)
{
    uint32_t r = 0;
    while (r < log->ring_count && log->rings[r].ring != ring)
        r++;
    return r < log->ring_count ? r : RINGS_MAX;
}

/* ---- what is noted ---- */

/* Adds a request that was handed over; *request has file, place and tag. */
static void note_request(struct io_log *log, const struct gnn_ring *ring, const struct io_request *request)
{
    (void)pthread_mutex_lock(&log->mutex);
    const uint32_t r = number_of(log, ring);
    if (r < RINGS_MAX) {
        if (log->count == log->capacity) {
            log->capacity = log->capacity == 0 ? 256 : 2 * log->capacity;
            log->requests = realloc(log->requests, log->capacity * sizeof *log->requests);
            assert(log->requests != NULL);
        }
        log->requests[log->count] = *request;
        log->requests[log->count].ring = r;
        log->requests[log->count].handed_over = log->moment++;
        log->requests[log->count].told = IO_LOG_NEVER;
        log->rings[r].in_flight[log->rings[r].count++] = log->count++;
    }
    (void)pthread_mutex_unlock(&log->mutex);
}

static void note_completion(struct io_log *log, const struct gnn_ring *ring, const struct gnn_completion *completion)
{
    (void)pthread_mutex_lock(&log->mutex);
    const uint32_t r = number_of(log, ring);
    if (r < RINGS_MAX) {
        struct watched *const x = &log->rings[r];
        uint32_t i = 0;
        while (i < x->count && log->requests[x->in_flight[i]].tag != completion->tag)
            i++;
        assert(i < x->count); /* nothing is told that was not asked for */
        struct io_request *const request = &log->requests[x->in_flight[i]];
        request->told = log->moment++;
        request->result = completion->result;
        x->in_flight[i] = x->in_flight[--x->count];
    }
    (void)pthread_mutex_unlock(&log->mutex);
}

/* ---- hooks ---- */

static enum gnn_status log_ring_open(struct gnn_world *w, const struct gnn_ring_config *config, struct gnn_ring **out,
                                     struct gnn_err *err)
{
    struct io_log *const log = log_of(w);
    GNN_TRY(log->real->ring_open(w, config, out, err));
    (void)pthread_mutex_lock(&log->mutex);
    assert(log->ring_count < RINGS_MAX);
    struct watched *const ring = &log->rings[log->ring_count++];
    *ring = (struct watched){.ring = *out, .in_flight = calloc(config->depth, sizeof *ring->in_flight)};
    assert(ring->in_flight != NULL);
    (void)pthread_mutex_unlock(&log->mutex);
    return GNN_OK;
}

static void log_ring_close(struct gnn_world *w, struct gnn_ring *handle)
{
    struct io_log *const log = log_of(w);
    (void)pthread_mutex_lock(&log->mutex);
    const uint32_t r = handle == NULL ? RINGS_MAX : number_of(log, handle);
    if (r < RINGS_MAX) {
        free(log->rings[r].in_flight);
        log->rings[r] = (struct watched){.ring = NULL};
    }
    (void)pthread_mutex_unlock(&log->mutex);
    log->real->ring_close(w, handle);
}

static enum gnn_status log_ring_submit(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                       uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    const enum gnn_status status = log_of(w)->real->ring_submit(w, ring, reads, count, accepted, err);
    for (uint32_t i = 0; i < *accepted; i++)
        note_request(log_of(w), ring,
                     &(struct io_request){.file = reads[i].file,
                                          .offset_bytes = reads[i].offset_bytes,
                                          .len_bytes = reads[i].len_bytes,
                                          .tag = reads[i].tag});
    return status;
}

static enum gnn_status log_ring_submit_writes(struct gnn_world *w, struct gnn_ring *ring,
                                              const struct gnn_write *writes, uint32_t count, uint32_t *accepted,
                                              struct gnn_err *err)
{
    const enum gnn_status status = log_of(w)->real->ring_submit_writes(w, ring, writes, count, accepted, err);
    for (uint32_t i = 0; i < *accepted; i++)
        note_request(log_of(w), ring,
                     &(struct io_request){.file = writes[i].file,
                                          .offset_bytes = writes[i].offset_bytes,
                                          .len_bytes = writes[i].len_bytes,
                                          .write = true,
                                          .tag = writes[i].tag});
    return status;
}

static enum gnn_status log_ring_wait(struct gnn_world *w, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                     struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    const enum gnn_status status = log_of(w)->real->ring_wait(w, ring, min, max, out, got, err);
    for (uint32_t i = 0; status == GNN_OK && i < *got; i++)
        note_completion(log_of(w), ring, &out[i]);
    return status;
}

/* ---- open, close ---- */

struct io_log *io_log_open(struct gnn_world *world)
{
    struct io_log *const log = calloc(1, sizeof *log);
    assert_non_null(log);
    log->real = world->ops;
    log->world = world;
    (void)pthread_mutex_init(&log->mutex, NULL);
    log->ops = *world->ops;
    log->ops.ring_open = log_ring_open;
    log->ops.ring_close = log_ring_close;
    log->ops.ring_submit = log_ring_submit;
    log->ops.ring_submit_writes = log_ring_submit_writes;
    log->ops.ring_wait = log_ring_wait;
    world->ops = &log->ops;
    return log;
}

void io_log_close(struct io_log *log)
{
    if (log == NULL)
        return;
    for (uint32_t r = 0; r < log->ring_count; r++)
        assert_null(log->rings[r].ring);
    log->world->ops = log->real;
    (void)pthread_mutex_destroy(&log->mutex);
    free(log->requests);
    free(log);
}

uint64_t io_log_count(const struct io_log *log)
{
    return log->count;
}

const struct io_request *io_log_request(const struct io_log *log, uint64_t i)
{
    assert(i < log->count);
    return &log->requests[i];
}
