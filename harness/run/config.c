#include "harness/run/config.h"

#include "harness/dataset/prepare.h"
#include "harness/run/fault_option.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIELD(name) offsetof(struct gnn_run_config, name)
#define INTERVAL_MIN_NS UINT64_C(10000000)

static const char *const worlds[] = {"measured", "simulated", NULL};
static const char *const io_engines[] = {"uring", "pool", NULL};
static const char *const cap_kinds[] = {"cgroup", "program", NULL};
static const char *const evaluations[] = {"never", "last", "each", NULL};
static const char *const gcn_norms[] = {"released", "standard", NULL};
static const char *const models[] = {"sage", "gcn", "gat", NULL};

const struct gnn_option gnn_run_options[] = {
    {.name = "system",
     .type = GNN_OPT_TEXT,
     .offset = FIELD(system),
     .def = "",
     .unit = "NAME",
     .help = "system to run; `oocgnn list systems` names them"},
    {.name = "dataset",
     .type = GNN_OPT_TEXT,
     .offset = FIELD(dataset),
     .def = "",
     .unit = "NAME|DIR",
     .help = "registry name, name of an import, or a dataset directory"},
    {.name = "data",
     .type = GNN_OPT_TEXT,
     .offset = FIELD(data_dir),
     .def = "data",
     .unit = "DIR",
     .help = "directory that holds the prepared datasets"},
    {.name = "preset",
     .type = GNN_OPT_TEXT,
     .offset = FIELD(preset),
     .def = "",
     .unit = "PAPER",
     .help = "a paper's defaults divided by the dataset's scale; explicit options win"},
    {.name = "scale",
     .type = GNN_OPT_SCALE,
     .offset = FIELD(scale_divisor),
     .def = "1/1",
     .unit = "1/K",
     .help = "scale of a registry dataset"},
    {.name = "dim",
     .type = GNN_OPT_U32,
     .offset = FIELD(dim),
     .def = "0",
     .unit = "floats",
     .max = GNN_DIM_MAX,
     .help = "feature width to use; 0 takes the only one prepared"},

    {.name = "model",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(model),
     .def = "sage",
     .choices = models,
     .help = "what is trained",
     .source = "models.md"},
    {.name = "hidden",
     .type = GNN_OPT_U32,
     .offset = FIELD(hidden),
     .def = "256",
     .unit = "floats",
     .min = 1,
     .max = 4096,
     .help = "hidden width (GAT: channels per head)",
     .source = "models.md 6"},
    {.name = "heads",
     .type = GNN_OPT_U32,
     .offset = FIELD(heads),
     .def = "4",
     .min = 1,
     .max = 64,
     .help = "attention heads (GAT)",
     .source = "models.md 4"},
    {.name = "gat-width-total",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(gat_width_total),
     .def = "no",
     .help = "divide the hidden width by the heads instead of giving it to each",
     .source = "models.md 6"},
    {.name = "gcn-norm",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(gcn_norm),
     .def = "released",
     .choices = gcn_norms,
     .help = "column factor of GCN's edge weights",
     .source = "models.md 3"},
    {.name = "dropout",
     .type = GNN_OPT_F64,
     .offset = FIELD(dropout),
     .def = "0.5",
     .max = 0.99,
     .help = "rate after each hidden layer",
     .source = "models.md 5"},
    {.name = "lr",
     .type = GNN_OPT_F64,
     .offset = FIELD(lr),
     .def = "0.003",
     .min = 1e-9,
     .max = 10,
     .help = "Adam's learning rate",
     .source = "models.md 5"},
    {.name = "weight-decay",
     .type = GNN_OPT_F64,
     .offset = FIELD(weight_decay),
     .def = "0",
     .max = 1,
     .help = "added to the gradient, as torch.optim.Adam does"},

    {.name = "fanout",
     .type = GNN_OPT_U32_LIST,
     .offset = FIELD(fanout),
     .def = "10,10,10",
     .max = GNN_FANOUT_MAX,
     .help = "neighbours per hop, from the seeds outward; its length is the number of layers"},
    {.name = "batch",
     .type = GNN_OPT_U32,
     .offset = FIELD(batch_size),
     .def = "1000",
     .unit = "seeds",
     .min = 1,
     .max = 1 << 20,
     .help = "seeds per mini-batch"},
    {.name = "epochs",
     .type = GNN_OPT_U32,
     .offset = FIELD(epochs),
     .def = "1",
     .min = 1,
     .max = 100000,
     .help = "passes over the training nodes"},
    {.name = "max-batches",
     .type = GNN_OPT_U32,
     .offset = FIELD(max_batches),
     .def = "0",
     .help = "train only the first so many mini-batches of an epoch; 0 = all"},
    {.name = "batches",
     .type = GNN_OPT_U32,
     .offset = FIELD(batches),
     .def = "0",
     .help = "train so many mini-batches after the warm-up and extrapolate to the epoch, with the spread; 0 "
             "= whole "
             "epochs"},
    {.name = "warmup",
     .type = GNN_OPT_U32,
     .offset = FIELD(warmup),
     .def = "0",
     .unit = "batches",
     .help = "mini-batches before those that --batches extrapolates from"},
    {.name = "sample-only",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(sample_only),
     .def = "no",
     .help = "the papers' \"-only\": sampling without extract and train"},
    {.name = "floyd-biased",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(floyd_biased),
     .def = "no",
     .help = "the released samplers' off-by-one, to match their traces",
     .source = "pygplus.md 7"},
    {.name = "seed",
     .type = GNN_OPT_U64,
     .offset = FIELD(seed),
     .def = "1",
     .help = "of mini-batches, parameters and dropout"},

    {.name = "world",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(world),
     .def = "measured",
     .choices = worlds,
     .help = "this machine, or a profile's"},
    {.name = "profile",
     .type = GNN_OPT_TEXT,
     .offset = FIELD(profile),
     .def = "",
     .unit = "NAME",
     .help = "hardware profile of a simulated world; `oocgnn list profiles` has them"},
    {.name = "compute",
     .type = GNN_OPT_TEXT,
     .offset = FIELD(compute),
     .def = "auto",
     .unit = "auto|cpu|ref|cuda|model:PROFILE[/cpu|/gpu]",
     .help = "tensor back-end: BLAS, the plain reference loops, or a profile's GPU or CPU as a model "
             "(training waits "
             "as long as it would take, nothing is computed). auto: BLAS; in the simulated world the "
             "profile's GPU, "
             "or its CPU if it has none"},
    {.name = "fault",
     .type = GNN_OPT_TEXT,
     .offset = FIELD(fault),
     .def = "",
     .unit = "KEY=VALUE,...",
     .help = "what is to go wrong, for tests: seed, eio-at, eio, again, short, slow, slow-by, shuffle, enospc, "
             "enospc-after, short-write, alloc-at, alloc, device-slowdown, die-at-batch"},
    {.name = "compute-threads",
     .type = GNN_OPT_U32,
     .offset = FIELD(compute_threads),
     .def = "1",
     .unit = "threads",
     .min = 1,
     .max = 256,
     .help = "threads of the tensor back-end"},
    {.name = "io",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(io_engine),
     .def = "uring",
     .choices = io_engines,
     .help = "engine of asynchronous reads; never changed behind your back"},

    {.name = "memory",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(memory_bytes),
     .def = "0",
     .unit = "bytes",
     .help = "memory cap, page cache included; 0 = none"},
    {.name = "swap",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(swap_bytes),
     .def = "0",
     .unit = "bytes",
     .help = "swap allowed beyond the cap"},
    {.name = "cap",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(cap_kind),
     .def = "cgroup",
     .choices = cap_kinds,
     .help = "who enforces --memory: the kernel (page cache included), or the program over its own "
             "allocations alone"},
    {.name = "device-bps",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(device_bps),
     .def = "0",
     .unit = "bytes/s",
     .help = "throttle reads of the dataset's device; 0 = none"},
    {.name = "device-iops",
     .type = GNN_OPT_U64,
     .offset = FIELD(device_iops),
     .def = "0",
     .unit = "reads/s",
     .max = 4294967295.0, /* the kernel's */
     .help = "throttle reads of the dataset's device; 0 = none"},
    {.name = "cold",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(cold),
     .def = "yes",
     .help = "evict the dataset from the page cache before the run, and check that it is gone"},
    {.name = "time-limit",
     .type = GNN_OPT_DURATION,
     .offset = FIELD(time_limit_ns),
     .def = "0",
     .help = "end the run as `oot` after this long; 0 = none"},
    {.name = "evaluate",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(evaluate),
     .def = "last",
     .choices = evaluations,
     .help = "accuracy on the validation and test nodes: after which epochs"},
    {.name = "interval",
     .type = GNN_OPT_DURATION,
     .offset = FIELD(interval_ns),
     .def = "250ms",
     .help = "time between two samples of the probes"},
    {.name = "db",
     .type = GNN_OPT_TEXT,
     .offset = FIELD(db),
     .def = "oocgnn.db",
     .unit = "FILE",
     .help = "SQLite file the run is recorded in"},
    {.name = "trace-loss",
     .type = GNN_OPT_TEXT,
     .offset = FIELD(trace_loss),
     .def = "",
     .unit = "FILE",
     .help = "write epoch, batch, loss (exact bits) and correct of every step to this file"},
    {.name = "json",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(json),
     .def = "no",
     .help = "print one JSON object on stdout instead of a table"},
    {.name = "quiet", .type = GNN_OPT_BOOL, .offset = FIELD(quiet), .def = "no", .help = "no progress"},
    {.name = NULL},
};

