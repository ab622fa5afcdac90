/* SPDX-License-Identifier: MIT */
/* Opens machine, dataset, model and system in the order that a plan and a cap need, and closes them in the reverse. */
#include "harness/run/worker/worker.h"

#include "harness/base/denormals.h"
#include "harness/run/fault_option.h"
#include "harness/run/worker/device_group.h"
#include "harness/run/worker/epochs.h"
#include "harness/run/worker/run_ranks.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ends the process: every thread waits for another, and nothing can be closed any more. */
static void on_deadlock(void *ctx, const char *report)
{
    (void)ctx;
    struct gnn_err err = {0};
    (void)gnn_fail(&err, GNN_EBUG, "deadlock: %s", report);
    gnn_control_error(&err);
    _exit(1);
}

static enum gnn_status open_machine(struct gnn_run_worker *w, struct gnn_err *err)
{
    struct gnn_run_faults faults;
    GNN_TRY(gnn_machine_open(w->config, on_deadlock, &w->machine, err));
    w->world = gnn_machine_world(w->machine);
    GNN_TRY(gnn_faults_parse(w->config->fault, &faults, err));
    w->die_at_batch = faults.die_at_batch;
    w->die_rank = faults.die_rank;
    if (w->config->batches != 0)
        GNN_NEW(w->step_ns, gnn_run_max_batches(w->config), err, "times of %u steps", gnn_run_max_batches(w->config));
    return GNN_OK;
}

/* Whether something else than a trace would be overwritten: a dataset's file, the database. */
static bool holds_other(const char *path)
{
    FILE *const file = fopen(path, "re");
    char line[128] = "";
    uint64_t epoch, batch;
    if (file == NULL)
        return false; /* missing, or the next opening says why not */
    const bool empty = fgets(line, sizeof line, file) == NULL;
    (void)fclose(file);
    return !empty && sscanf(line, "%" SCNu64 " %" SCNu64 " 0x", &epoch, &batch) != 2;
}

static enum gnn_status open_trace(struct gnn_run_worker *w, struct gnn_err *err)
{
    if (w->config->trace_rows[0] != '\0')
        GNN_TRY(gnn_row_file_open(w->config->trace_rows, &w->rows, err));
    if (w->config->trace_loss[0] == '\0')
        return GNN_OK;
    struct stat info;
    if (stat(w->config->trace_loss, &info) == 0 && S_ISREG(info.st_mode) && holds_other(w->config->trace_loss))
        return gnn_fail(err, GNN_EUSAGE, "--trace-loss %s: exists and is no loss trace; name another file",
                        w->config->trace_loss);
    w->trace = fopen(w->config->trace_loss, "we");
    if (w->trace == NULL)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EUSAGE), "--trace-loss %s: %s", w->config->trace_loss,
                        strerror(errno));
    return GNN_OK;
}

static void fill_workload(struct gnn_run_worker *w)
{
    const struct gnn_run_config *const c = w->config;
    const bool link = c->task == GNN_TASK_LINK;
    w->workload = (struct gnn_workload){.task = c->task,
                                        .negatives = {.seed = c->seed,
                                                      .set = c->negative_set,
                                                      .count = c->negatives,
                                                      .chunks = c->chunks,
                                                      .degree_share = c->degree_share},
                                        .seed = c->seed,
                                        .batch_size = c->batch_size,
                                        .layers = link && !c->encoder ? 0 : c->fanout.count,
                                        .epochs = c->epochs,
                                        .max_batches = gnn_run_max_batches(c),
                                        .sample_only = c->sample_only,
                                        .workers = c->workers,
                                        .segments = gnn_run_segments(c)};
    assert(c->batch_size > 0);
    memcpy(w->workload.fanout, c->fanout.values, sizeof w->workload.fanout);
    w->model_config = (struct gnn_model_config){.kind = c->model,
                                                .layers = w->workload.layers,
                                                .in_dim = w->dataset->dim,
                                                .hidden = c->hidden,
                                                .heads = c->heads,
                                                .classes = link ? w->dataset->dim : w->dataset->class_count,
                                                .dropout = c->dropout,
                                                .lr = link ? c->embedding_lr : c->lr,
                                                .optimizer = c->optimizer,
                                                .weight_decay = c->weight_decay,
                                                .gat_width_total = c->gat_width_total,
                                                .gcn_norm = c->gcn_norm,
                                                .gcn_maps_sources = c->gcn_maps_sources,
                                                .seed = c->seed};
    w->link_config = (struct gnn_link_config){.decoder = c->decoder,
                                              .start = c->relation_start,
                                              .seed = c->seed,
                                              .optimizer = c->optimizer,
                                              .dim = w->dataset->dim,
                                              .relations = w->dataset->relation_count,
                                              .lr = c->embedding_lr,
                                              .n3 = c->n3};
    w->env = (struct gnn_env){.world = w->world,
                              .dataset = w->dataset,
                              .workload = &w->workload,
                              .model_config = &w->model_config,
                              .link_config = &w->link_config,
                              .io_engine = c->io_engine,
                              .storage = gnn_machine_storage(w->machine),
                              .cpu = gnn_machine_cpu(w->machine),
                              .floyd_biased = c->floyd_biased,
                              .cores = gnn_max_u32(gnn_machine_cores(w->machine) / c->workers, 1),
                              .tensor = w->env.tensor,
                              .cap_bytes = c->memory_bytes,
                              .process_bytes = gnn_machine_process_bytes(w->machine),
                              .stop = w->control->stop,
                              .on_step = gnn_run_worker_on_step,
                              .on_step_ctx = w,
                              .on_device = gnn_machine_on_device(w->machine)};
}
_Static_assert(sizeof(((struct gnn_workload *)0)->fanout) == sizeof(((struct gnn_u32_list *)0)->values), "one limit");

