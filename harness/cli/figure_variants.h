/* SPDX-License-Identifier: MIT */
/* The file of `oocgnn figure --variants`: sections of keys that replace those of every run configuration. */
#ifndef GNN_CLI_FIGURE_VARIANTS_H
#define GNN_CLI_FIGURE_VARIANTS_H

#include "harness/base/ini.h"
#include "harness/base/kv.h"

/* Opens a file of 1 to GNN_VARIANTS_MAX variants: by its path if the name contains a '/', else NAME.ini in one of
 * gnn_variant_dirs. GNN_EUSAGE: there is none, with similar names; it has no variants; or one sets a key of `fix`.
 * GNN_ENOENT. */
GNN_MUST_CHECK enum gnn_status gnn_figure_variants(const char *name, const struct gnn_kv_list *fix,
                                                   struct gnn_ini **out, struct gnn_err *err);

#endif
