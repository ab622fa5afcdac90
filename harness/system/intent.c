/* SPDX-License-Identifier: MIT */
#include "harness/system/intent.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void gnn_intent_begin(const struct gnn_env *env, struct gnn_intent *out)
{
    const struct gnn_workload *const load = env->workload;
    const uint64_t train = gnn_epoch_nodes(env), batches = gnn_epoch_batches(env);
    *out = (struct gnn_intent){.batches = batches,
                               .seeds = load->sample_only ? 0 : gnn_min_u64(batches * load->batch_size, train),
                               .whole_batches = gnn_whole_epoch_batches(env)};
}

void gnn_intent_phases(struct gnn_intent *intent, uint32_t batches, const char *option)
{
    intent->phase_batches = batches;
    const int length = snprintf(intent->phase_option, sizeof intent->phase_option, "%s", option);
    assert(length > 0);
    assert((size_t)length < sizeof intent->phase_option);
}

bool gnn_intent_epoch_is_complete(const struct gnn_intent *intent, uint64_t epoch, uint64_t epochs)
{
    assert(epoch < epochs);
    return !intent->prepares_next || epochs == 1 || (epoch > 0 && epoch + 1 < epochs);
}

void gnn_intent_reads(struct gnn_intent *intent, const char *path, uint32_t how)
{
    assert(intent->file_count < GNN_INTENT_FILES_MAX);
    struct gnn_used_file *const file = &intent->files[intent->file_count++];
    const int length = snprintf(file->path, sizeof file->path, "%s", path == NULL ? "" : path);
    assert(length >= 0);
    assert((size_t)length < sizeof file->path);
    file->how = how;
}

bool gnn_intent_all_direct(const struct gnn_intent *intent)
{
    uint32_t how = 0;
    for (uint32_t i = 0; i < intent->file_count; i++)
        how |= intent->files[i].how;
    return (how & GNN_READS_DIRECT) != 0 && (how & GNN_READS_BUFFERED) == 0;
}