void gnn_run_config_defaults(struct gnn_run_config *config)
{
    memset(config, 0, sizeof *config);
    gnn_option_defaults(gnn_run_options, config);
}

enum gnn_status gnn_run_config_set(struct gnn_run_config *config, const char *text, struct gnn_err *err)
{
    const char *const dot = strchr(text, '.');
    const char *const equals = strchr(text, '=');
    if (dot == NULL || equals == NULL || dot > equals || dot == text || equals == dot + 1)
        return gnn_fail(err, GNN_EUSAGE, "--set %s: expected system.key=value, for example gnndrive.extractors=4",
                        text);
    if (strlen(text) >= GNN_SET_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--set %.40s...: longer than %d characters", text, GNN_SET_MAX - 1);
    if (config->set_count == GNN_SETS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--set %s: more than %d settings", text, GNN_SETS_MAX);
    memcpy(config->sets[config->set_count++], text, strlen(text) + 1);
    return GNN_OK;
}

enum gnn_status gnn_system_find(const char *name, const struct gnn_system **out, struct gnn_err *err)
{
    char known[256] = "";
    for (const struct gnn_system *const *s = gnn_systems; *s != NULL; s++) {
        if (strcmp((*s)->name, name) == 0) {
            assert((*s)->abi == GNN_SYSTEM_ABI);
            *out = *s;
            return GNN_OK;
        }
        const size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s", used == 0 ? "" : ", ", (*s)->name);
    }
    if (name[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "--system is missing; this build has: %s", known);
    return gnn_fail(err, GNN_EUSAGE, "unknown system '%s'; this build has: %s", name, known);
}

/* Applies "system.key=value" if it is meant for this system; other systems' settings (a sweep's [global] has
 * them) are checked and left. */
static enum gnn_status apply_set(const struct gnn_system *system, void *config, const char *text, struct gnn_err *err)
{
    char owner[GNN_SET_MAX], key[GNN_SET_MAX];
    const char *const dot = strchr(text, '.');
    const char *const equals = strchr(text, '=');
    (void)snprintf(owner, sizeof owner, "%.*s", (int)(dot - text), text);
    (void)snprintf(key, sizeof key, "%.*s", (int)(equals - dot - 1), dot + 1);
    if (strcmp(owner, system->name) == 0)
        return gnn_option_set(system->options, config, key, equals + 1, err);
    const struct gnn_system *other;
    GNN_TRY(gnn_system_find(owner, &other, err));
    void *const unused = calloc(1, other->config_bytes > 0 ? other->config_bytes : 1);
    if (unused == NULL)
        return gnn_fail(err, GNN_ENOMEM, "configuration of %s", other->name);
    const enum gnn_status status = gnn_option_set(other->options, unused, key, equals + 1, err);
    free(unused);
    return status;
}

enum gnn_status gnn_system_configure(const struct gnn_system *system, const struct gnn_run_config *config, void **out,
                                     struct gnn_err *err)
{
    void *const settings = calloc(1, system->config_bytes > 0 ? system->config_bytes : 1);
    if (settings == NULL)
        return gnn_fail(err, GNN_ENOMEM, "configuration of %s", system->name);
    gnn_option_defaults(system->options, settings);
    for (uint32_t i = 0; i < config->set_count; i++) {
        struct gnn_err cause = {0};
        const enum gnn_status status = apply_set(system, settings, config->sets[i], &cause);
        if (status != GNN_OK) {
            free(settings);
            return gnn_fail(err, status, "--set %s: %s", config->sets[i], cause.message);
        }
    }
    *out = settings;
    return GNN_OK;
}

static enum gnn_status check_compute(const struct gnn_run_config *config, struct gnn_err *err)
{
    static const char *const known[] = {"auto", "cpu", "ref", "cuda"};
    const bool modelled = strncmp(config->compute, "model:", 6) == 0;
    if (config->trace_loss[0] != '\0' && (modelled || config->world == GNN_WORLD_SIMULATED))
        return gnn_fail(err, GNN_ENOTSUP,
                        "--trace-loss %s: a modelled back-end computes no loss; leave it out, or use --compute "
                        "cpu in the measured world",
                        config->trace_loss);
    if (modelled)
        return GNN_OK; /* gnn_machine_resolve opens the profile */
    if (strcmp(config->compute, "cuda") == 0 && config->world == GNN_WORLD_MEASURED)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--compute cuda: no CUDA plugin in this build; use --compute cpu, or model:PROFILE to wait as "
                        "long as that profile's GPU would take");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(config->compute, known[i]) == 0)
            return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "--compute %s: unknown back-end; there are auto, cpu, ref, cuda and model:PROFILE",
                    config->compute);
}

