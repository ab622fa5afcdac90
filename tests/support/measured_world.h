/* A cmocka group's set-up and tear-down: *state is a measured world with no cap. */
#ifndef TESTS_SUPPORT_MEASURED_WORLD_H
#define TESTS_SUPPORT_MEASURED_WORLD_H

int measured_world_open(void **state);
int measured_world_close(void **state);

#endif
