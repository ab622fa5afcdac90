/* SPDX-License-Identifier: MIT */
/* The checks of memory and of the simulated world. */
#include "harness/run/check/limits.h"

#include "harness/run/check/session.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- memory ---- */

static void check_plan(struct gnn_check_session *s)
{
    static const char check[] = "memory plan";
    const struct gnn_trial_outcome *const o = &s->plain;
    if (!o->has_plan || o->plan_is_advisory)
        gnn_check_left_out(s, check,
                           o->has_plan ? "the plan of these options is advisory"
                                       : "the system has no hook `plan`, so no run with a memory limit is "
                                         "refused");
    else if (o->peak_bytes > o->plan_bytes)
        gnn_check_failed(s, check, "allocated %" PRIu64 " bytes, the plan has %" PRIu64 "; add the missing part to it",
                         o->peak_bytes, o->plan_bytes);
    else
        gnn_check_passed(s, check, "allocated %" PRIu64 " of %" PRIu64 " planned bytes", o->peak_bytes, o->plan_bytes);
}

/* The limit is what the plan needs: a run that is accepted has to stay within it. */
static enum gnn_status check_limit(struct gnn_check_session *s, struct gnn_err *err)
{
    static const char check[] = "memory limit";
    char text[GNN_CHECK_TEXT];
    if (!s->plain.has_plan || s->plain.plan_is_advisory) {
        gnn_check_left_out(s, check, "there is no plan to derive a limit from");
        return GNN_OK;
    }
    s->config = *s->setup->measured;
    s->config.memory_bytes = s->plain.plan_bytes;
    s->config.cap_kind = GNN_CAP_PROGRAM;
    GNN_TRY(gnn_check_try(s, (struct gnn_trial_setup){.stop_after = 0}, "a run with a memory limit", err));
    const char *const difference = gnn_check_difference(s, &s->last, text);
    if (difference != NULL)
        gnn_check_failed(s, check, "a limit of %" PRIu64 " bytes, which is the plan: %s", s->plain.plan_bytes,
                         difference);
    else if (s->last.peak_bytes > s->plain.plan_bytes)
        gnn_check_failed(s, check, "allocated %" PRIu64 " bytes with a limit of %" PRIu64, s->last.peak_bytes,
                         s->plain.plan_bytes);
    else
        gnn_check_passed(s, check, "allocated %" PRIu64 " bytes with a limit of %" PRIu64, s->last.peak_bytes,
                         s->plain.plan_bytes);
    return GNN_OK;
}

/* ---- the simulated world ---- */

static enum gnn_status check_simulated(struct gnn_check_session *s, struct gnn_err *err)
{
    static const char world[] = "simulated world", time[] = "virtual time";
    char text[GNN_CHECK_TEXT];
    if (s->setup->simulated == NULL) {
        gnn_check_left_out(s, world, "there is no profile of a machine; choose one with --profile");
        gnn_check_left_out(s, time, "as above");
        return GNN_OK;
    }
    s->config = *s->setup->simulated;
    GNN_TRY(gnn_check_try(s, (struct gnn_trial_setup){.stop_after = 0}, "a simulated run", err));
    const char *const difference = gnn_check_difference(s, &s->last, text);
    if (difference != NULL) {
        gnn_check_failed(s, world, "%s", difference);
        gnn_check_left_out(s, time, "the simulated run failed");
        return GNN_OK;
    }
    const uint64_t first_ns = s->last.clock_ns;
    gnn_check_passed(s, world, "the same mini-batches on %s", s->config.profile);
    GNN_TRY(gnn_check_try(s, (struct gnn_trial_setup){.stop_after = 0}, "a simulated run", err));
    if (s->last.clock_ns != first_ns)
        gnn_check_failed(s, time, "%" PRIu64 " ns, then %" PRIu64 " ns: use the threads, locks and clock of the world",
                         first_ns, s->last.clock_ns);
    else
        gnn_check_passed(s, time, "twice %" PRIu64 " ns", first_ns);
    return GNN_OK;
}

enum gnn_status gnn_check_limits(struct gnn_check_session *s, struct gnn_err *err)
{
    check_plan(s);
    GNN_TRY(check_limit(s, err));
    return check_simulated(s, err);
}
