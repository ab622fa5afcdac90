/* The io_uring engine: one ring per owner, a whole batch handed over with one system call.
 *
 * Where the kernel has them the ring is set up for a single issuer whose completions are delivered when it
 * asks for them (SINGLE_ISSUER | DEFER_TASKRUN, Linux 6.1), else with COOP_TASKRUN (5.19), else plainly:
 * steps an EINVAL takes on these optional flags alone. What the caller asked for by name (sqpoll, iopoll,
 * registration) works or fails.
 *
 * A single-issuer ring belongs to one thread of the kernel's. An owner of ours may hand its ring to another
 * thread while nothing is in flight (a pipeline starts new threads each epoch); the ring is then set up anew.
 */
#include "harness/world/measured/internal.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

enum { FIXED_FILES_MAX = 64, FIXED_BUFFERS_MAX = 64 };
static const uint64_t fixed_buffer_bytes_max = UINT64_C(1)
                                               << 30; /* the kernel's bound on one registered buffer */

struct uring {
    struct gnn_ring ring;
    struct io_uring kernel;
    bool kernel_ready;
    bool deferred; /* completions arrive only when the kernel is entered for them */
    struct gnn_ring_config config;
    struct gnn_file *fixed_files[FIXED_FILES_MAX];
    uint64_t owner_serial;
    uint32_t in_flight; /* handed over and not yet taken back; at most config.depth */
};

/* ---- set-up
 * ------------------------------------------------------------------------------------------------- */

static enum gnn_status setup_failed(const struct gnn_ring_config *config, int error, struct gnn_err *err)
{
    const char *const remedy = "use the thread-pool engine: --io pool";
    switch (error) {
    case ENOSYS:
        return gnn_fail(err, GNN_ENOTSUP,
                        "io_uring: the kernel has none, or a container's seccomp profile hides it; %s",
                        remedy);
    case EPERM:
    case EACCES:
        return gnn_fail(err, GNN_EPERM,
                        "io_uring: forbidden here (sysctl kernel.io_uring_disabled, or a container's seccomp "
                        "profile); %s",
                        remedy);
    case ENOMEM:
        return gnn_fail(
            err, GNN_EPERM,
            "io_uring: a ring of depth %u does not fit the locked-memory limit; raise ulimit -l, or %s",
            config->depth, remedy);
    default:
        return gnn_fail(err, GNN_ENOTSUP, "io_uring: set-up with depth %u%s%s: %s; %s", config->depth,
                        config->sqpoll ? ", sqpoll" : "", config->iopoll ? ", iopoll" : "", strerror(error),
                        remedy);
    }
}

/* The kernel ring with the best flags it takes. Returns 0 or a negated errno. */
static int setup_kernel(struct uring *u)
{
    unsigned asked = 0;
    if (u->config.sqpoll)
        asked |= IORING_SETUP_SQPOLL;
    if (u->config.iopoll)
        asked |= IORING_SETUP_IOPOLL;
    unsigned optional[3];
    size_t optional_count = 0;
#if defined IORING_SETUP_DEFER_TASKRUN && defined IORING_SETUP_TASKRUN_FLAG
    const unsigned deferred =
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
    if (!u->config.sqpoll) /* its kernel thread and deferred completions exclude each other */
        optional[optional_count++] = deferred;
#else
    const unsigned deferred = 0;
#endif
#if defined IORING_SETUP_COOP_TASKRUN && defined IORING_SETUP_TASKRUN_FLAG
    if (!u->config.sqpoll)
        optional[optional_count++] = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
#endif
    optional[optional_count++] = 0;
    int rc = -EINVAL;
    for (size_t i = 0; i < optional_count && rc == -EINVAL; i++) {
        struct io_uring_params params = {.flags = asked | optional[i], .sq_thread_idle = 1000};
        rc = io_uring_queue_init_params(u->config.depth, &u->kernel, &params);
        u->deferred = deferred != 0 && optional[i] == deferred;
    }
    u->kernel_ready = rc == 0;
    return rc;
}

