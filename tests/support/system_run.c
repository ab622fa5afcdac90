/* SPDX-License-Identifier: MIT */
#include "tests/support/system_run.h"

#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const struct gnn_system *system_find(const char *name)
{
    for (const struct gnn_system *const *s = gnn_systems; *s != NULL; s++)
        if (strcmp((*s)->name, name) == 0)
            return *s;
    fail_msg("no system %s", name);
    return NULL;
}

void *system_configure(const struct gnn_system *system, const char *const *options)
{
    struct gnn_err err = {0};
    void *const config = calloc(1, system->config_bytes);
    assert_non_null(config);
    gnn_option_defaults(system->options, config);
    for (const char *const *o = options; o != NULL && *o != NULL; o++) {
        char name[64];
        const char *const equals = strchr(*o, '=');
        assert_non_null(equals);
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - *o), *o);
        must(gnn_option_set(system->options, config, name, equals + 1, &err), &err);
    }
    return config;
}

static enum gnn_status tensor_alloc(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    return gnn_mem_alloc(ctx, name, bytes, GNN_MEM_FEATURES, out, err);
}

static void tensor_free(void *ctx, void *ptr)
{
    gnn_mem_free(ctx, ptr);
}

static uint64_t tensor_now_ns(void *ctx)
{
    return gnn_now_ns(ctx);
}

static void tensor_wait_until(void *ctx, uint64_t deadline_ns)
{
    gnn_sleep_until(ctx, deadline_ns, GNN_WAIT_COMPUTE);
}

static void tensor_compute_ns(void *ctx, uint64_t ns)
{
    gnn_charge(ctx, GNN_WORK_CPU_NS, ns);
}

struct gnn_tensor_env system_tensor_env(struct gnn_world *world)
{
    return (struct gnn_tensor_env){.threads = 1,
                                   .alloc = tensor_alloc,
                                   .free = tensor_free,
                                   .now_ns = tensor_now_ns,
                                   .wait_until = tensor_wait_until,
                                   .compute_ns = tensor_compute_ns,
                                   .ctx = world};
}

uint64_t system_figure(const struct gnn_epoch_result *result, const char *name)
{
    for (uint32_t i = 0; i < result->figure_count; i++)
        if (strcmp(result->figures[i].name, name) == 0)
            return result->figures[i].value;
    fail_msg("no figure %s", name);
    return 0;
}
