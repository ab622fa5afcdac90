/* SPDX-License-Identifier: MIT */
#include "harness/record/notes.h"

#include "harness/base/plain_text.h"
#include "harness/record/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gnn_trust_init(struct gnn_trust *trust)
{
    *trust = (struct gnn_trust){.load = NAN, .cores = NAN, .queued_pct = NAN, .spread_pct = NAN};
}

/* Whether the run has times of this machine, or will have them. */
static bool is_timed(const struct gnn_run_record *run)
{
    const bool ok = run->status == GNN_RUN_OK && !gnn_run_withholds_times(run);
    return strcmp(run->world, "measured") == 0 && (ok || run->status == GNN_RUN_RUNNING);
}

/* Reads "14.54 8.92 5.01 12/345 6789" of /proc/loadavg: the average of a minute, and how many threads were runnable.
 * The reader was one of those. */
static bool read_load(const struct gnn_run_record *run, double *load, unsigned *runnable, double *cores)
{
    const char *const text = gnn_kv_get(&run->environment, "cpu.load");
    const char *const online = gnn_kv_get(&run->environment, "cpu.online");
    if (text == NULL || online == NULL || sscanf(text, "%lf %*f %*f %u", load, runnable) != 2)
        return false;
    *cores = strtod(online, NULL);
    return *cores > 0;
}

static double queued_pct(const struct gnn_run_record *run)
{
    struct gnn_record_stage sums[GNN_RECORD_STAGES_MAX];
    const uint32_t count = gnn_run_stage_sums(run, sums);
    double queued_ns = 0, wall_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (sums[i].queued_ns == GNN_UNKNOWN || sums[i].wall_ns == GNN_UNKNOWN)
            return (double)NAN;
        queued_ns += (double)sums[i].queued_ns;
        wall_ns += (double)sums[i].wall_ns;
    }
    return wall_ns > 0 ? 100 * queued_ns / wall_ns : (double)NAN;
}

void gnn_trust_add(struct gnn_trust *trust, const struct gnn_run_record *run)
{
    double load, cores;
    unsigned runnable;
    trust->runs++;
    if (!is_timed(run))
        return;
    if (read_load(run, &load, &runnable, &cores)) {
        trust->others = trust->others || (runnable > 1 && 100 * load > GNN_NOTE_LOAD_PCT * cores);
        if (isnan(trust->load) || load / cores > trust->load / trust->cores) {
            trust->load = load;
            trust->cores = cores;
        }
    }
    trust->queued_pct = fmax(trust->queued_pct, queued_pct(run)); /* of a number and NAN, the number */
}

double gnn_runs_spread_pct(const struct gnn_run_record *const *runs, uint32_t count)
{
    double *const times_ns = calloc(count + UINT32_C(1), sizeof *times_ns);
    uint32_t known = 0;
    for (uint32_t i = 0; i < count && times_ns != NULL; i++)
        if (runs[i]->status == GNN_RUN_OK && gnn_run_epoch_ns(runs[i]) != GNN_UNKNOWN)
            times_ns[known++] = (double)gnn_run_epoch_ns(runs[i]);
    const double median_ns = gnn_median(times_ns, known); /* sorts */
    const double spread_pct =
        known < 2 || median_ns <= 0 ? (double)NAN : 100 * (times_ns[known - 1] - times_ns[0]) / median_ns;
    free(times_ns);
    return spread_pct;
}

void gnn_trust_add_spread(struct gnn_trust *trust, const struct gnn_run_record *const *runs, uint32_t count)
{
    trust->spread_pct = fmax(trust->spread_pct, gnn_runs_spread_pct(runs, count));
}

static void say_load(const struct gnn_trust *t, const char *most, char *text, size_t text_bytes)
{
    gnn_text_list(text, text_bytes, "load %s%.1f on %.0f core%s at the start", most, t->load, t->cores,
                  t->cores == 1 ? "" : "s");
}

static void say_queue(const struct gnn_trust *t, const char *most, char *text, size_t text_bytes)
{
    gnn_text_list(text, text_bytes, "workers waited for a core %s%.3g %% of their time", most, t->queued_pct);
}

bool gnn_trust_text(const struct gnn_trust *t, char *text, size_t text_bytes)
{
    const char *const most = t->runs > 1 ? "up to " : "";
    text[0] = '\0';
    if (t->others && 100 * t->load > GNN_NOTE_LOAD_PCT * t->cores)
        say_load(t, most, text, text_bytes);
    if (t->queued_pct > GNN_NOTE_QUEUED_PCT)
        say_queue(t, most, text, text_bytes);
    if (t->spread_pct > GNN_NOTE_SPREAD_PCT)
        gnn_text_list(text, text_bytes, "epoch times of repetitions spread by %s%.3g %% of their median", most,
                      t->spread_pct);
    return text[0] != '\0';
}

bool gnn_trust_state(const struct gnn_run_record *run, char *text, size_t text_bytes)
{
    struct gnn_trust trust;
    gnn_trust_init(&trust);
    gnn_trust_add(&trust, run);
    text[0] = '\0';
    if (!isnan(trust.load))
        say_load(&trust, "", text, text_bytes);
    if (!isnan(trust.queued_pct))
        say_queue(&trust, "", text, text_bytes);
    return text[0] != '\0';
}
