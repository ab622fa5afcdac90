/* SPDX-License-Identifier: MIT */
/* Rings: io_uring as a model, without an event per operation. A read or write is handed to the device (direct) or the
 * page cache (buffered) when it is submitted, which says at once when it will be done; waiting is looking at that time.
 *
 * CPU time of the owner: submit_ns for each direct one, what cached.c says for a buffered one, syscall_ns for each
 * eighth of the depth handed over (as the measured world does it) and for each wait that enters the kernel,
 * complete_ns for each completion; a buffered read that found its pages is served while it is submitted, without an
 * interrupt, and reaping it costs a look, which ring_cached_ns holds already. With sqpoll handing over costs no system
 * call, and the kernel's polling thread serves what is buffered, one after the other; its core is not taken from the
 * others. A wait that sleeps ends wake_latency_ns after the completion it waited for; spin and iopoll wait on the core
 * instead, without that latency. Registering files and buffers changes nothing.
 *
 * A direct write's bytes leave their buffer, and the file grows, when its completion is taken: who uses the buffer
 * before, or reads the range, finds that out here and not on some other machine. A buffered one's are copied when it is
 * submitted; it costs its owner what pwrite costs, and is done when pwrite would return. (Where the file system cannot
 * write without blocking the kernel has threads of its own do that; they are not modelled.)
 *
 * A wait that only looks (min = 0) costs something in any profile, so that a loop of looks gets somewhere. */
#include "harness/world/ring_engines.h"
#include "harness/world/simulated/files.h"
#include "harness/world/simulated/time_queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* Looking at a completion queue and finding what is there, or nothing: a cache line another core wrote. */
static const uint64_t look_ps = 20000;
static const uint64_t spin_step_ns = 500; /* how often the spinning owner of a pool looks */

/* One read or write in flight. */
struct flight {
    struct gnn_file *file;
    uint64_t offset_bytes;
    void *memory; /* a write's is only read */
    uint64_t tag;
    int32_t result;
    bool interrupted; /* something had to be waited for: its end is an interrupt */
    bool write;
};

struct uring {
    struct gnn_ring ring;
    struct gnn_ring_config config;
    uint32_t step;
    struct flight *flights; /* (depth) */
    uint32_t *free_flights; /* (depth) stack of indices */
    uint32_t free_count;
    uint64_t poller_free_ns;         /* sqpoll: when the polling thread has served the last buffered one */
    struct sim_time_queue in_flight; /* value: index into flights; at most depth */
};

/* ---- submission ---- */

/* Says when something that the page cache is done with at done_ns is done, and who pays for it: with sqpoll the
 * kernel's polling thread, after what it had to serve before. */
static uint64_t served(struct uring *u, uint64_t now_ns, uint64_t done_ns, struct flight *flight, uint64_t *cpu_ps)
{
    flight->interrupted = done_ns > now_ns;
    if (!u->config.sqpoll)
        return done_ns;
    u->poller_free_ns = gnn_max_u64(u->poller_free_ns, now_ns) + *cpu_ps / SIM_PS_PER_NS;
    *cpu_ps = 0;
    return gnn_max_u64(done_ns, u->poller_free_ns);
}

/* Starts a read through the page cache; returns when it is done. *cpu_ps is the owner's CPU time. */
static uint64_t read_buffered(struct simulated *s, struct uring *u, uint64_t now_ns, const struct gnn_read *read,
                              struct flight *flight, uint64_t *cpu_ps)
{
    const uint64_t bytes = (uint64_t)flight->result;
    const uint64_t done_ns = sim_cached_ring_read(s, read->file, now_ns, read->offset_bytes, bytes, cpu_ps);
    return served(u, now_ns, done_ns, flight, cpu_ps);
}

/* Takes a slot for one more in flight. */
static uint32_t take_slot(struct uring *u)
{
    assert(u->free_count > 0);
    return u->free_flights[--u->free_count];
}

