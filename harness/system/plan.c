/* SPDX-License-Identifier: MIT */
#include "harness/system/plan.h"

#include "harness/base/units.h"
#include "harness/system/rows.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct gnn_plan_part *gnn_plan_shared(struct gnn_memory_plan *plan, const char *name, const char *remedy,
                                      uint64_t bytes)
{
    assert(plan->env != NULL);
    assert(name != NULL);
    assert(plan->part_count < GNN_PLAN_PARTS_MAX);
    struct gnn_plan_part *part = &plan->parts[plan->part_count++];
    *part = (struct gnn_plan_part){.name = name, .remedy = remedy, .bytes = bytes, .phases = GNN_PLAN_ALL_PHASES};
    return part;
}

struct gnn_plan_part *gnn_plan_part(struct gnn_memory_plan *plan, const char *name, const char *remedy, uint64_t bytes)
{
    return gnn_plan_shared(plan, name, remedy, gnn_mul_bytes(gnn_env_workers(plan->env), bytes));
}

struct gnn_plan_part *gnn_plan_in_flight(struct gnn_memory_plan *plan, const char *name, const char *remedy,
                                         uint64_t bytes)
{
    struct gnn_plan_part *part = gnn_plan_part(plan, name, remedy, bytes);
    part->in_flight = true;
    return part;
}

uint64_t gnn_plan_nodes_of(const struct gnn_memory_plan *plan, uint32_t batches, uint32_t hops)
{
    assert(hops <= plan->env->workload->layers);
    const double expected = plan->batch.nodes[hops], largest = fmax(plan->largest.nodes[hops], expected);
    return (uint64_t)ceil(batches * expected + sqrt(batches) * (largest - expected));
}

static uint64_t rows_bytes(const struct gnn_memory_plan *plan, uint32_t row_bytes)
{
    const struct gnn_env *const env = plan->env;
    const uint64_t rows = plan->largest.nodes[env->workload->layers];
    const uint64_t labels = env->workload->batch_size * (uint64_t)sizeof *env->dataset->labels;
    return gnn_add_bytes(gnn_round_up(gnn_mul_bytes(gnn_rows_capacity(rows), row_bytes), GNN_PAGE_BYTES),
                         gnn_round_up(labels, GNN_PAGE_BYTES));
}

uint64_t gnn_plan_rows_bytes(const struct gnn_memory_plan *plan)
{
    return rows_bytes(plan, plan->env->dataset->row_bytes);
}

uint64_t gnn_plan_wide_rows_bytes(const struct gnn_memory_plan *plan)
{
    return rows_bytes(plan, gnn_dataset_wide_bytes(plan->env->dataset));
}

void gnn_plan_widened(struct gnn_memory_plan *plan, uint32_t phases, uint64_t bytes)
{
    static const char name[] = "rows widened to float32", remedy[] = "--batch or --fanout";
    const struct gnn_env *const env = plan->env;
    if (env->dataset->feature_type == GNN_F32 || env->workload->sample_only)
        return;
    if (gnn_env_on_device(env))
        gnn_plan_device(plan, name, remedy, bytes);
    else
        gnn_plan_in_flight(plan, name, remedy, bytes)->phases = phases;
}

void gnn_plan_device(struct gnn_memory_plan *plan, const char *name, const char *remedy, uint64_t bytes)
{
    gnn_plan_part(plan, name, remedy, bytes)->on_device = true;
}

static void plan_decoder(struct gnn_memory_plan *plan)
{
    const struct gnn_env *const env = plan->env;
    const struct gnn_negative_config *const negatives = &env->workload->negatives;
    const uint32_t batch_size = env->workload->batch_size;
    const uint64_t bytes = gnn_link_bytes(env->link_config, (uint32_t)gnn_div_up(batch_size, negatives->chunks),
                                          gnn_negative_most(negatives, batch_size, env->dataset->node_count));
    gnn_plan_part(plan, "decoder",
                  negatives->set == GNN_NEGATIVES_ALL ? "--batch, --chunks or --negative-set"
                                                      : "--batch, --negatives or --chunks",
                  bytes)
        ->on_device = gnn_env_on_device(env);
}

