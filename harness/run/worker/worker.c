#include "harness/run/worker/worker.h"

#include "harness/base/rng.h"
#include "harness/run/fault_option.h"
#include "harness/run/machine.h"
#include "harness/run/wire.h"
#include "harness/run/worker/evaluate.h"
#include "harness/run/worker/extrapolate.h"
#include "harness/system/plan.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PROGRESS_INTERVAL_NS = 250 * 1000 * 1000 };

struct worker {
    const struct gnn_run_config *config;
    const struct gnn_system *system;
    void *system_config;
    void *system_state;
    struct gnn_machine *machine;
    struct gnn_world *world; /* the machine's, as the next two */
    const struct gnn_dataset *dataset;
    struct gnn_tensor *tensor;
    struct gnn_model *model;
    struct gnn_model_config model_config;
    struct gnn_workload workload;
    struct gnn_env env;
    struct gnn_memory_plan plan;
    FILE *trace;

    atomic_bool stop;
    atomic_bool opened;
    bool time_passed; /* the limit of a clock that only the worker can read */
    bool control_started;
    pthread_t control_thread; /* not a thread of the world: it waits for the supervisor, not for anything modelled */
    int control_wake_fd;      /* ends the control thread */
    int go_fd;                /* counts the supervisor's GO, and the stop that ends all waiting */

    bool trained;   /* some epoch changed the model */
    uint64_t epoch; /* of the progress messages; the training thread's */
    uint64_t steps_done;
    uint64_t steps_total;
    uint64_t progress_ns;
    uint64_t *step_ns; /* (gnn_run_max_batches) the clock after each step; --batches only */
    uint64_t die_at_batch, steps_ever;
};

/* ---- talking to the supervisor ---- */

/* If the supervisor is gone there is nobody to tell; its death also ends the worker (PR_SET_PDEATHSIG). */
static void send_message(struct gnn_wire_message *message, enum gnn_wire_type type)
{
    message->magic = GNN_WIRE_MAGIC;
    message->type = type;
    struct gnn_err ignored = {0};
    (void)!gnn_wire_send(GNN_WORKER_OUT_FD, message, &ignored);
}

static void send_error(const struct gnn_err *err)
{
    struct gnn_wire_message message = {0};
    message.as.error = *err;
    message.as.error.file = NULL; /* an address of this process */
    send_message(&message, GNN_WIRE_ERROR);
}

/* Any byte but GO, or the end of the pipe, means stop. */
static void *control_main(void *arg)
{
    struct worker *const w = arg;
    struct pollfd fds[] = {{.fd = GNN_WORKER_CONTROL_FD, .events = POLLIN},
                           {.fd = w->control_wake_fd, .events = POLLIN}};
    const uint64_t one = 1;
    for (bool more = true; more;) {
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[0].revents == 0)
            return NULL;
        char command = GNN_COMMAND_INTERRUPT;
        more = read(GNN_WORKER_CONTROL_FD, &command, 1) == 1 && command == GNN_COMMAND_GO;
        if (!more)
            atomic_store(&w->stop, true);
        /* A graph of the simulated world takes a while to compute, and leaves nothing behind on this machine. */
        if (!more && w->config->world == GNN_WORLD_SIMULATED && !atomic_load(&w->opened))
            _exit(1);
        (void)!write(w->go_fd, &one, sizeof one);
    }
    return NULL;
}

/* Sends, and stands still until the supervisor has looked. */
static void announce(struct worker *w, struct gnn_wire_message *message, enum gnn_wire_type type)
{
    uint64_t count;
    send_message(message, type);
    while (!atomic_load(&w->stop) && read(w->go_fd, &count, sizeof count) < 0 && errno == EINTR)
        continue;
}

static enum gnn_status start_control(struct worker *w, struct gnn_err *err)
{
    w->control_wake_fd = eventfd(0, EFD_CLOEXEC);
    w->go_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    if (w->control_wake_fd < 0 || w->go_fd < 0)
        return gnn_fail(err, GNN_EIO, "eventfd: %s", strerror(errno));
    const int error = pthread_create(&w->control_thread, NULL, control_main, w);
    if (error != 0)
        return gnn_fail(err, GNN_ENOMEM, "the control thread: %s", strerror(error));
    w->control_started = true;
    return GNN_OK;
}

