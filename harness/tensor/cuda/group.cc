/* SPDX-License-Identifier: MIT */
/* Several devices that train one model: their gradients summed by NCCL, in the compute stream.
 *
 * NCCL is loaded at run time and stays loaded: a machine with one GPU needs none, and the thread that keeps a group's
 * name lives in it. It is the library that OOCGNN_NCCL names, else the loader's libnccl.so.2.
 *
 * No call of NCCL blocks here. Each is given in, and what it is to bring about is looked for again and again; where
 * that fails, or another rank ends, the group is aborted at once: a device that waits for one that will not come holds
 * up all that is closed afterwards. */
#include "harness/tensor/cuda/state.h"

#include <chrono>
#include <dlfcn.h>
#include <stdio.h>

static const char nccl_file[] = "libnccl.so.2";

/* ---- the library ---- */

template <typename F> static bool find_call(void *library, const char *name, F *out)
{
    *out = reinterpret_cast<F>(dlsym(library, name));
    return *out != NULL;
}

static bool find_calls(void *library, struct gnn_nccl *out)
{
    return find_call(library, "ncclGetVersion", &out->get_version) &&
           find_call(library, "ncclGetUniqueId", &out->get_unique_id) &&
           find_call(library, "ncclCommInitRankConfig", &out->comm_init) &&
           find_call(library, "ncclCommGetAsyncError", &out->async_error) &&
           find_call(library, "ncclAllReduce", &out->all_reduce) &&
           find_call(library, "ncclCommFinalize", &out->finalize) &&
           find_call(library, "ncclCommDestroy", &out->destroy) && find_call(library, "ncclCommAbort", &out->abort) &&
           find_call(library, "ncclGetErrorString", &out->error_string) &&
           find_call(library, "ncclGetLastError", &out->last_error);
}

static enum gnn_status missing(const char *why, struct gnn_err *err)
{
    return gnn_fail(err, GNN_ENOTSUP,
                    "several workers with a GPU each need NCCL 2.14 or later (%s): install it (libnccl2, or pip's "
                    "nvidia-nccl-cu13) and put its folder into LD_LIBRARY_PATH, or leave --workers out",
                    why);
}

static enum gnn_status load(struct gnn_nccl *out, int *version, struct gnn_err *err)
{
    const char *const asked = getenv("OOCGNN_NCCL");
    void *const library = dlopen(asked != NULL ? asked : nccl_file, RTLD_NOW | RTLD_LOCAL);
    char why[128];
    if (library == NULL)
        return missing(dlerror(), err);
    *version = 0;
    if (!find_calls(library, out))
        return missing("the library found lacks some of its calls", err);
    if (out->get_version(version) == GNN_NCCL_SUCCESS && *version >= GNN_NCCL_OLDEST)
        return GNN_OK;
    (void)snprintf(why, sizeof why, "the library found says version %d", *version);
    return missing(why, err);
}