/* The simulated world has no machine to throttle, to cgroup or to heat up, and computes no values. */
static enum gnn_status check_simulated(const struct gnn_run_config *config, struct gnn_err *err)
{
    if (config->device_bps != 0 || config->device_iops != 0 || config->swap_bytes != 0)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--device-bps, --device-iops and --swap act on this machine; in the simulated world change "
                        "the profile, or use --fault device-slowdown=F");
    if (!config->cold)
        return gnn_fail(err, GNN_ENOTSUP, "--no-cold: a simulated machine starts with an empty page cache");
    if (config->cap_kind == GNN_CAP_PROGRAM)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--cap program: the simulated cap is the kernel's, page cache included; leave it out");
    return GNN_OK;
}

static enum gnn_status check_batches(const struct gnn_run_config *config, struct gnn_err *err)
{
    if (config->batches == 0 && config->warmup != 0)
        return gnn_fail(err, GNN_EUSAGE, "--warmup %u stands before --batches N, which is missing", config->warmup);
    if (config->batches != 0 && config->max_batches != 0)
        return gnn_fail(err, GNN_EUSAGE, "--batches %u and --max-batches %u: choose one", config->batches,
                        config->max_batches);
    if (config->batches == 1)
        return gnn_fail(err, GNN_EUSAGE, "--batches 1: a spread needs at least 2");
    if (config->batches > UINT32_MAX - config->warmup)
        return gnn_fail(err, GNN_EUSAGE, "--batches %u + --warmup %u: too many", config->batches, config->warmup);
    return GNN_OK;
}

