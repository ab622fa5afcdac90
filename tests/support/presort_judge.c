/* SPDX-License-Identifier: MIT */
#include "tests/support/presort_judge.h"

#include <errno.h>
#include <string.h>

static uint64_t figure_of(const struct gnn_epoch_result *result, const char *name)
{
    for (uint32_t i = 0; i < result->figure_count; i++)
        if (strcmp(result->figures[i].name, name) == 0)
            return result->figures[i].value;
    return 0;
}

void presort_figures_of(const struct gnn_epoch_result *result, struct presort_figures *out)
{
    *out = (struct presort_figures){.planned_loads = figure_of(result, "planned_loads"),
                                    .hyperbatches = figure_of(result, "hyperbatches"),
                                    .windows = figure_of(result, "windows"),
                                    .direct_loads = figure_of(result, "direct_loads"),
                                    .sorted_loads = figure_of(result, "sorted_loads"),
                                    .sweep_rows = figure_of(result, "sweep_rows"),
                                    .sweep_reads = figure_of(result, "sweep_reads"),
                                    .written_bytes = figure_of(result, "scratch_write_bytes"),
                                    .gave_up = figure_of(result, "scratch_full"),
                                    .packed_rows = figure_of(result, "hot_rows"),
                                    .packed_bytes = figure_of(result, "hot_write_bytes"),
                                    .gave_up_packing = figure_of(result, "hot_full"),
                                    .gave_up_spooling = figure_of(result, "spool_full")};
}

/* ---- figures ---- */

static const char *compare_figures(const struct presort_judge *judge, const struct presort_figures *f,
                                   const struct presort_figures *plain)
{
    if (f->direct_loads + f->sorted_loads != f->planned_loads)
        return "loads were executed that were not planned, or the other way round";
    if (judge->failed_before || plain == NULL)
        return NULL;
    if (f->planned_loads != plain->planned_loads || f->hyperbatches != plain->hyperbatches ||
        f->windows != plain->windows)
        return "other loads, windows or hyperbatches than without failures";
    if (judge->gave_up_packing)
        return NULL; /* what is not packed may be sorted otherwise */
    struct presort_figures spooled = *f;
    spooled.gave_up_spooling = plain->gave_up_spooling;
    if (!judge->gave_up && memcmp(&spooled, plain, sizeof spooled) != 0)
        return "other rows were sorted than without failures, and the disk was not full";
    if (f->sorted_loads > plain->sorted_loads || f->sweep_rows > plain->sweep_rows ||
        f->sweep_reads > plain->sweep_reads || f->written_bytes > plain->written_bytes)
        return "more was sorted than without failures";
    return NULL;
}

/* ---- requests ---- */

/* Notes which rings have written so far. That of the sorting was opened after that of the packing, which writes where
 * rows are sorted alone. */
static void note_rings(const struct presort_judge *judge, struct presort_figures *f)
{
    f->sorting_ring = f->packing_ring = 0;
    for (uint64_t i = 0; i < io_log_count(judge->log); i++) {
        const struct io_request *const r = io_log_request(judge->log, i);
        if (!r->write || r->ring == f->sorting_ring)
            continue;
        f->packing_ring = r->ring < f->sorting_ring ? r->ring : f->sorting_ring;
        f->sorting_ring = r->ring > f->sorting_ring ? r->ring : f->sorting_ring;
    }
}

/* The moment when the owner of a ring's writes was first told that one was refused; IO_LOG_NEVER: it was not. */
static uint64_t first_refusal(const struct presort_judge *judge, uint32_t ring)
{
    uint64_t first = IO_LOG_NEVER;
    for (uint64_t i = judge->seen; i < io_log_count(judge->log); i++) {
        const struct io_request *const r = io_log_request(judge->log, i);
        if (r->write && r->ring == ring && r->result == -ENOSPC && r->told < first)
            first = r->told;
    }
    return first;
}

static bool in_flight_at(const struct io_request *r, uint64_t moment)
{
    return r->handed_over < moment && r->told >= moment;
}

/* Whether write number i asks for what the last write of that place before it did not bring about. */
static bool is_repeat(const struct presort_judge *judge, uint64_t i)
{
    const struct io_request *const write = io_log_request(judge->log, i);
    while (i-- > judge->seen) {
        const struct io_request *const r = io_log_request(judge->log, i);
        if (r->write && r->ring == write->ring && r->file == write->file && write->offset_bytes >= r->offset_bytes &&
            write->offset_bytes < r->offset_bytes + r->len_bytes)
            return r->told < write->handed_over && (r->result == -EAGAIN || r->result == -EINTR ||
                                                    (r->result >= 0 && r->result < (int32_t)r->len_bytes));
    }
    return false;
}

static void excuse(const struct io_request *r, struct gnn_fault_counts *excused)
{
    excused->writes_refused += r->write && r->result == -ENOSPC;
    excused->writes_eio += r->write && r->result == -EIO;
    excused->eio += !r->write && r->result == -EIO;
}

