/* SPDX-License-Identifier: MIT */
#include "harness/run/supervisor/progress.h"

#include "harness/base/clock.h"
#include "harness/base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { REDRAW_NS = 250 * 1000 * 1000 };

void gnn_run_progress_end(struct gnn_run_progress *p)
{
    if (p->line_open)
        (void)fputs("\r\033[K", stderr);
    p->line_open = false;
}

void gnn_run_progress_start(struct gnn_run_progress *p, bool quiet, const char *system, uint64_t epochs)
{
    *p = (struct gnn_run_progress){.on = !quiet && isatty(STDERR_FILENO) == 1, .system = system, .epochs = epochs};
    p->epoch_start_ns = gnn_host_now_ns();
}

void gnn_run_progress_batches(struct gnn_run_progress *p, uint64_t epoch, uint64_t done, uint64_t total, double loss)
{
    const uint64_t now = gnn_host_now_ns();
    if (!p->on || now - p->drawn_ns < REDRAW_NS)
        return;
    assert(p->system != NULL);
    p->drawn_ns = now;
    char left[32] = "?";
    if (done > 0 && done <= total)
        (void)gnn_format_duration((now - p->epoch_start_ns) / done * (total - done), left, sizeof left);
    gnn_run_progress_end(p);
    (void)fprintf(stderr, "%s  epoch %" PRIu64 "/%" PRIu64 "  batch %" PRIu64 "/%" PRIu64 "  loss %.4f  %s left",
                  p->system, epoch + 1, p->epochs, done, total, loss, left);
    (void)fflush(stderr);
    p->line_open = true;
}

void gnn_run_progress_epoch(struct gnn_run_progress *p, uint64_t epoch, uint64_t wall_ns, double loss)
{
    p->epoch_start_ns = gnn_host_now_ns();
    if (!p->on)
        return;
    char wall[32], text[64] = "";
    if (isfinite(loss))
        (void)snprintf(text, sizeof text, "  loss %.4f", loss);
    gnn_run_progress_end(p);
    (void)fprintf(stderr, "%s  epoch %" PRIu64 "/%" PRIu64 "  %s%s\n", p->system, epoch + 1, p->epochs,
                  gnn_format_duration(wall_ns, wall, sizeof wall), text);
}

void gnn_run_progress_accuracy(struct gnn_run_progress *p, const struct gnn_wire_accuracy *accuracy)
{
    p->epoch_start_ns = gnn_host_now_ns();
    if (!p->on)
        return;
    gnn_run_progress_end(p);
    if (accuracy->links)
        (void)fprintf(stderr, "%s  MRR: valid %.4f, test %.4f; Hits@10 %.4f, %.4f\n", p->system,
                      accuracy->valid_links.mrr, accuracy->test_links.mrr, accuracy->valid_links.hits_10,
                      accuracy->test_links.hits_10);
    else
        (void)fprintf(stderr, "%s  accuracy: valid %.2f %%, test %.2f %%\n", p->system, 100 * accuracy->valid,
                      100 * accuracy->test);
}
