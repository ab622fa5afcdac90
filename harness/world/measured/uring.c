/* SPDX-License-Identifier: MIT */
/* The io_uring engine: one ring per owner, a whole batch handed over with one system call.
 *
 * Where the kernel has it (Linux 5.19), completions are delivered when the owner enters the kernel anyway instead of by
 * an interrupt of its own (COOP_TASKRUN): the one optional flag, left out on EINVAL. What the caller asked for by name
 * (sqpoll, iopoll, registration) works or fails. A single-issuer ring (SINGLE_ISSUER, DEFER_TASKRUN) is not used: it is
 * bound to the thread that made it, while a pipeline's stages get new threads each epoch, and reads of a thread that
 * has ended never complete on it. */
#include "harness/world/measured/internal.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

enum { FIXED_FILES_MAX = 64, FIXED_BUFFERS_MAX = 64, SQPOLL_IDLE_MS = 1000 };
/* A submission sleeps where the device's queue has no room, as a page fault does where the page is not there. Its time
 * is split exactly, for some 2 us, while one of the last so many took longer than what else it is made of. */
enum { SUBMISSION_NS_MAX = 50000, SUBMISSIONS_WATCHED = 64 };
static const uint64_t fixed_buffer_bytes_max = UINT64_C(1) << 30; /* the kernel's bound on one registered buffer */
_Static_assert(GNN_RING_DEPTH_MAX <= 32768, "the kernel's bound on a submission queue");

struct uring {
    struct gnn_ring ring;
    struct io_uring kernel;
    bool kernel_ready;
    struct gnn_ring_config config;
    struct gnn_file *fixed_files[FIXED_FILES_MAX];
    uint32_t in_flight; /* handed over and not yet taken back; at most config.depth */
    uint32_t watched;   /* submissions whose time is still to be split */
};

/* ---- set-up ---- */

static enum gnn_status setup_failed(const struct gnn_ring_config *config, int error, struct gnn_err *err)
{
    const char *const remedy = "use the thread-pool engine: --io pool";
    switch (error) {
    case ENOSYS:
        return gnn_fail(err, GNN_ENOTSUP,
                        "io_uring: the kernel has none, or a container's seccomp profile hides it; %s", remedy);
    case EPERM:
    case EACCES:
        return gnn_fail(err, GNN_EPERM,
                        "io_uring: forbidden here (sysctl kernel.io_uring_disabled, or a container's seccomp "
                        "profile); %s",
                        remedy);
    case ENOMEM:
        return gnn_fail(err, GNN_EPERM,
                        "io_uring: a ring of depth %u does not fit the locked-memory limit; raise ulimit -l, or %s",
                        config->depth, remedy);
    case EMFILE:
    case ENFILE:
        return gnn_fail(err, GNN_EFILES, "io_uring: %s", strerror(error));
    default:
        return gnn_fail(err, GNN_ENOTSUP, "io_uring: set-up with depth %u%s%s: %s; %s", config->depth,
                        config->sqpoll ? ", sqpoll" : "", config->iopoll ? ", iopoll" : "", strerror(error), remedy);
    }
}

/* Returns 0 or a negated errno. */
static int setup_kernel(struct uring *u)
{
    unsigned flags = 0;
    if (u->config.sqpoll)
        flags |= IORING_SETUP_SQPOLL;
    if (u->config.iopoll)
        flags |= IORING_SETUP_IOPOLL;
#if defined IORING_SETUP_COOP_TASKRUN && defined IORING_SETUP_TASKRUN_FLAG
    /* An owner that spins does not enter: its completions have to interrupt it. */
    const unsigned optional =
        u->config.sqpoll || u->config.spin ? 0 : IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
#else
    const unsigned optional = 0;
#endif
    struct io_uring_params params = {.flags = flags | optional, .sq_thread_idle = SQPOLL_IDLE_MS};
    int rc = io_uring_queue_init_params(u->config.depth, &u->kernel, &params);
    if (rc == -EINVAL && optional != 0) {
        params = (struct io_uring_params){.flags = flags, .sq_thread_idle = SQPOLL_IDLE_MS};
        rc = io_uring_queue_init_params(u->config.depth, &u->kernel, &params);
    }
    u->kernel_ready = rc == 0;
    return rc;
}