static void stop_control(struct worker *w)
{
    if (w->control_started) {
        const uint64_t one = 1;
        (void)!write(w->control_wake_fd, &one, sizeof one);
        (void)pthread_join(w->control_thread, NULL);
    }
    if (w->control_wake_fd >= 0)
        (void)close(w->control_wake_fd);
    if (w->go_fd >= 0)
        (void)close(w->go_fd);
}

static uint64_t host_now_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* What hangs on the world's clock: the steps to extrapolate from, and the time limit where that clock is not the
 * supervisor's. */
static void note_step(struct worker *w)
{
    if (w->config->world == GNN_WORLD_SIMULATED && w->config->time_limit_ns != 0 &&
        gnn_now_ns(w->world) > w->config->time_limit_ns) {
        w->time_passed = true;
        atomic_store(&w->stop, true);
    }
    if (w->step_ns != NULL && w->steps_done < gnn_run_max_batches(w->config))
        w->step_ns[w->steps_done] = gnn_now_ns(w->world);
    if (++w->steps_ever == w->die_at_batch)
        (void)raise(SIGKILL);
}

/* Called by the system's trainer after each step. */
static void on_step(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step)
{
    struct worker *const w = ctx;
    note_step(w);
    w->steps_done++;
    if (w->trace != NULL) /* a failed write is kept by the stream: flush_trace() */
        (void)fprintf(w->trace, "%" PRIu64 " %" PRIu64 " %a %u\n", batch->epoch, batch->batch, step->loss,
                      step->correct);
    const uint64_t now_ns = host_now_ns();
    if (now_ns - w->progress_ns < PROGRESS_INTERVAL_NS)
        return;
    w->progress_ns = now_ns;
    struct gnn_wire_message message = {0};
    message.as.progress = (struct gnn_wire_progress){
        .epoch = w->epoch, .batches_done = w->steps_done, .batches_total = w->steps_total, .loss = step->loss};
    send_message(&message, GNN_WIRE_PROGRESS);
}

/* ---- opening ---- */

static void fill_workload(struct worker *w)
{
    const struct gnn_run_config *const c = w->config;
    w->workload = (struct gnn_workload){.seed = c->seed,
                                        .batch_size = c->batch_size,
                                        .layers = c->fanout.count,
                                        .epochs = c->epochs,
                                        .max_batches = gnn_run_max_batches(c),
                                        .sample_only = c->sample_only};
    memcpy(w->workload.fanout, c->fanout.values, sizeof w->workload.fanout);
    w->model_config = (struct gnn_model_config){.kind = c->model,
                                                .layers = c->fanout.count,
                                                .in_dim = w->dataset->dim,
                                                .hidden = c->hidden,
                                                .heads = c->heads,
                                                .classes = w->dataset->class_count,
                                                .dropout = c->dropout,
                                                .lr = c->lr,
                                                .weight_decay = c->weight_decay,
                                                .gat_width_total = c->gat_width_total,
                                                .gcn_norm = c->gcn_norm,
                                                .seed = c->seed};
}

/* A plan depends on where the tensor back-end has its memory, so that is opened first; the model's comes after it. */
static enum gnn_status open_tensor(struct worker *w, struct gnn_err *err)
{
    if (w->workload.sample_only)
        return GNN_OK;
    GNN_TRY(gnn_machine_tensor(w->machine, &w->tensor, err));
    w->env.tensor = w->tensor;
    return GNN_OK;
}

static enum gnn_status open_model(struct worker *w, struct gnn_err *err)
{
    if (w->workload.sample_only)
        return GNN_OK;
    GNN_TRY(gnn_model_open(w->tensor, &w->model_config, &w->model, err));
    w->env.model = w->model;
    return GNN_OK;
}

static uint64_t batches_of_all(const struct worker *w)
{
    return gnn_div_up(w->dataset->train.count, w->workload.batch_size);
}

