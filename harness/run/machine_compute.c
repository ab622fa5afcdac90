/* SPDX-License-Identifier: MIT */
#include "harness/run/machine_state.h"
#include "harness/tensor/cuda/plugin.h"
#include "harness/tensor/group.h"
#include "harness/tensor/modelled/modelled.h"

#include <assert.h>
#include <string.h>

/* A sleep shorter than this is mostly the timer's own error: modelled host time is saved up to it. */
enum { DEBT_NS = 500 * 1000 };

static enum gnn_status tensor_alloc(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    const struct gnn_machine *const m = ctx;
    GNN_TRY(gnn_mem_alloc(m->world, name, bytes, GNN_MEM_FEATURES, out, err));
    gnn_mem_touch(m->world, *out, bytes); /* sized by the batch that is about to fill it */
    return GNN_OK;
}

static void tensor_free(void *ctx, void *ptr)
{
    const struct gnn_machine *const m = ctx;
    gnn_mem_free(m->world, ptr);
}

static uint64_t tensor_now_ns(void *ctx)
{
    const struct gnn_machine *const m = ctx;
    return gnn_now_ns(m->world);
}

static void tensor_wait_until(void *ctx, uint64_t deadline_ns)
{
    const struct gnn_machine *const m = ctx;
    gnn_sleep_until(m->world, deadline_ns, GNN_WAIT_COMPUTE);
}

static void tensor_waited(void *ctx, uint64_t ns)
{
    const struct gnn_machine *const m = ctx;
    gnn_add_wait(m->world, GNN_WAIT_COMPUTE, ns);
}

static void simulated_compute_ns(void *ctx, uint64_t ns)
{
    const struct gnn_machine *const m = ctx;
    gnn_charge(m->world, GNN_WORK_CPU_NS, ns);
}

static int64_t tensor_asleep_ns(void *ctx)
{
    const struct gnn_machine *const m = ctx;
    struct gnn_time_split split;
    gnn_thread_split(m->world, &split);
    return gnn_split_unnamed_ns(&split);
}

/* Modelled host time in the measured world: the thread sleeps through it, DEBT_NS and more at once. */
static void measured_compute_ns(void *ctx, uint64_t ns)
{
    struct gnn_machine *const m = ctx;
    const uint64_t owed_ns = atomic_fetch_add(&m->debt_ns, ns) + ns;
    if (owed_ns < DEBT_NS)
        return;
    const uint64_t slept_ns = atomic_exchange(&m->debt_ns, 0);
    gnn_sleep_until(m->world, gnn_now_ns(m->world) + slept_ns, GNN_WAIT_COMPUTE);
}

static enum gnn_status tensor_ops(const struct gnn_run_config *config, const struct gnn_tensor_ops **out,
                                  struct gnn_err *err)
{
    uint32_t device;
    if (gnn_compute_is_cuda(config, &device))
        return gnn_cuda_plugin(out, err);
    *out = gnn_compute_is_modelled(config)       ? &gnn_tensor_modelled
           : strcmp(config->compute, "ref") == 0 ? &gnn_tensor_ref
                                                 : &gnn_tensor_cpu;
    return GNN_OK;
}

bool gnn_machine_on_device(const struct gnn_machine *m)
{
    char name[sizeof m->config->compute];
    uint32_t device;
    bool gpu = false, named;
    if (gnn_compute_is_modelled(m->config))
        gnn_machine_split_compute(m->config->compute, name, sizeof name, &gpu, &named);
    return gpu || gnn_compute_is_cuda(m->config, &device);
}

static enum gnn_status all_reduce_modelled(void *ctx, struct gnn_tensor *tensor, gnn_real *gradient, uint64_t count,
                                           gnn_real weight, struct gnn_err *err)
{
    const struct gnn_machine *const m = ctx;
    (void)gradient;
    (void)weight;
    (void)err;
    gnn_modelled_all_reduce(tensor, m->config->workers, gnn_mul_bytes(count, sizeof(gnn_real)));
    return GNN_OK;
}

static enum gnn_status all_reduce_cuda(void *ctx, struct gnn_tensor *tensor, gnn_real *gradient, uint64_t count,
                                       gnn_real weight, struct gnn_err *err)
{
    (void)ctx;
    return tensor->ops->group->sum(tensor, gradient, count, weight, err);
}

gnn_all_reduce_fn *gnn_machine_all_reduce(const struct gnn_machine *m)
{
    uint32_t device;
    if (gnn_compute_is_cuda(m->config, &device))
        return all_reduce_cuda;
    return gnn_compute_is_modelled(m->config) ? all_reduce_modelled : NULL;
}

/* The tensor of a lower rank on the same GPU of the profile, whose time and memory this rank's will share. */
static struct gnn_tensor *same_device(const struct gnn_machine *m, uint32_t rank)
{
    const uint32_t devices = m->compute->gpu.devices;
    return rank >= devices ? m->tensors[rank % devices] : NULL;
}

enum gnn_status gnn_machine_tensor(struct gnn_machine *m, uint32_t rank, struct gnn_tensor **out, struct gnn_err *err)
{
    struct gnn_tensor_env env = {.threads = m->config->compute_threads,
                                 .precision = m->config->precision,
                                 .graphs = m->config->step_graphs,
                                 .now_ns = tensor_now_ns,
                                 .waited = tensor_waited,
                                 .asleep_ns = tensor_asleep_ns,
                                 .alloc = tensor_alloc,
                                 .free = tensor_free,
                                 .ctx = m};
    const struct gnn_tensor_ops *ops = NULL;
    GNN_TRY(tensor_ops(m->config, &ops, err));
    if (gnn_compute_is_cuda(m->config, &env.device))
        env.device += rank; /* a GPU each */
    if (gnn_compute_is_modelled(m->config)) {
        char name[sizeof m->config->compute];
        bool named;
        gnn_machine_split_compute(m->config->compute, name, sizeof name, &env.gpu, &named);
        if (m->compute == NULL)
            GNN_TRY(gnn_machine_open_profile(m->config, "--compute model", name, &m->compute, err));
        env.same_device = same_device(m, rank);
        env.wait_until = tensor_wait_until;
        env.compute_ns = m->simulated ? simulated_compute_ns : measured_compute_ns;
    }
    assert(m->tensors[rank] == NULL);
    struct gnn_tensor *opened = NULL;
    struct gnn_mem_usage before, after;
    gnn_mem_usage(m->inner, &before);
    const enum gnn_status status = ops->open(&env, m->compute, &opened, err);
    m->tensors[rank] = opened; /* not before: a reading of the series looks at what stands there */
    GNN_TRY(status);
    gnn_mem_usage(m->inner, &after);
    if (m->config->workers == 1)
        m->tensor_bytes = after.current_bytes - before.current_bytes;
    if (m->series != NULL && env.gpu && env.same_device == NULL)
        m->series->gpus++;
    if (!m->simulated && m->config->workers == 1) /* what a driver took is no longer the world's to give */
        gnn_machine_limit(m);
    *out = m->tensors[rank];
    return GNN_OK;
}
