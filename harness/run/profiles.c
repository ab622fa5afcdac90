#include "harness/run/profiles.h"

#include "harness/base/data_dirs.h"

#include <string.h>

enum gnn_status gnn_run_profile_open(const char *option, const char *name, struct gnn_profile **out,
                                     struct gnn_err *err)
{
    struct gnn_data_dirs places;
    struct gnn_err cause = {0};
    if (name[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "%s: no profile named; `oocgnn list profiles` has them", option);
    gnn_data_dirs(&places);
    const enum gnn_status status = gnn_profile_open(name, places.dirs, out, &cause);
    if (status == GNN_OK)
        return GNN_OK;
    if (status != GNN_EUSAGE)
        return gnn_fail(err, status, "%s %s: %s", option, name, cause.message);
    return gnn_fail(err, status, "%s: %s; %s", option, cause.message,
                    strcmp(name, "this") == 0 ? "`oocgnn calibrate` makes it" : "`oocgnn list profiles` has them all");
}
