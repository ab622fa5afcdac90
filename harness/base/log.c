/* SPDX-License-Identifier: MIT */
#include "harness/base/log.h"

#include <stdarg.h>
#include <stdio.h>

void gnn_log(const char *label, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fprintf(stderr, "oocgnn: %s%s\n", label, text);
}
