#include "harness/base/log.h"

#include <stdarg.h>
#include <stdio.h>

/* One fprintf a line, so that lines of two processes do not mix. */
static void print_line(const char *label, const char *format, va_list args)
{
    char text[1024];
    (void)vsnprintf(text, sizeof text, format, args);
    (void)fprintf(stderr, "oocgnn: %s%s\n", label, text);
}

void gnn_log_info(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

void gnn_log_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("warning: ", format, args);
    va_end(args);
}