static enum gnn_status probe_operations(struct uring *u, struct gnn_err *err)
{
    static const int needed[] = {IORING_OP_READ, IORING_OP_READ_FIXED, IORING_OP_WRITE, IORING_OP_WRITE_FIXED};
    struct io_uring_probe *probe = io_uring_get_probe_ring(&u->kernel);
    bool has_all = probe != NULL;
    for (size_t i = 0; has_all && i < sizeof needed / sizeof needed[0]; i++)
        has_all = io_uring_opcode_supported(probe, needed[i]) != 0;
    io_uring_free_probe(probe);
    if (!has_all)
        return gnn_fail(err, GNN_ENOTSUP,
                        "io_uring: this kernel's has no read and write operations (Linux 5.6 brought them); use "
                        "the thread-pool engine: --io pool");
    return GNN_OK;
}

static enum gnn_status register_files(struct uring *u, struct gnn_err *err)
{
    int fds[FIXED_FILES_MAX];
    const uint32_t count = u->config.register_file_count;
    for (uint32_t i = 0; i < count; i++)
        fds[i] = u->fixed_files[i]->fd;
    const int rc = count == 0 ? 0 : io_uring_register_files(&u->kernel, fds, count);
    if (rc < 0)
        return gnn_fail(err, gnn_errno_status(-rc, GNN_ENOTSUP), "io_uring: registering %u files: %s", count,
                        strerror(-rc));
    return GNN_OK;
}

static enum gnn_status register_buffer(struct uring *u, struct gnn_err *err)
{
    const uint64_t bytes = u->config.register_buffer_bytes;
    if (bytes == 0)
        return GNN_OK;
    struct iovec pieces[FIXED_BUFFERS_MAX];
    unsigned count = 0;
    for (uint64_t at = 0; at < bytes; at += fixed_buffer_bytes_max) {
        const uint64_t left = bytes - at;
        pieces[count++] = (struct iovec){.iov_base = (unsigned char *)u->config.register_buffer + at,
                                         .iov_len = left < fixed_buffer_bytes_max ? left : fixed_buffer_bytes_max};
    }
    const int rc = io_uring_register_buffers(&u->kernel, pieces, count);
    if (rc < 0)
        return gnn_fail(err, rc == -ENOMEM ? GNN_EPERM : GNN_ENOTSUP,
                        "io_uring: registering a buffer of %llu bytes: %s%s", (unsigned long long)bytes, strerror(-rc),
                        rc == -ENOMEM ? "; raise ulimit -l, or do not register buffers" : "");
    return GNN_OK;
}

static enum gnn_status uring_setup(struct uring *u, struct gnn_err *err)
{
    const int rc = setup_kernel(u);
    if (rc < 0)
        return setup_failed(&u->config, -rc, err);
    GNN_TRY(probe_operations(u, err));
    GNN_TRY(register_files(u, err));
    return register_buffer(u, err);
}

/* ---- submission ---- */

/* Index of the registered piece that holds all of memory[0 .. len_bytes), or -1. */
static int fixed_buffer_of(const struct uring *u, const void *memory, uint32_t len_bytes)
{
    const uintptr_t base = (uintptr_t)u->config.register_buffer;
    const uintptr_t at = (uintptr_t)memory;
    if (u->config.register_buffer_bytes == 0 || at < base || at - base >= u->config.register_buffer_bytes ||
        len_bytes > u->config.register_buffer_bytes - (at - base))
        return -1;
    const uint64_t first = (at - base) / fixed_buffer_bytes_max;
    const uint64_t last = (at - base + len_bytes - 1) / fixed_buffer_bytes_max;
    return first == last ? (int)first : -1;
}

