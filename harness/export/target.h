/* SPDX-License-Identifier: MIT */
/* Internal to harness/export/. */
#ifndef GNN_EXPORT_TARGET_H
#define GNN_EXPORT_TARGET_H

#include "harness/oocgnn.h"

/* Checks, before any work, that the folder to be made does not exist. Returns GNN_EUSAGE if it does. */
GNN_MUST_CHECK enum gnn_status gnn_export_check_target(const char *dir, struct gnn_err *err);

#endif
