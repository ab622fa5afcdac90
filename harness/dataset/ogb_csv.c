/* SPDX-License-Identifier: MIT */
#include "harness/dataset/ogb_csv.h"

#include "harness/dataset/csv_numbers.h"
#include "harness/dataset/find_places.h"

bool gnn_ogb_csv_find_edges(const char *dir, struct gnn_array_files *out)
{
    if (!gnn_input_find(dir, "edge.csv", out->edges.path[0]))
        return false;
    out->edges.form = GNN_EDGES_TEXT;
    return true;
}

enum gnn_status gnn_ogb_csv_find_nodes(struct gnn_array_files *out, struct gnn_err *err)
{
    char dir[GNN_OUTPUT_PATH], counts[GNN_OUTPUT_PATH];
    gnn_container_of(out->edges.path[0], dir);
    if (out->feature_path[0] == '\0' && out->sparse_path[0][0] == '\0' &&
        !gnn_input_find(dir, "node-feat.csv", out->feature_path))
        out->feature_path[0] = '\0';
    if (out->label_path[0] == '\0' && !gnn_input_find(dir, "node-label.csv", out->label_path))
        out->label_path[0] = '\0';
    return gnn_input_find(dir, "num-node-list.csv", counts) ? gnn_csv_count(counts, &out->nodes, err) : GNN_OK;
}

enum gnn_status gnn_ogb_csv_open(const struct gnn_edge_files *files, struct gnn_edges **out, struct gnn_err *err)
{
    char dir[GNN_OUTPUT_PATH], counts[GNN_OUTPUT_PATH];
    uint64_t stated = GNN_UNSTATED;
    gnn_container_of(files->path[0], dir);
    if (gnn_input_find(dir, "num-edge-list.csv", counts))
        GNN_TRY(gnn_csv_count(counts, &stated, err));
    GNN_TRY(gnn_edges_open(files->path[0], false, out, err));
    if (stated != GNN_UNSTATED)
        gnn_edges_state(*out, stated);
    return GNN_OK;
}
