/* SPDX-License-Identifier: MIT */
#include "harness/run/fault_option.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define OPTION(...) GNN_OPTION(gnn_run_faults, __VA_ARGS__)
#define COUNT(word, field, text) OPTION(word, U64, field, "0", .help = (text))
#define SHARE(word, field, most, text) OPTION(word, F64, field, "0", .max = (most), .help = "Share of " text)

/* clang-format off */
const struct gnn_option gnn_fault_options[] = {
    OPTION("seed", U64, plan.seed, "1", .help = "Seed for all random choices below"),
    COUNT("eio-at", plan.read_eio_at, "The n-th read fails with EIO; 0 = none"),
    SHARE("eio", plan.read_eio_probability, 1, "reads that fail with EIO"),
    SHARE("again", plan.read_again_probability, 0.9, "reads that come back with EAGAIN or EINTR"),
    SHARE("short", plan.read_short_probability, 0.9, "reads that bring a part of what was asked"),
    SHARE("slow", plan.read_slow_probability, 1, "reads that complete late"),
    OPTION("slow-by", DURATION, plan.slow_ns, "10ms", .help = "Delay of slow reads and writes"),
    OPTION("shuffle", BOOL, plan.shuffle, "no", .help = "Return finished completions of a ring in random order"),
    OPTION("enospc", BOOL, plan.write_enospc, "no", .help = "Let the disk run out of space"),
    OPTION("enospc-after", BYTES, plan.write_enospc_after_bytes, "0", .unit = "bytes",
           .help = "Bytes that are written before the disk is full"),
    SHARE("short-write", plan.write_short_probability, 0.9, "writes that write a part"),
    COUNT("eio-write-at", plan.write_eio_at, "The n-th write fails with EIO; 0 = none"),
    SHARE("eio-write", plan.write_eio_probability, 1, "writes that fail with EIO"),
    SHARE("again-write", plan.write_again_probability, 0.9, "writes that come back with EAGAIN or EINTR"),
    SHARE("slow-write", plan.write_slow_probability, 1, "writes that complete late"),
    COUNT("alloc-at", plan.alloc_fail_at, "The n-th large allocation fails; 0 = none"),
    SHARE("alloc", plan.alloc_fail_probability, 1, "large allocations that fail"),
    OPTION("device-slowdown", F64, device_slowdown, "1", .min = 0.001, .max = 1e6,
           .help = "Factor on every time of the device (simulated world)"),
    COUNT("die-at-batch", die_at_batch, "Training steps after which a worker process kills itself; 0 = never"),
    OPTION("die-rank", U32, die_rank, "0", .help = "Worker process that --fault die-at-batch kills"),
    {.name = NULL},
};
/* clang-format on */

static enum gnn_status parse_pair(const char *pair, size_t length, struct gnn_run_faults *out, struct gnn_err *err)
{
    char text[GNN_TEXT_MAX];
    assert(length < sizeof text); /* --fault is an option's text */
    (void)snprintf(text, sizeof text, "%.*s", (int)length, pair);
    char *const equals = strchr(text, '=');
    if (equals == NULL)
        return gnn_fail(err, GNN_EUSAGE, "--fault: '%s' is no key=value, for example eio-at=1000", text);
    *equals = '\0';
    for (char *c = text; *c != '\0'; c++) /* both spellings, as on the command line */
        *c = *c == '_' ? '-' : *c;
    struct gnn_err cause = {0};
    const enum gnn_status status = gnn_option_set(gnn_fault_options, out, text, equals + 1, &cause);
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "--fault: %s", cause.message);
}

enum gnn_status gnn_faults_parse(const char *text, struct gnn_run_faults *out, struct gnn_err *err)
{
    memset(out, 0, sizeof *out);
    gnn_option_defaults(gnn_fault_options, out);
    for (bool more = *text != '\0'; more;) {
        const size_t length = strcspn(text, ",");
        GNN_TRY(parse_pair(text, length, out, err));
        more = text[length] == ',';
        text += length + (more ? 1 : 0);
    }
    return GNN_OK;
}
