/* SPDX-License-Identifier: MIT */
#include "systems/presort/weigh.h"

#include <assert.h>

/* workloads/hardware/costs/reference.ini */
static const struct gnn_profile_cpu reference = {
    .work_ps = {[GNN_WORK_SAMPLED_EDGE] = 7000,
                [GNN_WORK_HASHED_ID] = 8000,
                [GNN_WORK_SORTED_KEY] = 5800,
                [GNN_WORK_COPIED_BYTE] = 70,
                [GNN_WORK_TABLE_ENTRY] = 12000},
    .gather_row_ns = 120,
    .submit_ns = 700,
    .complete_ns = 600,
    .wake_ns = 3500,
    .wake_latency_ns = 5700,
    .thread_start_ns = 36000,
};

enum { PS_PER_NS = 1000 };
enum { MEMBER_ENTRIES = 5, LOAD_ENTRIES = 4 }; /* of tables that planning looks up for each */
enum { CLASS_PASSES = 3 };                     /* of choosing the classes over a set of nodes, in order */

struct weighing {
    const struct presort_scales *s;
    const struct presort_candidate *c;
    const struct gnn_profile_cpu *cpu;
    uint64_t rows;                  /* that mini-batches ask for */
    uint32_t windows, hyperbatches; /* of an epoch */
    uint64_t members;               /* rows of all windows */
    uint64_t loads;
    uint64_t swept_bytes; /* of large reads: what the sweeps cost where all loads are sorted */
    bool sorted;
};

static uint64_t work_ns(const struct weighing *w, enum gnn_work kind, uint64_t count)
{
    return (uint64_t)((unsigned __int128)count * w->cpu->work_ps[kind] / PS_PER_NS);
}

static uint64_t device_ns(const struct weighing *w, uint64_t bytes)
{
    return (uint64_t)((unsigned __int128)bytes * w->s->page_ps / GNN_PAGE_BYTES / PS_PER_NS);
}

/* A row that comes from a place that no cache holds. */
static uint64_t copy_ns(const struct weighing *w, uint64_t rows)
{
    return rows * w->cpu->gather_row_ns + work_ns(w, GNN_WORK_COPIED_BYTE, rows * w->s->costs.row_bytes);
}

/* ---- what is loaded ---- */

/* Returns the fewest windows whose rows have room. */
static uint32_t least_windows(const struct presort_scales *s, const struct presort_candidate *c)
{
    uint32_t few = gnn_min_u32(c->windows, s->batches), many = s->batches;
    while (few < many) {
        const uint32_t middle = few + (many - few) / 2;
        if (presort_uses_rows(s->uses, middle) <= (uint64_t)middle * c->window_rows)
            many = middle;
        else
            few = middle + 1;
    }
    return few;
}

/* What the sweeps cost, one a hyperbatch: a row's share is a request, or the bytes up to it from the one before. */
static uint64_t sweeps_bytes(const struct weighing *w)
{
    const uint64_t rows = presort_uses_others(w->s->uses, w->c->slots, w->hyperbatches);
    const uint64_t all = (uint64_t)w->hyperbatches * w->s->nodes * w->s->costs.row_bytes;
    return gnn_min_u64(rows * w->s->costs.random_bytes, all);
}

static void count(struct weighing *w)
{
    const struct presort_scales *const s = w->s;
    w->rows = presort_uses_rows(s->uses, s->batches);
    w->windows = least_windows(s, w->c);
    w->members = presort_uses_rows(s->uses, w->windows);
    w->hyperbatches = (uint32_t)gnn_max_u64(gnn_div_up(w->members, w->c->members_max), w->c->hyperbatches);
    w->loads = presort_uses_others(s->uses, w->c->slots, w->windows);
    w->swept_bytes = sweeps_bytes(w);
    const bool cheaper = w->loads * s->costs.sorted_bytes + w->swept_bytes < w->loads * s->costs.random_bytes;
    w->sorted = s->classes == PRESORT_SORTED || (s->classes == PRESORT_AUTO && cheaper);
}

/* ---- stages ---- */

/* Returns how often drawing all mini-batches once waits for a page that has no room in memory. */
static uint64_t faults(const struct weighing *w)
{
    return w->s->list_pages > 0 ? w->s->uses->sources * w->c->absent_percent / 100 : 0;
}

