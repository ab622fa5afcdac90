/* SPDX-License-Identifier: MIT */
/* The kernel's texts; formats in proc(5) and Documentation/admin-guide/iostats.rst. */
#include "harness/base/text_file.h"
#include "harness/measure/measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool gnn_parse_proc_stat(const char *text, struct gnn_cpu_ticks *out)
{
    /* user nice system idle iowait irq softirq steal; the guest columns behind are part of user and nice. */
    uint64_t t[8] = {0};
    const int got =
        sscanf(text, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);
    if (strncmp(text, "cpu ", 4) != 0 || got < 5)
        return false;
    uint64_t total = 0;
    for (int i = 0; i < 8; i++)
        total += t[i];
    *out =
        (struct gnn_cpu_ticks){.total = total, .idle = t[3], .iowait = t[4], .interrupts = t[5] + t[6], .steal = t[7]};
    return true;
}

bool gnn_parse_pid_stat(const char *text, struct gnn_pid_stat *out)
{
    const char *name_end = strrchr(text, ')');
    if (name_end == NULL)
        return false;
    struct gnn_pid_stat stat;
    /* Behind the name: state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime
     * priority nice num_threads itrealvalue starttime vsize rss */
    const int got = sscanf(name_end + 1,
                           " %*c %*d %*d %*d %*d %*d %*u %*u %*u %" SCNu64 " %*u %" SCNu64 " %" SCNu64
                           " %*d %*d %*d %*d %" SCNu64 " %*d %" SCNu64 " %*u %" SCNu64,
                           &stat.major_faults, &stat.user_ticks, &stat.system_ticks, &stat.threads, &stat.start_ticks,
                           &stat.rss_pages);
    if (got != 6)
        return false;
    *out = stat;
    return true;
}

bool gnn_parse_diskstats(const char *text, uint32_t major, uint32_t minor, struct gnn_disk_stats *out)
{
    for (const char *line = text; *line != '\0'; line = gnn_next_line(line)) {
        unsigned line_major;
        unsigned line_minor;
        struct gnn_disk_stats stats;
        /* name, then reads merged sectors ms, writes merged sectors ms, in flight, busy ms */
        const int got =
            sscanf(line, " %u %u %*s %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %*u %" SCNu64,
                   &line_major, &line_minor, &stats.read_ios, &stats.read_sectors, &stats.write_ios,
                   &stats.write_sectors, &stats.busy_ms);
        if (got == 7 && line_major == major && line_minor == minor) {
            *out = stats;
            return true;
        }
    }
    return false;
}
