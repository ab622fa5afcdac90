/* SPDX-License-Identifier: MIT */
/* Knowledge graphs of the registry: the importer of triples, whose edges come from a function (graph/knowledge.h). */
#include "harness/dataset/commit.h"
#include "harness/dataset/import_parts.h"
#include "harness/dataset/widths.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum gnn_status describe_generated(struct gnn_importer *importer, const struct gnn_registry_entry *entry,
                                          uint32_t scale_divisor, const struct gnn_generate_options *options,
                                          struct gnn_knowledge *graph, struct gnn_err *err)
{
    struct gnn_registry_counts counts;
    const uint64_t valid = gnn_max_u64(entry->valid_edges / scale_divisor, 1),
                   test = gnn_max_u64(entry->test_edges / scale_divisor, 1);
    GNN_TRY(gnn_registry_scale(entry, scale_divisor, entry->dim, &counts, err));
    const uint32_t relations = gnn_max_u32(entry->relations / scale_divisor, GNN_KNOWLEDGE_FACETS);
    gnn_knowledge_init(graph, options->seed, counts.nodes, relations, options->label_noise);
    importer->generated = graph;
    importer->generated_first[1] = counts.edges;
    importer->generated_first[2] = counts.edges + valid;
    importer->generated_first[3] = counts.edges + valid + test;
    struct gnn_meta *const meta = &importer->meta;
    meta->scale_divisor = scale_divisor;
    (void)snprintf(meta->name, sizeof meta->name, "%s", entry->name);
    (void)snprintf(meta->origin, sizeof meta->origin, "generated");
    gnn_meta_add_param(meta, "seed", "%" PRIu64, options->seed);
    gnn_meta_add_param(meta, "noise", "%g", options->label_noise);
    return GNN_OK;
}

enum gnn_status gnn_prepare_knowledge(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                      const struct gnn_generate_options *options, const struct gnn_prepare_job *job,
                                      struct gnn_err *err)
{
    struct gnn_import_options usual;
    struct gnn_knowledge graph;
    struct gnn_importer *importer;
    const struct gnn_import_source source = {.format = GNN_IMPORT_TRIPLES, .from = entry->name, .name = entry->name};
    if (options->feature_type != GNN_F32)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s is a knowledge graph, whose nodes have no features; leave out --feature-type %s",
                        entry->name, gnn_feature_type_words[options->feature_type]);
    gnn_output_sweep(job->out_dir);
    gnn_option_defaults(gnn_import_table, &usual);
    usual.id_width = options->id_width;
    GNN_NEW(importer, 1, err, "generator of %s", entry->name);
    *importer = (struct gnn_importer){.source = &source, .options = &usual, .job = job};
    enum gnn_status status = describe_generated(importer, entry, scale_divisor, options, &graph, err);
    if (status == GNN_OK && access(job->out_dir, F_OK) == 0) {
        status = gnn_add_id_width_alone(job, &importer->meta, gnn_id_width_bytes(options->id_width), err);
    } else {
        GNN_NEXT(status, gnn_import_triples(importer, err));
        GNN_NEXT(status, gnn_dataset_commit(&importer->output, &importer->meta, err));
        gnn_output_close(&importer->output);
    }
    free(importer);
    return status;
}