/* Returns what the kernel knows the file by; *flags says whether that is its registered index. */
static int descriptor_of(const struct uring *u, const struct gnn_file *file, unsigned *flags)
{
    *flags = 0;
    for (uint32_t i = 0; i < u->config.register_file_count; i++) {
        if (u->fixed_files[i] == file) {
            *flags = IOSQE_FIXED_FILE;
            return (int)i;
        }
    }
    return file->fd;
}

/* Fills an entry of the submission queue for one of a batch. */
typedef void prepare_fn(const struct uring *u, struct io_uring_sqe *sqe, const void *batch, uint32_t i);

static void prepare_read(const struct uring *u, struct io_uring_sqe *sqe, const void *batch, uint32_t i)
{
    const struct gnn_read *const read = (const struct gnn_read *)batch + i;
    unsigned flags;
    const int fd = descriptor_of(u, read->file, &flags);
    const int buffer = fixed_buffer_of(u, read->dst, read->len_bytes);
    if (buffer >= 0)
        io_uring_prep_read_fixed(sqe, fd, read->dst, read->len_bytes, read->offset_bytes, buffer);
    else
        io_uring_prep_read(sqe, fd, read->dst, read->len_bytes, read->offset_bytes);
    io_uring_sqe_set_flags(sqe, flags);
    sqe->user_data = read->tag;
}

static void prepare_write(const struct uring *u, struct io_uring_sqe *sqe, const void *batch, uint32_t i)
{
    const struct gnn_write *const write = (const struct gnn_write *)batch + i;
    unsigned flags;
    const int fd = descriptor_of(u, write->file, &flags);
    const int buffer = fixed_buffer_of(u, write->src, write->len_bytes);
    if (buffer >= 0)
        io_uring_prep_write_fixed(sqe, fd, write->src, write->len_bytes, write->offset_bytes, buffer);
    else
        io_uring_prep_write(sqe, fd, write->src, write->len_bytes, write->offset_bytes);
    io_uring_sqe_set_flags(sqe, flags);
    sqe->user_data = write->tag;
}

/* Returns whether the kernel call may be repeated: what it could not take now stays in the submission queue for the
 * next. */
static bool try_again(int rc)
{
    return rc == -EINTR || rc == -EAGAIN || rc == -EBUSY;
}

/* io_uring_submit; what it slept counts as I/O. A first slow one only has the next ones watched. */
static int submit_timed(struct gnn_world *w, struct uring *u)
{
    if (u->watched == 0) {
        const uint64_t start_ns = measured_now_ns(w);
        const int rc = io_uring_submit(&u->kernel);
        if (measured_now_ns(w) - start_ns > SUBMISSION_NS_MAX)
            u->watched = SUBMISSIONS_WATCHED;
        return rc;
    }
    struct gnn_thread *const self = measured_self(measured_of(w));
    struct measured_fault_timer timer;
    measured_fault_timer_start(self, &timer);
    const int rc = io_uring_submit(&u->kernel);
    u->watched = measured_fault_timer_stop(self, &timer) > 0 ? SUBMISSIONS_WATCHED : u->watched - 1;
    return rc;
}

static enum gnn_status submitted(int rc, struct gnn_err *err)
{
    if (rc < 0 && !try_again(rc))
        return gnn_fail(err, GNN_EIO, "io_uring: submitting reads or writes: %s", strerror(-rc));
    return GNN_OK;
}

/* Hands what is prepared to the kernel. */
static enum gnn_status flush(struct gnn_world *w, struct uring *u, struct gnn_err *err)
{
    return submitted(submit_timed(w, u), err);
}

/* A long batch goes over in eighths of the depth: the device works on the first ones while the rest is prepared.
 * Handed over whole, a refilled ring leaves the device idle in between (at depth 32, 15 % fewer reads per second). */
