/* SPDX-License-Identifier: MIT */
#include "harness/run/parameter.h"

#include "harness/base/data_dirs.h"
#include "harness/world/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool gnn_run_parameter_known(const char *key)
{
    bool known;
    (void)gnn_profile_parameter(key, "", &known);
    return known;
}

/* Returns the text behind KEY= in a list of changes; NULL: the list does not have the key. */
static const char *find_change(const char *changes, const char *key)
{
    const size_t length = strlen(key);
    const char *at = changes != NULL ? strstr(changes, key) : NULL;
    while (at != NULL && at[length] != '=')
        at = strstr(at + 1, key);
    return at != NULL ? at + length + 1 : NULL;
}

struct gnn_ini *gnn_run_profile_file(const char *profile)
{
    char path[GNN_DATA_DIR_BYTES + GNN_NAME_MAX + 8];
    struct gnn_data_dirs found;
    struct gnn_ini *ini = NULL;
    gnn_data_dirs(&found);
    if (strchr(profile, '/') != NULL)
        (void)!gnn_ini_open(profile, &ini, NULL);
    for (const char *const *dir = found.dirs; *dir != NULL && profile[0] != '\0' && ini == NULL; dir++) {
        (void)snprintf(path, sizeof path, "%s/%s.ini", *dir, profile);
        (void)!gnn_ini_open(path, &ini, NULL);
    }
    return ini;
}

double gnn_run_parameter(const char *profile, const char *changes, const char *key)
{
    const char *const change = find_change(changes, key);
    char section[GNN_NAME_MAX];
    bool known;
    if (change != NULL)
        return gnn_profile_parameter(key, change, &known);
    struct gnn_ini *const ini = gnn_run_profile_file(profile);
    (void)snprintf(section, sizeof section, "%.*s", (int)strcspn(key, "."), key);
    const struct gnn_ini_entry *const entry =
        ini != NULL ? gnn_ini_find(gnn_ini_find_section(ini, section), strchr(key, '.') + 1) : NULL;
    const double value = entry != NULL ? gnn_profile_parameter(key, entry->value, &known) : (double)NAN;
    gnn_ini_close(ini);
    return value;
}