void gnn_plan_begin(struct gnn_memory_plan *plan, const struct gnn_env *env)
{
    const struct gnn_dataset *d = env->dataset;
    const bool only = env->workload->sample_only;
    *plan = (struct gnn_memory_plan){.env = env};
    gnn_batch_expect(d, env->workload, &plan->batch);
    gnn_batch_largest(d, env->workload, &plan->largest);
    const uint64_t arrays[] = {(d->node_count + UINT64_C(1)) * sizeof *d->indptr,
                               only ? 0 : d->node_count * (uint64_t)sizeof *d->labels,
                               d->train.count * (uint64_t)sizeof(gnn_node), d->valid.count * (uint64_t)sizeof(gnn_node),
                               d->test.count * (uint64_t)sizeof(gnn_node)};
    uint64_t held = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        held += gnn_round_up(arrays[i], GNN_PAGE_BYTES);
    gnn_plan_shared(plan, "dataset's offsets, labels and splits", NULL, held);
    gnn_plan_part(plan, "process itself", NULL, env->process_bytes);
    if (!only && env->workload->task == GNN_TASK_LINK)
        plan_decoder(plan);
    if (!only && env->model_config != NULL && env->workload->layers > 0)
        gnn_plan_part(plan, "model", "--hidden, --batch or --fanout",
                      gnn_model_bytes(env->model_config, plan->largest.nodes))
            ->on_device = gnn_env_on_device(env);
    if (env->evaluation_bytes > 0)
        gnn_plan_shared(plan, "evaluation between epochs", "--evaluate last or never", env->evaluation_bytes);
    plan->run_part_count = plan->part_count;
}

/* Sums up those of the first `count` parts that are held in one of the phases; in_flight: and grow with batches. */
static uint64_t sum_parts(const struct gnn_memory_plan *plan, uint32_t count, uint32_t phases, bool in_flight)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        if ((plan->parts[i].phases & phases) != 0 && (plan->parts[i].in_flight || !in_flight) &&
            !plan->parts[i].on_device)
            sum = gnn_add_bytes(sum, plan->parts[i].bytes);
    return sum;
}

uint64_t gnn_plan_phase_bytes(const struct gnn_memory_plan *plan, uint32_t phase)
{
    assert(phase < GNN_PLAN_PHASES_MAX);
    return sum_parts(plan, plan->part_count, 1U << phase, false);
}

static uint32_t largest_phase(const struct gnn_memory_plan *plan)
{
    uint32_t largest = 0;
    for (uint32_t phase = 1; phase < GNN_PLAN_PHASES_MAX; phase++)
        if (gnn_plan_phase_bytes(plan, phase) > gnn_plan_phase_bytes(plan, largest))
            largest = phase;
    return largest;
}

uint64_t gnn_plan_bytes(const struct gnn_memory_plan *plan)
{
    return gnn_plan_phase_bytes(plan, largest_phase(plan));
}

uint64_t gnn_plan_run_bytes(const struct gnn_memory_plan *plan)
{
    return sum_parts(plan, plan->run_part_count, GNN_PLAN_ALL_PHASES, false);
}

uint64_t gnn_plan_in_flight_bytes(const struct gnn_memory_plan *plan)
{
    return sum_parts(plan, plan->part_count, 1U << largest_phase(plan), true);
}

uint64_t gnn_plan_left(const struct gnn_memory_plan *plan, uint32_t phase)
{
    const uint64_t cap = plan->env->cap_bytes, held = gnn_plan_phase_bytes(plan, phase);
    if (cap == 0)
        return UINT64_MAX;
    return cap > held ? cap - held : 0;
}

const struct gnn_plan_part *gnn_plan_largest(const struct gnn_memory_plan *plan)
{
    const uint32_t phase = largest_phase(plan);
    const struct gnn_plan_part *largest = NULL;
    for (uint32_t i = 0; i < plan->part_count; i++) {
        const struct gnn_plan_part *part = &plan->parts[i];
        const bool held = part->remedy != NULL && (part->phases >> phase & 1) != 0 && !part->on_device;
        if (held && (largest == NULL || part->bytes > largest->bytes))
            largest = part;
    }
    return largest;
}

