/* SPDX-License-Identifier: MIT */
#include "harness/run/sweep/search.h"

#include "harness/base/units.h"
#include "harness/record/record.h"
#include "harness/run/machine.h"
#include "harness/run/sweep/grid.h"
#include "harness/run/sweep/lookup.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool gnn_search_is_one(const char *key, const char *value)
{
    return strcmp(key, GNN_SEARCH_FIRST_OF) == 0 ||
           (strcmp(key, "memory") == 0 && strncmp(value, GNN_GRID_LEAST, strlen(GNN_GRID_LEAST)) == 0);
}

void gnn_search_divide(struct gnn_search *search, uint32_t divisor)
{
    search->least_bytes = gnn_max_u64(gnn_round_down(search->least_bytes / divisor, GNN_PAGE_BYTES), GNN_PAGE_BYTES);
    search->most_bytes = gnn_max_u64(gnn_round_down(search->most_bytes / divisor, GNN_PAGE_BYTES), GNN_PAGE_BYTES);
    search->divisor = divisor;
}

/* "4M..1G" */
static enum gnn_status read_range(const char *range, struct gnn_search *out, struct gnn_err *err)
{
    char low[32] = "";
    const char *const dots = strstr(range, "..");
    if (dots != NULL)
        (void)snprintf(low, sizeof low, "%.*s", (int)(dots - range), range);
    if (dots == NULL || gnn_parse_bytes(low, &out->least_bytes, NULL) != GNN_OK ||
        gnn_parse_bytes(dots + 2, &out->most_bytes, NULL) != GNN_OK || out->least_bytes < GNN_PAGE_BYTES ||
        out->least_bytes > out->most_bytes || out->most_bytes > INT64_MAX)
        return gnn_fail(err, GNN_EUSAGE, "\"least %s\": expected a range of sizes from 4K on, as in least 4M..1G",
                        range);
    gnn_search_divide(out, 1); /* whole pages */
    return GNN_OK;
}

/* "mariusgnn.staleness: 16, 8, 4, 2, 1" */
static enum gnn_status read_values(const char *text, struct gnn_search *out, struct gnn_err *err)
{
    struct gnn_grid_values values;
    const size_t length = strcspn(text, ":");
    (void)snprintf(out->option, sizeof out->option, "%.*s", (int)gnn_min_u64(length, sizeof out->option), text);
    if (text[length] == '\0' || length >= sizeof out->option || gnn_grid_option(out->option) == NULL)
        return gnn_fail(err, GNN_EUSAGE,
                        "\"%s\": expected an option of a run or a parameter of a system, and its values, as in "
                        "SYSTEM.KEY: 16, 8, 4",
                        text);
    (void)snprintf(out->values, sizeof out->values, "%s", text + length + 1);
    return gnn_grid_values(gnn_grid_option(out->option), out->values, &values, err);
}

enum gnn_status gnn_search_read(const char *key, const char *value, struct gnn_search *out, struct gnn_err *err)
{
    assert(gnn_search_is_one(key, value));
    if (out->option[0] != '\0')
        return gnn_fail(err, GNN_EUSAGE, "a case has at most one search, and this one also searches %s", out->option);
    if (strcmp(key, GNN_SEARCH_FIRST_OF) == 0)
        return read_values(value, out, err);
    (void)snprintf(out->option, sizeof out->option, "%s", key);
    return read_range(value + strlen(GNN_GRID_LEAST), out, err);
}

/* Sets the value and checks the result. */
static enum gnn_status apply(const struct gnn_search *s, const char *value, struct gnn_run_config *config,
                             struct gnn_err *err)
{
    char text[2 * GNN_TEXT_MAX], divided[32];
    uint64_t bytes;
    if (s->divisor > 1 && gnn_parse_bytes(value, &bytes, NULL) == GNN_OK && bytes > 0) {
        (void)snprintf(divided, sizeof divided, "%" PRIu64, gnn_max_u64(bytes / s->divisor, 1));
        value = divided;
    }
    (void)snprintf(text, sizeof text, "%s=%s", s->option, value);
    GNN_TRY(strchr(s->option, '.') != NULL ? gnn_run_config_set(config, text, err)
                                           : gnn_option_set(gnn_run_options, config, s->option, value, err));
    return gnn_machine_resolve(config, err);
}

/* Looks up whether out->config has run, and how it ended. */
static enum gnn_status look_up(bool any_build, struct gnn_search_state *out, enum gnn_run_status *end,
                               struct gnn_err *err)
{
    int64_t id;
    uint32_t count;
    struct gnn_db *db;
    struct gnn_run_record *run;
    GNN_TRY(gnn_sweep_find(&out->config, any_build, 1, &id, &count, err));
    out->open = count == 0;
    if (out->open)
        return GNN_OK;
    GNN_TRY(gnn_db_open(out->config.db, GNN_DB_READ, &db, err));
    const enum gnn_status status = gnn_db_load_all(db, &id, 1, &run, err);
    gnn_db_close(db);
    GNN_TRY(status);
    *end = run->status;
    gnn_run_records_free(run, 1);
    return GNN_OK;
}

static enum gnn_status find_first(const struct gnn_search *s, const struct gnn_run_config *config, bool any_build,
                                  struct gnn_search_state *out, struct gnn_err *err)
{
    struct gnn_grid_values values;
    GNN_TRY(gnn_grid_values(gnn_grid_option(s->option), s->values, &values, err));
    for (uint32_t i = 0; i < values.count && !out->found && !out->open; i++) {
        struct gnn_run_config with = *config;
        struct gnn_err refused = {0};
        enum gnn_run_status end;
        if (apply(s, values.of[i], &with, &refused) != GNN_OK)
            continue;
        out->config = with;
        GNN_TRY(look_up(any_build, out, &end, err));
        out->found = !out->open && end != GNN_RUN_OOM && end != GNN_RUN_GPU_OOM;
    }
    return GNN_OK;
}

static enum gnn_status find_least(const struct gnn_search *s, bool any_build, struct gnn_search_state *out,
                                  struct gnn_err *err)
{
    const uint64_t exact_bytes = gnn_max_u64(gnn_min_u64(UINT64_C(1) << 20, s->least_bytes / 4), GNN_PAGE_BYTES);
    uint64_t fails = s->least_bytes / 2, passes = 2 * s->most_bytes; /* until a limit of the range does */
    while (passes > s->least_bytes && fails < s->most_bytes && passes - fails > exact_bytes) {
        const int doublings = 63 - __builtin_clzll(passes / fails);
        const uint64_t middle = doublings > 1 ? fails << (doublings + 1) / 2 : (fails + passes) / 2;
        enum gnn_run_status end;
        out->config.memory_bytes =
            gnn_min_u64(gnn_max_u64(gnn_round_down(middle, GNN_PAGE_BYTES), s->least_bytes), s->most_bytes);
        GNN_TRY(look_up(any_build, out, &end, err));
        if (out->open)
            return GNN_OK;
        *(end == GNN_RUN_OK ? &passes : &fails) = out->config.memory_bytes;
    }
    out->found = passes <= s->most_bytes;
    out->config.memory_bytes = gnn_min_u64(passes, s->most_bytes);
    return GNN_OK;
}

enum gnn_status gnn_search_look_up(const struct gnn_search *search, const struct gnn_run_config *config, bool any_build,
                                   struct gnn_search_state *out, struct gnn_err *err)
{
    *out = (struct gnn_search_state){.config = *config, .found = search->option[0] == '\0'};
    if (out->found)
        return GNN_OK;
    return search->values[0] != '\0' ? find_first(search, config, any_build, out, err)
                                     : find_least(search, any_build, out, err);
}