static const char *judge_quiet(const struct presort_judge *judge)
{
    for (uint64_t i = judge->seen; i < io_log_count(judge->log); i++)
        if (io_log_request(judge->log, i)->told == IO_LOG_NEVER)
            return "a request is in flight at the end of an epoch";
    return NULL;
}

/* When sorting and packing were given up in this epoch; IO_LOG_NEVER: they were not. */
struct ends {
    uint64_t sorting, packing;
};

/* When what the request is for was given up. The ring that reads for a ring of writes is the one before it: packed rows
 * are read as long as anything is swept. */
static uint64_t end_of(const struct io_request *r, const struct presort_figures *rings, const struct ends *ends)
{
    if (r->ring == rings->sorting_ring || r->ring + 1 == rings->sorting_ring)
        return ends->sorting;
    if (rings->packing_ring == 0)
        return IO_LOG_NEVER;
    if (r->ring == rings->packing_ring)
        return ends->packing < ends->sorting ? ends->packing : ends->sorting;
    return r->ring + 1 == rings->packing_ring ? ends->sorting : IO_LOG_NEVER;
}

/* What came after the first refused write of a kind. */
static const char *judge_requests(const struct presort_judge *judge, const struct presort_figures *rings,
                                  const struct ends *ends, struct gnn_fault_counts *excused)
{
    for (uint64_t i = judge->seen; i < io_log_count(judge->log); i++) {
        const struct io_request *const r = io_log_request(judge->log, i);
        const uint64_t end = end_of(r, rings, ends);
        if (end == IO_LOG_NEVER || r->told < end)
            continue;
        if (!in_flight_at(r, end) && !(r->write && is_repeat(judge, i)))
            return r->write ? "it wrote after it had given up" : "it swept on after it had given up";
        excuse(r, excused);
    }
    return NULL;
}

static const char *judge_ends(const struct presort_judge *judge, const struct presort_figures *figures,
                              const struct presort_figures *rings, struct gnn_fault_counts *excused)
{
    struct ends ends = {.sorting = IO_LOG_NEVER, .packing = IO_LOG_NEVER};
    if (figures->gave_up > 0)
        ends.sorting = first_refusal(judge, rings->sorting_ring);
    if (figures->gave_up_packing > 0)
        ends.packing = first_refusal(judge, rings->packing_ring);
    if (figures->gave_up > 0 && ends.sorting == IO_LOG_NEVER)
        return "it gave up sorting, but no write had been refused";
    if (figures->gave_up_packing > 0 && ends.packing == IO_LOG_NEVER)
        return "it gave up packing, but no write had been refused";
    return judge_requests(judge, rings, &ends, excused);
}

/* After a run gave up in an earlier epoch it writes nothing, after it gave up packing it packs nothing. */
static const char *judge_silence(const struct presort_judge *judge, bool gave_up, uint32_t packing_ring)
{
    for (uint64_t i = judge->seen; i < io_log_count(judge->log); i++) {
        const struct io_request *const r = io_log_request(judge->log, i);
        if (r->write && (gave_up || r->ring == packing_ring))
            return "it wrote in a later epoch than that in which it gave up";
    }
    return NULL;
}

const char *presort_judge_epoch(struct presort_judge *judge, enum gnn_status status, struct presort_figures *figures,
                                const struct presort_figures *plain, struct gnn_fault_counts *excused)
{
    const bool gave_up_before = judge->gave_up, gave_up_packing_before = judge->gave_up_packing;
    const char *wrong = NULL;
    *excused = (struct gnn_fault_counts){.reads = 0};
    note_rings(judge, figures);
    const struct presort_figures *const rings = plain != NULL ? plain : figures;
    judge->gave_up = gave_up_before || figures->gave_up > 0;
    judge->gave_up_packing = gave_up_packing_before || figures->gave_up_packing > 0;
    if (figures->gave_up > (gave_up_before ? 0 : 1) || figures->gave_up_packing > (gave_up_packing_before ? 0 : 1))
        wrong = "it gave up more than once";
    else if (gave_up_before || gave_up_packing_before)
        wrong = judge_silence(judge, gave_up_before, rings->packing_ring);
    if (wrong == NULL)
        wrong = judge_ends(judge, figures, rings, excused);
    if (wrong == NULL && status == GNN_OK)
        wrong = judge_quiet(judge);
    if (wrong == NULL && status == GNN_OK)
        wrong = compare_figures(judge, figures, plain);
    if (wrong == NULL && figures->gave_up_spooling > (judge->gave_up_spooling ? 0 : 1))
        wrong = "it gave up spooling more than once";
    judge->gave_up_spooling = judge->gave_up_spooling || figures->gave_up_spooling > 0;
    excused->writes_refused += figures->gave_up_spooling;
    judge->seen = io_log_count(judge->log);
    judge->failed_before = judge->failed_before || status != GNN_OK;
    return wrong;
}