/* Starts read i of a batch at now_ns; returns its CPU time besides what the caller charged. */
static uint64_t start_read(struct simulated *s, struct uring *u, uint64_t now_ns, const void *batch, uint32_t i)
{
    const struct gnn_read *const read = (const struct gnn_read *)batch + i;
    assert(read->len_bytes <= INT32_MAX);
    const uint32_t slot = take_slot(u);
    struct flight *const flight = &u->flights[slot];
    const int64_t bytes = sim_file_readable(s, read->file, read->offset_bytes, read->dst, read->len_bytes);
    uint64_t cpu_ps = 0, done_ns = now_ns;
    *flight = (struct flight){.file = read->file,
                              .offset_bytes = read->offset_bytes,
                              .memory = read->dst,
                              .tag = read->tag,
                              .result = (int32_t)bytes,
                              .interrupted = bytes > 0};
    if (bytes > 0 && read->file->direct)
        done_ns = sim_file_start_read(s, read->file, now_ns, read->offset_bytes, (uint64_t)bytes, &cpu_ps);
    else if (bytes > 0)
        done_ns = read_buffered(s, u, now_ns, read, flight, &cpu_ps);
    sim_time_queue_add(&u->in_flight, done_ns, slot);
    return cpu_ps;
}

/* Starts a write through the page cache; returns when it is done. *cpu_ps is the owner's CPU time. */
static uint64_t write_buffered(struct simulated *s, struct uring *u, uint64_t now_ns, const struct gnn_write *write,
                               struct flight *flight, uint64_t *cpu_ps)
{
    const uint64_t bytes = (uint64_t)flight->result;
    if (!sim_file_store(s, write->file, write->offset_bytes, bytes, write->src)) {
        flight->result = -ENOMEM;
        return now_ns;
    }
    const uint64_t done_ns = sim_file_start_write(s, write->file, now_ns, write->offset_bytes, bytes, cpu_ps);
    return served(u, now_ns, done_ns, flight, cpu_ps);
}

/* As start_read. */
static uint64_t start_write(struct simulated *s, struct uring *u, uint64_t now_ns, const void *batch, uint32_t i)
{
    const struct gnn_write *const write = (const struct gnn_write *)batch + i;
    assert(write->len_bytes <= INT32_MAX);
    const uint32_t slot = take_slot(u);
    struct flight *const flight = &u->flights[slot];
    const int64_t bytes = sim_file_writable(s, write->file, write->offset_bytes, write->src, write->len_bytes);
    uint64_t cpu_ps = 0, done_ns = now_ns;
    *flight = (struct flight){.file = write->file,
                              .offset_bytes = write->offset_bytes,
                              .memory = (void *)write->src,
                              .tag = write->tag,
                              .result = (int32_t)bytes,
                              .interrupted = bytes > 0,
                              .write = true};
    if (bytes > 0 && write->file->direct)
        done_ns = sim_file_start_write(s, write->file, now_ns, write->offset_bytes, (uint64_t)bytes, &cpu_ps);
    else if (bytes > 0)
        done_ns = write_buffered(s, u, now_ns, write, flight, &cpu_ps);
    sim_time_queue_add(&u->in_flight, done_ns, slot);
    return cpu_ps;
}

typedef uint64_t start_fn(struct simulated *s, struct uring *u, uint64_t now_ns, const void *batch, uint32_t i);

/* Enters the kernel once, with [from, to) of a batch, `direct` of them direct. */
static void hand_over(struct simulated *s, struct uring *u, start_fn *start, const void *batch, uint32_t from,
                      uint32_t to, uint64_t direct)
{
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    sim_cpu(s->executor, ((u->config.sqpoll ? 0 : cpu->syscall_ns) + direct * cpu->submit_ns) * SIM_PS_PER_NS);
    sim_settle(s->executor);
    const uint64_t now_ns = sim_now(s->executor);
    uint64_t cpu_ps = 0;
    for (uint32_t i = from; i < to; i++)
        cpu_ps += start(s, u, now_ns, batch, i);
    sim_cpu(s->executor, cpu_ps);
}

