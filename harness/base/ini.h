/* SPDX-License-Identifier: MIT */
/* Reads INI files (with inih): job files, profiles, dataset meta.
 *
 *   [global]              First, optional: its entries are every section's defaults.
 *   [name]                One section per case. An empty one has the defaults alone.
 *   key = value           ; starts a comment, # only at the line's start.
 *
 * The caller interprets keys. It rejects an unknown key with gnn_ini_name() and the entry's line. Rejected here, with
 * file and line: other lines, keys outside a section, and a section or key that appears twice. Lines of more than 198
 * bytes and names of more than 48 bytes are rejected, too. */
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

/* Reads the file at path. Returns GNN_ENOENT or GNN_EIO, which name the path, or GNN_EUSAGE with "path:line: what is
 * wrong". gnn_ini_close() frees the result and all pointers into it. */
GNN_MUST_CHECK enum gnn_status gnn_ini_open(const char *path, struct gnn_ini **out, struct gnn_err *err);
/* Reads text as gnn_ini_open() reads a file. Messages have name in place of the path. */
GNN_MUST_CHECK enum gnn_status gnn_ini_parse(const char *name, const char *text, struct gnn_ini **out,
                                             struct gnn_err *err);
void gnn_ini_close(struct gnn_ini *ini); /* accepts NULL */

const char *gnn_ini_name(const struct gnn_ini *ini);
/* Returns [global], or NULL if the file has none. It is not counted among the sections. */
const struct gnn_ini_section *gnn_ini_global(const struct gnn_ini *ini);
uint32_t gnn_ini_section_count(const struct gnn_ini *ini);
const struct gnn_ini_section *gnn_ini_section(const struct gnn_ini *ini, uint32_t index);

/* Returns the section of that name, which is not "global", or NULL. */
const struct gnn_ini_section *gnn_ini_find_section(const struct gnn_ini *ini, const char *name);

/* Returns the entry with that key, or NULL if there is none or section is NULL. */
const struct gnn_ini_entry *gnn_ini_find(const struct gnn_ini_section *section, const char *key);

#endif