static enum gnn_status probe_read(struct uring *u, struct gnn_err *err)
{
    struct io_uring_probe *probe = io_uring_get_probe_ring(&u->kernel);
    const bool has_read = probe != NULL && io_uring_opcode_supported(probe, IORING_OP_READ) &&
                          io_uring_opcode_supported(probe, IORING_OP_READ_FIXED);
    io_uring_free_probe(probe);
    if (!has_read)
        return gnn_fail(err, GNN_ENOTSUP,
                        "io_uring: this kernel's has no read operation (Linux 5.6 brought it); use "
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
        return gnn_fail(err, GNN_ENOTSUP, "io_uring: registering %u files: %s", count, strerror(-rc));
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
        pieces[count++] =
            (struct iovec){.iov_base = (unsigned char *)u->config.register_buffer + at,
                           .iov_len = left < fixed_buffer_bytes_max ? left : fixed_buffer_bytes_max};
    }
    const int rc = io_uring_register_buffers(&u->kernel, pieces, count);
    if (rc < 0)
        return gnn_fail(err, rc == -ENOMEM ? GNN_EPERM : GNN_ENOTSUP,
                        "io_uring: registering a buffer of %llu bytes: %s%s", (unsigned long long)bytes,
                        strerror(-rc), rc == -ENOMEM ? "; raise ulimit -l, or do not register buffers" : "");
    return GNN_OK;
}

static enum gnn_status uring_setup(struct measured *m, struct uring *u, struct gnn_err *err)
{
    const int rc = setup_kernel(u);
    if (rc < 0)
        return setup_failed(&u->config, -rc, err);
    u->owner_serial = measured_self(m)->serial;
    GNN_TRY(probe_read(u, err));
    GNN_TRY(register_files(u, err));
    return register_buffer(u, err);
}

static void uring_teardown(struct uring *u)
{
    if (u->kernel_ready)
        io_uring_queue_exit(&u->kernel);
    u->kernel_ready = false;
}

/* The ring follows its owner to another thread. */
static enum gnn_status adopt(struct measured *m, struct uring *u, struct gnn_err *err)
{
    if (u->kernel_ready && (!u->deferred || measured_self(m)->serial == u->owner_serial))
        return GNN_OK;
    assert(u->in_flight == 0);
    uring_teardown(u);
    return uring_setup(m, u, err);
}

/* ---- submission
 * --------------------------------------------------------------------------------------------- */

/* Index of the registered piece that holds the whole read, or -1. */
static int fixed_buffer_of(const struct uring *u, const struct gnn_read *read)
{
    const uintptr_t base = (uintptr_t)u->config.register_buffer;
    const uintptr_t dst = (uintptr_t)read->dst;
    if (dst < base || dst - base >= u->config.register_buffer_bytes ||
        read->len_bytes > u->config.register_buffer_bytes - (dst - base))
        return -1;
    const uint64_t first = (dst - base) / fixed_buffer_bytes_max;
    const uint64_t last = (dst - base + read->len_bytes - 1) / fixed_buffer_bytes_max;
    return first == last ? (int)first : -1;
}

static void prepare_read(const struct uring *u, struct io_uring_sqe *sqe, const struct gnn_read *read)
{
    int fd = read->file->fd;
    unsigned flags = 0;
    for (uint32_t i = 0; i < u->config.register_file_count; i++) {
        if (u->fixed_files[i] == read->file) {
            fd = (int)i;
            flags = IOSQE_FIXED_FILE;
            break;
        }
    }
    const int buffer = u->config.register_buffer_bytes == 0 ? -1 : fixed_buffer_of(u, read);
    if (buffer >= 0)
        io_uring_prep_read_fixed(sqe, fd, read->dst, read->len_bytes, read->offset_bytes, buffer);
    else
        io_uring_prep_read(sqe, fd, read->dst, read->len_bytes, read->offset_bytes);
    io_uring_sqe_set_flags(sqe, flags);
    sqe->user_data = read->tag;
}

/* A kernel call that may be repeated: what it could not take now stays in the submission queue for the next.
 */
static bool try_again(int rc)
{
    return rc == -EINTR || rc == -EAGAIN || rc == -EBUSY;
}

static enum gnn_status uring_submit(struct measured *m, struct gnn_ring *ring, const struct gnn_read *reads,
                                    uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    struct uring *u = (struct uring *)ring;
    *accepted = 0;
    GNN_TRY(adopt(m, u, err));
    const uint32_t room = u->config.depth - u->in_flight;
    const uint32_t wanted = count < room ? count : room;
    uint32_t taken = 0;
    while (taken < wanted) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(&u->kernel);
        if (sqe == NULL)
            break; /* the polling thread has not fetched the last ones yet */
        prepare_read(u, sqe, &reads[taken]);
        taken++;
    }
    u->in_flight += taken;
    *accepted = taken;
    if (taken == 0)
        return GNN_OK;
    const int rc = io_uring_submit(&u->kernel);
    if (rc < 0 && !try_again(rc))
        return gnn_fail(err, GNN_EIO, "io_uring: submitting %u reads: %s", taken, strerror(-rc));
    return GNN_OK;
}

