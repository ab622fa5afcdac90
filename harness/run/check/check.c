/* SPDX-License-Identifier: MIT */
/* The checks of a run in which nothing fails: mini-batches, losses, rows, threads. */
#include "harness/run/check/check.h"

#include "harness/run/check/faults.h"
#include "harness/run/check/limits.h"
#include "harness/run/check/session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the checks ---- */

static bool check_start(struct gnn_check_session *s)
{
    const struct gnn_trial_outcome *const o = &s->plain;
    const char *const check = "run";
    if (!o->ended)
        gnn_check_failed(s, check, "%s", o->message);
    else if (gnn_trial_status(o) != GNN_OK)
        gnn_check_failed(s, check, "%s: %s", gnn_status_name(gnn_trial_status(o)), o->message);
    else if (o->epoch[0].steps == 0)
        gnn_check_failed(s, check,
                         "no mini-batch was trained; call gnn_training_step, or env->on_step after each step");
    else
        gnn_check_passed(s, check, "%d epochs of %" PRIu32 " mini-batches", GNN_TRIAL_EPOCHS, o->epoch[0].steps);
    return o->ended && gnn_trial_status(o) == GNN_OK && o->epoch[0].steps > 0;
}

static void check_batches(struct gnn_check_session *s)
{
    static const char check[] = "mini-batches";
    for (uint32_t e = 0; e < GNN_TRIAL_EPOCHS; e++) {
        const struct gnn_trial_epoch *const own = &s->plain.epoch[e], *const right = &s->reference.epoch[e];
        if (own->sampled_digest != own->trained_digest) {
            gnn_check_failed(s, check,
                             "epoch %" PRIu32 ": digest %016" PRIx64 " of what it reports as sampled, %016" PRIx64
                             " of what it trained",
                             e, own->sampled_digest, own->trained_digest);
            return;
        }
        if (!gnn_check_own_samples(s) && own->trained_digest != right->trained_digest) {
            gnn_check_failed(s, check,
                             "epoch %" PRIu32 ": digest %016" PRIx64 ", the reference has %016" PRIx64
                             "; draw with (seed, epoch, batch) of the run, or declare GNN_VARIANT_OWN_SAMPLES",
                             e, own->trained_digest, right->trained_digest);
            return;
        }
    }
    if (gnn_check_own_samples(s))
        gnn_check_left_out(s, check, "the system draws samples of its own");
    else
        gnn_check_passed(s, check, "digests %016" PRIx64 " and %016" PRIx64 ", as the reference",
                         s->plain.epoch[0].trained_digest, s->plain.epoch[1].trained_digest);
}

static void check_seeds(struct gnn_check_session *s)
{
    static const char check[] = "seeds";
    const struct gnn_trial_outcome *const o = &s->plain;
    for (uint32_t e = 0; e < GNN_TRIAL_EPOCHS; e++) {
        const struct gnn_trial_epoch *const own = &o->epoch[e];
        const bool all = o->seeds_intended == s->reference.epoch[e].seeds; /* what the system declares to train */
        if (o->batches_intended != GNN_UNKNOWN && own->batches != o->batches_intended)
            gnn_check_failed(s, check, "epoch %" PRIu32 " has %" PRIu64 " mini-batches, `intend` declares %" PRIu64, e,
                             own->batches, o->batches_intended);
        else if (o->seeds_intended != GNN_UNKNOWN && own->seeds != o->seeds_intended)
            gnn_check_failed(s, check, "epoch %" PRIu32 " trained %" PRIu64 " seeds, `intend` declares %" PRIu64, e,
                             own->seeds, o->seeds_intended);
        else if (own->seeds_repeated > 0 || (all && own->seeds_missed > 0))
            gnn_check_failed(s, check,
                             "epoch %" PRIu32 ": %" PRIu64 " training nodes were no seed, %" PRIu64
                             " were one more than once",
                             e, own->seeds_missed, own->seeds_repeated);
        else
            continue;
        return;
    }
    gnn_check_passed(s, check, "each of %" PRIu64 " training nodes once in an epoch", o->epoch[0].seeds);
}

static void check_rows(struct gnn_check_session *s)
{
    static const char check[] = "feature rows";
    uint64_t nodes = 0;
    for (uint32_t e = 0; e < GNN_TRIAL_EPOCHS; e++) {
        const struct gnn_trial_epoch *const own = &s->plain.epoch[e];
        nodes += own->nodes;
        if (own->wrong_values > 0) {
            gnn_check_failed(s, check,
                             "epoch %" PRIu32 ": %" PRIu64 " values differ from the file, the first for node %" PRIu64
                             " in mini-batch %" PRIu64,
                             e, own->wrong_values, own->wrong_node, own->wrong_batch);
            return;
        }
        if (own->rows_asked != GNN_UNKNOWN && own->rows_asked != own->nodes) {
            gnn_check_failed(s, check,
                             "epoch %" PRIu32 ": counter rows_asked is %" PRIu64 ", the mini-batches have %" PRIu64
                             " nodes",
                             e, own->rows_asked, own->nodes);
            return;
        }
    }
    gnn_check_passed(s, check, "%" PRIu64 " rows have the values of the file", nodes);
}

