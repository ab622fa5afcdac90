/* SPDX-License-Identifier: MIT */
#include "harness/run/parameter.h"

#include "harness/base/data_dirs.h"
#include "harness/base/ini.h"
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

/* Copies the value of KEY=VALUE from a list of changes. Returns false if the list does not have the key. */
static bool find_change(const char *changes, const char *key, char *text, size_t text_bytes)
{
    const size_t length = strlen(key);
    for (const char *at = changes; at != NULL && *at != '\0'; at += strcspn(at, ",| "), at += strspn(at, ",| "))
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            (void)snprintf(text, text_bytes, "%.*s", (int)strcspn(at + length + 1, ",| "), at + length + 1);
            return true;
        }
    return false;
}

/* Opens the profile's file, which is named by its path or found by its name; NULL: there is none. */
static struct gnn_ini *open_file(const char *profile)
{
    char path[GNN_DATA_DIR_BYTES + GNN_NAME_MAX + 8];
    struct gnn_data_dirs found;
    struct gnn_ini *ini = NULL;
    if (strchr(profile, '/') != NULL) {
        (void)!gnn_ini_open(profile, &ini, NULL);
        return ini;
    }
    gnn_data_dirs(&found);
    for (const char *const *dir = found.dirs; *dir != NULL && ini == NULL; dir++) {
        (void)snprintf(path, sizeof path, "%s/%s.ini", *dir, profile);
        (void)!gnn_ini_open(path, &ini, NULL);
    }
    return ini;
}

/* Returns the text of "section.key" in the file, or "". */
static const char *text_in(const struct gnn_ini *ini, const char *key)
{
    const size_t length = strcspn(key, ".");
    for (uint32_t s = 0; s < gnn_ini_section_count(ini); s++) {
        const struct gnn_ini_section *const section = gnn_ini_section(ini, s);
        if (strncmp(section->name, key, length) != 0 || section->name[length] != '\0')
            continue;
        const struct gnn_ini_entry *const entry = gnn_ini_find(section, key + length + 1);
        return entry != NULL ? entry->value : "";
    }
    return "";
}

double gnn_run_parameter(const char *profile, const char *changes, const char *key)
{
    char text[GNN_NAME_MAX];
    bool known;
    if (find_change(changes, key, text, sizeof text))
        return gnn_profile_parameter(key, text, &known);
    struct gnn_ini *const ini = profile[0] != '\0' && gnn_run_parameter_known(key) ? open_file(profile) : NULL;
    if (ini == NULL)
        return (double)NAN;
    const double value = gnn_profile_parameter(key, text_in(ini, key), &known);
    gnn_ini_close(ini);
    return value;
}
