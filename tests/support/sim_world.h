/* SPDX-License-Identifier: MIT */
/* A cmocka group's set-up and tear-down: *state is a simulated world on the machine of tests/support/sim_profile.h. */
#ifndef GNN_TESTS_SIM_WORLD_H
#define GNN_TESTS_SIM_WORLD_H

#include "harness/world/simulated/simulated.h"

int sim_world_open(void **state);
int sim_world_close(void **state);

/* For a profile and a cap of one's own (0: the profile's memory); fails the test when it cannot. The profile must
 * outlive the world, which gnn_world_simulated_close closes. */
struct gnn_world *sim_world_of(const struct gnn_profile *profile, uint64_t cap_bytes);

#endif