/* Says before the first read what the run needs and which parameter makes it less. */
static enum gnn_status check_plan(struct worker *w, struct gnn_err *err)
{
    gnn_plan_begin(&w->plan, &w->env);
    if (w->system->plan != NULL)
        GNN_TRY(w->system->plan(&w->env, w->system_config, &w->plan, err));
    return gnn_plan_check(&w->plan, "", err);
}

static enum gnn_status open_trace(struct worker *w, struct gnn_err *err)
{
    if (w->config->trace_loss[0] == '\0')
        return GNN_OK;
    w->trace = fopen(w->config->trace_loss, "w");
    if (w->trace == NULL)
        return gnn_fail(err, GNN_EUSAGE, "--trace-loss %s: %s", w->config->trace_loss, strerror(errno));
    return GNN_OK;
}

/* After every epoch, so that a trace that cannot be written ends the run instead of being cut in silence. */
static enum gnn_status flush_trace(struct worker *w, struct gnn_err *err)
{
    if (w->trace == NULL)
        return GNN_OK;
    errno = 0;
    if (fflush(w->trace) == 0 && ferror(w->trace) == 0)
        return GNN_OK;
    return gnn_fail(err, errno == ENOSPC ? GNN_ENOSPC : GNN_EIO, "--trace-loss %s: %s", w->config->trace_loss,
                    errno != 0 ? strerror(errno) : "a write failed");
}

static void send_opened(const struct worker *w, uint64_t open_ns)
{
    const struct gnn_dataset *const d = w->dataset;
    struct gnn_wire_message message = {0};
    struct gnn_wire_opened *const opened = &message.as.opened;
    *opened = (struct gnn_wire_opened){.scale_divisor = d->scale_divisor,
                                       .dim = d->dim,
                                       .class_count = d->class_count,
                                       .node_count = d->node_count,
                                       .edge_count = d->edge_count,
                                       .topology_bytes = d->topology_bytes,
                                       .feature_bytes = d->feature_bytes,
                                       .train_count = d->train.count,
                                       .valid_count = d->valid.count,
                                       .test_count = d->test.count,
                                       .plan_fixed_bytes = gnn_plan_bytes(&w->plan) - gnn_plan_run_bytes(&w->plan) -
                                                           gnn_plan_in_flight_bytes(&w->plan),
                                       .plan_batches_bytes = gnn_plan_in_flight_bytes(&w->plan),
                                       .open_ns = open_ns};
    memcpy(opened->dataset, d->name, sizeof opened->dataset);
    memcpy(opened->digest, d->digest, sizeof opened->digest);
    (void)snprintf(opened->profile_digest, sizeof opened->profile_digest, "%s", gnn_machine_profile_digest(w->machine));
    for (uint32_t i = 0; w->model != NULL && i < gnn_model_param_count(w->model); i++) {
        const struct gnn_param p = gnn_model_param(w->model, i);
        opened->parameters += (uint64_t)p.rows * p.cols;
    }
    send_message(&message, GNN_WIRE_OPENED);
}

/* Every thread waits for another: nothing can be closed any more. */
static void on_deadlock(void *ctx, const char *report)
{
    (void)ctx;
    struct gnn_err err = {0};
    (void)gnn_fail(&err, GNN_EBUG, "deadlock: %s", report);
    send_error(&err);
    _exit(1);
}

static enum gnn_status open_machine(struct worker *w, struct gnn_err *err)
{
    const struct gnn_machine_hooks hooks = {.on_deadlock = on_deadlock, .ctx = w};
    GNN_TRY(gnn_machine_open(w->config, &hooks, &w->machine, err));
    w->world = gnn_machine_world(w->machine);
    struct gnn_run_faults faults;
    GNN_TRY(gnn_faults_parse(w->config->fault, &faults, err));
    w->die_at_batch = faults.die_at_batch;
    if (w->config->batches == 0)
        return GNN_OK;
    w->step_ns = malloc(gnn_mul_bytes(gnn_run_max_batches(w->config), sizeof *w->step_ns));
    return w->step_ns != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "the clock of %u steps", w->config->batches);
}