static uint32_t number_of(const struct gnn_run_worker *w, const struct gnn_option *option)
{
    uint32_t number = 1; /* of another type: no rule's */
    if (option->type == GNN_OPT_U32)
        memcpy(&number, (const char *)w->system_config + option->offset, sizeof number);
    return number;
}

/* Lets the system's rules fill in its config, and lists the parameters that they changed. */
static void complete_config(struct gnn_run_worker *w)
{
    uint64_t open = 0; /* a bit for each parameter at 0 */
    if (w->system->complete == NULL)
        return;
    const struct gnn_option *const options = w->system->options;
    for (uint32_t i = 0; options[i].name != NULL; i++) {
        assert(i < 64);
        open |= number_of(w, &options[i]) == 0 ? UINT64_C(1) << i : 0;
    }
    w->system->complete(&w->env, w->system_config);
    for (uint32_t i = 0; options[i].name != NULL; i++) {
        const uint32_t number = number_of(w, &options[i]);
        if (number == 0 || (open >> i & 1) == 0)
            continue;
        assert(w->rules.count < GNN_WIRE_RULES_MAX);
        (void)snprintf(w->rules.of[w->rules.count].name, GNN_NAME_MAX, "%s", options[i].name);
        w->rules.of[w->rules.count++].value = number;
    }
}

/* A sole worker plans here, its tensor back-end being open, and the model comes after. Several have planned before they
 * opened theirs: what their drivers take is in no plan. */
static enum gnn_status open_training(struct gnn_run_worker *w, struct gnn_err *err)
{
    if (w->workload.sample_only)
        return w->env.ranks == NULL ? gnn_run_plan(w, err) : GNN_OK;
    if (w->env.tensor == NULL) /* a process of several */
        GNN_TRY(gnn_machine_tensor(w->machine, w->env.rank, &w->env.tensor, err));
    GNN_TRY(gnn_device_group_join(w, err));
    if (w->env.ranks == NULL)
        GNN_TRY(gnn_run_plan(w, err));
    if (w->workload.task == GNN_TASK_LINK)
        GNN_TRY(gnn_link_open(w->env.tensor, &w->link_config, &w->env.link, err));
    if (w->workload.layers == 0)
        return GNN_OK;
    return gnn_model_open(w->env.tensor, &w->model_config, &w->env.model, err);
}

static void send_opened(const struct gnn_run_worker *w, uint64_t open_ns)
{
    struct gnn_wire_message message = {0};
    struct gnn_wire_opened *const opened = &message.as.opened;
    *opened = (struct gnn_wire_opened){.dataset = *w->dataset,
                                       .intent = w->intent,
                                       .plan_fixed_bytes = gnn_plan_bytes(&w->plan) - gnn_plan_run_bytes(&w->plan) -
                                                           gnn_plan_in_flight_bytes(&w->plan),
                                       .plan_batches_bytes = gnn_plan_in_flight_bytes(&w->plan),
                                       .rules = w->rules,
                                       .readahead_bytes = gnn_machine_readahead(w->machine),
                                       .open_ns = open_ns,
                                       .flushes_denormals = gnn_denormals_are_flushed()};
    opened->intent.batches = gnn_mul_bytes(opened->intent.batches, gnn_env_workers(&w->env)); /* of all ranks */
    opened->intent.whole_batches = gnn_mul_bytes(opened->intent.whole_batches, gnn_env_workers(&w->env));
    opened->intent.seeds = gnn_mul_bytes(opened->intent.seeds, gnn_env_workers(&w->env));
    struct gnn_dataset *const d = &opened->dataset;
    d->indptr = NULL;
    d->labels = NULL;
    d->train.nodes = d->valid.nodes = d->test.nodes = NULL;
    d->train.name = d->valid.name = d->test.name = NULL;
    (void)snprintf(opened->profile_digest, sizeof opened->profile_digest, "%s", gnn_machine_profile_digest(w->machine));
    (void)snprintf(opened->costs_digest, sizeof opened->costs_digest, "%s", gnn_machine_costs_digest(w->machine));
    for (uint32_t i = 0; w->env.model != NULL && i < gnn_model_param_count(w->env.model); i++) {
        const struct gnn_param p = gnn_model_param(w->env.model, i);
        opened->parameters += (uint64_t)p.rows * p.cols;
    }
    if (w->env.link != NULL)
        opened->parameters += (2 * (uint64_t)d->relation_count + d->node_count) * d->dim;
    if (w->env.tensor != NULL)
        opened->gpu = w->env.tensor->gpu;
    gnn_control_send(&message, GNN_WIRE_OPENED);
}

