/* SPDX-License-Identifier: MIT */
/* Finds and opens profiles by path, file name or machine_id. */
#include "harness/world/profile.h"

#include "harness/base/data_dirs.h"
#include "harness/base/near_miss.h"
#include "harness/base/units.h"
#include "harness/world/profile_text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

static enum gnn_status open_file(const char *path, const char *changes, struct gnn_profile **out, struct gnn_err *err)
{
    char *text = NULL;
    GNN_TRY(gnn_profile_read_text(path, &text, err));
    const enum gnn_status status = gnn_profile_parse_changed(path, text, changes, out, err);
    free(text);
    return status;
}

struct scan {
    gnn_profile_seen_fn *fn;
    void *ctx;
};

static void scan_file(void *ctx, const char *path, const char *name)
{
    const struct scan *const scan = ctx;
    struct gnn_profile *profile = NULL;
    (void)name;
    if (open_file(path, "", &profile, NULL) != GNN_OK)
        return;
    scan->fn(scan->ctx, path, profile);
    gnn_profile_close(profile);
}

enum gnn_status gnn_profile_scan(const char *const *search_dirs, gnn_profile_seen_fn *fn, void *ctx,
                                 struct gnn_err *err)
{
    struct scan scan = {.fn = fn, .ctx = ctx};
    return gnn_data_files(search_dirs, scan_file, &scan, err);
}

/* Looks for a machine_id and keeps the names for a message. */
struct lookup {
    const char *name;
    char path[PATH_BYTES]; /* "" as long as nothing was found */
    char (*known)[GNN_NAME_MAX];
    size_t known_count;
};

static void keep_name(struct lookup *lookup, const char *name)
{
    void *const more = reallocarray(lookup->known, lookup->known_count + 1, sizeof *lookup->known);
    if (more == NULL)
        return; /* one name less in a message */
    lookup->known = more;
    (void)snprintf(lookup->known[lookup->known_count++], sizeof *lookup->known, "%s", name);
}

static void look(void *ctx, const char *path, const struct gnn_profile *profile)
{
    struct lookup *const lookup = ctx;
    if (lookup->path[0] == '\0' && strcmp(profile->machine_id, lookup->name) == 0)
        (void)snprintf(lookup->path, sizeof lookup->path, "%s", path);
    keep_name(lookup, profile->name);
    if (strcmp(profile->machine_id, profile->name) != 0)
        keep_name(lookup, profile->machine_id);
}

static enum gnn_status not_found(const struct lookup *lookup, const char *const *search_dirs, struct gnn_err *err)
{
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, lookup->name);
    for (size_t i = 0; i < lookup->known_count; i++)
        gnn_near_miss_offer(&near, lookup->known[i]);
    char dirs[PATH_BYTES] = "";
    size_t used = 0;
    for (size_t i = 0; search_dirs[i] != NULL && used < sizeof dirs; i++)
        used += (size_t)snprintf(dirs + used, sizeof dirs - used, "%s%s", i == 0 ? " in " : " or ", search_dirs[i]);
    const bool here = strcmp(lookup->name, "this") == 0;
    return gnn_fail(err, GNN_EUSAGE, "no profile \"%s\"%s%s; %s", lookup->name, dirs,
                    here ? "" : gnn_near_miss_text(&near),
                    here ? "`oocgnn calibrate` makes it" : "`oocgnn list profiles` has them all");
}

static enum gnn_status find_machine(const char *name, const char *changes, const char *const *search_dirs,
                                    struct gnn_profile **out, struct gnn_err *err)
{
    struct lookup *lookup;
    GNN_NEW(lookup, 1, err, "the search for profile %s", name);
    lookup->name = name;
    enum gnn_status status = gnn_profile_scan(search_dirs, look, lookup, err);
    if (status == GNN_OK && lookup->path[0] != '\0')
        status = open_file(lookup->path, changes, out, err);
    else if (status == GNN_OK)
        status = not_found(lookup, search_dirs, err);
    free(lookup->known);
    free(lookup);
    return status;
}

enum gnn_status gnn_profile_open(const char *name, const char *const *search_dirs, struct gnn_profile **out,
                                 struct gnn_err *err)
{
    return gnn_profile_open_changed(name, "", search_dirs, out, err);
}

enum gnn_status gnn_profile_open_changed(const char *name, const char *changes, const char *const *search_dirs,
                                         struct gnn_profile **out, struct gnn_err *err)
{
    if (strchr(name, '/') != NULL)
        return open_file(name, changes, out, err);
    for (const char *const *dir = search_dirs; *dir != NULL; dir++) {
        char path[PATH_BYTES];
        const int wrote = snprintf(path, sizeof path, "%s/%s.ini", *dir, name);
        if (wrote >= 0 && (size_t)wrote < sizeof path && (access(path, F_OK) == 0 || errno != ENOENT))
            return open_file(path, changes, out, err);
    }
    return find_machine(name, changes, search_dirs, out, err);
}

