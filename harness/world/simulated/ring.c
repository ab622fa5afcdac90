/* Rings: io_uring as a model, without an event per read. A read is handed to the device (direct) or the page cache
 * (buffered) when it is submitted, which says at once when it will be done; waiting is looking at that time.
 *
 * CPU time of the owner: submit_ns for each direct read, what cached.c says for a buffered one, syscall_ns for each
 * eighth of the depth handed over (as the measured world does it) and for each wait that enters the kernel,
 * complete_ns for each completion; a buffered read that found its pages is served while it is submitted, without an
 * interrupt, and reaping it costs a look, which ring_cached_ns holds already. With sqpoll handing over costs no system
 * call, and the kernel's polling thread serves buffered reads, one after the other; its core is not taken from the
 * others. A wait that sleeps ends wake_latency_ns after the completion it waited for; spin and iopoll wait on the core
 * instead, without that latency. Registering files and buffers changes nothing.
 *
 * A wait that only looks (min = 0) costs something in any profile, so that a loop of looks gets somewhere. */
#include "harness/world/ring_engines.h"
#include "harness/world/simulated/files.h"
#include "harness/world/simulated/time_queue.h"

#include <assert.h>
#include <stdlib.h>

/* Looking at a completion queue and finding what is there, or nothing: a cache line another core wrote. */
static const uint64_t look_ps = 20000;
static const uint64_t spin_step_ns = 500; /* how often the spinning owner of a pool looks */

/* One read in flight. */
struct flight {
    struct gnn_read read;
    int32_t result;
    bool interrupted; /* something had to be waited for: its end is an interrupt */
};

struct uring {
    struct gnn_ring ring;
    struct gnn_ring_config config;
    uint32_t step;
    struct flight *flights; /* (depth) */
    uint32_t *free_flights; /* (depth) stack of indices */
    uint32_t free_count;
    uint64_t poller_free_ns;         /* sqpoll: when the polling thread has served the last buffered read */
    struct sim_time_queue in_flight; /* value: index into flights; at most depth */
};

/* ---- submission ---- */

/* Starts a read through the page cache; returns when it is done. *cpu_ps is the owner's CPU time. */
static uint64_t start_buffered(struct simulated *s, struct uring *u, uint64_t now_ns, const struct gnn_read *read,
                               uint64_t bytes, struct flight *flight, uint64_t *cpu_ps)
{
    const uint64_t done_ns = sim_cached_ring_read(s, read->file, now_ns, read->offset_bytes, bytes, cpu_ps);
    flight->interrupted = done_ns > now_ns;
    if (!u->config.sqpoll)
        return done_ns;
    u->poller_free_ns = gnn_max_u64(u->poller_free_ns, now_ns) + *cpu_ps / SIM_PS_PER_NS;
    *cpu_ps = 0;
    return gnn_max_u64(done_ns, u->poller_free_ns);
}

/* Starts one read at now_ns; returns its CPU time besides what the caller charged. */
static uint64_t start_read(struct simulated *s, struct uring *u, uint64_t now_ns, const struct gnn_read *read)
{
    assert(u->free_count > 0);
    assert(read->len_bytes <= INT32_MAX);
    const uint32_t slot = u->free_flights[--u->free_count];
    struct flight *const flight = &u->flights[slot];
    const int64_t bytes = sim_file_readable(s, read->file, read->offset_bytes, read->dst, read->len_bytes);
    uint64_t cpu_ps = 0, done_ns = now_ns;
    *flight = (struct flight){.read = *read, .result = (int32_t)bytes, .interrupted = bytes > 0};
    if (bytes > 0 && read->file->direct)
        done_ns = sim_file_start_read(s, read->file, now_ns, read->offset_bytes, (uint64_t)bytes, &cpu_ps);
    else if (bytes > 0)
        done_ns = start_buffered(s, u, now_ns, read, (uint64_t)bytes, flight, &cpu_ps);
    sim_time_queue_add(&u->in_flight, done_ns, slot);
    return cpu_ps;
}

/* Enters the kernel once, with up to a step of reads. */
static void hand_over(struct simulated *s, struct uring *u, const struct gnn_read *reads, uint32_t count)
{
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    uint64_t direct = 0;
    for (uint32_t i = 0; i < count; i++)
        direct += reads[i].file->direct ? 1 : 0;
    sim_cpu(s->executor, ((u->config.sqpoll ? 0 : cpu->syscall_ns) + direct * cpu->submit_ns) * SIM_PS_PER_NS);
    sim_settle(s->executor);
    const uint64_t now_ns = sim_now(s->executor);
    uint64_t cpu_ps = 0;
    for (uint32_t i = 0; i < count; i++)
        cpu_ps += start_read(s, u, now_ns, &reads[i]);
    sim_cpu(s->executor, cpu_ps);
}

static enum gnn_status uring_submit(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                    uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    (void)err;
    struct simulated *const s = simulated_of(w);
    struct uring *const u = (struct uring *)ring;
    const uint32_t taken = gnn_min_u32(count, u->free_count);
    for (uint32_t at = 0; at < taken; at += u->step)
        hand_over(s, u, reads + at, gnn_min_u32(taken - at, u->step));
    *accepted = taken;
    return GNN_OK;
}

/* ---- completion ---- */

static uint64_t reaping_ps(const struct gnn_profile_cpu *cpu, const struct flight *flight)
{
    if (flight->interrupted)
        return cpu->complete_ns * SIM_PS_PER_NS;
    return cpu->ring_cached_ns > 0 && flight->result > 0 ? 0 : look_ps;
}

/* Takes the completions due by now, up to max. Here the bytes arrive. */
static uint32_t take(struct simulated *s, struct uring *u, uint32_t max, struct gnn_completion *out)
{
    const uint64_t now_ns = sim_now(s->executor);
    uint64_t cpu_ps = 0;
    uint32_t taken = 0;
    const struct sim_timed *first = sim_time_queue_first(&u->in_flight);
    while (taken < max && first != NULL && first->time_ns <= now_ns) {
        const uint32_t slot = (uint32_t)first->value;
        const struct flight *const flight = &u->flights[slot];
        if (flight->result > 0)
            sim_file_fetch(s, flight->read.file, flight->read.offset_bytes, (uint32_t)flight->result, flight->read.dst);
        cpu_ps += reaping_ps(&s->profile->cpu, flight);
        out[taken++] = (struct gnn_completion){.tag = flight->read.tag, .result = flight->result};
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

static const struct gnn_ring_ops uring_ops = {.submit = uring_submit, .wait = uring_wait, .close = uring_close};

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