/* Asks the system what it means to do, and drops the pages of what it wrote while it opened: the first epoch finds a
 * layout that was prepared just now as it finds one that lay there. */
static enum gnn_status take_intent(struct gnn_run_worker *w, struct gnn_err *err)
{
    gnn_intent_begin(&w->env, &w->intent);
    if (w->system->intend != NULL)
        w->system->intend(w->system_state, &w->intent);
    if (w->config->batches != 0)
        GNN_TRY(gnn_phases_choose(&w->intent, w->config->warmup, w->config->batches, &w->phases, err));
    for (uint32_t i = 0; i < w->intent.file_count; i++) {
        struct gnn_file *file = NULL;
        if ((w->intent.files[i].how & GNN_READS_MADE) == 0 || !w->config->cold)
            continue;
        GNN_TRY(gnn_file_open(w->world, w->intent.files[i].path, GNN_OPEN_READ, &file, err));
        const enum gnn_status status = gnn_file_evict(w->world, file, err);
        gnn_file_close(w->world, file);
        GNN_TRY(status);
    }
    return GNN_OK;
}

/* What every rank has its own of: back-end, model, system. */
static enum gnn_status open_rank(struct gnn_run_worker *w, struct gnn_err *err)
{
    GNN_TRY(open_training(w, err));
    const uint64_t start_ns = gnn_now_ns(w->world);
    GNN_TRY(w->system->open(&w->env, w->system_config, &w->system_state, err));
    const uint64_t open_ns = gnn_now_ns(w->world) - start_ns;
    GNN_TRY(take_intent(w, err));
    if (w->env.rank == 0)
        send_opened(w, open_ns);
    atomic_store(&w->control->may_leave, false);
    return GNN_OK;
}

static void close_rank(struct gnn_run_worker *w)
{
    gnn_device_group_leave(w);
    if (w->system_state != NULL)
        w->system->close(w->system_state);
    gnn_model_close(w->env.model);
    gnn_link_close(w->env.link);
}

/* What there is once, however many ranks. A process that forks others listens to the supervisor afterwards: it has no
 * threads until then. */
static enum gnn_status open_worker(struct gnn_run_worker *w, struct gnn_err *err)
{
    GNN_TRY(gnn_system_find(w->config->system, &w->system, err));
    GNN_TRY(gnn_system_configure(w->system, w->config, &w->system_config, err));
    /* A graph of the simulated world takes a while to compute, and leaves nothing behind on this machine. */
    const bool simulated = w->config->world == GNN_WORLD_SIMULATED;
    atomic_store(&w->control->may_leave, simulated);
    if (w->config->workers == 1 || simulated)
        GNN_TRY(gnn_control_open(w->control, NULL, err));
    GNN_TRY(open_machine(w, err));
    GNN_TRY(open_trace(w, err));
    GNN_TRY(gnn_machine_dataset(w->machine, &w->dataset, err));
    if (w->config->workers == 1 && !w->config->sample_only) /* rules and plans count what its driver takes */
        GNN_TRY(gnn_machine_tensor(w->machine, 0, &w->env.tensor, err));
    fill_workload(w);
    complete_config(w);
    return GNN_OK;
}

/* Gives the traces of a complete run their names. */
static enum gnn_status finish_traces(struct gnn_run_worker *w, struct gnn_err *err)
{
    if (w->rows != NULL)
        GNN_TRY(gnn_row_file_finish(w->rows, err));
    return gnn_machine_trace_finish(w->machine, err);
}

static void close_worker(struct gnn_run_worker *w)
{
    gnn_row_file_close(w->rows);
    if (w->trace != NULL)
        (void)fclose(w->trace);
    gnn_control_close(w->control);
    gnn_machine_close(w->machine);
    free(w->step_ns);
    free(w->system_config);
}

/* The dataset is opened without a memory limit, as it is a part of the plan. What this process holds is counted before
 * a graph is computed, which holds more than a prepared one. */
