/* SPDX-License-Identifier: MIT */
#include "tests/support/random_faults.h"

#include "harness/base/rng.h"
#include "harness/run/fault_option.h"
#include "harness/world/measured/measured.h"
#include "tests/support/must.h"
#include "tests/support/presort_judge.h"
#include "tests/support/sim_profile.h"
#include "tests/support/sim_world.h"
#include "tests/support/train_graph.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    SYSTEMS_MAX = 32,
    VARIANTS = 64, /* of a system: draws of parameters and workload; number 0 draws none */
    WORDS_MAX = 48,
    WORD_BYTES = 64,
    SPARSE = 2, /* the last graph */
    GRAPHS = 3,
    EPOCHS = 2,
    NUMBERS = 14,     /* what is compared of an epoch */
    VALUES_EVERY = 8, /* runs, one is made in the measured world, where rows have values */
    SLOW_NS_MAX = 100000,
    READS_TYPICAL = 400,
    WRITES_TYPICAL = 60,
    ALLOCATIONS_TYPICAL = 60,
};

/* Rows below a sector and rows that straddle two; IDs of both widths. In the last one rows in use lie far from each
 * other. */
static const struct train_graph_config shapes[GRAPHS] = {
    {.nodes = 300, .mean_degree = 5, .dim = 100, .classes = 4, .train = 45, .seed = 5},
    {.nodes = 260, .mean_degree = 4, .dim = 16, .classes = 3, .train = 40, .seed = 6, .id_bytes = 8},
    {.nodes = 12000, .mean_degree = 6, .dim = 128, .classes = 5, .train = 160, .seed = 11},
};

/* Sizes at which a system's mechanisms work on graphs that small. A system that is not here has its defaults; the bases
 * of one that is here twice take turns. */
static const struct {
    const char *system;
    bool sparse;          /* on the last graph */
    const char *words[6]; /* the last: NULL */
} bases[] = {
    {"gnndrive", false, {"batch_nodes=220"}},
    {"ginex", false, {"superbatch=3", "feature_cache=40K", "neighbour_cache=8K", "trace_block=8K"}},
    {"agnes", false, {"block=4K", "hyperbatch=3", "graph_buffer=8K", "feature_cache=4K"}},
    {"diskgnn", false, {"segment=3", "disk_rows=60", "cache_ratio=20", "partitions=3", "checkpoint=1"}},
    {"mariusgnn", false, {"partitions=15", "capacity=6"}},
    {"presort", false, {"row_memory=1", "hyperbatch=3", "block=4K", "classes=sorted"}},
    {"presort", true, {"row_memory=1", "hyperbatch=6", "block=4K", "classes=sorted", "hot=run"}},
    {"presort", false, {"row_memory=1", "hyperbatch=3", "block=4K", "topology=swept", "round_memory=1"}},
    {"presort", false, {"row_memory=1", "hyperbatch=5", "block=4K", "topology=swept", "round_memory=16K"}},
};
enum { BASES = sizeof bases / sizeof *bases };

/* A system with its parameters on a workload. */
struct setting {
    const struct gnn_system *system;
    uint32_t variant, graph, batch_size, word_count;
    char words[WORDS_MAX][WORD_BYTES];
    bool device, sample_only;
    enum gnn_model_kind model;
    enum gnn_ring_engine engine;
};

struct epoch_outcome {
    enum gnn_status status;
    uint64_t numbers[NUMBERS];
    struct presort_figures presort; /* of other systems: zero */
};
static const char *const number_names[NUMBERS] = {
    "seeds",          "steps", "batches", "sampled_nodes", "edges",      "batch_digest",  "spot_digest",
    "trained_digest", "seen",  "needed",  "needed_bytes",  "rows_asked", "hits + misses", "requests"};

struct outcome {
    enum gnn_status open;
    struct epoch_outcome epoch[EPOCHS];
    struct gnn_fault_counts counts;
    uint64_t left_bytes;
    char breach[RANDOM_FAULTS_TEXT];
};

