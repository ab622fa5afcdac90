/* SPDX-License-Identifier: MIT */
#include "harness/export/target.h"

#include <unistd.h>

enum gnn_status gnn_export_check_target(const char *dir, struct gnn_err *err)
{
    return access(dir, F_OK) != 0
               ? GNN_OK
               : gnn_fail(err, GNN_EUSAGE, "--out %s exists already: remove it or name a new folder", dir);
}
