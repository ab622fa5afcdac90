#include "harness/run/fault_option.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define PLAN(field) offsetof(struct gnn_run_faults, plan.field)
#define FIELD(field) offsetof(struct gnn_run_faults, field)

/* clang-format off */
const struct gnn_option gnn_fault_options[] = {
    {.name = "seed", .type = GNN_OPT_U64, .offset = PLAN(seed), .def = "1", .help = "of every draw below"},
    {.name = "eio-at", .type = GNN_OPT_U64, .offset = PLAN(read_eio_at), .def = "0",
     .help = "the n-th read fails with EIO; 0 = none"},
    {.name = "eio", .type = GNN_OPT_F64, .offset = PLAN(read_eio_probability), .def = "0", .max = 1,
     .help = "share of reads that fail with EIO"},
    {.name = "again", .type = GNN_OPT_F64, .offset = PLAN(read_again_probability), .def = "0", .max = 0.9,
     .help = "share of reads that come back with EAGAIN or EINTR"},
    {.name = "short", .type = GNN_OPT_F64, .offset = PLAN(read_short_probability), .def = "0", .max = 0.9,
     .help = "share of reads that bring a part of what was asked"},
    {.name = "slow", .type = GNN_OPT_F64, .offset = PLAN(read_slow_probability), .def = "0", .max = 1,
     .help = "share of reads that complete late"},
    {.name = "slow-by", .type = GNN_OPT_DURATION, .offset = PLAN(slow_ns), .def = "10ms", .help = "how late"},
    {.name = "shuffle", .type = GNN_OPT_BOOL, .offset = PLAN(shuffle), .def = "no",
     .help = "completions that are there leave a ring in random order"},
    {.name = "enospc", .type = GNN_OPT_BOOL, .offset = PLAN(write_enospc), .def = "no", .help = "the disk fills up"},
    {.name = "enospc-after", .type = GNN_OPT_BYTES, .offset = PLAN(write_enospc_after_bytes), .def = "0",
     .unit = "bytes", .help = "this much is written before it does"},
    {.name = "short-write", .type = GNN_OPT_F64, .offset = PLAN(write_short_probability), .def = "0", .max = 0.9,
     .help = "share of writes that write a part"},
    {.name = "alloc-at", .type = GNN_OPT_U64, .offset = PLAN(alloc_fail_at), .def = "0",
     .help = "the n-th large allocation fails; 0 = none"},
    {.name = "alloc", .type = GNN_OPT_F64, .offset = PLAN(alloc_fail_probability), .def = "0", .max = 1,
     .help = "share of large allocations that fail"},
    {.name = "device-slowdown", .type = GNN_OPT_F64, .offset = FIELD(device_slowdown), .def = "1", .min = 0.001,
     .max = 1e6, .help = "simulated world: every time of the device times this"},
    {.name = "die-at-batch", .type = GNN_OPT_U64, .offset = FIELD(die_at_batch), .def = "0",
     .help = "the worker kills itself after so many training steps; 0 = never"},
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
