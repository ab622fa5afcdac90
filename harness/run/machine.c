#include "harness/run/machine.h"

#include "harness/base/clock.h"
#include "harness/base/data_dirs.h"
#include "harness/base/own_memory.h"
#include "harness/dataset/synthetic.h"
#include "harness/run/fault_option.h"
#include "harness/run/virtual_series.h"
#include "harness/storage/read_times.h"
#include "harness/tensor/cuda/plugin.h"
#include "harness/tensor/group.h"
#include "harness/tensor/modelled/modelled.h"
#include "harness/world/measured/measured.h"
#include "harness/world/simulated/simulated.h"

#include <assert.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A sleep shorter than this is mostly the timer's own error: modelled host time is saved up to it. */
enum { DEBT_NS = 500 * 1000 };

/* A mini-batch has no work for more (--compute-threads 0). */
enum { COMPUTE_THREADS_BY_RULE = 16 };

struct gnn_machine {
    const struct gnn_run_config *config;
    bool simulated;
    struct gnn_run_faults faults;
    struct gnn_profile *profile;    /* of the machine; NULL in the measured world */
    struct gnn_profile slowed;      /* the same with --fault device-slowdown and --device-readahead applied */
    struct gnn_profile *compute;    /* of --compute model:P; NULL without */
    struct gnn_profile *calibrated; /* `this`, of the measured world; NULL: not calibrated */
    struct gnn_world *inner, *faulty, *world;
    struct gnn_read_times *read_times;         /* what world's reads are noted in */
    struct gnn_synthetic *synthetic;           /* a computed graph … */
    struct gnn_dataset *dataset;               /* … or a prepared one */
    struct gnn_tensor *tensors[GNN_RANKS_MAX]; /* of the ranks that this process is */
    uint64_t tensor_bytes;                     /* of a sole worker's back-end in the host's memory, once it is open */
    void *other_processes;                     /* simulated world: their bytes, held against the cap */
    struct gnn_virtual_series *series;         /* simulated world: what it has done so far */
    _Atomic uint64_t debt_ns;                  /* measured world: modelled host time not slept yet */
};

/* ---- names ---- */

/* Opens a profile from where data files are found; `option` ("--profile") stands before what is wrong with the name. */
static enum gnn_status open_profile(const char *option, const char *name, struct gnn_profile **out, struct gnn_err *err)
{
    struct gnn_data_dirs found;
    struct gnn_err cause = {0};
    if (name[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "%s: no profile named; `oocgnn list profiles` has them", option);
    gnn_data_dirs(&found);
    const enum gnn_status status = gnn_profile_open(name, found.dirs, out, &cause);
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "%s: %s", option, cause.message);
}

/* The same with the run's --costs in it, those of a piece at the run's scale. */
static enum gnn_status open_charged(const struct gnn_run_config *config, const char *option, const char *name,
                                    struct gnn_profile **out, struct gnn_err *err)
{
    struct gnn_data_dirs found;
    struct gnn_err cause = {0};
    GNN_TRY(open_profile(option, name, out, err));
    if (gnn_run_costs_are_ideal(config))
        return GNN_OK;
    gnn_data_dirs(&found);
    const enum gnn_status status = gnn_profile_add_costs(*out, config->costs, found.dirs, &cause);
    if (status == GNN_OK) {
        gnn_profile_divide_costs(*out, config->scale_divisor);
        return GNN_OK;
    }
    gnn_profile_close(*out);
    *out = NULL;
    return gnn_fail(err, status, "--costs: %s", cause.message);
}

/* "model:P/cpu" to P and false, "model:P/gpu" and "model:P" to P and true. */
static void split_compute(const char *compute, char *profile, size_t profile_bytes, bool *gpu, bool *named)
{
    const char *const text = compute + strlen("model:");
    const size_t length = strlen(text);
    const bool cpu = length > 4 && strcmp(text + length - 4, "/cpu") == 0;
    *named = cpu || (length > 4 && strcmp(text + length - 4, "/gpu") == 0);
    assert(!*named || length > 4);
    *gpu = !cpu;
    (void)snprintf(profile, profile_bytes, "%.*s", (int)(*named ? length - 4 : length), text);
}

