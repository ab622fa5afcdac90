#include "tests/support/presort_judge.h"

#include <assert.h>
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
                                    .gave_up = figure_of(result, "scratch_full")};
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
    if (!judge->gave_up && memcmp(f, plain, sizeof *f) != 0)
        return "other rows were sorted than without failures, and the disk was not full";
    if (f->sorted_loads > plain->sorted_loads || f->sweep_rows > plain->sweep_rows ||
        f->sweep_reads > plain->sweep_reads || f->written_bytes > plain->written_bytes)
        return "more was sorted than without failures";
    return NULL;
}

/* ---- requests ---- */

/* The first write that was refused, as its owner was told; NULL: none. */
static const struct io_request *first_refused(const struct presort_judge *judge)
{
    const struct io_request *first = NULL;
    for (uint64_t i = judge->seen; i < io_log_count(judge->log); i++) {
        const struct io_request *const r = io_log_request(judge->log, i);
        if (r->write && r->result == -ENOSPC && (first == NULL || r->told < first->told))
            first = r;
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

/* What came after the first refused write. The sweep's ring is the one that was opened before that of its writes. */
static const char *judge_requests(const struct presort_judge *judge, struct gnn_fault_counts *excused)
{
    const struct io_request *const refused = first_refused(judge);
    if (refused == NULL)
        return "it gave up sorting, but no write had been refused";
    assert(refused->ring > 0);
    for (uint64_t i = judge->seen; i < io_log_count(judge->log); i++) {
        const struct io_request *const r = io_log_request(judge->log, i);
        const bool sorts = r->ring == refused->ring || r->ring + 1 == refused->ring;
        if (!sorts || r->told < refused->told)
            continue;
        if (!in_flight_at(r, refused->told) && !(r->write && is_repeat(judge, i)))
            return r->write ? "it wrote after it had given up" : "it swept on after it had given up";
        excuse(r, excused);
    }
    return NULL;
}

/* After a run gave up in an earlier epoch it writes nothing. */
static const char *judge_silence(const struct presort_judge *judge)
{
    for (uint64_t i = judge->seen; i < io_log_count(judge->log); i++)
        if (io_log_request(judge->log, i)->write)
            return "it wrote in a later epoch than that in which it gave up";
    return NULL;
}

const char *presort_judge_epoch(struct presort_judge *judge, enum gnn_status status,
                                const struct presort_figures *figures, const struct presort_figures *plain,
                                struct gnn_fault_counts *excused)
{
    const bool gave_up_before = judge->gave_up, gives_up = figures->gave_up > 0;
    const char *wrong = NULL;
    *excused = (struct gnn_fault_counts){.reads = 0};
    judge->gave_up = gave_up_before || gives_up;
    if (figures->gave_up > (gave_up_before ? 0 : 1))
        wrong = "it gave up more than once";
    else if (gives_up)
        wrong = judge_requests(judge, excused);
    else if (gave_up_before)
        wrong = judge_silence(judge);
    if (wrong == NULL && status == GNN_OK)
        wrong = judge_quiet(judge);
    if (wrong == NULL && status == GNN_OK)
        wrong = compare_figures(judge, figures, plain);
    judge->seen = io_log_count(judge->log);
    judge->failed_before = judge->failed_before || status != GNN_OK;
    return wrong;
}
