/* SPDX-License-Identifier: MIT */
/* Job files: a grid of runs as data, similar to fio's. The format is INI (harness/base/ini.h):
 *
 *   `[global]`              Entries with which every section begins.
 *   `include = common.ini`  Inserts the [global] of that file. In [global], the sections of that file are run, too,
 *                           before those of this file.
 *   `[name]`                One case. Keys are options of `oocgnn run`, or system.key.
 *   `memory = 8G..128G*2`   A key with several values (harness/run/sweep/grid.h) makes a grid of the case.
 *   `memory = least 4M..1G`, `first_of = KEY: 2, 1`
 *                           Searches for a value (harness/run/sweep/search.h).
 *
 *   `world = measured, simulated`
 *                           Both worlds. The profile, its changes and the costs of the case are those of its simulated
 *                           runs.
 *
 * If a name is given twice, the last entry wins. The path of an included file is relative to the including file. */
#ifndef GNN_RUN_SWEEP_JOB_FILE_H
#define GNN_RUN_SWEEP_JOB_FILE_H

#include "harness/base/ini.h"
#include "harness/base/kv.h"
#include "harness/run/config.h"
#include "harness/run/sweep/grid.h"
#include "harness/run/sweep/search.h"

#define GNN_JOB_VARIANT "variant" /* key of the choices with the name of a variant */

struct gnn_job_cell {
    char section[GNN_NAME_MAX];
    struct gnn_run_config config;  /* checked and resolved, unless it is refused */
    struct gnn_kv_list choices;    /* all keys of the case with their values here, as written in the file */
    struct gnn_search search;      /* of an option's value; config has the largest limit, or the default */
    char dataset_at[GNN_TEXT_MAX]; /* file and line of the dataset's name, "FILE:LINE"; "": in no file */
    char refusal[GNN_ERR_MAX];     /* why this configuration cannot be run; "": it can */
};

struct gnn_job {
    struct gnn_job_cell *cells;
    uint32_t count, room;
};

/* Options of gnn_job_open. Every pointer may be NULL; lists of words end with NULL. */
struct gnn_job_options {
    const struct gnn_kv_list *overrides; /* replace the file's values; a value of NULL removes the key */
    const char *keeps_scale;             /* a case with this key keeps its own `scale`, whatever the overrides */
    const char *const *other_sections;   /* sections of the file that are not cases */
    const char *const *other_keys;       /* keys that are not options: kept only in the choices */
    /* Every case is made for each section, whose keys replace those of the case; a section may include files. The
     * choice "variant" is the section's name. NULL: every case is made once. */
    const struct gnn_ini *variants;
    bool keep_refused;        /* keep a combination that cannot be run, with its refusal, instead of an error */
    bool pass_without_system; /* a case without a system is skipped */
    bool foreign_keys;        /* keys belong to another program: kept only in the choices; only bars separate values */
};

/* Reads the file and makes every combination of values; the last key changes fastest. *out is the caller's to close.
 * GNN_EUSAGE: the message has file, line or case, and the reason. GNN_ENOENT: a file does not exist. */
GNN_MUST_CHECK enum gnn_status gnn_job_open(const char *path, const struct gnn_job_options *options,
                                            struct gnn_job **out, struct gnn_err *err);
void gnn_job_close(struct gnn_job *job); /* accepts NULL */

/* Removes every case whose value of `key` is not among `values`. A case without the key stays if the key is a system's
 * parameter, which other systems lack. It is removed if the key is an option of a run. */
void gnn_job_keep(struct gnn_job *job, const char *key, const struct gnn_grid_values *values);

#endif
