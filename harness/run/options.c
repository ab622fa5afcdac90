/* The options of a run: one table for the parser, the help, the record, the job files and the worker's arguments. */
#include "harness/run/config.h"

#include "harness/dataset/prepare.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FIELD(name) offsetof(struct gnn_run_config, name)

static const char *const precisions[] = {"fp32", "tf32", "bf16", NULL};
static const char *const worlds[] = {[GNN_WORLD_MEASURED] = "measured", [GNN_WORLD_SIMULATED] = "simulated", NULL};
static const char *const io_engines[] = {[GNN_RING_URING] = "uring", [GNN_RING_POOL] = "pool", NULL};
static const char *const cap_kinds[] = {[GNN_CAP_CGROUP] = "cgroup", [GNN_CAP_PROGRAM] = "program", NULL};
static const char *const evaluations[] = {
    [GNN_EVALUATE_NEVER] = "never", [GNN_EVALUATE_LAST] = "last", [GNN_EVALUATE_EACH] = "each", NULL};
static const char *const gcn_norms[] = {
    [GNN_GCN_NORM_RELEASED] = "released", [GNN_GCN_NORM_STANDARD] = "standard", NULL};

/* A choice is parsed into a uint32_t; its field has the type of its enum. */
_Static_assert(sizeof(enum gnn_world_kind) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");
_Static_assert(sizeof worlds / sizeof *worlds == GNN_WORLD_SIMULATED + 2, "a name for each world");

/* clang-format off */
const struct gnn_option gnn_run_options[] = {
    {.name = "system", .type = GNN_OPT_TEXT, .offset = FIELD(system), .def = "", .unit = "NAME",
     .help = "system to run; `oocgnn list systems` names them"},
    {.name = "dataset", .type = GNN_OPT_TEXT, .offset = FIELD(dataset), .def = "", .unit = "NAME|DIR",
     .help = "registry name, name of an import, or a dataset directory (with a '/')"},
    {.name = "data", .type = GNN_OPT_TEXT, .offset = FIELD(data_dir), .def = "data", .unit = "DIR",
     .help = "directory that holds the prepared datasets"},
    {.name = "preset", .type = GNN_OPT_TEXT, .offset = FIELD(preset), .def = "", .unit = "NAME",
     .help = "a paper's defaults divided by the dataset's scale; `oocgnn list presets`; explicit options win"},
    {.name = "scale", .type = GNN_OPT_SCALE, .offset = FIELD(scale_divisor), .def = "1/1", .unit = "1/K",
     .help = "scale of a registry dataset"},
    {.name = "dim", .type = GNN_OPT_U32, .offset = FIELD(dim), .def = "0", .unit = "floats", .max = GNN_DIM_MAX,
     .help = "feature width to use; 0 takes the only one prepared"},

    {.name = "model", .type = GNN_OPT_CHOICE, .offset = FIELD(model), .def = "sage", .choices = gnn_model_names,
     .help = "what is trained", .source = "GNNDrive, section 5"},
    {.name = "hidden", .type = GNN_OPT_U32, .offset = FIELD(hidden), .def = "256", .unit = "floats", .min = 1,
     .max = 4096, .help = "hidden width (GAT: channels per head)", .source = "GNNDrive, section 5; released scripts"},
    {.name = "heads", .type = GNN_OPT_U32, .offset = FIELD(heads), .def = "4", .min = 1, .max = 64,
     .help = "attention heads (GAT)", .source = "GNNDrive's released GAT script"},
    {.name = "gat-width-total", .type = GNN_OPT_BOOL, .offset = FIELD(gat_width_total), .def = "no",
     .help = "divide the hidden width by the heads instead of giving it to each", .source = "choice beside GNNDrive's"},
    {.name = "gcn-norm", .type = GNN_OPT_CHOICE, .offset = FIELD(gcn_norm), .def = "released", .choices = gcn_norms,
     .help = "column factor of GCN's edge weights", .source = "GNNDrive's released GCN script"},
    {.name = "dropout", .type = GNN_OPT_F64, .offset = FIELD(dropout), .def = "0.5", .max = 0.99,
     .help = "rate after each hidden layer", .source = "released scripts of Ginex and GNNDrive"},
    {.name = "lr", .type = GNN_OPT_F64, .offset = FIELD(lr), .def = "0.003", .min = 1e-9, .max = 10,
     .help = "Adam's learning rate", .source = "released scripts of Ginex and GNNDrive"},
    {.name = "weight-decay", .type = GNN_OPT_F64, .offset = FIELD(weight_decay), .def = "0", .max = 1,
     .help = "added to the gradient, as torch.optim.Adam does"},

    {.name = "fanout", .type = GNN_OPT_U32_LIST, .offset = FIELD(fanout), .def = "10,10,10", .max = GNN_FANOUT_MAX,
     .help = "neighbours per hop, from the seeds outward; its length is the number of layers"},
    {.name = "batch", .type = GNN_OPT_U32, .offset = FIELD(batch_size), .def = "1000", .unit = "seeds", .min = 1,
     .max = 1 << 20, .help = "seeds per mini-batch"},
    {.name = "epochs", .type = GNN_OPT_U32, .offset = FIELD(epochs), .def = "1", .min = 1, .max = 100000,
     .help = "passes over the training nodes"},
    {.name = "max-batches", .type = GNN_OPT_U32, .offset = FIELD(max_batches), .def = "0",
     .help = "train only the first so many mini-batches of an epoch; 0 = all"},
    {.name = "batches", .type = GNN_OPT_U32, .offset = FIELD(batches), .def = "0",
     .help = "train so many mini-batches after the warm-up and extrapolate to the epoch; 0 = whole epochs"},
    {.name = "warmup", .type = GNN_OPT_U32, .offset = FIELD(warmup), .def = "0", .unit = "batches",
     .help = "mini-batches before those that --batches extrapolates from"},
    {.name = "sample-only", .type = GNN_OPT_BOOL, .offset = FIELD(sample_only), .def = "no",
     .help = "the papers' \"-only\": sampling without extract and train"},
    {.name = "floyd-biased", .type = GNN_OPT_BOOL, .offset = FIELD(floyd_biased), .def = "no",
     .help = "the released samplers' off-by-one, to match their traces", .source = "samplers of PyG+, Ginex, GNNDrive"},
    {.name = "seed", .type = GNN_OPT_U64, .offset = FIELD(seed), .def = "1",
     .help = "of mini-batches, parameters and dropout"},

    {.name = "world", .type = GNN_OPT_CHOICE, .offset = FIELD(world), .def = "measured", .choices = worlds,
     .help = "this machine, or a profile's"},
    {.name = "profile", .type = GNN_OPT_TEXT, .offset = FIELD(profile), .def = "", .unit = "NAME",
     .help = "hardware profile of a simulated world; `oocgnn list profiles` has them"},
    {.name = "compute", .type = GNN_OPT_TEXT, .offset = FIELD(compute), .def = "auto",
     .unit = "auto|cpu|ref|cuda[:N]|model:PROFILE[/cpu|/gpu]",
     .help = "tensor back-end: BLAS, the plain reference loops, or a profile's GPU or CPU as a model (training waits "
             "as long as it would take, nothing is computed). auto: BLAS; in the simulated world the profile's GPU, or "
             "its CPU if it has none"},
    {.name = "fault", .type = GNN_OPT_TEXT, .offset = FIELD(fault), .def = "", .unit = "KEY=VALUE,...",
     .help = "what is to go wrong, for tests: seed, eio-at, eio, again, short, slow, slow-by, shuffle, enospc, "
             "enospc-after, short-write, alloc-at, alloc, device-slowdown, die-at-batch"},
    {.name = "precision", .type = GNN_OPT_CHOICE, .offset = FIELD(precision), .def = "fp32", .choices = precisions,
     .help = "of the products of --compute cuda: their inputs are rounded to it, sums stay in fp32"},
    {.name = "compute-threads", .type = GNN_OPT_U32, .offset = FIELD(compute_threads), .def = "1", .unit = "threads",
     .min = 1, .max = 256, .help = "threads of the tensor back-end"},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(io_engine), .def = "uring", .choices = io_engines,
     .help = "engine of asynchronous reads; never changed behind your back"},

    {.name = "memory", .type = GNN_OPT_BYTES, .offset = FIELD(memory_bytes), .def = "0", .unit = "bytes",
     .help = "memory cap, page cache included; 0 = none"},
    {.name = "swap", .type = GNN_OPT_BYTES, .offset = FIELD(swap_bytes), .def = "0", .unit = "bytes",
     .help = "swap allowed beyond the cap"},
    {.name = "cap", .type = GNN_OPT_CHOICE, .offset = FIELD(cap_kind), .def = "cgroup", .choices = cap_kinds,
     .help = "who enforces --memory: the kernel (page cache included), or the program over its own allocations alone"},
    {.name = "device-bps", .type = GNN_OPT_BYTES, .offset = FIELD(device_bps), .def = "0", .unit = "bytes/s",
     .help = "throttle reads of the dataset's device; 0 = none"},
    {.name = "device-iops", .type = GNN_OPT_U64, .offset = FIELD(device_iops), .def = "0", .unit = "reads/s",
     .max = UINT32_MAX, .help = "throttle reads of the dataset's device; 0 = none"}, /* the kernel's limit */
    {.name = "cold", .type = GNN_OPT_BOOL, .offset = FIELD(cold), .def = "yes",
     .help = "evict the dataset from the page cache before the run, and check that it is gone"},
    {.name = "time-limit", .type = GNN_OPT_DURATION, .offset = FIELD(time_limit_ns), .def = "0", .unit = "TIME",
     .help = "end the run as `oot` after this long (30m, 90s); 0 = none"},
    {.name = "evaluate", .type = GNN_OPT_CHOICE, .offset = FIELD(evaluate), .def = "last", .choices = evaluations,
     .help = "accuracy on the validation and test nodes: after which epochs"},
    {.name = "interval", .type = GNN_OPT_DURATION, .offset = FIELD(interval_ns), .def = "250ms", .unit = "TIME",
     .help = "time between two samples of the probes, at least 10ms"},
    {.name = "db", .type = GNN_OPT_TEXT, .offset = FIELD(db), .def = "oocgnn.db", .unit = "FILE",
     .help = "SQLite file the run is recorded in"},
    {.name = "trace-loss", .type = GNN_OPT_TEXT, .offset = FIELD(trace_loss), .def = "", .unit = "FILE",
     .help = "write epoch, batch, loss (exact bits) and correct of every step to this file"},
    {.name = "json", .type = GNN_OPT_BOOL, .offset = FIELD(json), .def = "no",
     .help = "print one JSON object on stdout instead of a table"},
    {.name = "quiet", .type = GNN_OPT_BOOL, .offset = FIELD(quiet), .def = "no", .help = "no progress"},
    {.name = NULL},
};
/* clang-format on */

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
        return gnn_fail(err, GNN_EUSAGE, "--set %s: expected SYSTEM.NAME=VALUE; `oocgnn list params SYSTEM` shows them",
                        text);
    if (strlen(text) >= GNN_SET_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--set %.40s...: longer than %d characters", text, GNN_SET_MAX - 1);
    if (config->set_count == GNN_SETS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--set %s: more than %d settings", text, GNN_SETS_MAX);
    memcpy(config->sets[config->set_count++], text, strlen(text) + 1);
    return GNN_OK;
}

bool gnn_compute_is_modelled(const struct gnn_run_config *config)
{
    return strncmp(config->compute, "model:", 6) == 0;
}

bool gnn_compute_is_cuda(const struct gnn_run_config *config, uint32_t *device)
{
    static const char word[] = "cuda";
    const char *const rest = config->compute + sizeof word - 1;
    *device = 0;
    if (strncmp(config->compute, word, sizeof word - 1) != 0 || (rest[0] != '\0' && rest[0] != ':'))
        return false;
    char *end = NULL;
    const unsigned long number = rest[0] == ':' ? strtoul(rest + 1, &end, 10) : 0;
    *device = (uint32_t)number;
    return rest[0] == '\0' || (rest[1] >= '0' && rest[1] <= '9' && *end == '\0' && number < 1024);
}

uint32_t gnn_run_max_batches(const struct gnn_run_config *config)
{
    assert(config->batches == 0 || config->batches <= UINT32_MAX - config->warmup);
    return config->batches != 0 ? config->warmup + config->batches : config->max_batches;
}

bool gnn_run_dataset_is_computed(const struct gnn_run_config *config)
{
    const struct gnn_registry_entry *entry;
    return config->world == GNN_WORLD_SIMULATED && strchr(config->dataset, '/') == NULL &&
           gnn_registry_find(config->dataset, &entry, NULL) == GNN_OK;
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