static enum gnn_status cuda_group_find(char *text, size_t text_bytes, struct gnn_err *err)
{
    struct gnn_nccl nccl = {};
    int version = 0;
    GNN_TRY(load(&nccl, &version, err));
    (void)snprintf(text, text_bytes, "NCCL %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    return GNN_OK;
}

static enum gnn_status failed(const struct gnn_nccl *nccl, struct ncclComm *comm, const char *what, int result,
                              struct gnn_err *err)
{
    const char *const more = comm != NULL ? nccl->last_error(comm) : NULL;
    return gnn_fail(err, GNN_EIO, "NCCL: %s: %s%s%s; NCCL_DEBUG=WARN tells more", what, nccl->error_string(result),
                    more != NULL && more[0] != '\0' ? ": " : "", more != NULL ? more : "");
}

static enum gnn_status cuda_group_name(struct gnn_group_name *out, struct gnn_err *err)
{
    struct gnn_nccl nccl = {};
    struct gnn_nccl_name name = {};
    int version = 0;
    static_assert(sizeof name == sizeof *out, "a name is passed on as it is");
    GNN_TRY(load(&nccl, &version, err));
    const int result = nccl.get_unique_id(&name);
    if (result != GNN_NCCL_SUCCESS)
        return failed(&nccl, NULL, "name of the group", result, err);
    memcpy(out, &name, sizeof name);
    return GNN_OK;
}

/* ---- waiting ---- */

/* Spins for as long as a sum of gradients takes, then sleeps in between. */
static void wait_a_little(std::chrono::steady_clock::time_point start)
{
    enum { SPIN_US = 300, SLEEP_US = 50 };
    if (std::chrono::steady_clock::now() - start < std::chrono::microseconds(SPIN_US))
        std::this_thread::yield();
    else
        std::this_thread::sleep_for(std::chrono::microseconds(SLEEP_US));
}

/* NCCL's failure, unless another rank has ended, which is its cause then. */
static enum gnn_status blame(const struct cuda_group *g, const char *what, int result, struct gnn_err *err)
{
    GNN_TRY(g->config.goes_on(g->config.ctx, err));
    return failed(&g->nccl, g->comm, what, result, err);
}

/* Whether NCCL is done with what it was given, and with `landed` the device as well. A failure is kept in *err. */
static bool done(struct cuda_backend *b, const char *what, bool landed, enum gnn_status *status, struct gnn_err *err)
{
    const struct cuda_group *g = &b->group;
    int state = GNN_NCCL_SUCCESS;
    const int result = g->nccl.async_error(g->comm, &state);
    if (result != GNN_NCCL_SUCCESS)
        state = result;
    if (state == GNN_NCCL_IN_PROGRESS)
        return false;
    if (state != GNN_NCCL_SUCCESS)
        *status = blame(g, what, state, err);
    return state != GNN_NCCL_SUCCESS || !landed || gnn_device_passed(b->device);
}

/* Waits for it, unless another rank ends meanwhile. result: of the call that gave it in. */
static enum gnn_status settle(struct cuda_backend *b, const char *what, int result, bool landed, struct gnn_err *err)
{
    const struct cuda_group *g = &b->group;
    const auto start = std::chrono::steady_clock::now();
    enum gnn_status status = GNN_OK;
    if (result != GNN_NCCL_SUCCESS && result != GNN_NCCL_IN_PROGRESS)
        status = blame(g, what, result, err);
    const uint64_t start_ns = cuda_wait_begin(b);
    while (status == GNN_OK && !done(b, what, landed, &status, err)) {
        status = g->config.goes_on(g->config.ctx, err);
        wait_a_little(start);
    }
    cuda_wait_end(b, start_ns);
    return status;
}

static void abort_group(struct cuda_group *g)
{
    if (g->comm != NULL)
        (void)g->nccl.abort(g->comm);
    g->comm = NULL;
}

/* On failure the others are told, and then the device is in no group any more. */
static enum gnn_status or_abort(struct cuda_group *g, enum gnn_status status, const struct gnn_err *err)
{
    if (status == GNN_OK)
        return GNN_OK;
    g->config.fails(g->config.ctx, err);
    abort_group(g);
    return status;
}

/* ---- membership ---- */

static enum gnn_status cuda_group_join(struct gnn_tensor *t, const struct gnn_group_config *config, struct gnn_err *err)
{
    struct cuda_backend *b = cuda_backend_of(t);
    struct cuda_group *g = &b->group;
    struct gnn_nccl_name name = {};
    struct gnn_nccl_config own = {sizeof own, GNN_NCCL_MAGIC, GNN_NCCL_OLDEST, 0};
    int version = 0;
    assert(g->comm == NULL);
    assert(config->rank < config->ranks);
    GNN_TRY(load(&g->nccl, &version, err));
    memcpy(&name, &config->name, sizeof name);
    g->config = *config;
    gnn_device_choose(b->device);
    const int result = g->nccl.comm_init(&g->comm, (int)config->ranks, name, (int)config->rank, &own);
    if (g->comm == NULL)
        return or_abort(g, blame(g, "joining the group", result, err), err);
    return or_abort(g, settle(b, "joining the group", result, false, err), err);
}

static enum gnn_status cuda_group_sum(struct gnn_tensor *t, gnn_real *values, uint64_t count, gnn_real weight,
                                      struct gnn_err *err)
{
    struct cuda_backend *b = cuda_backend_of(t);
    struct cuda_group *g = &b->group;
    assert(g->comm != NULL);
    assert(!b->capturing);
    cuda_begin_work(b);
    cuda_scale(b, values, count, weight);
    const int result = g->nccl.all_reduce(values, values, count, GNN_NCCL_FLOAT, GNN_NCCL_SUM, g->comm,
                                          gnn_device_stream_of(b->device));
    GNN_TRY(or_abort(g, settle(b, "sum of the gradients", result, true, err), err));
    return gnn_device_check(b->device, err);
}

/* NCCL gives back what it holds of the device when all have come to the end; where one has not, nobody waits. */
void cuda_group_leave(struct gnn_tensor *t)
{
    struct cuda_backend *b = cuda_backend_of(t);
    struct cuda_group *g = &b->group;
    struct gnn_err ignored = {};
    if (g->comm == NULL)
        return;
    gnn_device_choose(b->device);
    if (g->config.goes_on(g->config.ctx, &ignored) == GNN_OK &&
        settle(b, "end of the group", g->nccl.finalize(g->comm), false, &ignored) == GNN_OK) {
        (void)g->nccl.destroy(g->comm);
        g->comm = NULL;
    }
    abort_group(g);
}

const struct gnn_group_ops gnn_cuda_group = {
    .find = cuda_group_find,
    .name = cuda_group_name,
    .join = cuda_group_join,
    .sum = cuda_group_sum,
    .leave = cuda_group_leave,
};