static enum gnn_status set_compute(struct gnn_run_config *config, const char *profile, bool gpu, struct gnn_err *err)
{
    char text[sizeof config->compute * 2];
    const int length = snprintf(text, sizeof text, "model:%s/%s", profile, gpu ? "gpu" : "cpu");
    if ((size_t)length >= sizeof config->compute)
        return gnn_fail(err, GNN_EUSAGE, "--compute %.40s...: too long", text);
    memcpy(config->compute, text, (size_t)length + 1);
    return GNN_OK;
}

/* Which half of which profile computes: checked here, so that a mistake is said before anything is opened. */
static enum gnn_status resolve_model(struct gnn_run_config *config, const char *profile, bool gpu, bool named,
                                     struct gnn_err *err)
{
    struct gnn_profile *opened;
    GNN_TRY(open_profile("--compute model", profile, &opened, err));
    const bool has_gpu = opened->gpu.present;
    gnn_profile_close(opened);
    if (gpu && named && !has_gpu)
        return gnn_fail(err, GNN_EUSAGE, "profile %s has no GPU; say --compute cpu", profile);
    return set_compute(config, profile, gpu && has_gpu, err);
}

/* The profile of a simulated world, and a cap that its machine could hold. */
static enum gnn_status check_machine(const struct gnn_run_config *config, struct gnn_err *err)
{
    if (config->profile[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE,
                        "--world simulated needs --profile NAME; `oocgnn list profiles` has them, `oocgnn calibrate` "
                        "makes one of this machine");
    struct gnn_profile *opened;
    GNN_TRY(open_charged(config, "--profile", config->profile, &opened, err));
    const uint64_t memory_bytes = opened->memory_bytes;
    gnn_profile_close(opened);
    if (config->memory_bytes > memory_bytes)
        return gnn_fail(err, GNN_EUSAGE,
                        "--memory %" PRIu64 ": the machine of profile %s has %" PRIu64
                        " B; lower it, or leave it out for no cap",
                        config->memory_bytes, config->profile, memory_bytes);
    return GNN_OK;
}

static enum gnn_status resolve_compute(struct gnn_run_config *config, struct gnn_err *err)
{
    const bool simulated = config->world == GNN_WORLD_SIMULATED;
    const bool is_auto = strcmp(config->compute, "auto") == 0;
    if (simulated)
        GNN_TRY(check_machine(config, err));
    if (gnn_compute_is_modelled(config)) {
        char profile[sizeof config->compute];
        bool gpu, named;
        split_compute(config->compute, profile, sizeof profile, &gpu, &named);
        return resolve_model(config, profile, gpu, named, err);
    }
    if (!simulated) {
        if (is_auto)
            memcpy(config->compute, "cpu", sizeof "cpu");
        return GNN_OK;
    }
    if (strcmp(config->compute, "ref") == 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "--compute ref computes values, the simulated world has none; say auto, cpu, cuda or model:P");
    const bool cpu = strcmp(config->compute, "cpu") == 0;
    return resolve_model(config, config->profile, !cpu, strncmp(config->compute, "cuda", 4) == 0, err);
}

static uint32_t own_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

/* All cores where values are computed: a thread takes its share of a loop or a product when it gets a core, so those
 * that the system's own threads keep busy do none of it. */
static void resolve_threads(struct gnn_run_config *config)
{
    const bool computes = strcmp(config->compute, "cpu") == 0 && !config->sample_only;
    const uint32_t share = own_cores() / gnn_max_u32(config->workers, 1);
    if (config->compute_threads == 0)
        config->compute_threads = computes ? gnn_min_u32(gnn_max_u32(share, 1), COMPUTE_THREADS_BY_RULE) : 1;
}

enum gnn_status gnn_machine_resolve(struct gnn_run_config *config, struct gnn_err *err)
{
    GNN_TRY(resolve_compute(config, err));
    resolve_threads(config);
    return GNN_OK;
}

/* ---- the world ---- */

static void slow_down(struct gnn_profile *profile, double factor)
{
    struct gnn_profile_storage *const st = &profile->storage;
    for (uint32_t i = 0; i < st->size_count; i++)
        for (uint32_t d = 0; d < st->depth_count; d++) {
            st->read_ps[i][d] = (uint64_t)((double)st->read_ps[i][d] * factor);
            st->scattered_ps[i][d] = (uint64_t)((double)st->scattered_ps[i][d] * factor);
        }
    st->write_latency_ns = (uint64_t)((double)st->write_latency_ns * factor);
    st->write_bytes_per_s = (uint64_t)((double)st->write_bytes_per_s / factor) + 1;
    st->write_iops = (uint64_t)((double)st->write_iops / factor) + 1;
    if (st->mixed_bytes_per_s > 0)
        st->mixed_bytes_per_s = (uint64_t)((double)st->mixed_bytes_per_s / factor) + 1;
    if (st->write_sustained_bytes_per_s > 0)
        st->write_sustained_bytes_per_s =
            gnn_min_u64((uint64_t)((double)st->write_sustained_bytes_per_s / factor) + 1, st->write_bytes_per_s);
}

/* Of all modelled GPUs, as far as the work they were given is done. */
static uint64_t gpu_busy_ns(const struct gnn_machine *m, uint64_t now_ns)
{
    uint64_t busy_ns = 0;
    for (uint32_t rank = 0; rank < m->config->workers; rank++) {
        struct gnn_modelled_counts counts;
        if (m->tensors[rank] == NULL)
            continue;
        gnn_modelled_counts(m->tensors[rank], &counts);
        const uint64_t to_come_ns = counts.stream_free_ns > now_ns ? counts.stream_free_ns - now_ns : 0;
        busy_ns += counts.busy_ns - gnn_min_u64(to_come_ns, counts.busy_ns);
    }
    return busy_ns;
}

/* The simulated world's on_tick. */
static uint64_t take_reading(void *ctx, uint64_t now_ns)
{
    struct gnn_machine *const m = ctx;
    struct gnn_simulated_counts counts;
    gnn_world_simulated_glance(m->inner, &counts);
    const struct gnn_virtual_reading reading = {.now_ns = now_ns,
                                                .cpu_busy_ns = counts.cpu_busy_ns,
                                                .io_sleep_ns = counts.io_sleep_ns,
                                                .device_busy_ns = counts.device_busy_ns,
                                                .read_bytes = counts.device_read_bytes,
                                                .read_ios = counts.device_read_ios,
                                                .write_bytes = counts.device_write_bytes,
                                                .gpu_busy_ns =
                                                    m->series->gpus > 0 ? gpu_busy_ns(m, now_ns) : GNN_UNKNOWN,
                                                .major_faults = counts.page_major_faults,
                                                .refaults = counts.pages_refaulted,
                                                .anon_bytes = m->slowed.process_bytes + counts.charged_bytes,
                                                .file_bytes = counts.cached_bytes};
    return gnn_virtual_series_add(m->series, &reading);
}

uint32_t gnn_machine_series(const struct gnn_machine *m, uint32_t first, uint32_t max, struct gnn_series_point *out)
{
    const uint32_t count = m->series != NULL ? m->series->count : 0;
    const uint32_t got = gnn_min_u32(max, count - gnn_min_u32(first, count));
    for (uint32_t i = 0; i < got; i++)
        gnn_virtual_series_point(m->series, first + i, &out[i]);
    return got;
}

static enum gnn_status open_simulated(struct gnn_machine *m, gnn_deadlock_fn *on_deadlock, struct gnn_err *err)
{
    GNN_TRY(open_charged(m->config, "--profile", m->config->profile, &m->profile, err));
    m->slowed = *m->profile;
    uint64_t readahead_bytes;
    if (gnn_run_readahead(m->config, &readahead_bytes))
        m->slowed.storage.readahead_bytes = readahead_bytes;
    if (m->faults.device_slowdown != 1)
        slow_down(&m->slowed, m->faults.device_slowdown);
    GNN_NEW(m->series, 1, err, "the run's time series");
    m->series->cores = m->slowed.cpu.cores;
    m->series->devices = m->slowed.storage.devices;
    const struct gnn_simulated_config config = {.profile = &m->slowed,
                                                .cap_bytes = m->config->memory_bytes,
                                                .on_deadlock = on_deadlock,
                                                .on_tick = take_reading,
                                                .on_tick_ctx = m};
    return gnn_world_simulated_open(&config, &m->inner, err);
}

/* A simulated machine counts the process it is (process_bytes); several workers are as many. Pinned is charged at
 * once. */
static enum gnn_status hold_other_processes(struct gnn_machine *m, struct gnn_err *err)
{
    if (!m->simulated || m->config->workers == 1)
        return GNN_OK;
    return gnn_mem_alloc(m->inner, "the other workers' processes",
                         gnn_mul_bytes(m->config->workers - 1, m->slowed.process_bytes),
                         GNN_MEM_FEATURES | GNN_MEM_PINNED, &m->other_processes, err);
}

/* What the process will take beside the world's memory once it runs: back-end, stacks, page tables, rings. `oocgnn
 * calibrate` finds 1.4 MB in all, most of which is there before this is asked. */
static const uint64_t process_grows_bytes = UINT64_C(2) << 20;

/* A further thread that computes has a stack, and where products are large a buffer of BLAS: for plans. */
static const uint64_t compute_thread_bytes = UINT64_C(2) << 20;

/* What this process holds beside the world's allocations. */
static uint64_t beside_world_bytes(const struct gnn_machine *m)
{
    struct gnn_mem_usage world = {0};
    if (m->inner != NULL)
        gnn_mem_usage(m->inner, &world);
    const uint64_t own_bytes = gnn_own_memory_bytes();
    return own_bytes > world.current_bytes ? own_bytes - world.current_bytes : 0;
}

/* What the measured world may allocate, 0 for any amount. Under a control group that is what the process leaves of the
 * cap: what can never fit is refused by name, not killed by the kernel later. */
static uint64_t allocation_limit(const struct gnn_machine *m)
{
    const struct gnn_run_config *const config = m->config;
    const uint64_t cap_bytes = config->memory_bytes;
    if (cap_bytes == 0 || config->cap_kind == GNN_CAP_PROGRAM)
        return cap_bytes;
    const uint64_t own_bytes = beside_world_bytes(m) + process_grows_bytes;
    const uint64_t room_bytes = gnn_add_bytes(cap_bytes, config->swap_bytes);
    return room_bytes > own_bytes ? room_bytes - own_bytes : 1;
}

/* What `oocgnn calibrate` found here, if anybody asked it. */
static void open_calibrated(struct gnn_machine *m)
{
    struct gnn_data_dirs found;
    gnn_data_dirs(&found);
    if (!m->simulated && gnn_profile_open("this", found.dirs, &m->calibrated, NULL) != GNN_OK)
        m->calibrated = NULL;
}

static enum gnn_status open_worlds(struct gnn_machine *m, gnn_deadlock_fn *on_deadlock, struct gnn_err *err)
{
    GNN_TRY(gnn_faults_parse(m->config->fault, &m->faults, err));
    const struct gnn_measured_config measured = {.memory_limit_bytes = allocation_limit(m),
                                                 .processes = m->config->workers > 1};
    GNN_TRY(m->simulated ? open_simulated(m, on_deadlock, err) : gnn_world_measured_open(&measured, &m->inner, err));
    m->world = m->inner;
    GNN_TRY(hold_other_processes(m, err));
    if (m->config->fault[0] == '\0')
        return GNN_OK;
    GNN_TRY(gnn_world_faulty_open(m->inner, &m->faults.plan, &m->faulty, err));
    m->world = m->faulty;
    return GNN_OK;
}

enum gnn_status gnn_machine_open(const struct gnn_run_config *config, gnn_deadlock_fn *on_deadlock,
                                 struct gnn_machine **out, struct gnn_err *err)
{
    struct gnn_machine *m;
    GNN_NEW(m, 1, err, "the run's machine");
    m->config = config;
    m->simulated = config->world == GNN_WORLD_SIMULATED;
    *out = m;
    open_calibrated(m);
    GNN_TRY(open_worlds(m, on_deadlock, err));
    GNN_TRY(gnn_read_times_open(&m->read_times, err));
    m->world->read_times = m->read_times;
    return GNN_OK;
}

void gnn_machine_close(struct gnn_machine *m)
{
    if (m == NULL)
        return;
    for (uint32_t rank = GNN_RANKS_MAX; rank-- > 0;) /* those that share a device after its first */
        if (m->tensors[rank] != NULL)
            m->tensors[rank]->ops->close(m->tensors[rank]);
    gnn_synthetic_close(m->world, m->synthetic);
    if (m->dataset != NULL)
        gnn_dataset_close(m->world, m->dataset);
    if (m->inner != NULL)
        gnn_mem_free(m->inner, m->other_processes);
    gnn_world_faulty_close(m->faulty);
    if (m->simulated)
        gnn_world_simulated_close(m->inner);
    else
        gnn_world_measured_close(m->inner);
    gnn_read_times_close(m->read_times);
    gnn_profile_close(m->calibrated);
    gnn_profile_close(m->compute);
    gnn_profile_close(m->profile);
    free(m->series);
    free(m);
}

struct gnn_world *gnn_machine_world(struct gnn_machine *m)
{
    return m->world;
}

void gnn_machine_read_times(struct gnn_machine *m, struct gnn_read_tally *out)
{
    *out = (struct gnn_read_tally){.times.count = 0};
    gnn_read_times_take(m->read_times, out);
}

bool gnn_machine_ranks_are_processes(const struct gnn_machine *m)
{
    return !m->simulated;
}

void gnn_machine_forked(struct gnn_machine *m)
{
    assert(!m->simulated);
    gnn_world_measured_forked(m->inner);
}

/* ---- the dataset ---- */

static enum gnn_status open_synthetic(struct gnn_machine *m, struct gnn_err *err)
{
    struct gnn_generate_options options = {0};
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = m->config->dim;
    options.id_width = m->config->id_width;
    GNN_TRY(gnn_generate_set(&options, m->config->generate, err));
    GNN_TRY(gnn_synthetic_open(m->world, m->config->dataset, &options, m->config->scale_divisor, &m->synthetic, err));
    const struct gnn_dataset *const d = gnn_synthetic_dataset(m->synthetic);
    GNN_TRY(gnn_world_simulated_add_file(m->inner, d->indices_path, gnn_synthetic_indices(m->synthetic), err));
    return gnn_world_simulated_add_file(m->inner, d->features_path, gnn_synthetic_features(m->synthetic), err);
}

enum gnn_status gnn_machine_dataset(struct gnn_machine *m, const struct gnn_dataset **out, struct gnn_err *err)
{
    if (gnn_run_dataset_is_computed(m->config)) {
        if (m->config->task == GNN_TASK_LINK)
            return gnn_fail(err, GNN_ENOTSUP,
                            "--task link: %s is no knowledge graph; import one with `oocgnn prepare --format triples`",
                            m->config->dataset);
        GNN_TRY(open_synthetic(m, err));
        if (m->config->sample_only)
            gnn_synthetic_drop_labels(m->world, m->synthetic);
        *out = gnn_synthetic_dataset(m->synthetic);
        return GNN_OK;
    }
    char dir[GNN_TEXT_MAX * 2];
    gnn_run_dataset_dir(m->config, dir, sizeof dir);
    GNN_TRY(gnn_dataset_open(m->world, dir, gnn_run_dim(m->config), gnn_id_width_bytes(m->config->id_width),
                             &m->dataset, err));
    if (m->config->task == GNN_TASK_LINK && m->dataset->relation_count == 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "--task link: %s has no relations; import a knowledge graph with `oocgnn prepare --format "
                        "triples`",
                        dir);
    if (m->config->task == GNN_TASK_NODES && m->dataset->relation_count > 0)
        return gnn_fail(err, GNN_EUSAGE, "%s is a knowledge graph without training nodes: say --task link", dir);
    if (m->config->sample_only)
        gnn_dataset_drop_labels(m->world, m->dataset);
    *out = m->dataset;
    return GNN_OK;
}

/* ---- compute ---- */

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
        split_compute(m->config->compute, name, sizeof name, &gpu, &named);
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
        split_compute(m->config->compute, name, sizeof name, &env.gpu, &named);
        if (m->compute == NULL)
            GNN_TRY(open_charged(m->config, "--compute model", name, &m->compute, err));
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
        gnn_world_measured_limit(m->inner, allocation_limit(m));
    *out = m->tensors[rank];
    return GNN_OK;
}

