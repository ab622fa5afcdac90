/* SPDX-License-Identifier: MIT */
/* Checks of a run's options against each other and against this build, before anything is opened. */
#include "harness/run/config.h"

#include "harness/base/units.h"
#include "harness/dataset/prepare.h"
#include "harness/record/record.h"
#include "harness/run/fault_option.h"
#include "harness/tensor/cuda/plugin.h"
#include "harness/tensor/group.h"
#include "harness/world/profile.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_MIN_NS UINT64_C(10000000)
#define READAHEAD_MAX (UINT64_C(1) << 30)
enum { BPS_MIN = 64 << 10, IOPS_MIN = 16 };

/* What a GPU needs, and several: said now rather than after the dataset was opened. */
static enum gnn_status check_cuda(const struct gnn_run_config *config, struct gnn_err *err)
{
    const struct gnn_tensor_ops *plugin = NULL;
    char found[64];
    GNN_TRY(gnn_cuda_plugin(&plugin, err));
    return config->workers == 1 ? GNN_OK : plugin->group->find(found, sizeof found, err);
}

static enum gnn_status check_compute(const struct gnn_run_config *config, struct gnn_err *err)
{
    static const char *const known[] = {"auto", "cpu", "ref", "cuda"};
    const bool modelled = gnn_compute_is_modelled(config);
    uint32_t device;
    if (config->trace_loss[0] != '\0' && (modelled || config->world == GNN_WORLD_SIMULATED))
        return gnn_fail(
            err, GNN_ENOTSUP,
            "--trace-loss %s: a modelled back-end computes no loss; leave it out, or use --compute cpu in the "
            "measured world",
            config->trace_loss);
    if (modelled)
        return GNN_OK; /* gnn_machine_resolve opens the profile */
    if (config->precision != GNN_PRECISION_FP32 && strncmp(config->compute, "cuda", 4) != 0)
        return gnn_fail(err, GNN_EUSAGE, "--precision is of the CUDA back-end's products: add --compute cuda");
    if (!config->step_graphs && strncmp(config->compute, "cuda", 4) != 0)
        return gnn_fail(err, GNN_EUSAGE, "--no-step-graphs is of the CUDA back-end's steps: add --compute cuda");
    if (config->world == GNN_WORLD_MEASURED && gnn_compute_is_cuda(config, &device))
        return check_cuda(config, err);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(config->compute, known[i]) == 0)
            return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE,
                    "--compute %s: unknown back-end; there are auto, cpu, ref, cuda[:N] and model:PROFILE",
                    config->compute);
}

/* Options that act on this machine have no meaning in the simulated world. */
static enum gnn_status check_simulated(const struct gnn_run_config *config, struct gnn_err *err)
{
    if (config->device_bps != 0 || config->device_iops != 0 || config->swap_bytes != 0)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--device-bps, --device-iops and --swap act on this machine; in the simulated world change the "
                        "profile, or use --fault device-slowdown=F");
    if (!config->cold)
        return gnn_fail(err, GNN_ENOTSUP, "--no-cold: a simulated machine starts with an empty page cache");
    if (config->cap_kind == GNN_CAP_PROGRAM)
        return gnn_fail(
            err, GNN_ENOTSUP,
            "--cap program: the simulated memory limit always includes the page cache; leave the option out");
    return GNN_OK;
}

static enum gnn_status check_measured(const struct gnn_run_config *config, const struct gnn_run_faults *faults,
                                      struct gnn_err *err)
{
    if (config->profile[0] != '\0')
        return gnn_fail(err, GNN_EUSAGE,
                        "--profile %s: a profile requires --world simulated; for measured storage with a modelled "
                        "accelerator use --compute model:%s",
                        config->profile, config->profile);
    if (config->profile_set[0] != '\0' && !gnn_compute_is_modelled(config))
        return gnn_fail(err, GNN_EUSAGE,
                        "--profile-set %s: this run has no profile; add --world simulated, or --compute model:PROFILE",
                        config->profile_set);
    if (gnn_profile_changes_section(config->profile_set, "machine") ||
        gnn_profile_changes_section(config->profile_set, "storage") ||
        gnn_profile_changes_section(config->profile_set, "cpu"))
        return gnn_fail(err, GNN_EUSAGE,
                        "--profile-set %s: parameters of [machine], [storage] and [cpu] have no effect in the measured "
                        "world; add --world simulated, or leave them out",
                        config->profile_set);
    if (!gnn_run_costs_are_ideal(config))
        return gnn_fail(err, GNN_EUSAGE, "--costs %s: of a simulated machine; add --world simulated, or leave it out",
                        config->costs);
    if (faults->device_slowdown != 1)
        return gnn_fail(err, GNN_EUSAGE,
                        "--fault device-slowdown: only a simulated device can be slowed; here use --device-iops or "
                        "--device-bps");
    return GNN_OK;
}

