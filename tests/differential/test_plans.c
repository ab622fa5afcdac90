/* SPDX-License-Identifier: MIT */
/* The memory plan of every system, part by part, is what tests/golden/plans.txt has: a size that counts a table twice,
 * forgets one, or takes a product for a sum is a changed line. A plan is arithmetic on the dataset's shape, the
 * workload, the parameters and the cap, so it is the same everywhere. Rounding to pages hides small terms, so the plans
 * of mini-batches of 64 sizes are there too, added up.
 *
 *   OOCGNN_TEST_PLANS=FILE    writes what the plans are now to FILE; look at the difference before it is kept */
#include "harness/system/system.h"
#include "tests/support/fixture.h"
#include "tests/support/link_run.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINES_BYTES = 1 << 18, SEEDS_STEP = 11, SEEDS_MAX = 64 * SEEDS_STEP };

static const struct train_graph_config graph = {
    .nodes = 5000, .mean_degree = 30, .dim = 24, .classes = 5, .train = 700, .seed = 11};

struct planned {
    const char *system;
    const char *const *options;
};

/* Beside the defaults: the mechanisms whose tables are opened only when they are asked for. */
static const struct planned variants[] = {
    {"pygplus", OPTIONS("workers=3", "gather_threads=5")},
    {"ginex", OPTIONS("superbatch=3", "samplers=3")},
    {"ginex", OPTIONS("feature_cache=200K", "neighbour_cache=150K", "trace_block=64K")},
    {"gnndrive", OPTIONS("samplers=3", "extractors=2", "batch_nodes=900")},
    {"gnndrive", OPTIONS("batch_nodes=900", "io=buffered", "joint=false", "buffer_mult=3")},
    {"ringsampler", OPTIONS("threads=3", "io=sorted", "cache=100K")},
    {"ringsampler", OPTIONS("threads=2", "io=direct", "dedupe=sort", "register_buffer=true")},
    {"agnes", OPTIONS("block=4K", "hyperbatch=3", "workers=3")},
    {"agnes", OPTIONS("block=8K", "feature_cache=64K", "overlap=full")},
    {"agnes", OPTIONS("block=8K", "feature_cache=64K", "overlap=epochs", "first=1")},
    {"diskgnn", OPTIONS("partitions=4", "segment=3", "samplers=3")},
    {"diskgnn", OPTIONS("cache_ratio=20", "gpu_share=25", "disk_rows=300")},
    {"mariusgnn", OPTIONS("partitions=8", "capacity=4", "loaders=3")},
    {"mariusgnn", OPTIONS("partitions=12", "capacity=5", "policy=replace", "edges=in")},
    {"presort", OPTIONS("hyperbatch=3", "topology=mapped")},
    {"presort", OPTIONS("topology=resident", "merge=0", "row_memory=600K")},
    {"presort", OPTIONS("hot=run", "sweep_read=8K", "block=4K")},
    {"presort", OPTIONS("reuse=3")},
    {"presort", OPTIONS("topology=swept", "depth=3", "merge=4K")},
    {"graphbolt", OPTIONS("samplers=3", "parts=3", "rings=2", "group=5", "in_flight=2")},
    {"graphbolt", OPTIONS("rings=2", "policy=s3-fifo", "block=8K")},
};

/* Sizes that are given, where a cap changes nothing. */
static const struct planned given[] = {
    {"gnndrive", OPTIONS("joint=false", "batch_nodes=300", "depth=7")},
    {"ringsampler", OPTIONS("threads=2", "io=mapped", "workspaces=release")},
    {"agnes", OPTIONS("block=4K", "graph_buffer=100K")},
    {"diskgnn", OPTIONS("cpu_cache=100K", "gpu_cache=50K")},
    {"presort", OPTIONS("list_memory=50K")},
    {"presort", OPTIONS("topology=swept", "round_memory=20K")},
    {"graphbolt", OPTIONS("rings=1", "cache=100K")},
};