uint64_t gnn_plan_device_bytes(const struct gnn_memory_plan *plan)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < plan->part_count; i++)
        if (plan->parts[i].on_device)
            sum = gnn_add_bytes(sum, plan->parts[i].bytes);
    return sum;
}

/* A device whose size nobody knows (0) refuses when it is full. */
static enum gnn_status check_device(const struct gnn_memory_plan *plan, struct gnn_err *err)
{
    const struct gnn_tensor *tensor = plan->env->tensor;
    const uint64_t total = gnn_plan_device_bytes(plan), memory = tensor != NULL ? tensor->memory_bytes : 0;
    if (memory == 0 || total <= memory)
        return GNN_OK;
    const struct gnn_plan_part *most = NULL;
    for (uint32_t i = 0; i < plan->part_count; i++)
        if (plan->parts[i].on_device && (most == NULL || plan->parts[i].bytes > most->bytes))
            most = &plan->parts[i];
    assert(most != NULL);
    char needed[32], has[32], part[32];
    return gnn_fail(err, GNN_EGPU,
                    "the run needs about %s of GPU memory, the GPU has %s; the largest part is the %s with %s: change "
                    "%s, or use a GPU with more",
                    gnn_format_bytes(total, needed, sizeof needed), gnn_format_bytes(memory, has, sizeof has),
                    most->name, gnn_format_bytes(most->bytes, part, sizeof part), most->remedy);
}

/* Returns a memory limit in MiB for a run that needs `total` bytes. Plans grow with the limit: an eighth is added. */
static uint64_t enough_mib(uint64_t total)
{
    return gnn_div_up(gnn_add_bytes(total, total / 8), UINT64_C(1) << 20);
}

enum gnn_status gnn_plan_check(const struct gnn_memory_plan *plan, const char *when, struct gnn_err *err)
{
    GNN_TRY(check_device(plan, err));
    const uint64_t total = gnn_plan_bytes(plan), cap = plan->env->cap_bytes;
    if (cap == 0 || plan->advisory || total <= cap)
        return GNN_OK;
    char needed[32], cap_text[32], most[32];
    const struct gnn_plan_part *part = gnn_plan_largest(plan);
    (void)gnn_format_bytes(total, needed, sizeof needed);
    (void)gnn_format_bytes(cap, cap_text, sizeof cap_text);
    const char *const workers_too = gnn_env_workers(plan->env) > 1 ? ", or lower --workers" : "";
    if (part == NULL)
        return gnn_fail(
            err, GNN_ECAP,
            "the run needs about %s%s in addition to the page cache, but the memory limit is %s: raise --memory%s; "
            "--memory %" PRIu64 "M should be enough",
            needed, when, cap_text, workers_too, enough_mib(total));
    char own[32], process[80] = "";
    if (plan->env->process_bytes > part->bytes)
        (void)snprintf(process, sizeof process, " (the process itself takes %s)",
                       gnn_format_bytes(plan->env->process_bytes, own, sizeof own));
    return gnn_fail(err, GNN_ECAP,
                    "the run needs about %s%s in addition to the page cache%s, but the memory limit is %s. The largest "
                    "part that an option changes is the %s with %s: raise --memory or change %s%s; --memory %" PRIu64
                    "M should be enough",
                    needed, when, process, cap_text, part->name, gnn_format_bytes(part->bytes, most, sizeof most),
                    part->remedy, workers_too, enough_mib(total));
}

void gnn_plan_explain(const struct gnn_memory_plan *plan, struct gnn_err *err)
{
    const struct gnn_plan_part *const part = gnn_plan_largest(plan);
    if (err->status != GNN_ECAP || part == NULL || strstr(err->message, "raise --memory or") != NULL)
        return;
    char counted[32], most[32];
    const size_t length = strlen(err->message);
    assert(length < sizeof err->message);
    (void)snprintf(
        err->message + length, sizeof err->message - length,
        "; the run outgrew its plan of %s, whose largest part is the %s with %s: raise --memory or change %s",
        gnn_format_bytes(gnn_plan_bytes(plan), counted, sizeof counted), part->name,
        gnn_format_bytes(part->bytes, most, sizeof most), part->remedy);
}