static enum gnn_status submit_batch(struct gnn_world *w, struct uring *u, prepare_fn *prepare, const void *batch,
                                    uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    assert(u->in_flight <= u->config.depth);
    const uint32_t room = u->config.depth - u->in_flight;
    const uint32_t wanted = gnn_min_u32(count, room);
    const uint32_t step = u->config.depth / 8 + 1;
    *accepted = 0;
    while (*accepted < wanted) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(&u->kernel);
        if (sqe == NULL)
            break; /* the polling thread has not fetched the last ones yet */
        prepare(u, sqe, batch, *accepted);
        u->in_flight++;
        ++*accepted;
        if (*accepted % step == 0)
            GNN_TRY(flush(w, u, err));
    }
    return *accepted % step == 0 ? GNN_OK : flush(w, u, err);
}

static enum gnn_status uring_submit(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                    uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    return submit_batch(w, (struct uring *)ring, prepare_read, reads, count, accepted, err);
}

static enum gnn_status uring_submit_writes(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_write *writes,
                                           uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    return submit_batch(w, (struct uring *)ring, prepare_write, writes, count, accepted, err);
}

/* ---- completion ---- */

static uint32_t take_completions(struct uring *u, uint32_t max, struct gnn_completion *out)
{
    unsigned head;
    uint32_t taken = 0;
    struct io_uring_cqe *cqe;
    io_uring_for_each_cqe(&u->kernel, head, cqe)
    {
        if (taken == max)
            break;
        out[taken++] = (struct gnn_completion){.tag = cqe->user_data, .result = cqe->res};
    }
    io_uring_cq_advance(&u->kernel, taken);
    assert(taken <= u->in_flight);
    u->in_flight -= taken;
    return taken;
}

/* Enters the kernel until at least `min` completions are there; with 0 only lets it deliver what has arrived. */
static enum gnn_status enter(struct uring *u, uint32_t min, struct gnn_err *err)
{
    do {
        const int rc = min == 0 ? io_uring_submit(&u->kernel) : io_uring_submit_and_wait(&u->kernel, min);
        if (rc < 0 && !try_again(rc))
            return gnn_fail(err, GNN_EIO, "io_uring: waiting for %u completions: %s", min, strerror(-rc));
    } while (io_uring_cq_ready(&u->kernel) < min);
    return GNN_OK;
}