/* A share of what the cap leaves. */
static const struct planned shares[] = {
    {"gnndrive", OPTIONS("buffer_share=50", "batch_nodes=300", "extractors=1")},
};

static const struct planned sampling[] = {
    {"ringsampler", OPTIONS("threads=3", "frontier=neighbours")},
    {"ringsampler", OPTIONS("threads=2", "io=sorted", "bundle=3")},
};

static const struct planned on_device[] = {
    {"pygplus", NULL},
    {"ginex", NULL},
    {"gnndrive", OPTIONS("extractors=2", "staging=50")},
    {"ringsampler", OPTIONS("threads=2")},
    {"agnes", OPTIONS("block=4K")},
    {"diskgnn", OPTIONS("cpu_cache=100K", "transfer=blocking")},
    {"diskgnn", OPTIONS("gpu_cache=50K")},
    {"mariusgnn", OPTIONS("partitions=8")},
    {"presort", NULL},
    {"graphbolt", OPTIONS("rings=2")},
    {"graphbolt", OPTIONS("rings=2", "gpu_cache=50K", "parts=200")},
};

/* Where float16 takes memory of its own on a device. */
static const struct planned device_halves[] = {
    {"pygplus", OPTIONS("transfer=ahead")},
    {"diskgnn", OPTIONS("assembly=stream", "cpu_cache=100K")},
    {"diskgnn", OPTIONS("assembly=scatter", "cpu_cache=100K")},
    {"diskgnn", OPTIONS("assembly=kernel", "cpu_cache=100K")},
};

static const struct planned links[] = {
    {"pygplus", NULL},
    {"mariusgnn", OPTIONS("partitions=8", "capacity=4")},
    {"mariusgnn", OPTIONS("partitions=6", "capacity=6", "vectors=kept")},
};

/* Links behind a GNN, learned by Adam. */
static const struct planned encoded[] = {
    {"pygplus", OPTIONS("workers=3")},
    {"mariusgnn", OPTIONS("partitions=8", "capacity=4")},
    {"mariusgnn", OPTIONS("partitions=6", "capacity=6", "edges=in")},
};

enum kind { NODES, SAMPLING, ON_A_DEVICE };
static const char *const kind_words[] = {"nodes", "sampling", "nodes on a device"};

struct lines {
    char *text;
    size_t used;
};

static void say(struct lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct lines *lines, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int more = vsnprintf(lines->text + lines->used, LINES_BYTES - lines->used, format, args);
    va_end(args);
    assert_in_range(more, 0, LINES_BYTES - lines->used - 1);
    lines->used += (size_t)more;
}

static void say_title(struct lines *lines, const char *task, const struct planned *p, uint32_t cap_mib)
{
    say(lines, "%s: %s", task, p->system);
    for (uint32_t o = 0; p->options != NULL && p->options[o] != NULL; o++)
        say(lines, " %s", p->options[o]);
    if (cap_mib > 0)
        say(lines, " under %u MiB", cap_mib);
    say(lines, "\n");
}

/* A line a part: bytes, its name, and where it is not held all the time or by the host. */
static void say_plan(struct lines *lines, const struct gnn_memory_plan *plan, enum gnn_status status)
{
    if (status != GNN_OK) {
        say(lines, "    %s\n", gnn_status_name(status));
        return;
    }
    for (uint32_t i = 0; i < plan->part_count; i++) {
        const struct gnn_plan_part *const part = &plan->parts[i];
        say(lines, "    %10" PRIu64 " %s", part->bytes, part->name);
        if (part->phases != GNN_PLAN_ALL_PHASES)
            say(lines, ", phases %x", part->phases);
        say(lines, "%s%s\n", part->in_flight ? ", in flight" : "", part->on_device ? ", on the device" : "");
    }
    say(lines, "    %10" PRIu64 " together\n", gnn_plan_bytes(plan));
}

