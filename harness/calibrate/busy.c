#include "harness/calibrate/busy.h"

#include "harness/base/text_file.h"
#include "harness/measure/measure.h"

#include <assert.h>
#include <math.h>
#include <unistd.h>

enum { TEXT_BYTES = 65536 };

uint64_t gnn_clock_ns(clockid_t clock)
{
    struct timespec now;
    const int rc = clock_gettime(clock, &now);
    assert(rc == 0);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Of all cores since the machine started; NAN where it is not told. */
static double idle_now_ns(void)
{
    char text[TEXT_BYTES];
    struct gnn_cpu_ticks ticks;
    if (gnn_text_file_read("/proc/stat", text, sizeof text) != 0 || !gnn_parse_proc_stat(text, &ticks))
        return NAN;
    return (double)(ticks.idle + ticks.iowait) * 1e9 / (double)sysconf(_SC_CLK_TCK);
}

void gnn_busy_begin(uint32_t cores, struct gnn_busy *out)
{
    *out = (struct gnn_busy){.cores = cores, .idle_ns = idle_now_ns(), .wall_ns = gnn_wall_ns()};
}

double gnn_busy_besides_ns(const struct gnn_busy *begin, double own_ns)
{
    const double wall_ns = (double)(gnn_wall_ns() - begin->wall_ns), idle_ns = idle_now_ns() - begin->idle_ns;
    return isnan(idle_ns) ? 0 : fmax(0, wall_ns * begin->cores - idle_ns - own_ns);
}
