/* SPDX-License-Identifier: MIT */
#include "harness/world/io_trace.h"

#include "harness/base/whole_file.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { TIMED_MAX = 256 };

/* A name in the trace. Several handles can have the same. */
struct name {
    char text[GNN_IO_TRACE_NAME_MAX];
    uint32_t handles; /* open now */
};

struct handle {
    const struct gnn_file *file; /* NULL: free */
    uint32_t name;
};

struct gnn_io_trace {
    struct gnn_whole_file *out;
    FILE *stream;
    pthread_mutex_t lock; /* for all below */
    struct name *names;
    struct handle *handles;
    uint32_t name_count, handle_count, scratch_count;
    uint64_t zero_ns, last_ns; /* last_ns: since zero_ns */
    bool has_zero;
    uint64_t epoch;
    uint64_t in_flight;        /* until they are reported done */
    uint64_t timed[TIMED_MAX]; /* when the others end, in no order */
    uint32_t timed_count;
};

enum gnn_status gnn_io_trace_open(const char *option, const char *path, struct gnn_io_trace **out, struct gnn_err *err)
{
    struct gnn_io_trace *t;
    *out = NULL;
    GNN_NEW(t, 1, err, "%s %s", option, path);
    (void)pthread_mutex_init(&t->lock, NULL);
    const enum gnn_status status = gnn_whole_file_open(option, path, GNN_IO_TRACE_MAGIC, &t->out, err);
    if (status == GNN_OK) {
        t->stream = gnn_whole_file_stream(t->out);
        (void)fputs(GNN_IO_TRACE_MAGIC "\n", t->stream);
    }
    return GNN_OPENED(status, t, out, gnn_io_trace_close);
}

void gnn_io_trace_close(struct gnn_io_trace *t)
{
    if (t == NULL)
        return;
    gnn_whole_file_close(t->out);
    (void)pthread_mutex_destroy(&t->lock);
    free(t->names);
    free(t->handles);
    free(t);
}

/* ---- lines ---- */

/* Returns the time since the first call. Threads of a simulated world run ahead of one another, so that times can
 * come in another order than calls: then the latest so far. */
static uint64_t time_of(struct gnn_io_trace *t, uint64_t now_ns)
{
    if (!t->has_zero) {
        t->has_zero = true;
        t->zero_ns = now_ns;
    }
    const uint64_t since_ns = now_ns > t->zero_ns ? now_ns - t->zero_ns : 0;
    t->last_ns = gnn_max_u64(t->last_ns, since_ns);
    return t->last_ns;
}

static void write_action(struct gnn_io_trace *t, uint32_t name, const char *action, uint64_t now_ns)
{
    (void)fprintf(t->stream, "%" PRIu64 " %s %s\n", time_of(t, now_ns) / 1000, t->names[name].text, action);
}

/* Returns the requests in flight at now_ns, and forgets those that ended. */
static uint64_t depth_at(struct gnn_io_trace *t, uint64_t now_ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->timed_count; i++)
        if (t->timed[i] > now_ns)
            t->timed[kept++] = t->timed[i];
    t->timed_count = kept;
    return t->in_flight + kept;
}

/* ---- files ---- */

static enum gnn_status check_name(const char *text, struct gnn_err *err)
{
    const size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        if (isspace((unsigned char)text[i]) || iscntrl((unsigned char)text[i]))
            return gnn_fail(err, GNN_EUSAGE,
                            "--trace-io: fio cannot read a file name with blanks: %s; use a link without blanks", text);
    if (len < GNN_IO_TRACE_NAME_MAX)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "--trace-io: fio reads file names of at most %d bytes: %s; use a shorter link",
                    GNN_IO_TRACE_NAME_MAX - 1, text);
}

/* Finds the name, or adds it with its line. */
static enum gnn_status name_number(struct gnn_io_trace *t, const char *text, uint64_t now_ns, uint32_t *out,
                                   struct gnn_err *err)
{
    for (uint32_t i = 0; i < t->name_count; i++)
        if (strcmp(t->names[i].text, text) == 0) {
            *out = i;
            return GNN_OK;
        }
    struct name *const names = realloc(t->names, (t->name_count + (size_t)1) * sizeof *names);
    if (names == NULL)
        return gnn_fail(err, GNN_ENOMEM, "%s: a file's name in a trace", text);
    t->names = names;
    *out = t->name_count++;
    t->names[*out].handles = 0;
    (void)snprintf(t->names[*out].text, sizeof t->names[*out].text, "%s", text);
    write_action(t, *out, "add", now_ns);
    return GNN_OK;
}

static struct handle *find_handle(struct gnn_io_trace *t, const struct gnn_file *file)
{
    for (uint32_t i = 0; i < t->handle_count; i++)
        if (t->handles[i].file == file)
            return &t->handles[i];
    return NULL;
}

