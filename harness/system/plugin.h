/* SPDX-License-Identifier: MIT */
/* The border of a system that is built outside this tree, as a shared object: `oocgnn run --system ./mine.so`. This
 * header includes every header that such a system may use; `make install` installs these and no others. A file of the
 * system ends with
 *
 *   GNN_PLUGIN(my_system)
 *
 * where my_system is its struct gnn_system. The program loads the object, compares the ABI number and the size of every
 * struct of GNN_PLUGIN_STRUCTS with its own, and rejects an object that differs. Tutorial:
 * docs/your-system.md.
 *
 * Compile with -fvisibility=hidden. A function of the same name in the program would otherwise replace the object's. */
#ifndef GNN_SYSTEM_PLUGIN_H
#define GNN_SYSTEM_PLUGIN_H

#include "harness/base/arena.h"
#include "harness/base/atomic_max.h"
#include "harness/base/bitset.h"
#include "harness/base/clock.h"
#include "harness/base/histogram.h"
#include "harness/base/id_map.h"
#include "harness/base/id_width.h"
#include "harness/base/log.h"
#include "harness/base/rng.h"
#include "harness/base/sort_keys.h"
#include "harness/base/units.h"
#include "harness/graph/invariants.h"
#include "harness/graph/triples.h"
#include "harness/pipeline/progress.h"
#include "harness/pipeline/team.h"
#include "harness/sample/batch.h"
#include "harness/sample/digest.h"
#include "harness/sample/draw.h"
#include "harness/sample/sort_row.h"
#include "harness/storage/checksum.h"
#include "harness/storage/exact.h"
#include "harness/storage/meta.h"
#include "harness/storage/reader.h"
#include "harness/storage/ring_reads.h"
#include "harness/storage/stream.h"
#include "harness/system/buffer.h"
#include "harness/system/embeddings.h"
#include "harness/system/extraction.h"
#include "harness/system/intent.h"
#include "harness/system/link_sampling.h"
#include "harness/system/link_training.h"
#include "harness/system/plan.h"
#include "harness/system/prepared.h"
#include "harness/system/sampling.h"
#include "harness/system/scan.h"
#include "harness/system/staging.h"
#include "harness/system/system.h"
#include "harness/system/training.h"
#include "harness/world/profile.h"
#include "harness/world/storage_costs.h"

/* Calls X(name) for every struct gnn_name whose fields these headers define. tests/plugin/test_plugin.sh compares the
 * list with the headers. */
/* clang-format off */
#define GNN_PLUGIN_STRUCTS(X) \
    X(adagrad) X(adam) X(arena) X(attention) X(attention_grad) X(average) X(average_config) X(average_step) X(batch) \
    X(batch_lists) X(batch_order) X(batch_size) X(batch_view) X(block) X(buffer) X(completion) X(counters) \
    X(dataset) X(device_times) X(dropout) X(embeddings) X(env) X(epoch_result) X(err) X(extraction_config) X(figure) \
    X(file_info) X(gpu_identity) X(histogram) X(id_map) X(id_slot) X(ids_wanted) X(intent) X(link_batch) \
    X(link_config) X(link_item) X(link_ops) X(link_table) X(link_training) X(link_view) X(load) X(mat) X(mem_usage) \
    X(memory_plan) X(meta) X(meta_file) X(meta_param) X(model_config) X(negative_config) X(neighbour_source) \
    X(neighbour_source_ops) X(option) X(param) X(percentiles) X(placement) X(plan_part) X(prepared) X(prepared_path) \
    X(profile) X(profile_bus) X(profile_compute) X(profile_cpu) X(profile_framework) X(profile_storage) X(read) \
    X(reader_config) X(reader_counters) X(ring_config) X(ring_counters) X(ring_reads) X(ring_reads_config) \
    X(ring_slot) X(rng) X(row_layout) X(row_range) X(rows) X(sample_bounds) X(sample_counters) X(sampler_config) \
    X(sampling_config) X(scan) X(span) X(span_reader_config) X(split) X(stage_time) X(step_result) X(storage_costs) \
    X(stream_file_config) X(stream_file_counters) X(system) X(task) X(tensor) X(tensor_env) X(tensor_ops) \
    X(time_split) X(train_input) X(training) X(triple) X(u32_list) X(used_file) X(worker) X(workload) X(world) \
    X(world_ops) X(write)
/* clang-format on */

/* Size of a struct, as a file was compiled. */
struct gnn_plugin_struct {
    const char *name; /* without "gnn_" */
    uint32_t bytes;
};

#define GNN_PLUGIN_STRUCT(name) {#name, (uint32_t)sizeof(struct gnn_##name)},

/* What the object exports as `oocgnn_system`. The program reads abi first, and the rest only if it is its own number:
 * the first field keeps its place in every version. */
struct gnn_plugin {
    uint32_t abi; /* GNN_SYSTEM_ABI */
    uint32_t struct_count;
    const struct gnn_plugin_struct *structs; /* (struct_count) in the order of GNN_PLUGIN_STRUCTS */
    const struct gnn_system *system;
};

#define GNN_PLUGIN_SYMBOL "oocgnn_system"

/* Defines the exported table of a system; once in an object. */
#define GNN_PLUGIN(table)                                                                                              \
    extern const struct gnn_plugin oocgnn_system;                                                                      \
    static const struct gnn_plugin_struct oocgnn_structs[] = {GNN_PLUGIN_STRUCTS(GNN_PLUGIN_STRUCT)};                  \
    __attribute__((visibility("default"))) const struct gnn_plugin oocgnn_system = {                                   \
        .abi = GNN_SYSTEM_ABI,                                                                                         \
        .struct_count = sizeof oocgnn_structs / sizeof *oocgnn_structs,                                                \
        .structs = oocgnn_structs,                                                                                     \
        .system = &(table),                                                                                            \
    };

#endif
