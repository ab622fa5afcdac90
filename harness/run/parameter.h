/* SPDX-License-Identifier: MIT */
/* Parameters of the profile that a recorded run had. */
#ifndef GNN_RUN_PARAMETER_H
#define GNN_RUN_PARAMETER_H

#include "harness/base/ini.h"

/* Returns whether a profile can have a number of this name: "storage.read_iops". */
bool gnn_run_parameter_known(const char *key);

/* Opens the profile's file, which is named by its path or found by its name. Returns NULL if there is none. The caller
 * closes it with gnn_ini_close(). */
struct gnn_ini *gnn_run_profile_file(const char *profile);

/* Returns a parameter in bytes, seconds, or units per second. It is looked up in `changes` ("storage.read_iops=3000/s",
 * --profile-set of the run; NULL: none), then in the profile's file. NAN: neither has it. */
double gnn_run_parameter(const char *profile, const char *changes, const char *key);

#endif
