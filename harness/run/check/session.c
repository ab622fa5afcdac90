/* SPDX-License-Identifier: MIT */
#include "harness/run/check/session.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const gnn_verdict_words[GNN_VERDICTS] = {"passed", "FAILED", "not applicable"};

/* ---- results ---- */

static void report(struct gnn_check_session *s, const char *check, enum gnn_verdict verdict, const char *format,
                   va_list args)
{
    char text[GNN_CHECK_TEXT];
    (void)vsnprintf(text, sizeof text, format, args);
    s->failed += verdict == GNN_VERDICT_FAILED ? 1 : 0;
    s->setup->report(s->setup->report_ctx, check, verdict, text);
}

void gnn_check_passed(struct gnn_check_session *s, const char *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(s, check, GNN_VERDICT_PASSED, format, args);
    va_end(args);
}

void gnn_check_failed(struct gnn_check_session *s, const char *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(s, check, GNN_VERDICT_FAILED, format, args);
    va_end(args);
}

void gnn_check_left_out(struct gnn_check_session *s, const char *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(s, check, GNN_VERDICT_NOT_APPLICABLE, format, args);
    va_end(args);
}

/* ---- trials ---- */

static void note_leak(struct gnn_check_session *s, const char *what)
{
    const struct gnn_trial_outcome *const o = &s->last;
    if (!o->ended || s->leak[0] != '\0')
        return;
    for (int kind = 0; kind < GNN_WATCHED; kind++)
        if (o->left[kind] != 0) {
            (void)snprintf(s->leak, sizeof s->leak, "%s: close left %" PRId64 " %s open", what, o->left[kind],
                           gnn_watched_words[kind]);
            return;
        }
    if (o->left_descriptors != 0)
        (void)snprintf(s->leak, sizeof s->leak, "%s: close left %" PRIu32 " file descriptors open", what,
                       o->left_descriptors);
}

enum gnn_status gnn_check_try(struct gnn_check_session *s, struct gnn_trial_setup trial, const char *what,
                              struct gnn_err *err)
{
    if (s->setup->stop != NULL && atomic_load(s->setup->stop))
        return gnn_fail(err, GNN_ECANCELLED, "check-system: interrupted");
    trial.config = &s->config;
    trial.system = s->setup->system;
    trial.time_limit_s = s->setup->time_limit_s;
    GNN_TRY(gnn_trial_run(&trial, &s->last, err));
    note_leak(s, what);
    return GNN_OK;
}

enum gnn_status gnn_trial_status(const struct gnn_trial_outcome *o)
{
    enum gnn_status status = o->opened;
    for (uint32_t e = 0; e < GNN_TRIAL_EPOCHS && status == GNN_OK; e++)
        status = o->epoch[e].status;
    return status;
}

bool gnn_check_own_samples(const struct gnn_check_session *s)
{
    return (s->setup->system->variants & GNN_VARIANT_OWN_SAMPLES) != 0;
}

bool gnn_check_same_order(const struct gnn_trial_epoch *a, const struct gnn_trial_epoch *b)
{
    const uint32_t steps = gnn_min_u32(a->steps, GNN_TRIAL_STEPS_MAX);
    return a->steps == b->steps && memcmp(a->batch_of, b->batch_of, steps * sizeof *a->batch_of) == 0;
}

uint32_t gnn_check_other_loss(const struct gnn_trial_epoch *a, const struct gnn_trial_epoch *b)
{
    const uint32_t steps = gnn_min_u32(a->steps, GNN_TRIAL_STEPS_MAX);
    uint32_t at = 0;
    while (at < steps && memcmp(&a->loss[at], &b->loss[at], sizeof *a->loss) == 0)
        at++;
    return at;
}

const char *gnn_check_difference(const struct gnn_check_session *s, const struct gnn_trial_outcome *o,
                                 char text[GNN_CHECK_TEXT])
{
    text[0] = '\0';
    if (!o->ended || gnn_trial_status(o) != GNN_OK) {
        (void)snprintf(text, GNN_CHECK_TEXT, "%s%s%s", o->ended ? gnn_status_name(gnn_trial_status(o)) : "",
                       o->ended ? ": " : "", o->message);
        return text;
    }
    for (uint32_t e = 0; e < GNN_TRIAL_EPOCHS; e++) {
        const struct gnn_trial_epoch *const own = &o->epoch[e], *const plain = &s->plain.epoch[e];
        if (o->has_values && own->wrong_values > 0 && plain->wrong_values == 0)
            (void)snprintf(text, GNN_CHECK_TEXT, "epoch %" PRIu32 ": %" PRIu64 " values of inputs differ from the file",
                           e, own->wrong_values);
        else if (!gnn_check_own_samples(s) && own->trained_digest != plain->trained_digest)
            (void)snprintf(text, GNN_CHECK_TEXT, "epoch %" PRIu32 " trained other mini-batches", e);
        else if (o->has_values && !gnn_check_own_samples(s) && gnn_check_same_order(own, plain) &&
                 gnn_check_other_loss(own, plain) < own->steps)
            (void)snprintf(text, GNN_CHECK_TEXT, "epoch %" PRIu32 ": mini-batch %" PRIu64 " has another loss", e,
                           own->batch_of[gnn_check_other_loss(own, plain)]);
        if (text[0] != '\0')
            return text;
    }
    return NULL;
}

/* ---- what a system adds to the dataset: directories, as gnn_prepared names them ---- */

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    const bool is_datasets = where->level == 0 || (where->level == 1 && type != FTW_DP);
    return is_datasets ? 0 : remove(path);
}

enum gnn_status gnn_check_clear(const struct gnn_check_session *s, struct gnn_err *err)
{
    if (nftw(s->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0)
        return gnn_fail(err, GNN_EIO, "check-system: %s cannot be cleared: %s", s->dir, strerror(errno));
    return GNN_OK;
}