static void check_losses(struct gnn_check_session *s)
{
    static const char check[] = "losses";
    for (uint32_t e = 0; e < GNN_TRIAL_EPOCHS; e++) {
        const struct gnn_trial_epoch *const own = &s->plain.epoch[e], *const right = &s->reference.epoch[e];
        if (gnn_check_own_samples(s) || !gnn_check_same_order(own, right)) {
            gnn_check_left_out(s, check,
                               gnn_check_own_samples(s) ? "the system draws samples of its own"
                                                        : "mini-batches are trained in another order");
            return;
        }
        const uint32_t at = gnn_check_other_loss(own, right);
        if (at < own->steps) {
            gnn_check_failed(s, check, "epoch %" PRIu32 ", mini-batch %" PRIu64 ": loss %.17g, the reference has %.17g",
                             e, own->batch_of[at], own->loss[at], right->loss[at]);
            return;
        }
        if (memcmp(&own->loss_sum, &right->loss_sum, sizeof own->loss_sum) != 0) {
            gnn_check_failed(s, check, "epoch %" PRIu32 ": loss_sum %.17g, the reference has %.17g", e, own->loss_sum,
                             right->loss_sum);
            return;
        }
    }
    gnn_check_passed(s, check, "equal to the reference in every bit");
}

/* ---- options that are numbers of threads ---- */

static enum gnn_status try_threads(struct gnn_check_session *s, const struct gnn_option *o, uint32_t threads,
                                   bool *right, struct gnn_err *err)
{
    char text[GNN_CHECK_TEXT], set[GNN_SET_MAX], what[GNN_CHECK_TEXT];
    (void)snprintf(set, sizeof set, "%s.%s=%" PRIu32, s->setup->system->name, o->name, threads);
    (void)snprintf(what, sizeof what, "--set %s", set);
    s->config = *s->setup->measured;
    GNN_TRY(gnn_run_config_set(&s->config, set, err));
    GNN_TRY(gnn_check_try(s, (struct gnn_trial_setup){.stop_after = 0}, what, err));
    const char *const difference = gnn_check_difference(s, &s->last, text);
    *right = difference == NULL || gnn_trial_status(&s->last) == GNN_EUSAGE; /* options may exclude each other */
    if (!*right)
        gnn_check_failed(s, "threads", "--set %s: %s", set, difference);
    return GNN_OK;
}

static enum gnn_status check_threads(struct gnn_check_session *s, struct gnn_err *err)
{
    static const uint32_t numbers[] = {1, 3};
    uint32_t options = 0;
    bool right = true;
    for (const struct gnn_option *o = s->setup->system->options; o->name != NULL; o++) {
        if (o->type != GNN_OPT_U32 || o->unit == NULL || strcmp(o->unit, "threads") != 0)
            continue;
        options++;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers && right; i++)
            if (numbers[i] >= o->min && (o->max == 0 || numbers[i] <= o->max))
                GNN_TRY(try_threads(s, o, numbers[i], &right, err));
    }
    if (options == 0)
        gnn_check_left_out(s, "threads", "no option has the unit \"threads\"");
    else if (right)
        gnn_check_passed(s, "threads", "1 and 3 threads train the same (options: %" PRIu32 ")", options);
    return GNN_OK;
}

/* ---- all ---- */

static enum gnn_status run_plain(struct gnn_check_session *s, struct gnn_err *err)
{
    const struct gnn_trial_setup reference = {
        .config = s->setup->measured, .system = &gnn_check_reference, .time_limit_s = s->setup->time_limit_s};
    GNN_TRY(gnn_trial_run(&reference, &s->reference, err));
    if (!s->reference.ended || gnn_trial_status(&s->reference) != GNN_OK)
        return gnn_fail(err, s->reference.ended ? gnn_trial_status(&s->reference) : GNN_EBUG,
                        "check-system: the reference cannot run: %s", s->reference.message);
    s->config = *s->setup->measured;
    GNN_TRY(gnn_check_try(s, (struct gnn_trial_setup){.shows_stderr = true}, "a plain run", err));
    s->plain = s->last;
    return GNN_OK;
}

static enum gnn_status run_all(struct gnn_check_session *s, struct gnn_err *err)
{
    GNN_TRY(run_plain(s, err));
    if (!check_start(s))
        return GNN_OK; /* nothing to compare */
    check_batches(s);
    check_seeds(s);
    check_rows(s);
    check_losses(s);
    GNN_TRY(check_threads(s, err));
    GNN_TRY(gnn_check_faults(s, err));
    GNN_TRY(gnn_check_limits(s, err));
    if (s->leak[0] != '\0')
        gnn_check_failed(s, "nothing left open", "%s", s->leak);
    else
        gnn_check_passed(s, "nothing left open", "memory, files, mappings, rings and threads, also after errors");
    return GNN_OK;
}

enum gnn_status gnn_check_system(const struct gnn_check_setup *setup, uint32_t *failed, struct gnn_err *err)
{
    struct gnn_check_session *s;
    GNN_NEW(s, 1, err, "checks");
    s->setup = setup;
    gnn_run_dataset_dir(setup->measured, s->dir, sizeof s->dir);
    enum gnn_status status = run_all(s, err);
    *failed = s->failed;
    GNN_NEXT(status, gnn_check_clear(s, err));
    free(s);
    return status;
}
