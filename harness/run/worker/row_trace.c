/* SPDX-License-Identifier: MIT */
#include "harness/run/worker/row_trace.h"

#include "harness/base/npy_out.h"
#include "harness/base/whole_file.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct gnn_row_file {
    struct gnn_whole_file *out;
    FILE *stream;
    uint64_t rows;
};

/* The number of rows is unknown until the end: the header is written again then. */
static void write_header(const struct gnn_row_file *file)
{
    char header[GNN_NPY_OUT_HEADER];
    gnn_npy_out_header(&(struct gnn_npy_shape){.descr = "<u4", .rows = file->rows, .columns = 3}, header);
    (void)fwrite(header, 1, sizeof header, file->stream);
}

enum gnn_status gnn_row_file_open(const char *path, struct gnn_row_file **out, struct gnn_err *err)
{
    struct gnn_row_file *file;
    *out = NULL;
    GNN_NEW(file, 1, err, "--trace-rows %s", path);
    const enum gnn_status status = gnn_whole_file_open("--trace-rows", path, "\x93NUMPY", &file->out, err);
    if (status == GNN_OK) {
        file->stream = gnn_whole_file_stream(file->out);
        write_header(file);
    }
    return GNN_OPENED(status, file, out, gnn_row_file_close);
}

void gnn_row_file_add(struct gnn_row_file *file, const struct gnn_batch_view *batch)
{
    assert(batch->epoch <= UINT32_MAX);
    assert(batch->batch <= UINT32_MAX);
    for (uint32_t i = 0; i < batch->node_count; i++) {
        const uint32_t row[3] = {(uint32_t)batch->epoch, (uint32_t)batch->batch, batch->nodes[i]};
        (void)fwrite(row, sizeof row, 1, file->stream);
    }
    file->rows += batch->node_count;
}

enum gnn_status gnn_row_file_check(struct gnn_row_file *file, struct gnn_err *err)
{
    return gnn_whole_file_flush(file->out, err);
}

enum gnn_status gnn_row_file_finish(struct gnn_row_file *file, struct gnn_err *err)
{
    GNN_TRY(gnn_whole_file_flush(file->out, err));
    if (fseeko(file->stream, 0, SEEK_SET) != 0)
        return gnn_fail(err, GNN_EIO, "--trace-rows: the header cannot be written: errno %d", errno);
    write_header(file);
    return gnn_whole_file_finish(file->out, err);
}

void gnn_row_file_close(struct gnn_row_file *file)
{
    if (file == NULL)
        return;
    gnn_whole_file_close(file->out);
    free(file);
}
