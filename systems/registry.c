/* SPDX-License-Identifier: MIT */
/* Every system of this build, by hand: one line per folder under systems/ (tests/style compares the two). */
#include "harness/system/system.h"

extern const struct gnn_system gnn_system_null;
extern const struct gnn_system gnn_system_pygplus;
extern const struct gnn_system gnn_system_ginex;
extern const struct gnn_system gnn_system_gnndrive;
extern const struct gnn_system gnn_system_ringsampler;
extern const struct gnn_system gnn_system_agnes;
extern const struct gnn_system gnn_system_diskgnn;
extern const struct gnn_system gnn_system_mariusgnn;
extern const struct gnn_system gnn_system_presort;
extern const struct gnn_system gnn_system_graphbolt;

const struct gnn_system *const gnn_systems[] = {
    &gnn_system_null,
    &gnn_system_pygplus,
    &gnn_system_ginex,
    &gnn_system_gnndrive,
    &gnn_system_ringsampler,
    &gnn_system_agnes,
    &gnn_system_diskgnn,
    &gnn_system_mariusgnn,
    &gnn_system_presort,
    &gnn_system_graphbolt,
    NULL,
};