/* seeds: of a mini-batch; 0: as usual. */
static enum gnn_status plan_nodes(struct fixture *f, const struct planned *p, uint32_t cap_mib, enum kind kind,
                                  uint32_t seeds, struct gnn_memory_plan *plan)
{
    struct train_run run;
    train_run_init(&run, f->world, p->system);
    run.options = p->options;
    run.cap_bytes = (uint64_t)cap_mib << 20;
    run.workload.sample_only = kind == SAMPLING;
    run.workload.batch_size = seeds > 0 ? seeds : run.workload.batch_size;
    run.device = kind == ON_A_DEVICE;
    const enum gnn_status status = train_run_plan(&run, &f->graph, plan);
    free(run.config);
    return status;
}

static void say_nodes(struct lines *lines, struct fixture *f, const struct planned *p, uint32_t cap_mib, enum kind kind)
{
    struct gnn_memory_plan plan;
    const enum gnn_status status = plan_nodes(f, p, cap_mib, kind, 0, &plan);
    say_title(lines, kind_words[kind], p, cap_mib);
    say_plan(lines, &plan, status);
}

/* A line a part: the sum of its bytes over all sizes of a mini-batch, and how many of those are refused. */
static void say_sums(struct lines *lines, struct fixture *f, const struct planned *p, enum kind kind)
{
    struct gnn_memory_plan plan;
    uint64_t sums[GNN_PLAN_PARTS_MAX] = {0};
    uint32_t refused = 0;
    const char *names[GNN_PLAN_PARTS_MAX];
    uint32_t parts = 0;
    for (uint32_t seeds = SEEDS_STEP; seeds <= SEEDS_MAX; seeds += SEEDS_STEP) {
        if (plan_nodes(f, p, 0, kind, seeds, &plan) != GNN_OK) {
            refused++;
            continue;
        }
        assert_true(parts == 0 || parts == plan.part_count);
        parts = plan.part_count;
        for (uint32_t i = 0; i < parts; i++) {
            sums[i] += plan.parts[i].bytes;
            names[i] = plan.parts[i].name;
        }
    }
    say(lines, "%d to %d seeds, ", SEEDS_STEP, SEEDS_MAX);
    say_title(lines, kind_words[kind], p, 0);
    for (uint32_t i = 0; i < parts; i++)
        say(lines, "    %10" PRIu64 " %s\n", sums[i], names[i]);
    if (refused > 0)
        say(lines, "    %10u refused\n", refused);
}

static void say_links(struct lines *lines, struct fixture *f, const char *dir, const struct planned *p,
                      uint32_t cap_mib, bool encoder)
{
    struct link_run run;
    struct gnn_memory_plan plan;
    link_run_init(&run, f->world, p->system, dir, 24);
    run.options = p->options;
    run.cap_bytes = (uint64_t)cap_mib << 20;
    if (encoder) {
        run.workload.layers = 2;
        run.workload.fanout[0] = 4;
        run.workload.fanout[1] = 3;
        run.link_config.optimizer = GNN_OPTIMIZER_ADAM;
    }
    const enum gnn_status status = link_run_plan(&run, &plan);
    say_title(lines, encoder ? "encoded links" : "links", p, cap_mib);
    say_plan(lines, &plan, status);
    link_run_close(&run);
}

static void say_all(struct lines *lines, struct fixture *f, const char *dir)
{
    for (uint32_t s = 0; gnn_systems[s] != NULL; s++) {
        const struct planned plain = {gnn_systems[s]->name, NULL};
        if (gnn_systems[s]->plan == NULL)
            continue;
        say_nodes(lines, f, &plain, 0, NODES);
        say_nodes(lines, f, &plain, 48, NODES);
        say_nodes(lines, f, &plain, 0, SAMPLING);
        say_sums(lines, f, &plain, NODES);
    }
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        say_nodes(lines, f, &variants[v], 0, NODES);
        say_nodes(lines, f, &variants[v], 24, NODES);
        say_sums(lines, f, &variants[v], NODES);
    }
    for (size_t v = 0; v < sizeof given / sizeof *given; v++)
        say_nodes(lines, f, &given[v], 0, NODES);
    for (size_t v = 0; v < sizeof shares / sizeof *shares; v++)
        say_nodes(lines, f, &shares[v], 1, NODES);
    for (size_t v = 0; v < sizeof sampling / sizeof *sampling; v++) {
        say_nodes(lines, f, &sampling[v], 0, SAMPLING);
        say_sums(lines, f, &sampling[v], SAMPLING);
    }
    for (size_t v = 0; v < sizeof on_device / sizeof *on_device; v++)
        say_nodes(lines, f, &on_device[v], 0, ON_A_DEVICE);
    for (size_t v = 0; v < sizeof links / sizeof *links; v++) {
        say_links(lines, f, dir, &links[v], 0, false);
        say_links(lines, f, dir, &links[v], 24, false);
    }
    for (size_t v = 0; v < sizeof encoded / sizeof *encoded; v++)
        say_links(lines, f, dir, &encoded[v], 0, true);
}