/* What is known of a draw of parameters: those that agree with each other, and the run without failures. */
struct known {
    struct setting setting;
    struct outcome plain;
    bool not_here; /* the measured world refuses them: no direct I/O, no polling */
};

enum { SIMULATED, MEASURED, WORLDS };

struct random_faults {
    struct train_graph graphs[GRAPHS];
    struct gnn_profile profile;
    uint32_t system_count;
    struct known *known[SYSTEMS_MAX][VARIANTS][WORLDS]; /* NULL: not needed yet */
};

struct random_faults *random_faults_open(void)
{
    struct random_faults *const all = calloc(1, sizeof *all);
    assert_non_null(all);
    for (uint32_t g = 0; g < GRAPHS; g++)
        train_graph_open(&shapes[g], &all->graphs[g]);
    sim_profile_fill(&all->profile);
    while (gnn_systems[all->system_count] != NULL)
        all->system_count++;
    assert_true(all->system_count <= SYSTEMS_MAX);
    return all;
}

void random_faults_close(struct random_faults *all)
{
    for (uint32_t s = 0; s < all->system_count; s++)
        for (uint32_t v = 0; v < VARIANTS; v++)
            for (uint32_t w = 0; w < WORLDS; w++)
                free(all->known[s][v][w]);
    for (uint32_t g = 0; g < GRAPHS; g++)
        train_graph_close(&all->graphs[g]);
    free(all);
}

/* ---- what is run ---- */

static void add_word(struct setting *s, const char *name, const char *value)
{
    assert_true(s->word_count < WORDS_MAX);
    assert_in_range(strlen(name) + 1 + strlen(value), 1, WORD_BYTES - 1);
    (void)snprintf(s->words[s->word_count++], WORD_BYTES, "%s=%s", name, value);
}

static bool is_given(const struct setting *s, const char *name)
{
    const size_t length = strlen(name);
    for (uint32_t i = 0; i < s->word_count; i++)
        if (strncmp(s->words[i], name, length) == 0 && s->words[i][length] == '=')
            return true;
    return false;
}

static void add_number(struct setting *s, const struct gnn_option *o, uint64_t most, struct gnn_rng *rng)
{
    char value[24];
    const uint64_t drawn = 1 + gnn_rng_below(rng, most);
    (void)snprintf(value, sizeof value, "%" PRIu64, gnn_max_u64(drawn, (uint64_t)o->min));
    add_word(s, o->name, value);
}

/* Words and counts of threads, reads and batches are drawn; sizes are the base's or the default. */
static void draw_option(struct setting *s, const struct gnn_option *o, struct gnn_rng *rng)
{
    const char *const unit = o->unit == NULL ? "" : o->unit;
    if (gnn_rng_below(rng, 2) == 0 || is_given(s, o->name))
        return;
    if (o->type == GNN_OPT_BOOL) {
        add_word(s, o->name, gnn_rng_below(rng, 2) == 0 ? "false" : "true");
    } else if (o->type == GNN_OPT_CHOICE) {
        uint32_t count = 0;
        while (o->choices[count] != NULL)
            count++;
        add_word(s, o->name, o->choices[gnn_rng_below(rng, count)]);
    } else if (o->type == GNN_OPT_U32 && strcmp(unit, "threads") == 0) {
        add_number(s, o, 3, rng);
    } else if (o->type == GNN_OPT_U32 && (strcmp(unit, "batches") == 0 || strcmp(unit, "reads") == 0)) {
        add_number(s, o, 6, rng);
    }
}

/* Gives the words of the system's base, and its graph. */
static void take_base(struct setting *s)
{
    uint32_t of_system[BASES], count = 0;
    for (uint32_t b = 0; b < BASES; b++)
        if (strcmp(bases[b].system, s->system->name) == 0)
            of_system[count++] = b;
    if (count == 0)
        return;
    const uint32_t base = of_system[s->variant % count];
    s->graph = bases[base].sparse ? SPARSE : s->graph;
    for (const char *const *word = bases[base].words; *word != NULL; word++)
        (void)snprintf(s->words[s->word_count++], WORD_BYTES, "%s", *word);
}