/* Returns an epoch's share of the waits for the others, which come in once in a run, for the preparation. */
static uint64_t first_faults(const struct weighing *w)
{
    return w->s->list_pages > 0 ? gnn_min_u64(w->s->uses->sources - faults(w), w->s->list_pages) / w->s->epochs : 0;
}

/* Drawing all mini-batches once. */
static uint64_t draw_ns(const struct weighing *w)
{
    const uint64_t edges = w->s->uses->edges;
    return work_ns(w, GNN_WORK_SAMPLED_EDGE, edges) + work_ns(w, GNN_WORK_HASHED_ID, edges) +
           work_ns(w, GNN_WORK_SORTED_KEY, edges) + work_ns(w, GNN_WORK_TABLE_ENTRY, edges + w->s->uses->sources);
}

/* Windows, replacement, classes, and copies to staging. */
static uint64_t plan_ns(const struct weighing *w)
{
    const uint64_t passes = (uint64_t)w->hyperbatches * CLASS_PASSES + w->windows;
    const uint64_t entries =
        w->rows + MEMBER_ENTRIES * w->members + LOAD_ENTRIES * w->loads + (uint64_t)w->hyperbatches * w->c->slots;
    return work_ns(w, GNN_WORK_TABLE_ENTRY, entries) + work_ns(w, GNN_WORK_SORTED_KEY, w->members) +
           work_ns(w, GNN_WORK_COPIED_BYTE, passes * gnn_div_up(w->s->nodes, 8)) +
           (w->sorted ? copy_ns(w, w->loads) : 0);
}

/* What the sorting waits for: the sweeps, and writing what they bring. */
static uint64_t distribute_ns(const struct weighing *w)
{
    const struct presort_costs *const costs = &w->s->costs;
    return w->sorted ? device_ns(w, w->swept_bytes + w->loads * (costs->sorted_bytes - costs->row_bytes)) : 0;
}

static uint64_t load_ns(const struct weighing *w)
{
    const uint64_t request_ns = w->sorted ? 0 : w->cpu->submit_ns + w->cpu->complete_ns;
    return w->loads * request_ns + work_ns(w, GNN_WORK_TABLE_ENTRY, w->loads) + copy_ns(w, w->loads);
}

/* Mini-batches are drawn twice. */
static uint64_t requests_ns(const struct weighing *w)
{
    const uint64_t each = w->sorted ? w->s->costs.sorted_bytes : w->s->costs.random_bytes;
    return device_ns(w, w->loads * each + (w->sorted ? w->swept_bytes : 0) +
                            (2 * faults(w) + first_faults(w)) * w->s->fault_bytes);
}

/* Threads that draw ahead take as many mini-batches as they are, and wait for the last of them. */
static uint64_t hand_out_ns(const struct weighing *w)
{
    const uint64_t turns = gnn_div_up(w->s->batches, w->c->threads);
    return w->c->threads > 1 ? turns * (w->c->threads * w->cpu->wake_ns + 2 * w->cpu->wake_latency_ns) : 0;
}

void presort_weigh(const struct presort_scales *scales, const struct presort_candidate *candidate,
                   struct presort_weight *out)
{
    struct weighing w = {.s = scales, .c = candidate, .cpu = scales->cpu != NULL ? scales->cpu : &reference};
    assert(candidate->threads > 0);
    assert(scales->cores > 0);
    assert(scales->epochs > 0);
    count(&w);
    const uint64_t draw = draw_ns(&w), plan = plan_ns(&w), load = load_ns(&w);
    const uint64_t waits = faults(&w) * scales->fault_ns, first_waits = first_faults(&w) * scales->fault_ns;
    const uint64_t assemble = draw + work_ns(&w, GNN_WORK_TABLE_ENTRY, w.rows) + copy_ns(&w, w.rows);
    *out = (struct presort_weight){.loads = w.loads, .sorted = w.sorted, .device_ns = requests_ns(&w)};
    out->prepare_ns = (draw + waits + first_waits) / candidate->threads + hand_out_ns(&w) + plan + distribute_ns(&w);
    out->load_ns = load;
    out->assemble_ns = (assemble + waits) / candidate->threads;
    out->work_ns = (draw + plan + load + assemble) / scales->cores;
    const uint64_t stages = gnn_max_u64(gnn_max_u64(out->prepare_ns, load), out->assemble_ns);
    out->epoch_ns = gnn_max_u64(gnn_max_u64(stages, out->device_ns), out->work_ns) +
                    UINT64_C(2) * candidate->threads * w.cpu->thread_start_ns;
}