static enum gnn_status open_worker(struct worker *w, struct gnn_err *err)
{
    GNN_TRY(gnn_system_find(w->config->system, &w->system, err));
    GNN_TRY(gnn_system_configure(w->system, w->config, &w->system_config, err));
    GNN_TRY(start_control(w, err));
    GNN_TRY(open_machine(w, err));
    GNN_TRY(open_trace(w, err));
    GNN_TRY(gnn_machine_dataset(w->machine, &w->dataset, err));
    fill_workload(w);
    w->env = (struct gnn_env){.world = w->world,
                              .dataset = w->dataset,
                              .workload = &w->workload,
                              .model_config = &w->model_config,
                              .io_engine = w->config->io_engine,
                              .floyd_biased = w->config->floyd_biased,
                              .cap_bytes = w->config->memory_bytes,
                              .process_bytes = gnn_machine_process_bytes(w->machine),
                              .stop = &w->stop,
                              .on_step = on_step,
                              .on_step_ctx = w};
    GNN_TRY(open_tensor(w, err));
    GNN_TRY(check_plan(w, err));
    GNN_TRY(open_model(w, err));
    const uint64_t start_ns = gnn_now_ns(w->world);
    GNN_TRY(w->system->open(&w->env, w->system_config, &w->system_state, err));
    send_opened(w, gnn_now_ns(w->world) - start_ns);
    atomic_store(&w->opened, true);
    return GNN_OK;
}

static void close_worker(struct worker *w)
{
    if (w->system != NULL)
        w->system->close(w->system_state);
    gnn_model_close(w->model);
    if (w->trace != NULL)
        (void)fclose(w->trace);
    stop_control(w);
    gnn_machine_close(w->machine);
    free(w->step_ns);
    free(w->system_config);
}

/* ---- epochs ---- */

/* Fewer batches than asked for are all there are: nothing to extrapolate. */
static void extrapolate(const struct worker *w, uint64_t start_ns, struct gnn_wire_epoch *e)
{
    const uint64_t all = batches_of_all(w);
    if (w->step_ns == NULL || w->steps_done < (uint64_t)w->config->warmup + 2 || w->steps_done >= all)
        return;
    gnn_extrapolate(w->step_ns, (uint32_t)w->steps_done, w->config->warmup, start_ns, all, &e->full);
    e->extrapolated = true;
}

static enum gnn_status train_epoch(struct worker *w, uint64_t epoch, struct gnn_err *err)
{
    struct gnn_wire_message message = {0};
    struct gnn_wire_epoch *const e = &message.as.epoch;
    e->epoch = epoch;
    announce(w, &message, GNN_WIRE_EPOCH_BEGIN);
    w->epoch = epoch;
    w->steps_done = 0;
    w->steps_total = gnn_epoch_batches(&w->env);

    struct gnn_machine_usage before, after;
    gnn_machine_usage(w->machine, &before);
    const uint64_t start_ns = gnn_now_ns(w->world);
    GNN_TRY(w->system->train_epoch(w->system_state, epoch, &e->result, err));
    e->wall_ns = gnn_now_ns(w->world) - start_ns;
    gnn_machine_usage(w->machine, &after);
    e->cpu_ns = after.cpu_ns - before.cpu_ns;
    e->major_faults = after.major_faults - before.major_faults;
    e->page_hits = after.page_hits == GNN_UNKNOWN ? GNN_UNKNOWN : after.page_hits - before.page_hits;
    e->page_misses = after.page_misses == GNN_UNKNOWN ? GNN_UNKNOWN : after.page_misses - before.page_misses;
    e->has_values = !gnn_compute_is_modelled(w->config);
    e->modelled_machine = before.modelled_machine;
    e->before = before.group;
    e->after = after.group;
    extrapolate(w, start_ns, e);
    e->batches_expected = w->steps_total;
    w->trained = w->trained || e->result.seeds > 0;
    for (uint32_t i = 0; i < e->result.figure_count; i++)
        (void)snprintf(e->figure_names[i], sizeof e->figure_names[i], "%s", e->result.figures[i].name);
    announce(w, &message, GNN_WIRE_EPOCH_END);
    return GNN_OK;
}

