/* SPDX-License-Identifier: MIT */
#include "tests/support/sim_world.h"

#include "tests/support/must.h"
#include "tests/support/sim_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct gnn_world *sim_world_of(const struct gnn_profile *profile, uint64_t cap_bytes)
{
    const struct gnn_simulated_config config = {.profile = profile, .cap_bytes = cap_bytes};
    struct gnn_world *world = NULL;
    struct gnn_err err = {0};
    must(gnn_world_simulated_open(&config, &world, &err), &err);
    return world;
}

int sim_world_open(void **state)
{
    static struct gnn_profile profile;
    sim_profile_fill(&profile);
    *state = sim_world_of(&profile, 0);
    return 0;
}

int sim_world_close(void **state)
{
    gnn_world_simulated_close(*state);
    return 0;
}
