#include "harness/run/profiles.h"

#include "harness/base/data_dirs.h"

enum gnn_status gnn_run_profile_open(const char *name, struct gnn_profile **out, struct gnn_err *err)
{
    struct gnn_data_dirs places;
    gnn_data_dirs(&places);
    return gnn_profile_open(name, places.dirs, out, err);
}
