/* SPDX-License-Identifier: MIT */
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void must_at(enum gnn_status status, const struct gnn_err *err, const char *file, int line)
{
    if (status == GNN_OK)
        return;
    print_error("%s: %s\n", gnn_status_name(status), err->message);
    _fail(file, line);
}

void must_show_at(const char *text, const char *wanted, const char *file, int line)
{
    if (strstr(text, wanted) != NULL)
        return;
    print_error("\"%s\" is missing in:\n%.8000s\n", wanted, text);
    _fail(file, line);
}

void must_tell(const char *word, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_message("%s: %s\n", word, text);
}