static void draw_setting(struct setting *s, const struct gnn_system *system, uint32_t variant)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(gnn_rng_fork(variant, "parameters"), gnn_rng_fork(0, system->name)));
    *s = (struct setting){.system = system, .variant = variant, .batch_size = 9};
    s->graph = variant == 0 ? 0 : (uint32_t)gnn_rng_below(&rng, SPARSE);
    take_base(s);
    if (variant == 0)
        return;
    s->batch_size = 4 + (uint32_t)gnn_rng_below(&rng, 6);
    s->device = (system->variants & GNN_VARIANT_GPU) != 0 && gnn_rng_below(&rng, 3) == 0;
    s->sample_only = (system->variants & GNN_VARIANT_SAMPLE_ONLY) != 0 && gnn_rng_below(&rng, 6) == 0;
    s->model = (enum gnn_model_kind)gnn_rng_below(&rng, GNN_MODEL_KINDS);
    s->engine = gnn_rng_below(&rng, 4) == 0 ? GNN_RING_POOL : GNN_RING_URING;
    for (const struct gnn_option *o = system->options; o != NULL && o->name != NULL; o++)
        draw_option(s, o, &rng);
}

static void describe(const struct setting *s, char *text)
{
    size_t used = (size_t)snprintf(
        text, RANDOM_FAULTS_TEXT, "graph %u, %u seeds, %s%s%s%s", s->graph, s->batch_size, gnn_model_names[s->model],
        s->device ? ", GPU" : "", s->sample_only ? ", sampling alone" : "", s->engine == GNN_RING_POOL ? ", pool" : "");
    for (uint32_t i = 0; i < s->word_count && used < RANDOM_FAULTS_TEXT; i++)
        used += (size_t)snprintf(text + used, RANDOM_FAULTS_TEXT - used, " %s", s->words[i]);
}

/* ---- the failures ---- */

static bool one_in(struct gnn_rng *rng, uint64_t times)
{
    return gnn_rng_below(rng, times) == 0;
}

/* 1 to most, each power of two as likely as the next. */
static uint64_t of_any_size(struct gnn_rng *rng, uint64_t most)
{
    uint32_t bits = 0;
    while (bits < 63 && UINT64_C(1) << (bits + 1) <= most)
        bits++;
    const uint64_t power = UINT64_C(1) << gnn_rng_below(rng, bits + 1);
    return gnn_min_u64(power + gnn_rng_below(rng, power), most);
}

static void draw_plan(uint64_t seed, struct gnn_rng *rng, struct gnn_run_faults *out)
{
    static const uint64_t delays_ns[] = {1000, 50000, 1000000, 30000000};
    struct gnn_fault_plan *const p = &out->plan;
    *out = (struct gnn_run_faults){.plan = {.seed = seed}, .device_slowdown = 1};
    p->slow_ns = delays_ns[gnn_rng_below(rng, 4)];
    if (one_in(rng, 3))
        p->read_eio_at = of_any_size(rng, READS_TYPICAL);
    if (one_in(rng, 8))
        p->read_eio_probability = 0.3 * gnn_rng_unit(rng) * gnn_rng_unit(rng);
    if (one_in(rng, 4))
        p->read_again_probability = 0.5 * gnn_rng_unit(rng);
    if (one_in(rng, 4))
        p->read_short_probability = 0.5 * gnn_rng_unit(rng);
    if (one_in(rng, 4))
        p->read_slow_probability = gnn_rng_unit(rng);
    p->shuffle = one_in(rng, 2);
    p->write_enospc = one_in(rng, 6);
    if (p->write_enospc)
        p->write_enospc_after_bytes = of_any_size(rng, 1 << 20);
    if (one_in(rng, 5))
        p->write_short_probability = 0.6 * gnn_rng_unit(rng);
    if (one_in(rng, 8))
        p->write_eio_at = of_any_size(rng, WRITES_TYPICAL);
    if (one_in(rng, 6))
        p->write_again_probability = 0.5 * gnn_rng_unit(rng);
    if (one_in(rng, 6))
        p->write_slow_probability = gnn_rng_unit(rng);
    if (one_in(rng, 6))
        p->alloc_fail_at = of_any_size(rng, ALLOCATIONS_TYPICAL);
    if (one_in(rng, 16))
        p->alloc_fail_probability = 0.1 * gnn_rng_unit(rng);
    if (one_in(rng, 10))
        out->die_at_batch = 1 + gnn_rng_below(rng, 8); /* here: the run's stop flag goes up */
}