/* ---- what the record asks ---- */

static void measured_usage(struct gnn_machine_usage *out)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    out->cpu_ns = gnn_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    out->major_faults = (uint64_t)usage.ru_majflt;
}

static void simulated_usage(const struct gnn_machine *m, struct gnn_machine_usage *out)
{
    struct gnn_simulated_counts counts;
    assert(m->simulated);
    gnn_world_simulated_counts(m->inner, &counts);
    out->cpu_ns = counts.cpu_busy_ns;
    out->major_faults = counts.page_major_faults;
    out->page_hits = counts.page_hits + counts.page_minor_faults;
    out->page_misses = counts.page_major_faults;
    out->device_reads = counts.device_read_sizes;
    struct gnn_group_reading *const group = &out->group;
    group->limit_bytes = m->config->memory_bytes == 0 ? GNN_UNKNOWN : m->config->memory_bytes;
    const uint64_t process_bytes = m->slowed.process_bytes;
    group->current_bytes = process_bytes + counts.charged_bytes + counts.cached_bytes;
    group->peak_bytes = process_bytes + counts.charged_peak_bytes;
    group->oom_kills = 0;
    group->anon_bytes = process_bytes + counts.charged_bytes;
    group->file_bytes = counts.cached_bytes;
    group->refaults = counts.pages_refaulted;
    group->major_faults = counts.page_major_faults;
    group->read_bytes = counts.device_read_bytes;
    group->read_ios = counts.device_read_ios;
    group->write_bytes = counts.device_write_bytes;
    group->write_ios = counts.device_write_ios;
}

