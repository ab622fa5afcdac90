/* SPDX-License-Identifier: MIT */
#include "harness/run/supervisor/progress.h"

#include "harness/base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

enum { REDRAW_NS = 250 * 1000 * 1000, LOSS_BYTES = 64 };
#define LINE_NS UINT64_C(30000000000)

void gnn_run_progress_end(struct gnn_run_progress *p)
{
    if (p->line_open)
        (void)fputs("\r\033[K", p->setup.out);
    p->line_open = false;
}

void gnn_run_progress_start(struct gnn_run_progress *p, const struct gnn_run_progress_setup *setup)
{
    assert(setup->now_ns != NULL);
    assert(setup->system != NULL);
    assert(setup->dataset != NULL);
    const uint64_t now = setup->now_ns();
    *p = (struct gnn_run_progress){
        .setup = *setup, .start_ns = now, .epoch_start_ns = now, .drawn_ns = setup->terminal ? 0 : now};
}

/* The loss behind `before`, or "" if none was computed. */
static const char *loss_text(const char *before, double loss, char text[LOSS_BYTES])
{
    text[0] = '\0';
    if (isfinite(loss))
        (void)snprintf(text, LOSS_BYTES, "%s%.4f", before, loss);
    return text;
}

void gnn_run_progress_epoch_begin(struct gnn_run_progress *p)
{
    p->epoch_start_ns = p->setup.now_ns();
    if (!p->training)
        p->training_start_ns = p->epoch_start_ns;
    p->training = true;
    p->done = p->total = 0;
    p->loss = (double)NAN;
}

void gnn_run_progress_batches(struct gnn_run_progress *p, uint64_t epoch, uint64_t done, uint64_t total, double loss)
{
    const uint64_t now = p->setup.now_ns();
    p->epoch = epoch;
    p->done = done;
    p->total = total;
    p->loss = loss;
    if (p->setup.out == NULL || !p->setup.terminal || now - p->drawn_ns < REDRAW_NS)
        return;
    p->drawn_ns = now;
    char left[32] = "?", text[LOSS_BYTES];
    if (done > 0 && done <= total)
        (void)gnn_format_duration((now - p->epoch_start_ns) / done * (total - done), left, sizeof left);
    gnn_run_progress_end(p);
    (void)fprintf(p->setup.out, "%s  epoch %" PRIu64 "/%" PRIu64 "  batch %" PRIu64 "/%" PRIu64 "%s  %s left",
                  p->setup.system, epoch + 1, p->setup.epochs, done, total, loss_text("  loss ", loss, text), left);
    (void)fflush(p->setup.out);
    p->line_open = true;
}

void gnn_run_progress_epoch(struct gnn_run_progress *p, uint64_t epoch, uint64_t wall_ns, double loss)
{
    p->epoch = epoch + 1;
    p->done = p->total = 0;
    p->loss = (double)NAN;
    if (p->setup.out == NULL || !p->setup.terminal)
        return;
    char wall[32], text[LOSS_BYTES];
    gnn_run_progress_end(p);
    (void)fprintf(p->setup.out, "%s  epoch %" PRIu64 "/%" PRIu64 "  %s%s\n", p->setup.system, epoch + 1,
                  p->setup.epochs, gnn_format_duration(wall_ns, wall, sizeof wall), loss_text("  loss ", loss, text));
}

void gnn_run_progress_accuracy(struct gnn_run_progress *p, const struct gnn_wire_accuracy *accuracy)
{
    if (p->setup.out == NULL || !p->setup.terminal)
        return;
    gnn_run_progress_end(p);
    if (accuracy->links)
        (void)fprintf(p->setup.out, "%s  MRR: valid %.4f, test %.4f; Hits@10 %.4f, %.4f\n", p->setup.system,
                      accuracy->valid_links.mrr, accuracy->test_links.mrr, accuracy->valid_links.hits_10,
                      accuracy->test_links.hits_10);
    else
        (void)fprintf(p->setup.out, "%s  accuracy: valid %.2f %%, test %.2f %%\n", p->setup.system,
                      100 * accuracy->valid.accuracy, 100 * accuracy->test.accuracy);
}

/* ---- without a terminal ---- */

/* Estimates the time of what is left from the share of the mini-batches that is done; GNN_UNKNOWN before the first. */
static uint64_t left_ns(const struct gnn_run_progress *p, uint64_t now)
{
    const double in_epoch = p->total > 0 && p->done <= p->total ? (double)p->done / (double)p->total : 0;
    const double share = ((double)p->epoch + in_epoch) / (double)p->setup.epochs;
    if (!p->training || share <= 0 || share > 1)
        return GNN_UNKNOWN;
    return (uint64_t)((double)(now - p->training_start_ns) * (1 - share) / share);
}

static void write_state(const struct gnn_run_progress *p)
{
    FILE *const out = p->setup.out;
    char text[LOSS_BYTES];
    if (!p->training)
        (void)fputs("preparing", out);
    else if (p->total == 0 && p->epoch > 0)
        (void)fprintf(out, "%" PRIu64 " of %" PRIu64 " epochs done", p->epoch, p->setup.epochs);
    else
        (void)fprintf(out, "epoch %" PRIu64 " of %" PRIu64, p->epoch + 1, p->setup.epochs);
    if (p->total > 0)
        (void)fprintf(out, ", mini-batch %" PRIu64 " of %" PRIu64 "%s", p->done, p->total,
                      loss_text(", loss ", p->loss, text));
}

uint64_t gnn_run_progress_next_ns(const struct gnn_run_progress *p)
{
    return p->setup.out == NULL || p->setup.terminal ? UINT64_MAX : p->drawn_ns + LINE_NS;
}

void gnn_run_progress_tick(struct gnn_run_progress *p)
{
    const uint64_t now = p->setup.now_ns();
    if (now < gnn_run_progress_next_ns(p))
        return;
    char text[32];
    const uint64_t left = left_ns(p, now);
    p->drawn_ns = now;
    (void)fprintf(p->setup.out, "oocgnn: %s on %s: ", p->setup.system, p->setup.dataset);
    write_state(p);
    (void)fprintf(p->setup.out, ", %s elapsed", gnn_format_duration(now - p->start_ns, text, sizeof text));
    if (left != GNN_UNKNOWN)
        (void)fprintf(p->setup.out, ", about %s left", gnn_format_duration(left, text, sizeof text));
    (void)fputc('\n', p->setup.out);
    (void)fflush(p->setup.out);
}
