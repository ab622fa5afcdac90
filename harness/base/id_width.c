/* SPDX-License-Identifier: MIT */
#include "harness/base/id_width.h"

const char *const gnn_id_width_words[] = {[GNN_ID_WIDTH_4] = "4", [GNN_ID_WIDTH_8] = "8", NULL};