/* The plan as --fault takes it. */
static void write_plan(const struct gnn_run_faults *faults, char *text)
{
    struct gnn_run_faults usual;
    size_t used = 0;
    gnn_option_defaults(gnn_fault_options, &usual);
    text[0] = '\0';
    for (const struct gnn_option *o = gnn_fault_options; o->name != NULL && used < RANDOM_FAULTS_TEXT; o++) {
        char value[GNN_TEXT_MAX], plain[GNN_TEXT_MAX];
        gnn_option_format(o, faults, value, sizeof value);
        gnn_option_format(o, &usual, plain, sizeof plain);
        if (strcmp(value, plain) != 0)
            used += (size_t)snprintf(text + used, RANDOM_FAULTS_TEXT - used, "%s%s=%s", used > 0 ? "," : "", o->name,
                                     value);
    }
}

/* ---- a run ---- */

static uint64_t sum_of(const uint32_t *times, uint32_t count)
{
    uint64_t key = 0;
    for (uint32_t v = 0; v < count; v++)
        key = gnn_rng_fold(key, times[v]);
    return key;
}

static uint64_t requests_of(const struct gnn_epoch_result *r)
{
    for (uint32_t i = 0; i < r->figure_count; i++)
        if (strcmp(r->figures[i].name, "requests") == 0)
            return r->figures[i].value;
    return 0;
}

static void keep_epoch(const struct train_run *run, enum gnn_status status, struct epoch_outcome *out)
{
    const struct gnn_counters *const n = &run->result.counters;
    const uint32_t nodes = run->env.dataset->node_count;
    const uint64_t looked_up =
        n->cache_hits == GNN_UNKNOWN || n->cache_misses == GNN_UNKNOWN ? GNN_UNKNOWN : n->cache_hits + n->cache_misses;
    const uint64_t numbers[NUMBERS] = {run->result.seeds,
                                       run->step_count,
                                       n->sample.batches,
                                       n->sample.sampled_nodes,
                                       n->sample.sampled_edges,
                                       n->sample.batch_digest,
                                       n->sample.spot_digest,
                                       run->trained_digest,
                                       sum_of(run->seen, nodes),
                                       sum_of(run->needed, nodes),
                                       n->needed_bytes,
                                       n->rows_asked,
                                       looked_up,
                                       requests_of(&run->result)};
    out->status = status;
    memcpy(out->numbers, numbers, sizeof numbers);
    presort_figures_of(&run->result, &out->presort);
}

static void note(struct outcome *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct outcome *out, const char *format, ...)
{
    va_list args;
    if (out->breach[0] != '\0')
        return; /* the first one is told */
    va_start(args, format);
    (void)vsnprintf(out->breach, sizeof out->breach, format, args);
    va_end(args);
}

/* What was injected since `before`, without what the run may pass over. */
static struct gnn_fault_counts counts_since(const struct gnn_fault_counts *before, const struct gnn_fault_counts *after,
                                            const struct gnn_fault_counts *excused)
{
    return (struct gnn_fault_counts){.eio = after->eio - before->eio - excused->eio,
                                     .shortened = after->shortened - before->shortened,
                                     .writes_eio = after->writes_eio - before->writes_eio - excused->writes_eio,
                                     .writes_refused =
                                         after->writes_refused - before->writes_refused - excused->writes_refused,
                                     .allocs_refused = after->allocs_refused - before->allocs_refused};
}

