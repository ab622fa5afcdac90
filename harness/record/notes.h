/* SPDX-License-Identifier: MIT */
/* Notes on how far measured times can be trusted: other work on the machine, threads without a core, repetitions that
 * differ. A note never makes a run invalid. Runs of the simulated world have none but the last. */
#ifndef GNN_RECORD_NOTES_H
#define GNN_RECORD_NOTES_H

#include "harness/record/record.h"

/* A note is written above these limits. */
enum {
    GNN_NOTE_LOAD_PCT = 50,   /* load average at the start, in per cent of the cores */
    GNN_NOTE_QUEUED_PCT = 10, /* share of their time that the stages' workers waited for a core */
    GNN_NOTE_SPREAD_PCT = 10, /* largest minus smallest epoch time of repetitions, in per cent of their median */
};

/* Largest values over some runs. A value is NAN if no run has it. */
struct gnn_trust {
    double load;       /* average of a minute at the start; of the run with the most load per core */
    double cores;      /* of that run's machine */
    bool others;       /* other threads were on a core, or waited for one, when some run with such a load started */
    double queued_pct; /* run queue, share of the time of the stages' threads */
    double spread_pct; /* over repetitions */
    uint32_t runs;     /* number of runs */
};
void gnn_trust_init(struct gnn_trust *trust);
/* Adds one run. Runs without times, and those of the simulated world, add no load and no queue. */
void gnn_trust_add(struct gnn_trust *trust, const struct gnn_run_record *run);
/* Adds the epoch times of `count` runs that repeat each other. */
void gnn_trust_add_spread(struct gnn_trust *trust, const struct gnn_run_record *const *runs, uint32_t count);

/* Returns the spread of the runs' epoch times in per cent of their median. NAN: fewer than two runs have a time. */
double gnn_runs_spread_pct(const struct gnn_run_record *const *runs, uint32_t count);

/* Writes what is above its limit, in parts with ", " between them. Returns false, with "" in text, if nothing is. */
enum { GNN_NOTES_BYTES = 256 };
bool gnn_trust_text(const struct gnn_trust *trust, char *text, size_t text_bytes);
/* Writes load and run queue of one run, whatever their values. Returns false, with "" in text, if both are unknown. */
bool gnn_trust_state(const struct gnn_run_record *run, char *text, size_t text_bytes);

#endif