/* One round of a spinning wait. */
static void pause_core(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Looks until at least `min` completions are there. */
static enum gnn_status spin(struct uring *u, uint32_t min, struct gnn_err *err)
{
    while (io_uring_cq_ready(&u->kernel) < min) {
        if (io_uring_sq_ready(&u->kernel) > 0 && !u->config.sqpoll)
            GNN_TRY(submitted(io_uring_submit(&u->kernel), err)); /* what an earlier submission could not hand over */
        pause_core();
    }
    return GNN_OK;
}

/* Polled I/O (iopoll) only completes inside the kernel, and the kernel does not poll while completions wait to be
 * taken: asked for several at once, it would come back with the first for ever. */
static enum gnn_status poll_completions(struct gnn_world *w, struct uring *u, uint32_t min, uint32_t max,
                                        struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    struct gnn_thread *const self = measured_self(measured_of(w));
    const uint64_t start_ns = measured_now_ns(w);
    enum gnn_status status = GNN_OK;
    *got = take_completions(u, max, out);
    if (min == 0 && *got == 0) {
        status = enter(u, 0, err);
        *got = take_completions(u, max, out);
    }
    while (status == GNN_OK && *got < gnn_min_u32(min, max)) {
        status = enter(u, 1, err);
        *got += take_completions(u, max - *got, out + *got);
    }
    self->wait_ns[GNN_WAIT_IO] += measured_now_ns(w) - start_ns;
    return status;
}

static enum gnn_status uring_wait(struct gnn_world *w, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                  struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    struct uring *u = (struct uring *)ring;
    *got = 0;
    assert(min <= u->in_flight);
    if (u->in_flight == 0 || max == 0)
        return GNN_OK;
    if (u->config.iopoll)
        return poll_completions(w, u, min, max, out, got, err);
    const uint32_t ready = io_uring_cq_ready(&u->kernel);
    if (ready < min) {
        struct gnn_thread *self = measured_self(measured_of(w));
        const uint64_t start_ns = measured_now_ns(w);
        const enum gnn_status status = u->config.spin ? spin(u, min, err) : enter(u, min, err);
        self->wait_ns[GNN_WAIT_IO] += measured_now_ns(w) - start_ns;
        GNN_TRY(status);
    } else if (ready == 0 && (!u->config.spin || io_uring_sq_ready(&u->kernel) > 0)) {
        GNN_TRY(enter(u, 0, err));
    }
    *got = take_completions(u, max, out);
    return GNN_OK;
}

/* ---- open, close ---- */

/* Everything in flight lands before its buffers may be freed. */
static void uring_close(struct gnn_world *w, struct gnn_ring *ring)
{
    struct uring *u = (struct uring *)ring;
    while (u->in_flight > 0) {
        struct gnn_completion dropped[64];
        uint32_t got;
        if (uring_wait(w, ring, 1, 64, dropped, &got, NULL) != GNN_OK)
            break; /* the kernel ends what is still in flight with the ring */
    }
    if (u->kernel_ready)
        io_uring_queue_exit(&u->kernel);
    free(u);
}

static const struct gnn_ring_ops uring_ops = {
    .submit = uring_submit, .submit_writes = uring_submit_writes, .wait = uring_wait, .close = uring_close};

static enum gnn_status uring_open(struct gnn_world *w, const struct gnn_ring_config *config, struct gnn_ring **out,
                                  struct gnn_err *err)
{
    if (config->register_file_count > FIXED_FILES_MAX)
        return gnn_fail(err, GNN_EUSAGE, "io_uring: %u files to register, at most %d", config->register_file_count,
                        FIXED_FILES_MAX);
    if (config->register_buffer_bytes > FIXED_BUFFERS_MAX * fixed_buffer_bytes_max)
        return gnn_fail(err, GNN_EUSAGE, "io_uring: a buffer of %llu bytes to register, at most %d GiB",
                        (unsigned long long)config->register_buffer_bytes, FIXED_BUFFERS_MAX);
    struct uring *u;
    GNN_NEW(u, 1, err, "io_uring: a ring of %zu bytes", sizeof *u);
    u->ring.ops = &uring_ops;
    u->config = *config;
    for (uint32_t i = 0; i < config->register_file_count; i++)
        u->fixed_files[i] = config->register_files[i];
    u->config.register_files = NULL; /* the caller's array need not outlive this call */
    const enum gnn_status status = uring_setup(u, err);
    if (status == GNN_OK)
        *out = &u->ring;
    else
        uring_close(w, &u->ring);
    return status;
}

/* ---- the world's rings ---- */

static void spin_on_pool(struct gnn_world *w, const atomic_uint_fast64_t *completed, uint64_t taken, uint32_t min)
{
    struct gnn_thread *self = measured_self(measured_of(w));
    const uint64_t start_ns = measured_now_ns(w);
    while (atomic_load(completed) - taken < min)
        pause_core();
    self->wait_ns[GNN_WAIT_IO] += measured_now_ns(w) - start_ns;
}

/* The owner waits for its pool's threads, and they for the device: that is I/O, not a lock of the system's. */
static void lock_pool(struct gnn_world *w, struct gnn_mutex *mutex)
{
    measured_mutex_lock_as(w, mutex, GNN_WAIT_IO);
}

enum gnn_status measured_ring_open(struct gnn_world *w, const struct gnn_ring_config *config, struct gnn_ring **out,
                                   struct gnn_err *err)
{
    static const struct gnn_ring_engines engines = {.uring_open = uring_open, .spin = spin_on_pool, .lock = lock_pool};
    return gnn_ring_engine_open(w, &engines, config, out, err);
}