static enum gnn_status add_handle(struct gnn_io_trace *t, const struct gnn_file *file, uint32_t name,
                                  struct gnn_err *err)
{
    struct handle *handle = find_handle(t, NULL);
    assert(find_handle(t, file) == NULL);
    if (handle == NULL) {
        struct handle *const handles = realloc(t->handles, (t->handle_count + (size_t)1) * sizeof *handles);
        if (handles == NULL)
            return gnn_fail(err, GNN_ENOMEM, "%s: a file handle in a trace", t->names[name].text);
        t->handles = handles;
        handle = &t->handles[t->handle_count++];
    }
    *handle = (struct handle){.file = file, .name = name};
    return GNN_OK;
}

static enum gnn_status opened(struct gnn_io_trace *t, const struct gnn_file *file, const char *text, uint64_t now_ns,
                              struct gnn_err *err)
{
    uint32_t name = 0;
    GNN_TRY(name_number(t, text, now_ns, &name, err));
    GNN_TRY(add_handle(t, file, name, err));
    if (t->names[name].handles++ == 0)
        write_action(t, name, "open", now_ns);
    return GNN_OK;
}

enum gnn_status gnn_io_trace_opened(struct gnn_io_trace *t, const struct gnn_file *file, const char *path, bool scratch,
                                    uint64_t now_ns, struct gnn_err *err)
{
    char text[GNN_IO_TRACE_NAME_MAX * 2] = "";
    (void)pthread_mutex_lock(&t->lock);
    if (scratch)
        (void)snprintf(text, sizeof text, "%.*s/scratch-%u", GNN_IO_TRACE_NAME_MAX, path, ++t->scratch_count);
    enum gnn_status status = check_name(scratch ? text : path, err);
    GNN_NEXT(status, opened(t, file, scratch ? text : path, now_ns, err));
    (void)pthread_mutex_unlock(&t->lock);
    return status;
}

void gnn_io_trace_closed(struct gnn_io_trace *t, const struct gnn_file *file, uint64_t now_ns)
{
    (void)pthread_mutex_lock(&t->lock);
    struct handle *const handle = find_handle(t, file);
    assert(handle != NULL);
    handle->file = NULL;
    assert(t->names[handle->name].handles > 0);
    if (--t->names[handle->name].handles == 0)
        write_action(t, handle->name, "close", now_ns);
    (void)pthread_mutex_unlock(&t->lock);
}

/* ---- requests ---- */

void gnn_io_trace_add(struct gnn_io_trace *t, const struct gnn_io_request *r)
{
    static const char *const actions[] = {[GNN_IO_READ] = "read", [GNN_IO_WRITE] = "write"};
    (void)pthread_mutex_lock(&t->lock);
    const struct handle *const handle = find_handle(t, r->file);
    assert(handle != NULL);
    const uint64_t depth = depth_at(t, r->now_ns) + 1, time_ns = time_of(t, r->now_ns);
    (void)fprintf(t->stream, "%" PRIu64 " %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                  time_ns / 1000, t->names[handle->name].text, actions[r->action], r->offset_bytes, r->len_bytes,
                  time_ns, depth, t->epoch);
    if (r->done_later)
        t->in_flight++;
    else if (r->done_ns > r->now_ns && t->timed_count < TIMED_MAX)
        t->timed[t->timed_count++] = r->done_ns;
    (void)pthread_mutex_unlock(&t->lock);
}

void gnn_io_trace_done(struct gnn_io_trace *t, uint32_t count)
{
    (void)pthread_mutex_lock(&t->lock);
    assert(count <= t->in_flight);
    t->in_flight -= count;
    (void)pthread_mutex_unlock(&t->lock);
}

void gnn_io_trace_epoch(struct gnn_io_trace *t, uint64_t epoch)
{
    (void)pthread_mutex_lock(&t->lock);
    t->epoch = epoch;
    (void)pthread_mutex_unlock(&t->lock);
}

/* ---- the end ---- */

enum gnn_status gnn_io_trace_check(struct gnn_io_trace *t, struct gnn_err *err)
{
    (void)pthread_mutex_lock(&t->lock);
    const enum gnn_status status = gnn_whole_file_flush(t->out, err);
    (void)pthread_mutex_unlock(&t->lock);
    return status;
}

enum gnn_status gnn_io_trace_finish(struct gnn_io_trace *t, struct gnn_err *err)
{
    for (uint32_t i = 0; i < t->name_count; i++)
        if (t->names[i].handles > 0)
            write_action(t, i, "close", t->zero_ns + t->last_ns);
    return gnn_whole_file_finish(t->out, err);
}
