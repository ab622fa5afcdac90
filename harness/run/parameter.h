/* SPDX-License-Identifier: MIT */
/* Parameters of the profile that a recorded run had. */
#ifndef GNN_RUN_PARAMETER_H
#define GNN_RUN_PARAMETER_H

#include "harness/oocgnn.h"

/* Returns whether a profile can have a number of this name: "storage.read_iops". */
bool gnn_run_parameter_known(const char *key);

/* Returns a parameter in bytes, seconds, or units per second. It is looked up in `changes` ("storage.read_iops=3000/s",
 * --profile-set of the run; NULL: none), then in the profile's file. NAN: neither has it. */
double gnn_run_parameter(const char *profile, const char *changes, const char *key);

#endif
