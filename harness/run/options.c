/* SPDX-License-Identifier: MIT */
/* The options of a run: one table for the parser, the help, the record, the job files and the worker's arguments. */
#include "harness/run/config.h"

#include "harness/base/units.h"
#include "harness/dataset/missing.h"
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
    OPTION(MOST_USED, "system", TEXT, system, "", .unit = "NAME|FILE.so",
           .help = "System to run; `oocgnn list systems` prints the names. With a '/', the shared object of a "
                   "system of your own, such as ./mine.so"),
    OPTION(MOST_USED, "dataset", TEXT, dataset, "", .unit = "NAME|DIR",
           .help = "Registry name, name of an import, or a dataset directory (with a '/')"),
    OPTION(DATASET, "data", TEXT, data_dir, "data", .unit = "DIR",
           .help = "Directory of the prepared datasets"),
    OPTION(MOST_USED, "preset", TEXT, preset, "", .unit = "NAME",
           .help = "Settings of a paper, divided by the dataset's scale; `oocgnn list presets` prints the names. "
                   "Options that are given explicitly win."),
    OPTION(MOST_USED, "scale", SCALE, scale_divisor, "1/1", .unit = "1/K", .help = "Scale of a registry dataset"),
    OPTION(DATASET, "dim", U32, dim, "0", .unit = "floats", .max = GNN_DIM_MAX,
           .help = "Feature width; 0 = the only width that is prepared"),
    OPTION(DATASET, "id-bytes", CHOICE, id_width, "4", .unit = "bytes", .choices = gnn_id_width_words,
           .help = "Width of neighbour IDs on disk: 4 reads `indices`, 8 reads `indices-8`, as most released "
                   "systems do"),
    OPTION(DATASET, "feature-type", CHOICE, feature_type, "f32", .choices = gnn_feature_type_words,
           .help = "Number format of the features on disk: f32, or f16 (half precision). Rows of f16 are read, cached "
                   "and moved with half the bytes, and widened to f32 for the model."),
    OPTION(DATASET, "generate", TEXT, generate, "", .unit = "A=B,C=D",
           .help = "Options of `oocgnn prepare` for a computed graph (simulated world, registry name), such as "
                   "reach or order"),

    OPTION(LINKS, "task", CHOICE, task, "nodes", .choices = tasks,
           .help = "Task: `nodes` learns classes of nodes from their features; `link` learns edges of a knowledge "
                   "graph with vectors of --dim floats (0 = 100) for its nodes"),
    OPTION(LINKS, "decoder", CHOICE, decoder, "distmult", .choices = gnn_decoder_words,
           .help = "Decoder that scores an edge, with --task link", .source = "MariusGNN, section 7.1"),
    OPTION(LINKS, "relation-start", CHOICE, relation_start, "identity", .choices = gnn_relation_start_words,
           .help = "Vectors of relations before the first epoch, with --task link: `identity` (DistMult 1, ComplEx "
                   "1 + 0i, TransE 0), or `random`, uniform in -1 to 1",
           .source = "MariusGNN artifact: identity"),
    OPTION(LINKS, "encoder", BOOL, encoder, "no",
           .help = "Score the output of --model over --fanout instead of the vectors themselves, with --task link"),
    OPTION(LINKS, "optimizer", CHOICE, optimizer, "adagrad", .choices = gnn_optimizer_words,
           .help = "Optimizer of vectors, relations and encoder, with --task link",
           .source = "Marius, section 2.1; MariusGNN artifact"),
    OPTION(LINKS, "embedding-lr", F64, embedding_lr, "0.1", .min = 1e-9, .max = 10,
           .help = "Learning rate of vectors, relations and encoder, with --task link", .source = "MariusGNN artifact"),
    OPTION(LINKS, "n3", F64, n3, "0", .max = 10,
           .help = "Penalty on long vectors, with --task link: weight of the sum of |x|^3 over the numbers of an "
                   "edge's two nodes and its relation; 0 = none",
           .source = "Lacroix et al., ICML 2018 (N3); none in MariusGNN"),
    OPTION(LINKS, "negative-set", CHOICE, negative_set, "sampled", .choices = gnn_negative_set_words,
           .help = "Nodes that the edges of a chunk are compared with, with --task link: `sampled`, --negatives of "
                   "them; `own`, also the nodes that the chunk's queries start from; `all`, every node"),
    OPTION(LINKS, "negatives", U32, negatives, "500", .unit = "nodes", .min = 1, .max = 1 << 20,
           .help = "Negative nodes that the edges of a chunk are compared with, on each side, with --task link",
           .source = "MariusGNN artifact"),
    OPTION(LINKS, "chunks", U32, chunks, "10", .min = 1, .max = 1 << 16,
           .help = "Parts of a mini-batch whose edges share their negatives, with --task link",
           .source = "MariusGNN artifact"),
    OPTION(LINKS, "degree-share", F64, degree_share, "0.5", .max = 1,
           .help = "Share of the negatives that are ends of the mini-batch's edges, with --task link; the others "
                   "are uniform",
           .source = "MariusGNN artifact"),
    OPTION(LINKS, "candidates", U32, candidates, "0", .unit = "nodes", .max = 1 << 24,
           .help = "Nodes that an edge is ranked among, half of them ends of edges, with --task link; 0 = all nodes "
                   "except those that make a true edge",
           .source = "MariusGNN artifact: 2000, or all on FB15k-237"),
    OPTION(MODEL, "model", CHOICE, model, "sage", .choices = gnn_model_names, .help = "GNN model to train",
           .source = "GNNDrive, section 5"),
    OPTION(MODEL, "hidden", U32, hidden, "256", .unit = "floats", .min = 1, .max = 4096,
           .help = "Hidden width; for GAT, the width of each head", .source = "GNNDrive, section 5; released scripts"),
    OPTION(MODEL, "heads", U32, heads, "4", .min = 1, .max = 64, .help = "Attention heads of GAT",
           .source = "GNNDrive's released GAT script"),
    OPTION(MODEL, "gat-width-total", BOOL, gat_width_total, "no",
           .help = "Divide the hidden width by the heads instead of giving it to each head",
           .source = "alternative to GNNDrive's choice"),
    OPTION(MODEL, "gcn-norm", CHOICE, gcn_norm, "released", .choices = gcn_norms,
           .help = "Column factor of GCN's edge weights", .source = "GNNDrive's released GCN script"),
    OPTION(MODEL, "gcn-maps-sources", BOOL, gcn_maps_sources, "no",
           .help = "Apply GCN's linear map to all source nodes before the sum, not to the sums",
           .source = "ours; released scripts: yes, in GCNConv of PyTorch Geometric"),
    OPTION(MODEL, "dropout", F64, dropout, "0.5", .max = 0.99, .help = "Dropout rate after each hidden layer",
           .source = "released scripts of Ginex and GNNDrive"),
    OPTION(MODEL, "lr", F64, lr, "0.003", .min = 1e-9, .max = 10, .help = "Learning rate of Adam",
           .source = "released scripts of Ginex and GNNDrive"),
    OPTION(MODEL, "weight-decay", F64, weight_decay, "0", .max = 1,
           .help = "Weight decay, added to the gradient as in torch.optim.Adam"),

    OPTION(BATCHES, "fanout", U32_LIST, fanout, "10,10,10", .max = GNN_FANOUT_MAX,
           .help = "Neighbours sampled for each hop, from the seed nodes outward. The number of values is the "
                   "number of layers. Nodes with fewer neighbours contribute all of them."),
    OPTION(BATCHES, "batch", U32, batch_size, "1000", .unit = "seeds", .min = 1, .max = 1 << 20,
           .help = "Seed nodes in a mini-batch"),
    OPTION(MOST_USED, "epochs", U32, epochs, "1", .min = 1, .max = 100000,
           .help = "Epochs: passes over the training nodes"),
    OPTION(BATCHES, "max-batches", U32, max_batches, "0",
           .help = "Train only the first N mini-batches of an epoch; 0 = all"),
    OPTION(BATCHES, "batches", U32, batches, "0",
           .help = "Train N mini-batches after the warm-up and extrapolate to the epoch, if they are steady; 0 = train "
                   "whole epochs"),
    OPTION(BATCHES, "warmup", U32, warmup, "0", .unit = "batches",
           .help = "Mini-batches before those that --batches extrapolates from"),
    OPTION(BATCHES, "sample-only", BOOL, sample_only, "no",
           .help = "Sample without extracting features and training, as in the papers' \"-only\" figures"),
    OPTION(BATCHES, "floyd-biased", BOOL, floyd_biased, "no",
           .help = "Reproduce the off-by-one error of the released samplers, to match their traces",
           .source = "samplers of PyG+, Ginex, GNNDrive"),
    OPTION(BATCHES, "workers", U32, workers, "1", .min = 1, .max = GNN_RANKS_MAX,
           .help = "Processes that train one model together. Each trains --batch seed nodes a step from its own "
                   "part of the training nodes, and the gradients are averaged.",
           .source = "GNNDrive, section 4.3"),
    OPTION(BATCHES, "segments", U32, segments, "0", .max = 4096,
           .help = "Parts of equal size that the training nodes are divided into, each shuffled by itself; a "
                   "multiple of --workers; 0 = one for each worker. One worker with N times the batch and N "
                   "segments trains the same steps as N workers."),
    OPTION(BATCHES, "seed", U64, seed, "1", .help = "Seed for mini-batches, parameters and dropout"),

    OPTION(MOST_USED, "world", CHOICE, world, "measured", .choices = worlds,
           .help = "World of the run: `measured` on this machine, or `simulated` on the machine of a profile"),
    OPTION(MOST_USED, "profile", TEXT, profile, "", .unit = "NAME",
           .help = "Hardware profile of the simulated world; `oocgnn list profiles` prints the names"),
    OPTION(MACHINE, "profile-set", TEXT, profile_set, "", .unit = "KEY=VALUE,...",
           .help = "Change parameters of the profile for this run: storage.read_iops=3000/s in the units of its file "
                   "(workloads/hardware/README.md), or storage.read_iops=x0.5 for half of its value; may be given "
                   "several times. In the measured world it changes the model of --compute."),
    OPTION(MACHINE, "costs", TEXT, costs, "ideal", .unit = "ideal|released|FILE",
           .help = "Costs in the simulated world: `ideal` counts what the designs need; `released` adds what the "
                   "papers' programs spend in their languages and libraries; or a file like those in "
                   "workloads/hardware/costs"),
    OPTION(MACHINE, "compute", TEXT, compute, "auto", .unit = "auto|cpu|ref|cuda[:N]|model:PROFILE[/cpu|/gpu]",
           .help = "Tensor back-end: `cpu` (BLAS), `ref` (plain loops), `cuda`, or the model of a profile's GPU or "
                   "CPU. A model waits as long as training would take and computes nothing. `auto` is `cpu` in the "
                   "measured world, and the profile's GPU, or else its CPU, in the simulated world."),
    OPTION(TESTING, "fault", TEXT, fault, "", .unit = "KEY=VALUE,...",
           .help = "Failures to inject, for tests: seed, eio-at, eio, again, short, slow, slow-by, shuffle, enospc, "
                   "enospc-after, short-write, eio-write-at, eio-write, again-write, slow-write, alloc-at, alloc, "
                   "device-slowdown, die-at-batch, die-rank"),
    OPTION(MODEL, "precision", CHOICE, precision, "fp32", .choices = precisions,
           .help = "Precision of the inputs of products with --compute cuda; sums stay in fp32"),
    OPTION(MODEL, "step-graphs", BOOL, step_graphs, "yes",
           .help = "Launch a training step as one CUDA graph where its shape allows, with --compute cuda; "
                   "--no-step-graphs launches kernel by kernel"),
    OPTION(MACHINE, "compute-threads", U32, compute_threads, "0", .unit = "threads", .max = 256,
           .help = "Threads of --compute cpu; 0 = the cores of this machine or of a worker's share, at most 16. The "
                   "number does not change results. A profile's CPU is modelled with as many cores; 0 = one."),
    OPTION(LIMITS, "io", CHOICE, io_engine, "uring", .choices = io_engines,
           .help = "Asynchronous I/O engine. It is never substituted silently."),

    OPTION(MOST_USED, "memory", BYTES, memory_bytes, "0", .unit = "bytes",
           .help = "Memory limit, page cache included; 0 = no limit"),
    OPTION(LIMITS, "swap", BYTES, swap_bytes, "0", .unit = "bytes",
           .help = "Swap that is allowed in addition to the memory limit"),
    OPTION(LIMITS, "cap", CHOICE, cap_kind, "cgroup", .choices = cap_kinds,
           .help = "Enforcement of --memory: `cgroup` by the kernel, page cache included, or `program` by the "
                   "program over its own allocations"),
    OPTION(LIMITS, "device-bps", BYTES, device_bps, "0", .unit = "bytes/s",
           .help = "Limit on the bandwidth of the dataset's device, for reads and for writes; 0 = no limit"),
    OPTION(LIMITS, "device-iops", U64, device_iops, "0", .unit = "reads/s", .max = UINT32_MAX,
           .help = "Limit on the requests per second of the dataset's device, for reads and for writes; 0 = no "
                   "limit"), /* the kernel's limit */
    OPTION(LIMITS, "device-readahead", TEXT, device_readahead, "", .unit = "SIZE",
           .help = "Readahead of the dataset's device during the run (requires root), or of the profile's device: "
                   "0, 128K; empty = unchanged",
           .source = "Ginex' instructions: 0; Linux' default: 128K"),
    OPTION(LIMITS, "cold", BOOL, cold, "yes",
           .help = "Evict the dataset from the page cache before the run, and check that it is gone"),
    OPTION(LIMITS, "time-limit", DURATION, time_limit_ns, "0", .unit = "TIME",
           .help = "End the run with status `oot` (timeout) after this time (30m, 90s); 0 = no limit"),
    OPTION(OUTPUT, "evaluate", CHOICE, evaluate, "last", .choices = evaluations,
           .help = "Epochs after which accuracy (with --task link, the ranks of edges) is computed on validation "
                   "and test data"),
    OPTION(OUTPUT, "interval", DURATION, interval_ns, "250ms", .unit = "TIME",
           .help = "Time between two samples of the probes, at least 10ms"),
    OPTION(MOST_USED, "db", TEXT, db, "oocgnn.db", .unit = "FILE", .help = "SQLite file that the run is recorded in"),
    OPTION(OUTPUT, "trace-loss", TEXT, trace_loss, "", .unit = "FILE",
           .help = "Write epoch, mini-batch, loss (exact bits) and correct predictions of every step to this file"),
    OPTION(OUTPUT, "trace-io", TEXT, trace_io, "", .unit = "FILE",
           .help = "Write every read and write to this file, in fio's iolog format version 3 (docs/traces.md); "
                   "`oocgnn trace FILE` analyses it"),
    OPTION(OUTPUT, "trace-rows", TEXT, trace_rows, "", .unit = "FILE",
           .help = "Write epoch, mini-batch and feature row of every row of every trained mini-batch to this file, as "
                   "a NumPy array (rows, 3)"),
    OPTION(OUTPUT, "bound", BOOL, bound, "no",
           .help = "Sample the mini-batches again after the run and record bound_ratio: the feature bytes read, "
                   "divided by the minimum reads of any exact system (`oocgnn bound RUN` does this later)"),
    OPTION(OUTPUT, "json", BOOL, json, "no", .help = "Print one JSON object on stdout instead of the summary"),
    OPTION(OUTPUT, "details", BOOL, details, "no",
           .help = "Print every table of the run: percentiles, the GPU's times, and differences between runs"),
    OPTION(OUTPUT, "quiet", BOOL, quiet, "no", .help = "Print no progress"),
    {.name = NULL},
};
/* clang-format on */