/* ---- completion
 * --------------------------------------------------------------------------------------------- */

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

/* Enters the kernel until at least `min` completions are there; with 0 only lets it deliver what has arrived.
 */
static enum gnn_status enter(struct uring *u, uint32_t min, struct gnn_err *err)
{
    do {
        const int rc = min == 0 ? io_uring_submit(&u->kernel) : io_uring_submit_and_wait(&u->kernel, min);
        if (rc < 0 && !try_again(rc))
            return gnn_fail(err, GNN_EIO, "io_uring: waiting for %u reads: %s", min, strerror(-rc));
    } while (io_uring_cq_ready(&u->kernel) < min);
    return GNN_OK;
}

static enum gnn_status uring_wait(struct measured *m, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                  struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    struct uring *u = (struct uring *)ring;
    *got = 0;
    assert(min <= u->in_flight);
    if (u->in_flight == 0 || max == 0)
        return GNN_OK;
    assert(!u->deferred || measured_self(m)->serial == u->owner_serial);
    const uint32_t ready = io_uring_cq_ready(&u->kernel);
    if (ready < min) {
        const uint64_t start_ns = measured_now_ns(&m->base);
        const enum gnn_status status = enter(u, min, err);
        measured_add_wait(&m->base, GNN_WAIT_IO, measured_now_ns(&m->base) - start_ns);
        GNN_TRY(status);
    } else if (ready == 0) {
        GNN_TRY(enter(u, 0, err));
    }
    *got = take_completions(u, max, out);
    return GNN_OK;
}

/* ---- open, close
 * -------------------------------------------------------------------------------------------- */

/* Everything in flight lands before its buffers may be freed. A thread that ends with reads of a
 * single-issuer ring in flight has waited for them in the kernel, so whoever closes its ring finds the
 * completions posted. */
static void uring_close(struct measured *m, struct gnn_ring *ring)
{
    struct uring *u = (struct uring *)ring;
    const bool foreign = u->deferred && measured_self(m)->serial != u->owner_serial;
    while (u->in_flight > 0) {
        struct gnn_completion dropped[64];
        uint32_t got;
        if (foreign) {
            if (take_completions(u, 64, dropped) == 0)
                measured_sleep_until(&m->base, measured_now_ns(&m->base) + UINT64_C(1000000), GNN_WAIT_IO);
        } else if (uring_wait(m, ring, 1, 64, dropped, &got, NULL) != GNN_OK) {
            break; /* the kernel ends what is left with the ring */
        }
    }
    uring_teardown(u);
    free(u);
}

static const struct gnn_ring_engine_ops uring_ops = {
    .submit = uring_submit, .wait = uring_wait, .close = uring_close};

enum gnn_status measured_uring_open(struct measured *m, const struct gnn_ring_config *config,
                                    struct gnn_ring **out, struct gnn_err *err)
{
    if (config->register_file_count > FIXED_FILES_MAX)
        return gnn_fail(err, GNN_EUSAGE, "io_uring: %u files to register, at most %d",
                        config->register_file_count, FIXED_FILES_MAX);
    if (config->register_buffer_bytes > FIXED_BUFFERS_MAX * fixed_buffer_bytes_max)
        return gnn_fail(err, GNN_EUSAGE, "io_uring: a buffer of %llu bytes to register, at most %d GiB",
                        (unsigned long long)config->register_buffer_bytes, FIXED_BUFFERS_MAX);
    struct uring *u = calloc(1, sizeof *u);
    if (u == NULL)
        return gnn_fail(err, GNN_ENOMEM, "io_uring: a ring handle");
    u->ring.ops = &uring_ops;
    u->config = *config;
    for (uint32_t i = 0; i < config->register_file_count; i++)
        u->fixed_files[i] = config->register_files[i];
    u->config.register_files = NULL; /* the caller's array need not outlive this call */
    const enum gnn_status status = uring_setup(m, u, err);
    if (status == GNN_OK)
        *out = &u->ring;
    else
        uring_close(m, &u->ring);
    return status;
}