/* Which failures could a status come from. */
static bool was_injected(const char *system, enum gnn_status status, const struct gnn_fault_counts *injected,
                         bool stopped)
{
    switch (status) {
    case GNN_EIO:
        return injected->eio > 0 || injected->writes_eio > 0;
    case GNN_ENOMEM:
        return injected->allocs_refused > 0;
    case GNN_ENOSPC: /* where sorting is given up it is no error */
        return strcmp(system, "presort") != 0 && injected->writes_refused > 0;
    case GNN_ECANCELLED:
        return stopped;
    case GNN_ESHORT: /* reads of 4 bytes are not repeated (docs/invariants.md, RingSampler: 12) */
        return strcmp(system, "ringsampler") == 0 && injected->shortened > 0;
    default:
        return false;
    }
}

static void judge(struct outcome *out, const char *what, const struct train_run *run, enum gnn_status status,
                  const struct gnn_fault_counts *injected, bool stopped)
{
    const struct gnn_err *const err = &run->err;
    const uint64_t writes = injected->writes_refused + injected->writes_eio;
    if (status == GNN_OK && (injected->eio > 0 || writes > 0 || injected->allocs_refused > 0))
        note(out, "%s is ok, but %" PRIu64 " reads, %" PRIu64 " writes and %" PRIu64 " allocations had failed", what,
             injected->eio, writes, injected->allocs_refused);
    if (status == GNN_OK)
        return;
    if (err->message[0] == '\0')
        note(out, "%s: %s without a word", what, gnn_status_name(status));
    if (!was_injected(run->system, status, injected, stopped))
        note(out, "%s: %s, which nothing here caused: %s", what, gnn_status_name(status), err->message);
}

static void run_epochs(struct train_run *run, const struct outcome *plain, const struct io_log *log,
                       struct outcome *out, uint32_t stop_after)
{
    struct gnn_fault_counts before = out->counts;
    struct presort_judge presort = {.log = log, .seen = log == NULL ? 0 : io_log_count(log)};
    for (uint32_t e = 0; e < EPOCHS; e++) {
        char what[16];
        struct gnn_fault_counts excused = {.reads = 0};
        run->stop_after = e == 0 ? stop_after : 0;
        atomic_store(&run->stop, false);
        const enum gnn_status status = train_run_epoch(run, e);
        gnn_world_faulty_counts(run->world, &out->counts);
        keep_epoch(run, status, &out->epoch[e]);
        (void)snprintf(what, sizeof what, "epoch %u", e);
        if (run->wrong_values > 0) /* of an epoch that failed too: what it trained until then has to be right */
            note(out, "%s trained %u values that are not the file's", what, run->wrong_values);
        const char *const wrong = log == NULL
                                      ? NULL
                                      : presort_judge_epoch(&presort, status, &out->epoch[e].presort,
                                                            plain == NULL ? NULL : &plain->epoch[e].presort, &excused);
        if (wrong != NULL)
            note(out, "%s: %s", what, wrong);
        const struct gnn_fault_counts injected = counts_since(&before, &out->counts, &excused);
        judge(out, what, run, status, &injected, run->stop_after > 0);
        before = out->counts;
    }
}

static void init_run(struct random_faults *all, const struct setting *s, int kind, struct gnn_world *world,
                     const char **options, struct train_run *run)
{
    for (uint32_t i = 0; i < s->word_count; i++)
        options[i] = s->words[i];
    options[s->word_count] = NULL;
    train_run_init(run, world, s->system->name);
    run->options = options;
    run->device = s->device;
    run->modelled = kind == SIMULATED ? &all->profile : NULL;
    run->check_rows = kind == MEASURED;
    run->io_engine = s->engine;
    run->workload.batch_size = s->batch_size;
    run->workload.sample_only = s->sample_only;
    run->model_config.kind = s->model;
}

