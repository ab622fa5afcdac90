/* SPDX-License-Identifier: MIT */
/* Where a sampler's neighbours come from: a tape, rounds, lists in memory, or a mapping. */
#include "systems/presort/rounds.h"
#include "systems/presort/spool.h"

enum gnn_status presort_sampling_open(const struct presort_setup *setup, struct presort_spool *spool,
                                      struct gnn_sampling **out, struct gnn_err *err)
{
    struct gnn_sampling_config sampling = {
        .workers = setup->sizes.threads, .advice = setup->config->readahead, .floyd_biased = setup->env->floyd_biased};
    if (spool != NULL) {
        sampling.open_source = presort_spool_source;
        sampling.open_source_ctx = spool;
    } else if (setup->rounds != NULL) {
        sampling.open_source = presort_rounds_source;
        sampling.open_source_ctx = setup->rounds;
    } else if (setup->topology != NULL) {
        sampling.open_source = presort_topology_source;
        sampling.open_source_ctx = setup->topology;
    }
    return gnn_sampling_open(setup->env, &sampling, out, err);
}
