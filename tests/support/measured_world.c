/* SPDX-License-Identifier: MIT */
#include "tests/support/measured_world.h"

#include "harness/world/measured/measured.h"

int measured_world_open(void **state)
{
    struct gnn_world *world = NULL;
    struct gnn_err err = {0};
    if (gnn_world_measured_open(NULL, &world, &err) != GNN_OK)
        return -1;
    *state = world;
    return 0;
}

int measured_world_close(void **state)
{
    struct gnn_mem_usage usage;
    gnn_mem_usage(*state, &usage);
    gnn_world_measured_close(*state);
    return usage.current_bytes == 0 ? 0 : -1;
}
