/* SPDX-License-Identifier: MIT */
/* A training step on the device: recorded and launched as one CUDA graph where that is faster, its results and times.
 *
 * Graph   The lists go up before the recording. A graph is brought up to date if the new step has its shape: the same
 *         launches, whatever their parameters. Steps of another shape (a product of another algorithm, an empty block)
 *         have a graph of their own, so that shapes that take turns are each built once. The graph that was not used
 *         for longest makes room. choice.h decides which steps are recorded. An op that must wait or allocate launches
 *         what was recorded so far, and the rest of the step runs op by op.
 * Failed  A recording that fails at its end has run nothing, so step_end asks for the step once more, op by op. */
#include "harness/tensor/cuda/state.h"

/* The graph that has the recorded step's shape, now the first in line; *built: none had. */
static uint32_t find_graph(struct cuda_backend *b, bool *built)
{
    uint32_t at = 0;
    while (at < GNN_STEP_GRAPHS && !gnn_device_graph_update(b->device, b->graphs[at]))
        at++;
    *built = at == GNN_STEP_GRAPHS;
    at = *built ? GNN_STEP_GRAPHS - 1 : at;
    const uint32_t slot = b->graphs[at];
    for (; at > 0; at--)
        b->graphs[at] = b->graphs[at - 1];
    b->graphs[0] = slot;
    return slot;
}

/* Ends the recording and launches it, or returns false if it failed. *built: no graph had its shape. */
static bool launch_captured(struct cuda_backend *b, bool *built)
{
    b->capturing = false;
    if (!gnn_device_end_capture(b->device)) {
        b->choice.graphs = false;
        return false;
    }
    const uint32_t slot = find_graph(b, built);
    if (*built)
        gnn_device_graph_build(b->device, slot);
    gnn_device_graph_launch(b->device, slot);
    return true;
}

/* The first part of the step is lost if its recording failed, and what follows cannot be held back any more. */
void cuda_leave_capture(struct cuda_backend *b, const char *what)
{
    struct gnn_err err = {};
    bool built = false;
    if (!b->capturing || launch_captured(b, &built))
        return;
    (void)gnn_fail(&err, GNN_EIO, "the recording of a training step failed before %s; use --no-step-graphs", what);
    cuda_keep(b, &err);
}

void cuda_step_begin(struct gnn_tensor *t, const struct gnn_batch_lists *lists)
{
    struct cuda_backend *b = cuda_backend_of(t);
    assert(!b->in_step);
    b->in_step = true;
    b->step_start_ns = cuda_now(b);
    cuda_begin_work(b);
    for (uint32_t k = 0; k < lists->view->layer_count; k++)
        (void)cuda_need_block(b, &lists->view->blocks[k]); /* a full device is kept for check */
    if (lists->labels != NULL)
        (void)cuda_need_labels(b, lists->labels, lists->view->seed_count);
    b->capturing = b->choice.next() && gnn_device_capture(b->device);
}

bool cuda_step_end(struct gnn_tensor *t)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const bool whole = b->capturing, planned = whole == b->choice.next();
    bool built = false;
    assert(b->in_step);
    b->in_step = false;
    if (whole && !launch_captured(b, &built)) {
        b->loss_to = NULL;
        return false; /* nothing of the step ran */
    }
    gnn_device_work_end(b->device);
    b->graph_steps += whole;
    b->graph_builds += whole && built;
    b->step_due = planned;
    b->step_built = built;
    return true;
}

/* What links lost so far comes down behind the kernels that add it up. */
static void bring_link_loss(struct cuda_backend *b)
{
    struct cuda_results *results = (struct cuda_results *)b->result.data;
    if (b->link_loss_to != NULL)
        gnn_device_download_ordered(b->device, &results->link_loss, b->link_loss.data, sizeof results->link_loss);
}

void cuda_deliver_results(struct cuda_backend *b)
{
    const struct cuda_results *results = (const struct cuda_results *)b->result.data;
    if (b->link_loss_to != NULL)
        *b->link_loss_to += results->link_loss;
    b->link_loss_to = NULL;
    if (b->loss_to == NULL)
        return;
    *b->loss_to = results->step.loss;
    *b->correct_to = results->step.correct;
    b->loss_to = NULL;
}

void cuda_synchronize(struct gnn_tensor *t)
{
    struct cuda_backend *b = cuda_backend_of(t);
    cuda_leave_capture(b, "the end of a step");
    bring_link_loss(b);
    const uint64_t start_ns = cuda_wait_begin(b);
    gnn_device_synchronize(b->device);
    cuda_wait_end(b, start_ns);
    if (b->step_due)
        b->choice.add(b->step_built, cuda_now(b) - b->step_start_ns);
    b->step_due = false;
    b->caller = std::thread::id();
    cuda_deliver_results(b);
    cuda_forget_demanded(b);
    cuda_pool_settle(b);
    b->under_way = b->gathered = false;
    cuda_staging_settle(b);
}

void cuda_take_times(struct gnn_tensor *t, struct gnn_device_times *out)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const cuda_call call(b);
    *out = {};
    gnn_device_take_times(b->device, out);
    out->graph_steps = b->graph_steps;
    out->graph_builds = b->graph_builds;
    out->plain_step_ns = b->choice.median_ns[0];
    out->graph_step_ns = b->choice.median_ns[1];
    b->graph_steps = b->graph_builds = 0;
}

void cuda_range(struct gnn_tensor *t, const char *name)
{
    gnn_device_range(cuda_backend_of(t)->device, name);
}
