#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

void must_at(enum gnn_status status, const struct gnn_err *err, const char *file, int line)
{
    if (status == GNN_OK)
        return;
    print_error("%s: %s\n", gnn_status_name(status), err->message);
    _fail(file, line);
}
