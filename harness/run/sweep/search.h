/* SPDX-License-Identifier: MIT */
/* Searches for a value of an option. In a job file:
 *
 *   `memory = least 4M..1G`                           The least memory limit of the range under which the run ends ok.
 *   `first_of = mariusgnn.staleness: 16, 8, 4, 2, 1`  The first value that is not refused and does not run out of
 *                                                     memory.
 *
 * A limit is found by bisection: among 4M, 8M, 16M and so on, then by halving the interval. The result is exact to
 * 1 MiB, or to a quarter of the lower end if that is less. The search assumes that a run which ends ok also does so
 * under every larger limit.
 *
 * Every run of a search is recorded. The records are its state, so a search that was interrupted continues. */
#ifndef GNN_RUN_SWEEP_SEARCH_H
#define GNN_RUN_SWEEP_SEARCH_H

#include "harness/run/config.h"

#define GNN_SEARCH_FIRST_OF "first_of"

struct gnn_search {
    char option[GNN_NAME_MAX];        /* "memory" or "system.parameter"; "": no search */
    char values[GNN_TEXT_MAX];        /* of first_of; "": a least limit */
    uint64_t least_bytes, most_bytes; /* of a limit */
    uint32_t divisor;                 /* of values that are sizes at the paper's scale; 0 or 1: none */
};

/* Returns whether a key of a job file with this value is a search. */
bool gnn_search_is_one(const char *key, const char *value);

/* Reads a key and a value for which gnn_search_is_one() holds. *out is zeroed before. Returns GNN_EUSAGE, which names
 * what was expected. */
GNN_MUST_CHECK enum gnn_status gnn_search_read(const char *key, const char *value, struct gnn_search *out,
                                               struct gnn_err *err);

/* Divides the values by the divisor of a scale, and a limit to whole pages. */
void gnn_search_divide(struct gnn_search *search, uint32_t divisor);

/* State of a search by the records in the database. */
struct gnn_search_state {
    struct gnn_run_config config; /* the result; or the next run, if the search is open */
    bool open;                    /* config must be run */
    bool found;                   /* false: config is the last one that was tried, and it is not the result */
};

/* Looks up how far the search of a checked configuration is, by runs of this build or of any. Without a search, the
 * result is the configuration. Returns errors of gnn_sweep_find() and gnn_db_load_all(). */
GNN_MUST_CHECK enum gnn_status gnn_search_look_up(const struct gnn_search *search, const struct gnn_run_config *config,
                                                  bool any_build, struct gnn_search_state *out, struct gnn_err *err);

#endif
