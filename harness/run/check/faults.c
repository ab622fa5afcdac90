/* SPDX-License-Identifier: MIT */
/* The checks with faults: what a Linux machine does to a correct program (harness/world/faults.h). */
#include "harness/run/check/faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ALLOCATION_TRIALS = 10 };

/* Whether the statuses of a trial with an injected failure are right: the wanted error, with a message, and no wrong
 * value before it. */
static bool ended_right(struct gnn_check_session *s, const char *check, const char *what, enum gnn_status wanted)
{
    const struct gnn_trial_outcome *const o = &s->last;
    const enum gnn_status status = gnn_trial_status(o);
    if (!o->ended)
        gnn_check_failed(s, check, "%s: %s", what, o->message);
    else if (status == GNN_OK)
        gnn_check_failed(s, check, "%s, and the run ended well; return the first error", what);
    else if (status != wanted)
        gnn_check_failed(s, check, "%s: returned %s instead of %s: %s", what, gnn_status_name(status),
                         gnn_status_name(wanted), o->message);
    else if (o->message[0] == '\0')
        gnn_check_failed(s, check, "%s: %s without a message; fill err with gnn_fail", what, gnn_status_name(status));
    else if (o->epoch[0].wrong_values + o->epoch[1].wrong_values > 0 && s->plain.epoch[0].wrong_values == 0)
        gnn_check_failed(s, check, "%s: until then it trained values that are not those of the file", what);
    else
        return true;
    return false;
}

/* Whether the epoch that failed can be run again (system.h): it trains the mini-batches of the plain run. */
static bool again_right(struct gnn_check_session *s, const char *check, const char *what)
{
    const struct gnn_trial_outcome *const o = &s->last;
    const uint32_t number = o->epoch[0].status == GNN_OK ? 1 : 0;
    if (o->opened != GNN_OK)
        return true;
    if (o->again.status != GNN_OK)
        gnn_check_failed(s, check, "%s: the next call of train_epoch returned %s", what,
                         gnn_status_name(o->again.status));
    else if ((s->setup->system->variants & GNN_VARIANT_OWN_SAMPLES) == 0 &&
             o->again.trained_digest != s->plain.epoch[number].trained_digest)
        gnn_check_failed(s, check, "%s: the next call of train_epoch trained other mini-batches", what);
    else if (o->again.wrong_values > 0 && s->plain.epoch[number].wrong_values == 0)
        gnn_check_failed(s, check, "%s: the next call of train_epoch trained wrong values", what);
    else
        return true;
    return false;
}

/* ---- reads ---- */

/* Reads that are late, cut, repeated and completed in another order change nothing. */
static enum gnn_status check_disturbed_reads(struct gnn_check_session *s, uint64_t *reads, struct gnn_err *err)
{
    static const char check[] = "disturbed reads";
    const struct gnn_trial_setup trial = {.faults = {.seed = 1,
                                                     .read_again_probability = 0.1,
                                                     .read_short_probability = 0.1,
                                                     .read_slow_probability = 0.05,
                                                     .slow_ns = 20000,
                                                     .shuffle = true}};
    char text[GNN_CHECK_TEXT];
    s->config = *s->setup->measured;
    GNN_TRY(gnn_check_try(s, trial, "disturbed reads", err));
    const char *const difference = gnn_check_difference(s, &s->last, text);
    *reads = s->last.faults.reads;
    if (*reads == 0)
        gnn_check_left_out(s, check, "the system reads nothing");
    else if (difference != NULL)
        gnn_check_failed(s, check, "some reads were short, repeated, late or completed in another order: %s",
                         difference);
    else
        gnn_check_passed(s, check, "%" PRIu64 " short, %" PRIu64 " repeated and %" PRIu64 " late reads changed nothing",
                         s->last.faults.shortened, s->last.faults.again, s->last.faults.slow);
    return GNN_OK;
}

static enum gnn_status check_failed_reads(struct gnn_check_session *s, uint64_t reads, struct gnn_err *err)
{
    static const char check[] = "failed reads";
    const uint64_t at[] = {1, reads / 4, reads / 2, reads / 2 + 1};
    uint32_t failures = 0;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        char what[GNN_CHECK_TEXT];
        (void)snprintf(what, sizeof what, "read %" PRIu64 " failed with an I/O error", at[i]);
        const struct gnn_trial_setup trial = {.faults = {.seed = 1, .read_eio_at = at[i]}, .repeats = true};
        if (at[i] == 0)
            continue;
        GNN_TRY(gnn_check_try(s, trial, what, err));
        if (s->last.ended && s->last.faults.eio == 0)
            continue; /* there were fewer reads this time */
        if (!ended_right(s, check, what, GNN_EIO) || !again_right(s, check, what))
            return GNN_OK;
        failures++;
    }
    if (failures == 0)
        gnn_check_left_out(s, check, "no read could be made to fail");
    else
        gnn_check_passed(s, check, "%" PRIu32 " errors returned, and the next epoch is right", failures);
    return GNN_OK;
}

/* ---- allocations ---- */