static enum gnn_status uring_submit(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                    uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    (void)err;
    struct uring *const u = (struct uring *)ring;
    *accepted = gnn_min_u32(count, u->free_count);
    for (uint32_t from = 0, to; from < *accepted; from = to) {
        uint64_t direct = 0;
        to = from + gnn_min_u32(*accepted - from, u->step);
        for (uint32_t i = from; i < to; i++)
            direct += reads[i].file->direct ? 1 : 0;
        hand_over(simulated_of(w), u, start_read, reads, from, to, direct);
    }
    return GNN_OK;
}

static enum gnn_status uring_submit_writes(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_write *writes,
                                           uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    (void)err;
    struct uring *const u = (struct uring *)ring;
    *accepted = gnn_min_u32(count, u->free_count);
    for (uint32_t from = 0, to; from < *accepted; from = to) {
        uint64_t direct = 0;
        to = from + gnn_min_u32(*accepted - from, u->step);
        for (uint32_t i = from; i < to; i++)
            direct += writes[i].file->direct ? 1 : 0;
        hand_over(simulated_of(w), u, start_write, writes, from, to, direct);
    }
    return GNN_OK;
}

/* ---- completion ---- */

static uint64_t reaping_ps(const struct gnn_profile_cpu *cpu, const struct flight *flight)
{
    if (flight->interrupted)
        return cpu->complete_ns * SIM_PS_PER_NS;
    return cpu->ring_cached_ns > 0 && flight->result > 0 && !flight->write ? 0 : look_ps;
}

/* Moves the bytes of what is done: a read's arrive, a direct write's leave. */
static void move_bytes(struct simulated *s, struct flight *flight)
{
    if (flight->result <= 0)
        return;
    const uint64_t bytes = (uint64_t)flight->result;
    if (!flight->write)
        sim_file_fetch(s, flight->file, flight->offset_bytes, bytes, flight->memory);
    else if (flight->file->direct && !sim_file_store(s, flight->file, flight->offset_bytes, bytes, flight->memory))
        flight->result = -ENOMEM;
}

/* Takes the completions due by now, up to max. */
static uint32_t take(struct simulated *s, struct uring *u, uint32_t max, struct gnn_completion *out)
{
    const uint64_t now_ns = sim_now(s->executor);
    uint64_t cpu_ps = 0;
    uint32_t taken = 0;
    const struct sim_timed *first = sim_time_queue_first(&u->in_flight);
    while (taken < max && first != NULL && first->time_ns <= now_ns) {
        const uint32_t slot = (uint32_t)first->value;
        struct flight *const flight = &u->flights[slot];
        move_bytes(s, flight);
        cpu_ps += reaping_ps(&s->profile->cpu, flight);
        out[taken++] = (struct gnn_completion){.tag = flight->tag, .result = flight->result};
        u->free_flights[u->free_count++] = slot;
        sim_time_queue_drop(&u->in_flight);
        first = sim_time_queue_first(&u->in_flight);
    }
    sim_cpu(s->executor, cpu_ps);
    return taken;
}

/* Waits until done_ns, the time of the last completion that is waited for. */
static void wait_until(struct simulated *s, const struct uring *u, uint64_t done_ns)
{
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    if (!u->config.spin) {
        sim_cpu(s->executor, cpu->syscall_ns * SIM_PS_PER_NS);
        sim_settle(s->executor);
    }
    if (done_ns <= sim_now(s->executor))
        return;
    if (u->config.spin || u->config.iopoll)
        sim_spin_until(s->executor, done_ns, GNN_WAIT_IO);
    else
        sim_sleep_until(&s->base, done_ns + cpu->wake_latency_ns, GNN_WAIT_IO);
}

