/* SPDX-License-Identifier: MIT */
#include "harness/calibrate/busy.h"

#include "harness/base/text_file.h"
#include "harness/measure/measure.h"

#include <assert.h>
#include <math.h>
#include <unistd.h>

enum { TEXT_BYTES = 65536 };

double gnn_thread_cpu_look_ns(void)
{
    enum { LOOKS = 2000 };
    uint64_t last = 0;
    const uint64_t start_ns = gnn_thread_cpu_ns();
    for (uint32_t i = 0; i < LOOKS; i++)
        last = gnn_thread_cpu_ns();
    assert(last >= start_ns);
    return (double)(last - start_ns) / LOOKS;
}

void gnn_busy_begin(uint32_t cores, struct gnn_busy *out)
{
    char text[TEXT_BYTES];
    struct gnn_cpu_ticks ticks;
    assert(cores > 0);
    *out = (struct gnn_busy){.cores = cores, .idle_ns = NAN, .wall_ns = gnn_host_now_ns()};
    if (gnn_text_file_read("/proc/stat", text, sizeof text) != 0 || !gnn_parse_proc_stat(text, &ticks))
        return;
    const double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
    const uint64_t others = ticks.idle + ticks.iowait + ticks.interrupts + ticks.steal;
    out->idle_ns = (double)(ticks.idle + ticks.iowait) * tick_ns;
    out->steal_ns = (double)ticks.steal * tick_ns;
    out->threads_ns = (double)(ticks.total - others) * tick_ns;
}

double gnn_busy_besides_ns(const struct gnn_busy *begin, double own_ns)
{
    struct gnn_busy now;
    gnn_busy_begin(begin->cores, &now);
    assert(now.wall_ns >= begin->wall_ns);
    const double all_ns = (double)(now.wall_ns - begin->wall_ns) * begin->cores;
    const double away_ns = now.idle_ns - begin->idle_ns + now.steal_ns - begin->steal_ns;
    /* An interrupt that a thread of ours was charged for is in own_ns and not in the ticks of threads. */
    const double threads_ns = fmax(now.threads_ns - begin->threads_ns, own_ns);
    return isnan(away_ns) ? 0 : fmax(0, all_ns - away_ns - threads_ns);
}