/* What would be accepted and then not be there. */
static enum gnn_status check_environment(const struct gnn_run_config *config, struct gnn_err *err)
{
    if (config->profile[0] != '\0' && config->world != GNN_WORLD_SIMULATED)
        return gnn_fail(err, GNN_EUSAGE,
                        "--profile %s: a profile belongs to --world simulated; for a modelled accelerator beside "
                        "measured storage say --compute model:%s",
                        config->profile, config->profile);
    struct gnn_run_faults faults;
    GNN_TRY(gnn_faults_parse(config->fault, &faults, err));
    if (faults.device_slowdown != 1 && config->world != GNN_WORLD_SIMULATED)
        return gnn_fail(err, GNN_EUSAGE,
                        "--fault device-slowdown: only a simulated device can be slowed; here use --device-iops or "
                        "--device-bps");
    if (config->world == GNN_WORLD_SIMULATED)
        GNN_TRY(check_simulated(config, err));
    GNN_TRY(check_batches(config, err));
    if (config->swap_bytes != 0 && (config->memory_bytes == 0 || config->cap_kind != GNN_CAP_CGROUP))
        return gnn_fail(err, GNN_EUSAGE, "--swap %" PRIu64 ": swap is limited beside --memory with --cap cgroup only",
                        config->swap_bytes);
    if (config->interval_ns < INTERVAL_MIN_NS)
        return gnn_fail(err, GNN_EUSAGE, "--interval: at least 10ms, or the probes disturb what they measure");
    return GNN_OK;
}