static enum gnn_status check_failed_allocations(struct gnn_check_session *s, struct gnn_err *err)
{
    static const char check[] = "failed allocations";
    uint32_t failures = 0;
    uint64_t number = 1;
    for (uint32_t i = 0; i < ALLOCATION_TRIALS; i++, number += 1 + number / 2) {
        char what[GNN_CHECK_TEXT];
        (void)snprintf(what, sizeof what, "allocation %" PRIu64 " was refused", number);
        const struct gnn_trial_setup trial = {.faults = {.seed = 1, .alloc_fail_at = number}, .repeats = true};
        GNN_TRY(gnn_check_try(s, trial, what, err));
        if (s->last.ended && s->last.faults.allocs_refused == 0)
            break;
        if (!ended_right(s, check, what, GNN_ENOMEM) || !again_right(s, check, what))
            return GNN_OK;
        failures++;
    }
    if (failures == 0)
        gnn_check_left_out(s, check, "the system takes no memory of the world");
    else
        gnn_check_passed(s, check, "%" PRIu32 " errors returned", failures);
    return GNN_OK;
}

/* ---- writes ---- */

/* Runs from an empty directory into a fault, then without it: a file that was written in part must not be used. */
static enum gnn_status try_writes(struct gnn_check_session *s, const struct gnn_fault_plan *faults, const char *what,
                                  bool *right, struct gnn_err *err)
{
    static const char check[] = "failed writes";
    char text[GNN_CHECK_TEXT];
    GNN_TRY(gnn_check_clear(s, err));
    GNN_TRY(gnn_check_try(s, (struct gnn_trial_setup){.faults = *faults}, what, err));
    const bool injected = s->last.faults.writes_eio + s->last.faults.writes_refused > 0;
    const char *difference = gnn_trial_status(&s->last) == GNN_OK ? gnn_check_difference(s, &s->last, text) : NULL;
    *right = false;
    if (!s->last.ended)
        gnn_check_failed(s, check, "%s: %s", what, s->last.message);
    else if (difference != NULL)
        gnn_check_failed(s, check, "%s, and the run ended well, but %s", what, difference);
    else if (gnn_trial_status(&s->last) != GNN_OK && !injected)
        gnn_check_failed(s, check, "no write failed, and the run ended with: %s", s->last.message);
    else
        *right = true;
    if (!*right)
        return GNN_OK;
    GNN_TRY(gnn_check_try(s, (struct gnn_trial_setup){.stop_after = 0}, "the run after failed writes", err));
    difference = gnn_check_difference(s, &s->last, text);
    *right = difference == NULL;
    if (difference != NULL)
        gnn_check_failed(s, check, "%s; the next run, where nothing failed: %s", what, difference);
    return GNN_OK;
}

static enum gnn_status check_failed_writes(struct gnn_check_session *s, struct gnn_err *err)
{
    const struct gnn_fault_plan full = {
        .seed = 1, .write_enospc = true, .write_enospc_after_bytes = s->plain.written_bytes / 2};
    const struct gnn_fault_plan broken = {.seed = 1, .write_eio_at = 2};
    bool right = true;
    if (s->plain.written_bytes == 0) {
        gnn_check_left_out(s, "failed writes", "the system writes no files");
        return GNN_OK;
    }
    GNN_TRY(try_writes(s, &full, "the disk was full halfway", &right, err));
    if (right)
        GNN_TRY(try_writes(s, &broken, "write 2 failed with an I/O error", &right, err));
    if (right)
        gnn_check_passed(s, "failed writes", "no file that was written in part was used");
    return gnn_check_clear(s, err); /* of what the failures left */
}

/* ---- the stop flag ---- */

static enum gnn_status check_stop(struct gnn_check_session *s, struct gnn_err *err)
{
    static const char check[] = "stop";
    GNN_TRY(
        gnn_check_try(s, (struct gnn_trial_setup){.stop_after = 2, .repeats = true}, "a run that was stopped", err));
    const enum gnn_status status = s->last.epoch[0].status;
    if (!s->last.ended || s->last.opened != GNN_OK)
        gnn_check_failed(s, check, "%s", s->last.message);
    else if (status != GNN_ECANCELLED)
        gnn_check_failed(s, check,
                         "the stop flag was set, and train_epoch returned %s instead of %s; call "
                         "gnn_check_stop between two mini-batches",
                         gnn_status_name(status), gnn_status_name(GNN_ECANCELLED));
    else if (again_right(s, check, "after a stop"))
        gnn_check_passed(s, check, "returned after %" PRIu32 " of %" PRIu32 " mini-batches", s->last.epoch[0].steps,
                         s->plain.epoch[0].steps);
    return GNN_OK;
}

enum gnn_status gnn_check_faults(struct gnn_check_session *s, struct gnn_err *err)
{
    uint64_t reads;
    GNN_TRY(check_disturbed_reads(s, &reads, err));
    GNN_TRY(check_failed_reads(s, reads, err));
    GNN_TRY(check_failed_allocations(s, err));
    GNN_TRY(check_failed_writes(s, err));
    return check_stop(s, err);
}