/* Options of a graph that this run computes. What the run itself says is not said twice. */
static enum gnn_status check_generate(const struct gnn_run_config *config, struct gnn_err *err)
{
    struct gnn_generate_options options;
    if (config->generate[0] == '\0')
        return GNN_OK;
    if (!gnn_run_dataset_is_computed(config))
        return gnn_fail(
            err, GNN_EUSAGE,
            "--generate is for a graph that is computed: --world simulated and a name of the registry. Leave "
            "--generate out: a prepared graph was generated with the options of its preparation");
    gnn_option_defaults(gnn_generate_table, &options);
    const struct gnn_generate_options usual = options;
    GNN_TRY(gnn_generate_set(&options, config->generate, err));
    if (options.dim == usual.dim && options.id_width == usual.id_width && options.feature_type == usual.feature_type)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "--generate %s: give --dim, --id-bytes and --feature-type as options of the run",
                    config->generate);
}

static enum gnn_status check_batches(const struct gnn_run_config *config, struct gnn_err *err)
{
    if (config->batches == 0 && config->warmup != 0)
        return gnn_fail(err, GNN_EUSAGE, "--warmup %u requires --batches N, which is missing", config->warmup);
    if (config->batches != 0 && config->max_batches != 0)
        return gnn_fail(err, GNN_EUSAGE, "--batches %u and --max-batches %u: choose one", config->batches,
                        config->max_batches);
    if (config->batches == 1)
        return gnn_fail(err, GNN_EUSAGE, "--batches 1: a spread needs at least 2");
    if (config->batches != 0 && config->sample_only)
        return gnn_fail(err, GNN_EUSAGE,
                        "--batches %u cannot be combined with --sample-only: extrapolation needs training steps. "
                        "--max-batches %u samples a part of the epoch",
                        config->batches, config->batches);
    if (config->batches > UINT32_MAX - config->warmup)
        return gnn_fail(err, GNN_EUSAGE, "--batches %u + --warmup %u: too many", config->batches, config->warmup);
    return GNN_OK;
}

/* A trace is of one process, and rows are noted when they are trained. */
static enum gnn_status check_traces(const struct gnn_run_config *config, struct gnn_err *err)
{
    const bool processes = config->workers > 1 && config->world == GNN_WORLD_MEASURED;
    if (config->trace_io[0] != '\0' && processes)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--trace-io %s: the --workers %u are processes, and a trace has the requests of one; use "
                        "--workers 1, or --world simulated",
                        config->trace_io, config->workers);
    if (config->trace_rows[0] != '\0' && config->workers > 1)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--trace-rows %s: only the first of --workers %u could write its rows; use --workers 1",
                        config->trace_rows, config->workers);
    if (config->trace_rows[0] != '\0' && config->sample_only)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--trace-rows %s: --sample-only trains no mini-batch, and rows are written when they are "
                        "trained; leave one of the two out",
                        config->trace_rows);
    if (config->trace_io[0] == '\0' || strcmp(config->trace_io, config->trace_rows) != 0)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "--trace-io and --trace-rows %s: name two files", config->trace_io);
}

static enum gnn_status check_limits(const struct gnn_run_config *config, struct gnn_err *err)
{
    char text[32];
    if (config->swap_bytes != 0 && (config->memory_bytes == 0 || config->cap_kind != GNN_CAP_CGROUP))
        return gnn_fail(err, GNN_EUSAGE,
                        "--swap %" PRIu64 ": swap can only be limited with --memory and `--cap cgroup`",
                        config->swap_bytes);
    if ((config->device_bps != 0 && config->device_bps < BPS_MIN) ||
        (config->device_iops != 0 && config->device_iops < IOPS_MIN))
        return gnn_fail(err, GNN_EUSAGE,
                        "--device-bps %" PRIu64 " and --device-iops %" PRIu64
                        ": at least 64K and 16, or reads wait in the kernel where no signal reaches them",
                        config->device_bps, config->device_iops);
    if (config->interval_ns < INTERVAL_MIN_NS)
        return gnn_fail(err, GNN_EUSAGE,
                        "--interval: %s is too short: at least 10ms, or the probes disturb what they measure",
                        gnn_format_duration(config->interval_ns, text, sizeof text));
    return GNN_OK;
}