static enum gnn_status plan_for(struct gnn_run_worker *w, uint64_t cap_bytes, struct gnn_err *err)
{
    GNN_TRY(gnn_system_find(w->config->system, &w->system, err));
    GNN_TRY(gnn_system_configure(w->system, w->config, &w->system_config, err));
    GNN_TRY(open_machine(w, err));
    if (w->config->workers == 1 && !w->config->sample_only)
        GNN_TRY(gnn_machine_tensor(w->machine, 0, &w->env.tensor, err));
    const uint64_t process_bytes = gnn_machine_process_bytes(w->machine);
    GNN_TRY(gnn_machine_planned_dataset(w->machine, &w->dataset, err));
    fill_workload(w);
    w->env.process_bytes = process_bytes;
    w->env.cap_bytes = cap_bytes;
    complete_config(w);
    return gnn_run_plan_fill(w, err);
}

enum gnn_status gnn_run_need(const struct gnn_run_config *config, uint64_t cap_bytes, struct gnn_run_need *out,
                             struct gnn_err *err)
{
    struct gnn_run_config unlimited = *config;
    struct gnn_control control = {.wake_fd = -1, .go_fd = -1};
    struct gnn_err cause = {0};
    uint32_t device;
    *out = (struct gnn_run_need){.bytes = 0};
    if (config->world == GNN_WORLD_MEASURED && gnn_compute_is_cuda(config, &device))
        return gnn_fail(err, GNN_ENOTSUP, "a plan does not open a GPU");
    control.stop = &control.own_stop;
    unlimited.memory_bytes = unlimited.swap_bytes = 0;
    unlimited.trace_loss[0] = unlimited.trace_io[0] = unlimited.trace_rows[0] = unlimited.fault[0] = '\0';
    struct gnn_run_worker worker = {.config = &unlimited, .control = &control};
    const enum gnn_status status = plan_for(&worker, cap_bytes, err);
    if (status == GNN_OK && gnn_plan_check(&worker.plan, "", &cause) != GNN_OK)
        (void)snprintf(out->reason, sizeof out->reason, "%s", cause.message);
    if (status == GNN_OK && !worker.plan.advisory) {
        out->bytes = gnn_plan_bytes(&worker.plan);
        for (uint32_t p = 0; p < GNN_PLAN_PHASES_MAX; p++)
            out->phase_bytes[p] = gnn_plan_phase_bytes(&worker.plan, p);
    }
    out->part_count = status == GNN_OK ? worker.plan.part_count : 0;
    memcpy(out->parts, worker.plan.parts, sizeof out->parts);
    close_worker(&worker);
    return status;
}

static enum gnn_status run_one(struct gnn_run_worker *w, struct gnn_err *err)
{
    enum gnn_status status = open_rank(w, err);
    GNN_NEXT(status, gnn_run_worker_epochs(w, err));
    if (status == GNN_ECAP)
        gnn_plan_explain(&w->plan, err);
    if (status != GNN_OK) /* before anything is closed, which others notice: what they then say is not the cause */
        gnn_ranks_cancel(w->env.ranks, w->env.rank, err);
    close_rank(w);
    return status;
}

/* Also of a run that ended badly: what it did until then may say why. */
static void send_series(const struct gnn_run_worker *w)
{
    struct gnn_wire_message message = {0};
    struct gnn_wire_series *const series = &message.as.series;
    uint32_t sent = 0;
    if (w->machine == NULL)
        return;
    while ((series->count = gnn_machine_series(w->machine, sent, GNN_WIRE_POINTS, series->points)) > 0) {
        sent += series->count;
        gnn_control_send(&message, GNN_WIRE_SERIES);
    }
}

int gnn_worker_main(const struct gnn_run_config *config)
{
    /* The supervisor decides when this process ends: not the terminal, and not after the supervisor's own death. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);

    struct gnn_err err = {0};
    struct gnn_control control = {.wake_fd = -1, .go_fd = -1};
    control.stop = &control.own_stop;
    struct gnn_run_worker worker = {.config = config, .control = &control}, *const w = &worker;
    enum gnn_status status = open_worker(w, &err);
    GNN_NEXT(status, config->workers == 1 ? run_one(w, &err) : gnn_run_ranks(w, run_one, &err));
    GNN_NEXT(status, finish_traces(w, &err));
    if (status != GNN_OK && w->time_passed) {
        err = (struct gnn_err){0};
        status = gnn_fail(&err, GNN_ETIME, "the time limit of %.3g s passed", (double)config->time_limit_ns * 1e-9);
    }
    send_series(w);
    if (status != GNN_OK)
        gnn_control_error(&err);
    close_worker(w);
    return status == GNN_OK ? 0 : 1;
}