/* Looks without waiting. Where nothing is there the kernel is entered, as it may hold completions back. */
static void look(struct simulated *s, const struct uring *u)
{
    const struct sim_timed *const first = sim_time_queue_first(&u->in_flight);
    const bool there = first != NULL && first->time_ns <= sim_now(s->executor);
    const uint64_t enter_ps = there || first == NULL || u->config.spin ? 0 : s->profile->cpu.syscall_ns * SIM_PS_PER_NS;
    sim_cpu(s->executor, gnn_max_u64(enter_ps, look_ps));
    sim_settle(s->executor);
}

static enum gnn_status uring_wait(struct gnn_world *w, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                  struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    (void)err;
    struct simulated *const s = simulated_of(w);
    struct uring *const u = (struct uring *)ring;
    assert(min <= u->in_flight.count);
    sim_settle(s->executor);
    const uint64_t done_ns = min == 0 ? 0 : sim_time_queue_at(&u->in_flight, min - 1)->time_ns;
    if (done_ns > sim_now(s->executor))
        wait_until(s, u, done_ns);
    else
        look(s, u);
    *got = take(s, u, max, out);
    return GNN_OK;
}

/* ---- open, close ---- */

static void uring_close(struct gnn_world *w, struct gnn_ring *ring)
{
    struct uring *const u = (struct uring *)ring;
    while (u->in_flight.count > 0) {
        struct gnn_completion dropped[64];
        uint32_t got;
        (void)uring_wait(w, ring, 1, 64, dropped, &got, NULL); /* it cannot fail */
    }
    sim_time_queue_close(&u->in_flight);
    free(u->free_flights);
    free(u->flights);
    free(u);
}

static const struct gnn_ring_ops uring_ops = {
    .submit = uring_submit, .submit_writes = uring_submit_writes, .wait = uring_wait, .close = uring_close};

static enum gnn_status uring_open(struct gnn_world *w, const struct gnn_ring_config *config, struct gnn_ring **out,
                                  struct gnn_err *err)
{
    struct uring *u;
    GNN_NEW(u, 1, err, "a ring of %zu bytes", sizeof *u);
    u->ring.ops = &uring_ops;
    u->config = *config;
    u->step = config->depth / 8 + 1;
    u->flights = calloc(config->depth, sizeof *u->flights);
    u->free_flights = calloc(config->depth, sizeof *u->free_flights);
    if (u->flights == NULL || u->free_flights == NULL || !sim_time_queue_open(&u->in_flight, config->depth)) {
        uring_close(w, &u->ring);
        return gnn_fail(err, GNN_ENOMEM, "ring of depth %u", config->depth);
    }
    while (u->free_count < config->depth) {
        u->free_flights[u->free_count] = config->depth - 1 - u->free_count;
        u->free_count++;
    }
    *out = &u->ring;
    return GNN_OK;
}

/* ---- the world's rings ---- */

static void spin_on_pool(struct gnn_world *w, const atomic_uint_fast64_t *completed, uint64_t taken, uint32_t min)
{
    struct sim_executor *const ex = simulated_of(w)->executor;
    while (atomic_load(completed) - taken < min)
        sim_spin_until(ex, sim_now(ex) + spin_step_ns, GNN_WAIT_IO);
}

static void look_at_pool(struct gnn_world *w)
{
    sim_cpu(simulated_of(w)->executor, look_ps);
    sim_settle(simulated_of(w)->executor);
}

enum gnn_status sim_ring_open(struct gnn_world *w, const struct gnn_ring_config *config, struct gnn_ring **out,
                              struct gnn_err *err)
{
    static const struct gnn_ring_engines engines = {
        .uring_open = uring_open, .spin = spin_on_pool, .lock = gnn_mutex_lock, .look = look_at_pool};
    return gnn_ring_engine_open(w, &engines, config, out, err);
}