void gnn_run_config_defaults(struct gnn_run_config *config)
{
    memset(config, 0, sizeof *config);
    gnn_option_defaults(gnn_run_options, config);
}

/* Names the command that lists parameters: of the system in the text, or else of the run. */
static enum gnn_status malformed_set(const struct gnn_run_config *config, const char *text, struct gnn_err *err)
{
    char name[GNN_NAME_MAX];
    const struct gnn_system *system;
    (void)snprintf(name, sizeof name, "%.*s", (int)gnn_min_u64(strcspn(text, ".="), sizeof name - 1), text);
    const char *const known = gnn_system_find(name, &system, NULL) == GNN_OK             ? name
                              : gnn_system_find(config->system, &system, NULL) == GNN_OK ? config->system
                                                                                         : NULL;
    return gnn_fail(err, GNN_EUSAGE, "--set %s: expected SYSTEM.NAME=VALUE; `oocgnn list %s%s` shows the names", text,
                    known != NULL ? "params " : "systems", known != NULL ? known : "");
}

enum gnn_status gnn_run_config_set(struct gnn_run_config *config, const char *text, struct gnn_err *err)
{
    const char *const dot = strchr(text, '.');
    const char *const equals = strchr(text, '=');
    if (dot == NULL || equals == NULL || dot > equals || dot == text || equals == dot + 1)
        return malformed_set(config, text, err);
    if (strlen(text) >= GNN_SET_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--set %.40s...: longer than %d characters", text, GNN_SET_MAX - 1);
    if (config->set_count == GNN_SETS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--set %s: more than %d settings", text, GNN_SETS_MAX);
    memcpy(config->sets[config->set_count++], text, strlen(text) + 1);
    return GNN_OK;
}

enum gnn_status gnn_run_config_change(struct gnn_run_config *config, const char *changes, struct gnn_err *err)
{
    const size_t at = strlen(config->profile_set), room = sizeof config->profile_set - at;
    const int length = snprintf(config->profile_set + at, room, "%s%s", at > 0 ? "," : "", changes);
    if (length >= 0 && (size_t)length < room)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "--profile-set %.40s...: all changes together have more than %d characters",
                    changes, GNN_TEXT_MAX - 1);
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

bool gnn_run_dataset_is_procedural(const struct gnn_run_config *config)
{
    const struct gnn_registry_entry *entry;
    return strchr(config->dataset, '/') == NULL && gnn_registry_find(config->dataset, &entry, NULL) == GNN_OK &&
           entry->kind == GNN_REGISTRY_PROCEDURAL;
}

bool gnn_run_dataset_is_computed(const struct gnn_run_config *config)
{
    return config->world == GNN_WORLD_SIMULATED && gnn_run_dataset_is_procedural(config);
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

static struct gnn_dataset_wanted wanted_by(const struct gnn_run_config *config, const char *dir)
{
    return (struct gnn_dataset_wanted){.name = config->dataset,
                                       .data_dir = config->data_dir,
                                       .dir = dir,
                                       .scale_divisor = config->scale_divisor,
                                       .dim = config->dim,
                                       .feature_type = config->feature_type,
                                       .id_bytes = gnn_id_width_bytes(config->id_width),
                                       .links = config->task == GNN_TASK_LINK};
}

enum gnn_status gnn_run_dataset_missing(const struct gnn_run_config *config, const char *dir, struct gnn_err *err)
{
    const struct gnn_dataset_wanted wanted = wanted_by(config, dir);
    return gnn_dataset_missing(&wanted, err);
}

const char *gnn_run_dataset_command(const struct gnn_run_config *config, char *text, size_t text_bytes)
{
    const struct gnn_dataset_wanted wanted = wanted_by(config, "");
    return gnn_dataset_command(&wanted, text, text_bytes);
}

enum gnn_status gnn_run_dataset_without_links(const struct gnn_run_config *config, const char *what,
                                              struct gnn_err *err)
{
    const struct gnn_dataset_wanted wanted = wanted_by(config, "");
    return gnn_dataset_without_links(&wanted, what, err);
}
