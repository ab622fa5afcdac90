/* SPDX-License-Identifier: MIT */
/* A cmocka group's set-up and tear-down: *state is a measured world with no cap. Closing it fails
 * when memory that came from it is left. */
#ifndef GNN_TESTS_MEASURED_WORLD_H
#define GNN_TESTS_MEASURED_WORLD_H

int measured_world_open(void **state);
int measured_world_close(void **state);

#endif