void gnn_machine_usage(struct gnn_machine *m, struct gnn_machine_usage *out)
{
    *out = (struct gnn_machine_usage){
        .modelled_machine = m->simulated, .page_hits = GNN_UNKNOWN, .page_misses = GNN_UNKNOWN};
    gnn_group_reading_unknown(&out->group);
    if (m->simulated)
        simulated_usage(m, out);
    else
        measured_usage(out);
}

const char *gnn_machine_costs_digest(const struct gnn_machine *m)
{
    return m->profile != NULL ? m->profile->costs_digest : "";
}

uint64_t gnn_machine_readahead(const struct gnn_machine *m)
{
    return m->profile == NULL ? GNN_UNKNOWN : m->slowed.storage.readahead_bytes;
}

const struct gnn_profile_storage *gnn_machine_storage(const struct gnn_machine *m)
{
    if (m->simulated)
        return &m->slowed.storage;
    return m->calibrated != NULL ? &m->calibrated->storage : NULL;
}

const struct gnn_profile_cpu *gnn_machine_cpu(const struct gnn_machine *m)
{
    if (m->simulated)
        return &m->slowed.cpu;
    return m->calibrated != NULL ? &m->calibrated->cpu : NULL;
}

const char *gnn_machine_profile_digest(const struct gnn_machine *m)
{
    if (m->profile != NULL)
        return m->profile->digest;
    return m->compute != NULL ? m->compute->digest : "";
}

uint64_t gnn_machine_process_bytes(const struct gnn_machine *m)
{
    if (m->simulated)
        return m->slowed.process_bytes;
    const uint64_t threads_bytes = (gnn_max_u32(m->config->compute_threads, 1) - 1) * compute_thread_bytes;
    return beside_world_bytes(m) + m->tensor_bytes + process_grows_bytes + threads_bytes;
}

uint32_t gnn_machine_cores(const struct gnn_machine *m)
{
    return m->simulated ? m->slowed.cpu.cores : own_cores();
}
