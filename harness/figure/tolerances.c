/* SPDX-License-Identifier: MIT */
/* The tolerances of predicates, from their file. */
#include "harness/base/ini.h"
#include "harness/figure/figure.h"

#include <stdlib.h>

enum gnn_status gnn_tolerances_open(const char *path, struct gnn_tolerances *out, struct gnn_err *err)
{
    struct gnn_ini *ini;
    const struct {
        const char *key;
        double *value;
    } wanted[] = {{"about", &out->about}, {"flat", &out->flat}, {"noise", &out->noise}};
    GNN_TRY(gnn_ini_open(path, &ini, err));
    enum gnn_status status = GNN_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == GNN_OK; i++) {
        const struct gnn_ini_entry *const entry = gnn_ini_find(gnn_ini_find_section(ini, "tolerances"), wanted[i].key);
        *wanted[i].value = entry != NULL ? strtod(entry->value, NULL) : 0;
        if (!(*wanted[i].value >= 1))
            status =
                gnn_fail(err, GNN_EUSAGE, "%s: [tolerances] needs %s, a factor of at least 1", path, wanted[i].key);
    }
    gnn_ini_close(ini);
    return status;
}