static enum gnn_status check_readahead(const struct gnn_run_config *config, struct gnn_err *err)
{
    uint64_t bytes;
    if (!gnn_run_readahead(config, &bytes) || (bytes <= READAHEAD_MAX && bytes % GNN_PAGE_BYTES == 0))
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "--device-readahead %s: a multiple of 4K up to 1G (0 switches it off)",
                    config->device_readahead);
}

static enum gnn_status check_workers(const struct gnn_run_config *config, const struct gnn_system *system,
                                     struct gnn_err *err)
{
    const uint32_t segments = gnn_run_segments(config), most = gnn_max_u32(system->workers_max, 1);
    if (config->workers > most && most == 1)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--workers %u: %s trains in one process; leave --workers out, or choose a system with several "
                        "(`oocgnn list systems`)",
                        config->workers, system->name);
    if (config->workers > most)
        return gnn_fail(err, GNN_ENOTSUP, "--workers %u: %s has at most %u", config->workers, system->name, most);
    if (segments > 1 && most == 1)
        return gnn_fail(err, GNN_ENOTSUP, "--segments %u: %s shuffles all training nodes together; leave it out",
                        segments, system->name);
    if (segments % config->workers != 0)
        return gnn_fail(err, GNN_EUSAGE, "--segments %u cannot be shared by --workers %u; choose a multiple", segments,
                        config->workers);
    if ((uint64_t)config->workers * config->batch_size % segments != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "--batch %u of --workers %u: %u seeds a step are not the same number from each of --segments "
                        "%u; choose a multiple",
                        config->batch_size, config->workers, config->workers * config->batch_size, segments);
    return GNN_OK;
}

enum gnn_status gnn_run_check_device(const struct gnn_run_config *config, bool gpu, struct gnn_err *err)
{
    const struct gnn_system *system;
    GNN_TRY(gnn_system_find(config->system, &system, err));
    if (config->sample_only || (system->variants & (gpu ? GNN_VARIANT_GPU : GNN_VARIANT_CPU)) != 0)
        return GNN_OK;
    return gnn_fail(err, GNN_ENOTSUP,
                    "--compute %s: %s does not train on %s; use --compute %s, or choose a system that does (`oocgnn "
                    "list systems`)",
                    config->compute, system->name, gpu ? "a GPU" : "the CPU", gpu ? "cpu" : "cuda");
}

/* What the system has not been written for ends here, and not in its own code. gnn_machine_resolve checks the device
 * of a model. */
static enum gnn_status check_variants(const struct gnn_run_config *config, const struct gnn_system *system,
                                      struct gnn_err *err)
{
    uint32_t device;
    if (config->sample_only && (system->variants & GNN_VARIANT_SAMPLE_ONLY) == 0)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--sample-only: %s cannot sample without training; leave the option out, or choose a system "
                        "with `sampling only` (`oocgnn list systems`)",
                        system->name);
    if (config->world == GNN_WORLD_SIMULATED || gnn_compute_is_modelled(config))
        return GNN_OK;
    return gnn_run_check_device(config, gnn_compute_is_cuda(config, &device), err);
}

/* Whether an option of --task link was given another value than its own. */
static bool sets_links(const struct gnn_run_config *config)
{
    struct gnn_run_config usual;
    gnn_run_config_defaults(&usual);
    return config->decoder != usual.decoder || config->relation_start != usual.relation_start ||
           config->optimizer != usual.optimizer || config->encoder != usual.encoder ||
           config->embedding_lr != usual.embedding_lr || config->n3 != usual.n3 ||
           config->negative_set != usual.negative_set || config->negatives != usual.negatives ||
           config->chunks != usual.chunks || config->degree_share != usual.degree_share ||
           config->candidates != usual.candidates;
}