/* Rows of float16: stored ones have half the bytes, and one input has them widened. */
static void say_halves(struct lines *lines, struct fixture *f)
{
    say(lines, "features of float16\n");
    for (uint32_t s = 0; gnn_systems[s] != NULL; s++) {
        const struct planned plain = {gnn_systems[s]->name, NULL};
        if (gnn_systems[s]->plan == NULL)
            continue;
        say_nodes(lines, f, &plain, 0, NODES);
        say_nodes(lines, f, &plain, 0, SAMPLING);
        say_sums(lines, f, &plain, NODES);
    }
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++)
        say_nodes(lines, f, &variants[v], 24, NODES);
    for (size_t v = 0; v < sizeof on_device / sizeof *on_device; v++)
        say_nodes(lines, f, &on_device[v], 0, ON_A_DEVICE);
    for (size_t v = 0; v < sizeof device_halves / sizeof *device_halves; v++)
        say_nodes(lines, f, &device_halves[v], 0, ON_A_DEVICE);
}

static void keep(const struct lines *lines, const char *path)
{
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(lines->text, 1, lines->used, file), lines->used);
    assert_int_equal(fclose(file), 0);
}

/* Fails with the first line that differs and the plan that it belongs to. */
static void compare(const struct lines *lines, const char *path)
{
    FILE *const file = fopen(path, "r");
    char *wanted = NULL, title[200] = "", *at = lines->text;
    size_t room = 0;
    uint32_t number = 1;
    assert_non_null(file);
    for (ssize_t length; (length = getline(&wanted, &room, file)) > 0; number++) {
        if (wanted[0] != ' ')
            (void)snprintf(title, sizeof title, "%.*s", (int)length - 1, wanted);
        const size_t found = strcspn(at, "\n") + 1;
        if (found != (size_t)length || memcmp(at, wanted, found) != 0)
            fail_msg("%s:%u, %s: expected %.*s, found %.*s; OOCGNN_TEST_PLANS=FILE writes all of them", path, number,
                     title, (int)length - 1, wanted, (int)found - 1, at);
        at += found;
    }
    assert_int_equal(*at, 0);
    free(wanted);
    assert_int_equal(fclose(file), 0);
}

static void test_every_part_has_its_bytes(void **state)
{
    static const struct link_graph knowledge = {.nodes = 600, .relations = 4, .edges = 4000, .seed = 3};
    const char *const out = getenv("OOCGNN_TEST_PLANS");
    struct lines lines = {.text = calloc(1, LINES_BYTES)};
    char dir[DATA_PATH];
    struct fixture f;
    assert_non_null(lines.text);
    link_graph_import(&knowledge, *state, dir);
    fixture_open(&f, .graph = &graph, .simulated = true);
    say_all(&lines, &f, dir);
    fixture_close(&f);
    struct train_graph_config halves = graph;
    halves.feature_type = GNN_F16;
    fixture_open(&f, .graph = &halves, .simulated = true);
    say_halves(&lines, &f);
    fixture_close(&f);
    if (out != NULL)
        keep(&lines, out);
    else
        compare(&lines, "tests/golden/plans.txt");
    free(lines.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_part_has_its_bytes, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