static enum gnn_status add_costs_of(struct gnn_profile *profile, const char *path, struct gnn_err *err)
{
    char *text = NULL;
    GNN_TRY(gnn_profile_read_text(path, &text, err));
    const enum gnn_status status = gnn_profile_parse_costs(profile, path, text, err);
    free(text);
    return status;
}

enum gnn_status gnn_profile_add_costs(struct gnn_profile *profile, const char *name, const char *const *search_dirs,
                                      struct gnn_err *err)
{
    if (strchr(name, '/') != NULL)
        return add_costs_of(profile, name, err);
    for (const char *const *dir = search_dirs; *dir != NULL; dir++) {
        char path[PATH_BYTES];
        const int wrote = snprintf(path, sizeof path, "%s/costs/%s.ini", *dir, name);
        if (wrote >= 0 && (size_t)wrote < sizeof path && access(path, F_OK) == 0)
            return add_costs_of(profile, path, err);
    }
    return gnn_fail(err, GNN_EUSAGE, "no costs \"%s\"; there are ideal and released, or a path with a '/'", name);
}

void gnn_profile_divide_costs(struct gnn_profile *profile, uint32_t divisor)
{
    assert(divisor >= 1);
    uint64_t *const of_a_piece[] = {&profile->framework.step_ns, &profile->cpu.work_ps[GNN_WORK_PROCESS_START]};
    for (size_t i = 0; i < sizeof of_a_piece / sizeof *of_a_piece; i++)
        *of_a_piece[i] = (*of_a_piece[i] + divisor / 2) / divisor;
}

void gnn_profile_close(struct gnn_profile *profile)
{
    free(profile);
}

/* ---- its age ---- */

uint64_t gnn_profile_age_s(const struct gnn_profile *profile, uint64_t now_s)
{
    const bool known = profile->calibrated_s > 0 && profile->calibrated_s <= now_s;
    return known ? now_s - profile->calibrated_s : GNN_UNKNOWN;
}

bool gnn_profile_is_old(const struct gnn_profile *profile, uint64_t now_s)
{
    static const uint64_t week_s = UINT64_C(7) * 24 * 3600;
    const uint64_t age_s = gnn_profile_age_s(profile, now_s);
    return age_s != GNN_UNKNOWN && age_s > week_s;
}

const char *gnn_profile_age_text(const struct gnn_profile *profile, uint64_t now_s, char *text, size_t text_bytes)
{
    const uint64_t age_s = gnn_profile_age_s(profile, now_s);
    const uint64_t hours = age_s / 3600, count = hours < 48 ? hours : hours / 24;
    char moment[GNN_UTC_BYTES];
    if (profile->calibrated_s == 0) {
        (void)snprintf(text, text_bytes, "calibrated at an unknown time");
        return text;
    }
    (void)gnn_format_utc(profile->calibrated_s, moment, sizeof moment);
    if (age_s == GNN_UNKNOWN)
        (void)snprintf(text, text_bytes, "calibrated %s, which is yet to come by this machine's clock", moment);
    else
        (void)snprintf(text, text_bytes, "calibrated %s, %" PRIu64 " %s%s ago", moment, count,
                       hours < 48 ? "hour" : "day", count == 1 ? "" : "s");
    return text;
}

/* ---- the device at its best ---- */

double gnn_storage_best_read_ps(const struct gnn_profile_storage *st, uint64_t bytes)
{
    double best = INFINITY;
    for (uint32_t d = 0; d < st->depth_count; d++) {
        const uint32_t last = st->size_count - 1;
        for (uint32_t s = 0; s <= last; s++) {
            if (s < last && st->size_bytes[s] < bytes)
                continue;
            double ps = (double)st->read_ps[s][d];
            if (st->size_bytes[s] < bytes) /* larger than all: linear in size */
                ps *= (double)bytes / (double)st->size_bytes[s];
            best = fmin(best, ps);
            if (s == 0 || st->size_bytes[s - 1] >= bytes || st->size_bytes[s] < bytes)
                continue;
            const double share =
                (double)(bytes - st->size_bytes[s - 1]) / (double)(st->size_bytes[s] - st->size_bytes[s - 1]);
            best = fmin(best, (double)st->read_ps[s - 1][d] + share * (ps - (double)st->read_ps[s - 1][d]));
        }
    }
    return best;
}
