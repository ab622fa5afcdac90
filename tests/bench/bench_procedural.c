/* SPDX-License-Identifier: MIT */
/* What a dataset without a disk costs the host, on one core: opening it, and a neighbour through the sampler's call
 * pattern (runs of up to 10 ascending offsets in the list of a random node, a whole hop a call).
 *
 *   bench_procedural [DATASET [K]]          default: papers100m at 1/1 */
#include "harness/base/rng.h"
#include "harness/base/units.h"
#include "harness/dataset/synthetic.h"
#include "harness/sample/draw.h"
#include "harness/world/measured/measured.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOP_NODES = 100000, FANOUT = 10, HOPS = 20 };
static const double target_open_s = 12, target_neighbour_ns = 80;

/* The offsets of one hop from random destinations; returns how many. */
static uint64_t draw_hop(const struct gnn_dataset *dataset, uint64_t key, uint64_t *offset)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < HOP_NODES; i++) {
        const gnn_node node = (gnn_node)(gnn_splitmix64_at(key, i) % dataset->node_count);
        const uint64_t begin = dataset->indptr[node];
        count +=
            gnn_draw(gnn_rng_fold(key, node), begin, dataset->indptr[node + 1] - begin, FANOUT, false, offset + count);
    }
    return count;
}

static const char *verdict(bool met)
{
    return met ? "met" : "MISSED";
}

static enum gnn_status bench_neighbours(struct gnn_world *world, const struct gnn_synthetic *synthetic,
                                        struct gnn_err *err)
{
    const struct gnn_content *const indices = gnn_synthetic_indices(synthetic);
    uint64_t *const offset = malloc((size_t)HOP_NODES * FANOUT * sizeof *offset);
    gnn_node *const out = malloc((size_t)HOP_NODES * FANOUT * sizeof *out);
    uint64_t edges = 0, spent_ns = 0;
    const bool complete = offset != NULL && out != NULL;
    for (uint64_t hop = 0; complete && hop < HOPS; hop++) {
        const uint64_t count = draw_hop(gnn_synthetic_dataset(synthetic), hop, offset);
        const uint64_t start_ns = gnn_now_ns(world);
        indices->gather_ids(indices, offset, count, out);
        spent_ns += gnn_now_ns(world) - start_ns;
        edges += count;
    }
    free(out);
    free(offset);
    if (!complete)
        return gnn_fail(err, GNN_ENOMEM, "no memory for a hop");
    const double ns = (double)spent_ns / (double)edges;
    printf("neighbour: %5.1f ns an edge, %.1f a list   target %g: %s\n", ns, (double)edges / ((double)HOPS * HOP_NODES),
           target_neighbour_ns, verdict(ns <= target_neighbour_ns));
    enum { SECTOR_BYTES = 512, SECTORS = 20000 };
    char sector[SECTOR_BYTES];
    const uint64_t start_ns = gnn_now_ns(world);
    for (uint64_t i = 0; i < SECTORS; i++)
        indices->read(indices, gnn_splitmix64_at(1, i) % (indices->size_bytes / SECTOR_BYTES) * SECTOR_BYTES,
                      SECTOR_BYTES, sector);
    const double sector_ns = (double)(gnn_now_ns(world) - start_ns) / SECTORS;
    printf("sector:    %5.1f ns an edge, %.2f us for 512 B\n", sector_ns / (SECTOR_BYTES / sizeof(gnn_node)),
           sector_ns * 1e-3);
    return GNN_OK;
}

int main(int argc, char **argv)
{
    const char *const name = argc > 1 ? argv[1] : "papers100m";
    uint64_t divisor = 1;
    struct gnn_world *world = NULL;
    struct gnn_synthetic *synthetic = NULL;
    struct gnn_err err = {0};
    enum gnn_status status = argc > 2 ? gnn_parse_u64(argv[2], &divisor, &err) : GNN_OK;
    if (status == GNN_OK)
        status = gnn_world_measured_open(NULL, &world, &err);
    const uint64_t start_ns = status == GNN_OK ? gnn_now_ns(world) : 0;
    if (status == GNN_OK)
        status = gnn_synthetic_open(world, name, NULL, (uint32_t)divisor, &synthetic, &err);
    if (status == GNN_OK) {
        const double open_s = (double)(gnn_now_ns(world) - start_ns) * 1e-9;
        const struct gnn_dataset *const d = gnn_synthetic_dataset(synthetic);
        const struct gnn_registry_counts counts = {.nodes = d->node_count,
                                                   .edges = d->edge_count,
                                                   .train = d->train.count,
                                                   .valid = d->valid.count,
                                                   .test = d->test.count};
        char memory[32];
        printf("%s at 1/%" PRIu64 ": %" PRIu32 " nodes, %" PRIu64 " edges, one core, no disk\n", name, divisor,
               d->node_count, d->edge_count);
        printf("open:      %5.2f s, %s of host memory   target %g s: %s\n", open_s,
               gnn_format_bytes(gnn_synthetic_host_bytes(&counts), memory, sizeof memory), target_open_s,
               verdict(open_s <= target_open_s));
        status = bench_neighbours(world, synthetic, &err);
    }
    if (status != GNN_OK)
        (void)fprintf(stderr, "bench_procedural: %s\n", err.message);
    if (world != NULL) {
        gnn_synthetic_close(world, synthetic);
        gnn_world_measured_close(world);
    }
    return status == GNN_OK ? 0 : 1;
}