static struct gnn_world *open_world(struct random_faults *all, int kind)
{
    struct gnn_world *world = NULL;
    struct gnn_err err = {0};
    if (kind == SIMULATED)
        return sim_world_of(&all->profile, 0);
    must(gnn_world_measured_open(NULL, &world, &err), &err);
    return world;
}

static void close_world(struct gnn_world *world, int kind)
{
    if (kind == SIMULATED)
        gnn_world_simulated_close(world);
    else
        gnn_world_measured_close(world);
}

/* A measured run has a graph of its own, on whose disk no other run has left anything; so has every simulated one.
 * plain: the outcome without failures; NULL: this makes it. */
static void run_once(struct random_faults *all, const struct setting *s, int kind, const struct gnn_run_faults *faults,
                     const struct outcome *plain, struct outcome *out)
{
    const char *options[WORDS_MAX + 1];
    struct gnn_world *const inner = open_world(all, kind);
    struct gnn_world *world = NULL;
    struct gnn_mem_usage usage;
    struct gnn_err err = {0};
    struct train_graph own;
    struct train_run run;
    *out = (struct outcome){.open = GNN_OK};
    if (kind == MEASURED)
        train_graph_open(&shapes[s->graph], &own);
    must(gnn_world_faulty_open(inner, &faults->plan, &world, &err), &err);
    struct io_log *const log = strcmp(s->system->name, "presort") == 0 ? io_log_open(world) : NULL;
    init_run(all, s, kind, world, options, &run);
    out->open = train_run_open(&run, kind == MEASURED ? &own : &all->graphs[s->graph]);
    gnn_world_faulty_counts(world, &out->counts);
    judge(out, "open", &run, out->open, &out->counts, false);
    if (out->open == GNN_OK)
        run_epochs(&run, plain, log, out, (uint32_t)faults->die_at_batch);
    train_run_close(&run);
    io_log_close(log);
    gnn_mem_usage(inner, &usage);
    out->left_bytes = usage.current_bytes;
    if (out->left_bytes > 0)
        note(out, "%" PRIu64 " bytes of the world's memory are left", out->left_bytes);
    gnn_world_faulty_close(world);
    close_world(inner, kind);
    if (kind == MEASURED)
        train_graph_close(&own);
}

/* Parameters that contradict each other are refused where a run is planned. */
static bool is_refused(struct random_faults *all, const struct setting *s)
{
    const char *options[WORDS_MAX + 1];
    struct gnn_world *const world = sim_world_of(&all->profile, 0);
    struct gnn_memory_plan plan;
    struct train_run run;
    init_run(all, s, SIMULATED, world, options, &run);
    const bool refused = s->system->plan != NULL && train_run_plan(&run, &all->graphs[s->graph], &plan) != GNN_OK;
    free(run.config);
    gnn_world_simulated_close(world);
    return refused;
}

static const struct gnn_run_faults none = {.plan = {.seed = 1}, .device_slowdown = 1};

/* A draw that is refused, before anything was done or at open, loses its last word until it is not. */
static const struct known *known_of(struct random_faults *all, uint32_t system, uint32_t variant)
{
    struct known **const kept = &all->known[system][variant][SIMULATED];
    if (*kept == NULL) {
        *kept = calloc(1, sizeof **kept);
        assert_non_null(*kept);
        struct setting *const s = &(*kept)->setting;
        draw_setting(s, gnn_systems[system], variant);
        while (s->word_count > 0 && is_refused(all, s))
            s->word_count--;
        run_once(all, s, SIMULATED, &none, NULL, &(*kept)->plain);
        for (; (*kept)->plain.open == GNN_EUSAGE && s->word_count > 0;
             run_once(all, s, SIMULATED, &none, NULL, &(*kept)->plain))
            s->word_count--;
    }
    return *kept;
}

static bool has_word(const struct setting *s, const char *word)
{
    for (uint32_t i = 0; i < s->word_count; i++)
        if (strcmp(s->words[i], word) == 0)
            return true;
    return false;
}

