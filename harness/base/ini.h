/* SPDX-License-Identifier: MIT */
/* INI files read whole (inih underneath): job files, profiles, dataset meta.
 *
 *   [global]              first, optional: its entries are every section's defaults
 *   [name]                one section per case; an empty one stands for the defaults alone
 *   key = value           ; comment to the end of the line, # only at its start
 *
 * What a key means is the caller's business; an unknown one is the caller's error, named with gnn_ini_name() and the
 * entry's line. Refused here, with file and line: lines that are neither, keys outside a section, a section or key that
 * appears twice, lines and names too long for the parser. Limits: 198 bytes a line, 48 bytes a name. */
#ifndef GNN_BASE_INI_H
#define GNN_BASE_INI_H

#include "harness/oocgnn.h"

struct gnn_ini_entry {
    const char *key;
    const char *value;
    uint32_t line;
};

struct gnn_ini_section {
    const char *name;
    uint32_t line;
    uint32_t entry_count;
    const struct gnn_ini_entry *entries; /* in file order */
};

struct gnn_ini;

/* GNN_ENOENT, GNN_EIO name the path; GNN_EUSAGE is "path:line: what is wrong". Everything handed out lives until
 * close. */
GNN_MUST_CHECK enum gnn_status gnn_ini_open(const char *path, struct gnn_ini **out, struct gnn_err *err);
/* The same over text; name stands for the path in messages. */
GNN_MUST_CHECK enum gnn_status gnn_ini_parse(const char *name, const char *text, struct gnn_ini **out,
                                             struct gnn_err *err);
void gnn_ini_close(struct gnn_ini *ini); /* accepts NULL */

const char *gnn_ini_name(const struct gnn_ini *ini);
/* [global] when the file has one, else NULL; it is not counted among the sections. */
const struct gnn_ini_section *gnn_ini_global(const struct gnn_ini *ini);
uint32_t gnn_ini_section_count(const struct gnn_ini *ini);
const struct gnn_ini_section *gnn_ini_section(const struct gnn_ini *ini, uint32_t index);

/* The entry of that key, or NULL; section may be NULL. */
const struct gnn_ini_entry *gnn_ini_find(const struct gnn_ini_section *section, const char *key);

#endif