/* With all nodes as negatives, none is sampled. */
static enum gnn_status check_negatives(const struct gnn_run_config *config, struct gnn_err *err)
{
    struct gnn_run_config usual;
    gnn_run_config_defaults(&usual);
    if (config->negative_set != GNN_NEGATIVES_ALL)
        return GNN_OK;
    if (config->negatives != usual.negatives)
        return gnn_fail(err, GNN_EUSAGE,
                        "--negatives %" PRIu32 ": --negative-set all compares edges with all nodes; leave one of the "
                        "two options out",
                        config->negatives);
    if (config->degree_share != usual.degree_share)
        return gnn_fail(err, GNN_EUSAGE,
                        "--degree-share %g: --negative-set all compares edges with all nodes; leave one of the two "
                        "options out",
                        config->degree_share);
    return GNN_OK;
}

static enum gnn_status check_task(const struct gnn_run_config *config, const struct gnn_system *system,
                                  struct gnn_err *err)
{
    if (config->task == GNN_TASK_NODES && sets_links(config))
        return gnn_fail(err, GNN_EUSAGE,
                        "--decoder, --relation-start, --encoder, --optimizer, --embedding-lr, --n3, --negative-set, "
                        "--negatives, --chunks, --degree-share and --candidates are for links: add --task link");
    if (config->task == GNN_TASK_NODES)
        return GNN_OK;
    if ((system->variants & GNN_VARIANT_LINK) == 0)
        return gnn_fail(
            err, GNN_ENOTSUP,
            "--task link: %s learns classes of nodes alone; choose a system that learns links (`oocgnn list "
            "systems`)",
            system->name);
    if (config->sample_only)
        return gnn_fail(err, GNN_ENOTSUP, "--sample-only: links are not learned without training; leave it out");
    if (config->feature_type != GNN_F32)
        return gnn_fail(err, GNN_EUSAGE,
                        "--feature-type %s is for features: --task link learns vectors of float32; leave it out",
                        gnn_feature_type_words[config->feature_type]);
    if (config->decoder == GNN_DECODER_COMPLEX && gnn_run_dim(config) % 2 != 0)
        return gnn_fail(err, GNN_EUSAGE, "--dim %u: --decoder complex takes an even one, half of it imaginary",
                        config->dim);
    return check_negatives(config, err);
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
    GNN_TRY(gnn_db_check_name(config->db, err));
    if (config->seed > INT64_MAX) /* SQLite's integers end there, and a seed is stored as it was */
        return gnn_fail(err, GNN_EUSAGE, "--seed %" PRIu64 ": at most %" PRId64, config->seed, INT64_MAX);
    if (config->fanout.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "--fanout: no hops; 1 to %d are possible", GNN_LAYERS_MAX);
    assert(config->fanout.count <= GNN_LAYERS_MAX); /* the parser takes no more */
    if (config->gat_width_total && config->hidden % config->heads != 0)
        return gnn_fail(err, GNN_EUSAGE, "--hidden %u cannot be shared by --heads %u; choose a multiple",
                        config->hidden, config->heads);
    GNN_TRY(check_task(config, system, err));
    GNN_TRY(check_variants(config, system, err));
    GNN_TRY(check_workers(config, system, err));
    struct gnn_run_faults faults;
    GNN_TRY(gnn_faults_parse(config->fault, &faults, err));
    if (faults.die_rank >= config->workers)
        return gnn_fail(err, GNN_EUSAGE, "--fault die-rank=%u: the last of --workers %u is %u", faults.die_rank,
                        config->workers, config->workers - 1);
    if (gnn_run_costs_are_ideal(config) && gnn_profile_changes_section(config->profile_set, "released"))
        return gnn_fail(err, GNN_EUSAGE, "--profile-set %s: parameters of [released] require --costs released",
                        config->profile_set);
    GNN_TRY(config->world == GNN_WORLD_SIMULATED ? check_simulated(config, err) : check_measured(config, &faults, err));
    GNN_TRY(check_generate(config, err));
    GNN_TRY(check_batches(config, err));
    GNN_TRY(check_traces(config, err));
    GNN_TRY(check_readahead(config, err));
    GNN_TRY(check_limits(config, err));
    return check_compute(config, err);
}