/* No permission, no direct I/O; of polled completions only the first read tells that there are none. */
static bool is_of_this_machine(const struct setting *s, const struct outcome *plain)
{
    bool is = has_word(s, "iopoll=true") || plain->open == GNN_ENOTSUP || plain->open == GNN_EPERM;
    for (uint32_t e = 0; e < EPOCHS; e++)
        is = is || plain->epoch[e].status == GNN_ENOTSUP || plain->epoch[e].status == GNN_EPERM;
    return is;
}

/* The same parameters in the measured world. */
static const struct known *measured_of(struct random_faults *all, const struct known *simulated, uint32_t system)
{
    struct known **const kept = &all->known[system][simulated->setting.variant][MEASURED];
    if (*kept == NULL) {
        *kept = calloc(1, sizeof **kept);
        assert_non_null(*kept);
        (*kept)->setting = simulated->setting;
        (*kept)->setting.model = GNN_MODEL_SAGE; /* whose first reduction takes the rows as they came */
        run_once(all, &(*kept)->setting, MEASURED, &none, NULL, &(*kept)->plain);
        (*kept)->not_here = is_of_this_machine(&(*kept)->setting, &(*kept)->plain);
    }
    return *kept;
}

static void compare(struct outcome *out, const struct outcome *plain)
{
    for (uint32_t e = 0; e < EPOCHS && out->open == GNN_OK; e++)
        for (uint32_t n = 0; n < NUMBERS && out->epoch[e].status == GNN_OK; n++)
            if (out->epoch[e].numbers[n] != plain->epoch[e].numbers[n])
                note(out, "epoch %u is ok, but %s is %" PRIu64 ", and %" PRIu64 " without failures", e, number_names[n],
                     out->epoch[e].numbers[n], plain->epoch[e].numbers[n]);
}

static bool anything(const struct gnn_fault_counts *n)
{
    return n->eio + n->again + n->shortened + n->slow + n->writes_refused + n->writes_shortened + n->writes_eio +
               n->writes_again + n->writes_slow + n->allocs_refused >
           0;
}

/* In the measured world a delay is one: it is kept short. */
static void shorten_delays(struct gnn_run_faults *faults)
{
    faults->plan.slow_ns = gnn_min_u64(faults->plan.slow_ns, SLOW_NS_MAX);
}

void random_faults_run(struct random_faults *all, uint64_t seed, struct random_faults_verdict *out)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(seed, "random faults"));
    const uint32_t system = (uint32_t)gnn_rng_below(&rng, all->system_count);
    const struct known *known = known_of(all, system, (uint32_t)gnn_rng_below(&rng, VARIANTS));
    struct outcome *const run = malloc(sizeof *run);
    struct gnn_run_faults faults;
    int kind = SIMULATED;
    assert_non_null(run);
    draw_plan(seed, &rng, &faults);
    if (one_in(&rng, VALUES_EVERY) && known->plain.breach[0] == '\0') {
        const struct known *const measured = measured_of(all, known, system);
        kind = measured->not_here ? SIMULATED : MEASURED;
        known = measured->not_here ? known : measured;
    }
    if (kind == MEASURED)
        shorten_delays(&faults);
    *out = (struct random_faults_verdict){
        .system = known->setting.system->name, .end = known->plain.open, .measured = kind == MEASURED};
    describe(&known->setting, out->settings);
    if (known->plain.breach[0] != '\0') {
        (void)snprintf(out->breach, sizeof out->breach, "without any failure: %.1000s", known->plain.breach);
    } else {
        write_plan(&faults, out->plan);
        run_once(all, &known->setting, kind, &faults, &known->plain, run);
        compare(run, &known->plain);
        out->end = run->open;
        for (uint32_t e = 0; e < EPOCHS && out->end == GNN_OK; e++)
            out->end = run->epoch[e].status;
        out->injected = anything(&run->counts) || out->end == GNN_ECANCELLED;
        memcpy(out->breach, run->breach, sizeof out->breach);
    }
    free(run);
}
