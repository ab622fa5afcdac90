/* SPDX-License-Identifier: MIT */
#include "harness/base/sizes.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

const char *gnn_size_class_name(uint32_t size_class, char text[8])
{
    static const char units[] = {'\0', 'K', 'M', 'G'};
    uint64_t size = gnn_size_class_bytes(size_class);
    uint32_t unit = 0;
    assert(size_class < GNN_SIZE_CLASSES);
    for (; size >= 1024; unit++)
        size /= 1024;
    (void)snprintf(text, 8, "%" PRIu64 "%.1s", size, &units[unit]);
    return text;
}

void gnn_sizes_merge(struct gnn_sizes *into, const struct gnn_sizes *from)
{
    for (uint32_t i = 0; i < GNN_SIZE_CLASSES; i++)
        into->of_class[i] += from->of_class[i];
    into->count += from->count;
    into->max_bytes = gnn_max_u64(into->max_bytes, from->max_bytes);
}

struct gnn_sizes gnn_sizes_since(const struct gnn_sizes *after, const struct gnn_sizes *before)
{
    struct gnn_sizes since = {.count = after->count - before->count};
    assert(after->count >= before->count);
    for (uint32_t i = 0; i < GNN_SIZE_CLASSES; i++) {
        assert(after->of_class[i] >= before->of_class[i]);
        since.of_class[i] = after->of_class[i] - before->of_class[i];
        if (since.of_class[i] > 0)
            since.max_bytes = gnn_min_u64(gnn_size_class_bytes(i), after->max_bytes);
    }
    return since;
}

uint64_t gnn_sizes_quantile(const struct gnn_sizes *sizes, double share)
{
    assert(share >= 0);
    assert(share <= 1);
    if (sizes->count == 0)
        return GNN_UNKNOWN;
    const uint64_t wanted = gnn_max_u64((uint64_t)ceil(share * (double)sizes->count), 1);
    uint64_t seen = 0;
    uint32_t i = 0;
    while (i + 1 < GNN_SIZE_CLASSES && (seen += sizes->of_class[i]) < wanted)
        i++;
    return i + 1 < GNN_SIZE_CLASSES ? gnn_min_u64(gnn_size_class_bytes(i), sizes->max_bytes) : sizes->max_bytes;
}
