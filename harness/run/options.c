/* SPDX-License-Identifier: MIT */
/* The options of a run: one table for the parser, the help, the record, the job files and the worker's arguments. */
#include "harness/run/config.h"

#include "harness/base/units.h"
#include "harness/dataset/prepare.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Headings of `oocgnn run --help`, in the order of gnn_run_option_groups. */
#define MOST_USED "Most used"
#define DATASET "Dataset"
#define MODEL "Model"
#define BATCHES "Mini-batches"
#define LINKS "Link prediction"
#define LIMITS "Limits and devices"
#define MACHINE "Simulation and compute"
#define OUTPUT "Output"
#define TESTING "Testing"

const char *const gnn_run_option_groups[] = {MOST_USED, DATASET, MODEL,  BATCHES, LINKS,
                                             LIMITS,    MACHINE, OUTPUT, TESTING, NULL};

#define OPTION(heading, ...) GNN_OPTION(gnn_run_config, __VA_ARGS__, .group = (heading))

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
static const char *const tasks[] = {[GNN_TASK_NODES] = "nodes", [GNN_TASK_LINK] = "link", NULL};
_Static_assert(sizeof(enum gnn_task_kind) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");
_Static_assert(sizeof(enum gnn_decoder) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");
_Static_assert(sizeof(enum gnn_optimizer) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");
_Static_assert(sizeof worlds / sizeof *worlds == GNN_WORLD_SIMULATED + 2, "a name for each world");

/* clang-format off */
const struct gnn_option gnn_run_options[] = {
    OPTION(MOST_USED, "system", TEXT, system, "", .unit = "NAME",
           .help = "system to run; `oocgnn list systems` names them"),
    OPTION(MOST_USED, "dataset", TEXT, dataset, "", .unit = "NAME|DIR",
           .help = "registry name, name of an import, or a dataset directory (with a '/')"),
    OPTION(DATASET, "data", TEXT, data_dir, "data", .unit = "DIR",
           .help = "directory that holds the prepared datasets"),
    OPTION(MOST_USED, "preset", TEXT, preset, "", .unit = "NAME",
           .help = "a paper's defaults divided by the dataset's scale; `oocgnn list presets`; explicit options win"),
    OPTION(MOST_USED, "scale", SCALE, scale_divisor, "1/1", .unit = "1/K", .help = "scale of a registry dataset"),
    OPTION(DATASET, "dim", U32, dim, "0", .unit = "floats", .max = GNN_DIM_MAX,
           .help = "feature width to use; 0 takes the only one prepared"),
    OPTION(DATASET, "id-bytes", CHOICE, id_width, "4", .unit = "bytes", .choices = gnn_id_width_words,
           .help = "neighbour IDs on disk to use: `indices`, or `indices-8` as most released systems store them"),

    OPTION(DATASET, "generate", TEXT, generate, "", .unit = "A=B,C=D",
           .help = "options of `oocgnn prepare` for a computed graph (simulated world, registry name): reach, spread "
                   "and so on"),

    OPTION(LINKS, "task", CHOICE, task, "nodes", .choices = tasks,
           .help = "what is learned: nodes: classes of nodes from their features; link: edges of a knowledge graph, "
                   "with vectors of --dim (0 = 100) for its nodes"),
    OPTION(LINKS, "decoder", CHOICE, decoder, "distmult", .choices = gnn_decoder_words,
           .help = "--task link: what scores an edge", .source = "MariusGNN, section 7.1"),
    OPTION(LINKS, "encoder", BOOL, encoder, "no",
           .help = "--task link: score the output of --model over --fanout instead of the vectors themselves"),
    OPTION(LINKS, "optimizer", CHOICE, optimizer, "adagrad", .choices = gnn_optimizer_words,
           .help = "--task link: of vectors, relations and encoder",
           .source = "Marius, section 2.1; MariusGNN artifact"),
    OPTION(LINKS, "embedding-lr", F64, embedding_lr, "0.1", .min = 1e-9, .max = 10,
           .help = "--task link: learning rate of vectors, relations and encoder", .source = "MariusGNN artifact"),
    OPTION(LINKS, "negatives", U32, negatives, "500", .unit = "nodes", .min = 1, .max = 1 << 20,
           .help = "--task link: nodes that the edges of a chunk are compared with, on each side",
           .source = "MariusGNN artifact"),
    OPTION(LINKS, "chunks", U32, chunks, "10", .min = 1, .max = 1 << 16,
           .help = "--task link: parts of a mini-batch whose edges share their negatives",
           .source = "MariusGNN artifact"),
    OPTION(LINKS, "degree-share", F64, degree_share, "0.5", .max = 1,
           .help = "--task link: share of the negatives that are ends of the mini-batch's edges; the others are "
                   "uniform",
           .source = "MariusGNN artifact"),
    OPTION(LINKS, "candidates", U32, candidates, "0", .unit = "nodes", .max = 1 << 24,
           .help = "--task link: nodes that an edge is ranked among, half of them ends of edges; 0 = all, without "
                   "those that make a true edge",
           .source = "MariusGNN artifact: 2000, or all on FB15k-237"),
    OPTION(MODEL, "model", CHOICE, model, "sage", .choices = gnn_model_names, .help = "what is trained",
           .source = "GNNDrive, section 5"),
    OPTION(MODEL, "hidden", U32, hidden, "256", .unit = "floats", .min = 1, .max = 4096,
           .help = "hidden width (GAT: channels per head)", .source = "GNNDrive, section 5; released scripts"),
    OPTION(MODEL, "heads", U32, heads, "4", .min = 1, .max = 64, .help = "attention heads (GAT)",
           .source = "GNNDrive's released GAT script"),
    OPTION(MODEL, "gat-width-total", BOOL, gat_width_total, "no",
           .help = "divide the hidden width by the heads instead of giving it to each",
           .source = "choice beside GNNDrive's"),
    OPTION(MODEL, "gcn-norm", CHOICE, gcn_norm, "released", .choices = gcn_norms,
           .help = "column factor of GCN's edge weights", .source = "GNNDrive's released GCN script"),
    OPTION(MODEL, "dropout", F64, dropout, "0.5", .max = 0.99, .help = "rate after each hidden layer",
           .source = "released scripts of Ginex and GNNDrive"),
    OPTION(MODEL, "lr", F64, lr, "0.003", .min = 1e-9, .max = 10, .help = "Adam's learning rate",
           .source = "released scripts of Ginex and GNNDrive"),
    OPTION(MODEL, "weight-decay", F64, weight_decay, "0", .max = 1,
           .help = "added to the gradient, as torch.optim.Adam does"),

    OPTION(BATCHES, "fanout", U32_LIST, fanout, "10,10,10", .max = GNN_FANOUT_MAX,
           .help = "neighbours per hop, from the seeds outward; its length is the number of layers. A node with more "
                   "neighbours is sampled: no hop takes all of any node"),
    OPTION(BATCHES, "batch", U32, batch_size, "1000", .unit = "seeds", .min = 1, .max = 1 << 20,
           .help = "seeds per mini-batch"),
    OPTION(MOST_USED, "epochs", U32, epochs, "1", .min = 1, .max = 100000, .help = "passes over the training nodes"),
    OPTION(BATCHES, "max-batches", U32, max_batches, "0",
           .help = "train only the first so many mini-batches of an epoch; 0 = all"),
    OPTION(BATCHES, "batches", U32, batches, "0",
           .help = "train so many mini-batches after the warm-up and extrapolate to the epoch; 0 = whole epochs"),
    OPTION(BATCHES, "warmup", U32, warmup, "0", .unit = "batches",
           .help = "mini-batches before those that --batches extrapolates from"),
    OPTION(BATCHES, "sample-only", BOOL, sample_only, "no",
           .help = "the papers' \"-only\": sampling without extract and train"),
    OPTION(BATCHES, "floyd-biased", BOOL, floyd_biased, "no",
           .help = "the released samplers' off-by-one, to match their traces",
           .source = "samplers of PyG+, Ginex, GNNDrive"),
    OPTION(BATCHES, "workers", U32, workers, "1", .min = 1, .max = GNN_RANKS_MAX,
           .help = "processes that train one model together, each --batch seeds a step of its own part of the training "
                   "nodes; their gradients are averaged",
           .source = "GNNDrive, section 4.3"),
    OPTION(BATCHES, "segments", U32, segments, "0", .max = 4096,
           .help = "equal parts the training nodes are cut into, each shuffled inside itself; a multiple of --workers; "
                   "0 = one a worker. One worker with N times the batch and N segments trains the same steps as N"),
    OPTION(BATCHES, "seed", U64, seed, "1", .help = "of mini-batches, parameters and dropout"),

    OPTION(MOST_USED, "world", CHOICE, world, "measured", .choices = worlds, .help = "this machine, or a profile's"),
    OPTION(MOST_USED, "profile", TEXT, profile, "", .unit = "NAME",
           .help = "hardware profile of a simulated world; `oocgnn list profiles` has them"),
    OPTION(MACHINE, "costs", TEXT, costs, "ideal", .unit = "ideal|released|FILE",
           .help = "of a simulated machine: ideal: what the designs need; released: besides, what the papers' programs "
                   "spend in their language and libraries (workloads/hardware/costs)"),
    OPTION(MACHINE, "compute", TEXT, compute, "auto", .unit = "auto|cpu|ref|cuda[:N]|model:PROFILE[/cpu|/gpu]",
           .help = "tensor back-end: BLAS, the plain reference loops, or a profile's GPU or CPU as a model (training "
                   "waits as long as it would take, nothing is computed). auto: BLAS; in the simulated world the "
                   "profile's GPU, or its CPU if it has none"),
    OPTION(TESTING, "fault", TEXT, fault, "", .unit = "KEY=VALUE,...",
           .help = "what is to go wrong, for tests: seed, eio-at, eio, again, short, slow, slow-by, shuffle, enospc, "
                   "enospc-after, short-write, eio-write-at, eio-write, again-write, slow-write, alloc-at, alloc, "
                   "device-slowdown, die-at-batch"),
    OPTION(MODEL, "precision", CHOICE, precision, "fp32", .choices = precisions,
           .help = "of the products of --compute cuda: their inputs are rounded to it, sums stay in fp32"),
    OPTION(MODEL, "step-graphs", BOOL, step_graphs, "yes",
           .help = "--compute cuda captures a training step and launches it as one graph where its shape allows; no: "
                   "kernel by kernel"),
    OPTION(MACHINE, "compute-threads", U32, compute_threads, "0", .unit = "threads", .max = 256,
           .help = "threads of --compute cpu, which change no result; 0 = this machine's cores, or a worker's share of "
                   "them, 16 at most. A profile's CPU computes on as many cores; 0 = one"),
    OPTION(LIMITS, "io", CHOICE, io_engine, "uring", .choices = io_engines,
           .help = "engine of asynchronous reads; never changed behind your back"),

    OPTION(MOST_USED, "memory", BYTES, memory_bytes, "0", .unit = "bytes",
           .help = "memory cap, page cache included; 0 = none"),
    OPTION(LIMITS, "swap", BYTES, swap_bytes, "0", .unit = "bytes", .help = "swap allowed beyond the cap"),
    OPTION(LIMITS, "cap", CHOICE, cap_kind, "cgroup", .choices = cap_kinds,
           .help = "who enforces --memory: the kernel (page cache included), or the program over its own allocations "
                   "alone"),
    OPTION(LIMITS, "device-bps", BYTES, device_bps, "0", .unit = "bytes/s",
           .help = "throttle reads and writes of the dataset's device, each; 0 = none"),
    OPTION(LIMITS, "device-iops", U64, device_iops, "0", .unit = "reads/s", .max = UINT32_MAX,
           .help = "throttle reads and writes of the dataset's device, each; 0 = none"), /* the kernel's limit */
    OPTION(LIMITS, "device-readahead", TEXT, device_readahead, "", .unit = "SIZE",
           .help = "readahead of the dataset's device while the run lasts (needs root), or of the profile's: 0, 128K; "
                   "empty: as it is",
           .source = "Ginex' instructions: 0; Linux' default: 128K"),
    OPTION(LIMITS, "cold", BOOL, cold, "yes",
           .help = "evict the dataset from the page cache before the run, and check that it is gone"),
    OPTION(LIMITS, "time-limit", DURATION, time_limit_ns, "0", .unit = "TIME",
           .help = "end the run as `oot` after this long (30m, 90s); 0 = none"),
    OPTION(OUTPUT, "evaluate", CHOICE, evaluate, "last", .choices = evaluations,
           .help = "accuracy on the validation and test nodes, or ranks of such edges: after which epochs"),
    OPTION(OUTPUT, "interval", DURATION, interval_ns, "250ms", .unit = "TIME",
           .help = "time between two samples of the probes, at least 10ms"),
    OPTION(MOST_USED, "db", TEXT, db, "oocgnn.db", .unit = "FILE", .help = "SQLite file the run is recorded in"),
    OPTION(OUTPUT, "trace-loss", TEXT, trace_loss, "", .unit = "FILE",
           .help = "write epoch, batch, loss (exact bits) and correct of every step to this file"),
    OPTION(OUTPUT, "bound", BOOL, bound, "no",
           .help = "when the run is over, sample its mini-batches once more and record bound_ratio: the feature bytes "
                   "it read over the least that any exact system reads (`oocgnn bound RUN` does it later)"),
    OPTION(OUTPUT, "json", BOOL, json, "no", .help = "print one JSON object on stdout instead of a table"),
    OPTION(OUTPUT, "details", BOOL, details, "no",
           .help = "print every table of the run: the GPU's, percentiles, and what distinguishes runs"),
    OPTION(OUTPUT, "quiet", BOOL, quiet, "no", .help = "no progress"),
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

uint32_t gnn_run_dim(const struct gnn_run_config *config)
{
    enum { LINK_DIM = 100 }; /* MariusGNN, section 7.1 */
    return config->dim == 0 && config->task == GNN_TASK_LINK ? LINK_DIM : config->dim;
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

bool gnn_run_costs_are_ideal(const struct gnn_run_config *config)
{
    return strcmp(config->costs, "ideal") == 0;
}

bool gnn_run_readahead(const struct gnn_run_config *config, uint64_t *bytes)
{
    *bytes = UINT64_MAX;
    if (config->device_readahead[0] == '\0')
        return false;
    if (gnn_parse_bytes(config->device_readahead, bytes, NULL) != GNN_OK)
        *bytes = UINT64_MAX;
    return true;
}

uint32_t gnn_run_segments(const struct gnn_run_config *config)
{
    return config->segments != 0 ? config->segments : config->workers;
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
           gnn_registry_find(config->dataset, &entry, NULL) == GNN_OK && entry->kind != GNN_REGISTRY_KNOWLEDGE;
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