enum gnn_status gnn_run_config_check(const struct gnn_run_config *config, struct gnn_err *err)
{
    const struct gnn_system *system;
    GNN_TRY(gnn_system_find(config->system, &system, err));
    void *settings;
    GNN_TRY(gnn_system_configure(system, config, &settings, err));
    free(settings);
    if (config->dataset[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "--dataset is missing; `oocgnn list datasets` names those of the registry");
    if (config->fanout.count == 0 || config->fanout.count > GNN_LAYERS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--fanout: %u hops; 1 to %d are possible", config->fanout.count,
                        GNN_LAYERS_MAX);
    if (config->gat_width_total && config->hidden % config->heads != 0)
        return gnn_fail(err, GNN_EUSAGE, "--hidden %u cannot be shared by --heads %u; choose a multiple",
                        config->hidden, config->heads);
    GNN_TRY(check_environment(config, err));
    return check_compute(config, err);
}

uint32_t gnn_run_max_batches(const struct gnn_run_config *config)
{
    return config->batches != 0 ? config->warmup + config->batches : config->max_batches;
}

bool gnn_run_dataset_is_computed(const struct gnn_run_config *config)
{
    const struct gnn_registry_entry *entry;
    struct gnn_err ignored = {0};
    return config->world == GNN_WORLD_SIMULATED && strchr(config->dataset, '/') == NULL &&
           gnn_registry_find(config->dataset, &entry, &ignored) == GNN_OK;
}

void gnn_run_dataset_dir(const struct gnn_run_config *config, char *path, size_t path_bytes)
{
    struct stat info;
    if (strchr(config->dataset, '/') != NULL) {
        (void)snprintf(path, path_bytes, "%s", config->dataset);
        return;
    }
    (void)snprintf(path, path_bytes, "%s/%s-1_%u", config->data_dir, config->dataset, config->scale_divisor);
    if (config->scale_divisor == 1 && stat(path, &info) != 0) /* imports carry no scale */
        (void)snprintf(path, path_bytes, "%s/%s", config->data_dir, config->dataset);
}
