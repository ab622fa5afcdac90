/* gnn_profile_open over the places where data files are found (harness/base/data_dirs.h). option ("--profile") stands
 * before what is wrong with the name. */
#ifndef GNN_RUN_PROFILES_H
#define GNN_RUN_PROFILES_H

#include "harness/world/profile.h"

GNN_MUST_CHECK enum gnn_status gnn_run_profile_open(const char *option, const char *name, struct gnn_profile **out,
                                                    struct gnn_err *err);

#endif