static enum gnn_status evaluate_epoch(struct worker *w, uint64_t epoch, struct gnn_err *err)
{
    const bool last = epoch + 1 == w->workload.epochs;
    if (!w->trained || gnn_compute_is_modelled(w->config) || w->config->evaluate == GNN_EVALUATE_NEVER ||
        (w->config->evaluate == GNN_EVALUATE_LAST && !last))
        return GNN_OK;
    struct gnn_wire_message message = {0};
    struct gnn_wire_accuracy *const a = &message.as.accuracy;
    const uint64_t start_ns = gnn_now_ns(w->world);
    a->epoch = epoch;
    GNN_TRY(gnn_evaluate_split(&w->env, &w->dataset->valid, &a->valid, err));
    GNN_TRY(gnn_evaluate_split(&w->env, &w->dataset->test, &a->test, err));
    a->wall_ns = gnn_now_ns(w->world) - start_ns;
    send_message(&message, GNN_WIRE_ACCURACY);
    return GNN_OK;
}

/* Over the bits of every parameter: equal models, equal hash. */
static uint64_t hash_model(struct worker *w)
{
    uint64_t hash = 0;
    const bool has_values = w->model != NULL && !gnn_compute_is_modelled(w->config);
    for (uint32_t i = 0; has_values && i < gnn_model_param_count(w->model); i++) {
        const struct gnn_param p = gnn_model_param(w->model, i);
        const uint64_t count = (uint64_t)p.rows * p.cols;
        gnn_real *const values = malloc(gnn_mul_bytes(count, sizeof *values));
        if (values == NULL)
            return 0;
        w->tensor->ops->download(w->tensor, values, p.value, count * sizeof *values);
        for (uint64_t k = 0; k < count; k++) {
            uint32_t bits;
            memcpy(&bits, &values[k], sizeof bits);
            hash = gnn_rng_fold(hash, bits);
        }
        free(values);
    }
    return hash;
}

static enum gnn_status run_epochs(struct worker *w, struct gnn_err *err)
{
    for (uint64_t epoch = 0; epoch < w->workload.epochs; epoch++) {
        if (atomic_load(&w->stop))
            return gnn_fail(err, GNN_ECANCELLED, "stopped before epoch %" PRIu64, epoch);
        GNN_TRY(train_epoch(w, epoch, err));
        GNN_TRY(flush_trace(w, err));
        GNN_TRY(evaluate_epoch(w, epoch, err));
    }
    struct gnn_wire_message message = {0};
    struct gnn_mem_usage usage;
    gnn_mem_usage(w->world, &usage);
    message.as.done = (struct gnn_wire_done){
        .model_hash = hash_model(w), .allocated_peak_bytes = usage.peak_bytes, .clock_ns = gnn_now_ns(w->world)};
    send_message(&message, GNN_WIRE_DONE);
    return GNN_OK;
}

int gnn_worker_main(const struct gnn_run_config *config)
{
    /* The supervisor decides when this process ends: not the terminal, and not after the supervisor's own
     * death. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);

    struct gnn_err err = {0};
    struct worker *const w = calloc(1, sizeof *w);
    if (w == NULL) {
        (void)gnn_fail(&err, GNN_ENOMEM, "worker state");
        send_error(&err);
        return 1;
    }
    w->config = config;
    w->control_wake_fd = w->go_fd = -1;
    enum gnn_status status = open_worker(w, &err);
    if (status == GNN_OK)
        status = run_epochs(w, &err);
    if (status != GNN_OK && w->time_passed) {
        err = (struct gnn_err){0};
        status = gnn_fail(&err, GNN_ETIME, "the time limit of %.3g s passed", (double)config->time_limit_ns * 1e-9);
    }
    if (status != GNN_OK)
        send_error(&err);
    close_worker(w);
    free(w);
    return status == GNN_OK ? 0 : 1;
}
