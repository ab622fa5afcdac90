/* SPDX-License-Identifier: MIT */
#include "harness/base/own_memory.h"

#include "harness/base/text_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 8192 };

/* "Name:   123 kB" in /proc/self/status; 0 where it is not told. */
static uint64_t status_bytes(const char *text, const char *name)
{
    const char *const line = strstr(text, name);
    uint64_t kib = 0;
    if (line == NULL || sscanf(line + strlen(name), " %" SCNu64, &kib) != 1)
        return 0;
    return kib * 1024;
}

uint64_t gnn_own_memory_bytes(void)
{
    char text[TEXT_BYTES];
    if (gnn_text_file_read("/proc/self/status", text, sizeof text) != 0)
        return 0;
    return status_bytes(text, "RssAnon:") + status_bytes(text, "VmPTE:");
}
