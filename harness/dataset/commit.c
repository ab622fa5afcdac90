/* SPDX-License-Identifier: MIT */
#include "harness/dataset/commit.h"

#include "harness/dataset/read.h"

#include <string.h>

/* Whether the dataset at target has the same name, scale, widths and, by their checksums, files. */
static bool holds_same(const char *target, const struct gnn_meta *meta)
{
    struct gnn_meta *const other = malloc(sizeof *other);
    bool same = other != NULL && gnn_read_meta(target, other, NULL) == GNN_OK && strcmp(other->name, meta->name) == 0 &&
                other->scale_divisor == meta->scale_divisor && other->dim_count == meta->dim_count &&
                other->id_widths == meta->id_widths;
    for (uint32_t i = 0; same && i <= meta->dim_count; i++) { /* the last: what has no width */
        char own[GNN_CHECKSUM_TEXT], found[GNN_CHECKSUM_TEXT];
        const uint32_t id_bytes = (meta->id_widths & 4) != 0 ? 4 : 8;
        const uint32_t dim = i < meta->dim_count ? meta->dims[i] : 0;
        const enum gnn_feature_type type = i < meta->dim_count ? meta->types[i] : GNN_F32;
        gnn_meta_digest(meta, dim, type, id_bytes, own);
        gnn_meta_digest(other, dim, type, id_bytes, found);
        same = strcmp(own, found) == 0;
    }
    free(other);
    return same;
}

enum gnn_status gnn_dataset_commit(struct gnn_output *output, const struct gnn_meta *meta, struct gnn_err *err)
{
    struct gnn_err why = {0};
    const enum gnn_status status = gnn_output_commit(output, meta, &why);
    if (status == GNN_OK || (status == GNN_EUSAGE && holds_same(output->target, meta)))
        return GNN_OK;
    return gnn_fail(err, status, "%s", why.message);
}
