/* SPDX-License-Identifier: MIT */
#include "harness/dataset/sorter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FAN_IN_MAX = 256,       /* open files at once */
    RUN_BUFFER_MIN = 32768, /* smaller reads would cost more than another merge pass */
    RUN_BUFFER_MAX = 4 << 20,
    SLICE_KEYS = 4096,
    LOOK_EVERY = 1 << 20, /* keys between two looks at the stop flag */
};
_Static_assert(GNN_SORTER_MEMORY_MIN / RUN_BUFFER_MIN >= 5, "the least memory merges two runs, the slice aside");

struct run {
    int fd;
    uint64_t left; /* keys still in the file */
    uint64_t at, filled;
    uint64_t *buffer;
};

struct merge {
    uint32_t count;
    uint64_t buffer_keys; /* of each run */
    struct run *runs;     /* (count) */
    uint32_t heap_count;
    uint32_t *heap; /* (count) runs, smallest current key first */
};

struct gnn_sorter {
    struct gnn_output *output;
    uint64_t memory_bytes;
    bool drop_duplicates;
    uint64_t added;
    uint64_t count, room;          /* keys in memory */
    uint64_t *keys, *scratch;      /* (room) each */
    uint64_t delivered;            /* of keys, when nothing was spilled */
    uint32_t first_run, run_count; /* runs [first_run, run_count) wait to be merged, named by number */
    uint64_t *run_keys;            /* (run_room) their lengths */
    uint32_t run_room;
    struct merge merge;
    bool any_last;
    uint64_t last; /* delivered before, for duplicates across slices */
    uint64_t *slice;
};

/* ---- runs ---- */

/* Moves the keys to scratch in the order of one byte. */
static enum gnn_status sort_byte(struct gnn_sorter *s, unsigned shift, struct gnn_err *err)
{
    uint64_t start[257] = {0};
    for (uint64_t i = 0; i < s->count; i++)
        start[((s->keys[i] >> shift) & 0xff) + 1]++;
    for (unsigned digit = 0; digit < 256; digit++)
        start[digit + 1] += start[digit];
    for (uint64_t i = 0; i < s->count; i++) {
        if (i % LOOK_EVERY == 0)
            GNN_TRY(gnn_job_stopped(s->output->job, "sorting", err));
        s->scratch[start[(s->keys[i] >> shift) & 0xff]++] = s->keys[i];
    }
    uint64_t *swap = s->keys;
    s->keys = s->scratch;
    s->scratch = swap;
    return GNN_OK;
}

/* Least significant byte first; bytes in which all keys agree cost nothing. The result is in s->keys. */
static enum gnn_status radix_sort(struct gnn_sorter *s, struct gnn_err *err)
{
    uint64_t any = 0, all = UINT64_MAX;
    for (uint64_t i = 0; i < s->count; i++) {
        any |= s->keys[i];
        all &= s->keys[i];
    }
    for (unsigned shift = 0; shift < 64; shift += 8)
        if ((((any & ~all) >> shift) & 0xff) != 0)
            GNN_TRY(sort_byte(s, shift, err));
    return GNN_OK;
}

static enum gnn_status sort_in_memory(struct gnn_sorter *s, struct gnn_err *err)
{
    GNN_TRY(radix_sort(s, err));
    if (!s->drop_duplicates || s->count == 0)
        return GNN_OK;
    uint64_t kept = 1;
    for (uint64_t i = 1; i < s->count; i++)
        if (s->keys[i] != s->keys[kept - 1])
            s->keys[kept++] = s->keys[i];
    s->count = kept;
    return GNN_OK;
}

static void run_name(uint32_t number, char name[32])
{
    (void)snprintf(name, 32, "spill-%" PRIu32, number);
}

/* Numbers a new run and remembers its length. */
static enum gnn_status note_run(struct gnn_sorter *s, uint64_t keys, struct gnn_err *err)
{
    if (s->run_count == s->run_room) {
        const uint32_t room = s->run_room > 0 ? 2 * s->run_room : 64;
        uint64_t *grown = realloc(s->run_keys, room * sizeof *grown);
        if (grown == NULL)
            return gnn_fail(err, GNN_ENOMEM, "%" PRIu32 " sorted runs", room);
        s->run_keys = grown;
        s->run_room = room;
    }
    s->run_keys[s->run_count++] = keys;
    return GNN_OK;
}

static enum gnn_status spill(struct gnn_sorter *s, struct gnn_err *err)
{
    GNN_TRY(sort_in_memory(s, err));
    char name[32];
    run_name(s->run_count, name);
    struct gnn_out_file *file;
    GNN_TRY(gnn_out_open(s->output, name, 4096, GNN_OUT_SPILL, &file, err));
    GNN_TRY(gnn_out_end(file, gnn_out_write(file, s->keys, s->count * sizeof *s->keys, err), NULL, err));
    GNN_TRY(note_run(s, s->count, err));
    s->count = 0;
    return GNN_OK;
}

/* ---- merging ---- */

static void merge_close(struct merge *m)
{
    for (uint32_t i = 0; i < m->count && m->runs != NULL; i++) {
        if (m->runs[i].fd >= 0)
            (void)close(m->runs[i].fd);
        free(m->runs[i].buffer);
    }
    free(m->runs);
    free(m->heap);
    *m = (struct merge){0};
}

/* Refills an empty buffer; a run at its end stays empty. */
static enum gnn_status refill(struct run *run, uint64_t buffer_keys, struct gnn_err *err)
{
    const uint64_t keys = gnn_min_u64(run->left, buffer_keys);
    assert(run->at == run->filled);
    for (uint64_t done = 0; done < keys * sizeof *run->buffer;) {
        const ssize_t got = read(run->fd, (char *)run->buffer + done, keys * sizeof *run->buffer - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return gnn_fail(err, GNN_EIO, "reading back a sorted run: %s", got < 0 ? strerror(errno) : "it ends early");
        done += (uint64_t)got;
    }
    run->left -= keys;
    run->filled = keys;
    run->at = 0;
    return GNN_OK;
}

static uint64_t head_key(const struct merge *m, uint32_t slot)
{
    const struct run *run = &m->runs[m->heap[slot]];
    return run->buffer[run->at];
}

static void sift_down(struct merge *m, uint32_t slot)
{
    for (;;) {
        uint32_t least = 2 * slot + 1;
        if (least >= m->heap_count)
            return;
        if (least + 1 < m->heap_count && head_key(m, least + 1) < head_key(m, least))
            least++;
        if (head_key(m, slot) <= head_key(m, least))
            return;
        const uint32_t swap = m->heap[slot];
        m->heap[slot] = m->heap[least];
        m->heap[least] = swap;
        slot = least;
    }
}

static enum gnn_status open_run(const struct gnn_sorter *s, uint32_t number, struct merge *m, struct run *run,
                                struct gnn_err *err)
{
    char name[32], path[GNN_OUTPUT_PATH + 32];
    run_name(number, name);
    (void)snprintf(path, sizeof path, "%s/%s", s->output->partial, name);
    run->left = s->run_keys[number];
    run->buffer = malloc(m->buffer_keys * sizeof *run->buffer);
    if (run->buffer == NULL)
        return gnn_fail(err, GNN_ENOMEM, "buffer of a sorted run");
    run->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (run->fd < 0)
        return gnn_out_errno(errno, "cannot open", path, err);
    (void)unlink(path); /* the space comes back as soon as the run is closed */
    return refill(run, m->buffer_keys, err);
}

/* Opens runs [first, first + count) for merging. */
static enum gnn_status merge_open(struct gnn_sorter *s, uint32_t first, uint32_t count, struct gnn_err *err)
{
    struct merge *m = &s->merge;
    assert(count > 0);
    assert(first + count <= s->run_count);
    m->buffer_keys = gnn_min_u64(s->memory_bytes / (count + 2), RUN_BUFFER_MAX) / sizeof(uint64_t);
    m->count = count;
    assert(m->runs == NULL); /* one merge at a time */
    GNN_NEW(m->runs, count, err, "%" PRIu32 " sorted runs", count);
    GNN_NEW(m->heap, count, err, "heap of %" PRIu32 " sorted runs", count);
    for (uint32_t i = 0; i < count; i++)
        m->runs[i].fd = -1;
    for (uint32_t i = 0; i < count; i++) {
        GNN_TRY(open_run(s, first + i, m, &m->runs[i], err));
        if (m->runs[i].filled > 0)
            m->heap[m->heap_count++] = i;
    }
    for (uint32_t slot = m->heap_count / 2; slot-- > 0;)
        sift_down(m, slot);
    return GNN_OK;
}

/* Up to `room` keys of the open merge. */
static enum gnn_status merge_next(struct gnn_sorter *s, uint64_t *out, uint64_t room, uint64_t *count,
                                  struct gnn_err *err)
{
    struct merge *m = &s->merge;
    *count = 0;
    while (*count < room && m->heap_count > 0) {
        struct run *run = &m->runs[m->heap[0]];
        assert(run->at < run->filled); /* an empty run leaves the heap */
        const uint64_t key = run->buffer[run->at++];
        assert(!s->any_last || key >= s->last);
        if (!s->drop_duplicates || !s->any_last || key != s->last)
            out[(*count)++] = key;
        s->any_last = true;
        s->last = key;
        if (run->at == run->filled)
            GNN_TRY(refill(run, m->buffer_keys, err));
        if (run->filled == 0)
            m->heap[0] = m->heap[--m->heap_count];
        sift_down(m, 0);
    }
    return GNN_OK;
}

/* Merges runs [first, first + count) into one new run. */
static enum gnn_status merge_to_run(struct gnn_sorter *s, uint32_t first, uint32_t count, struct gnn_err *err)
{
    char name[32];
    run_name(s->run_count, name);
    struct gnn_out_file *file;
    GNN_TRY(gnn_out_open(s->output, name, RUN_BUFFER_MIN, GNN_OUT_SPILL, &file, err));
    s->any_last = false;
    enum gnn_status status = merge_open(s, first, count, err);
    uint64_t keys = 0;
    for (uint64_t got = 1; status == GNN_OK && got > 0;) {
        status = merge_next(s, s->slice, SLICE_KEYS, &got, err);
        if (status == GNN_OK && got > 0)
            status = gnn_out_write(file, s->slice, got * sizeof *s->slice, err);
        keys += got;
    }
    merge_close(&s->merge);
    GNN_TRY(gnn_out_end(file, status, NULL, err));
    return note_run(s, keys, err);
}

/* ---- the sorter ---- */

enum gnn_status gnn_sorter_open(struct gnn_output *output, uint64_t memory_bytes, bool drop_duplicates,
                                struct gnn_sorter **out, struct gnn_err *err)
{
    assert(memory_bytes >= GNN_SORTER_MEMORY_MIN);
    struct gnn_sorter *s;
    GNN_NEW(s, 1, err, "sorter");
    s->output = output;
    s->memory_bytes = memory_bytes - SLICE_KEYS * sizeof *s->slice;
    s->drop_duplicates = drop_duplicates;
    s->room = s->memory_bytes / (2 * sizeof *s->keys);
    s->keys = malloc(s->room * sizeof *s->keys); /* pages that are never used are never touched */
    s->scratch = malloc(s->room * sizeof *s->scratch);
    s->slice = malloc(SLICE_KEYS * sizeof *s->slice);
    if (s->keys == NULL || s->scratch == NULL || s->slice == NULL) {
        gnn_sorter_close(s);
        return gnn_fail(err, GNN_ENOMEM, "sorter of %" PRIu64 " B; lower --memory", memory_bytes);
    }
    *out = s;
    return GNN_OK;
}

enum gnn_status gnn_sorter_add(struct gnn_sorter *sorter, uint64_t key, struct gnn_err *err)
{
    assert(sorter->count <= sorter->room);
    if (sorter->count == sorter->room)
        GNN_TRY(spill(sorter, err));
    sorter->keys[sorter->count++] = key;
    sorter->added++;
    return GNN_OK;
}

enum gnn_status gnn_sorter_finish(struct gnn_sorter *sorter, struct gnn_err *err)
{
    if (sorter->run_count == 0)
        return sort_in_memory(sorter, err);
    if (sorter->count > 0)
        GNN_TRY(spill(sorter, err));
    free(sorter->keys);
    free(sorter->scratch);
    sorter->keys = sorter->scratch = NULL;
    const uint64_t fan_in = gnn_min_u64(sorter->memory_bytes / RUN_BUFFER_MIN - 2, FAN_IN_MAX);
    assert(fan_in >= 2);
    while (sorter->run_count - sorter->first_run > fan_in) {
        GNN_TRY(merge_to_run(sorter, sorter->first_run, (uint32_t)fan_in, err));
        sorter->first_run += (uint32_t)fan_in;
    }
    sorter->any_last = false;
    return merge_open(sorter, sorter->first_run, sorter->run_count - sorter->first_run, err);
}

enum gnn_status gnn_sorter_next(struct gnn_sorter *sorter, const uint64_t **keys, uint64_t *count, struct gnn_err *err)
{
    if (sorter->run_count > 0) {
        *keys = sorter->slice;
        return merge_next(sorter, sorter->slice, SLICE_KEYS, count, err);
    }
    assert(sorter->delivered <= sorter->count);
    *count = gnn_min_u64(sorter->count - sorter->delivered, SLICE_KEYS);
    *keys = sorter->keys + sorter->delivered;
    sorter->delivered += *count;
    return GNN_OK;
}

uint64_t gnn_sorter_added(const struct gnn_sorter *sorter)
{
    return sorter->added;
}

uint32_t gnn_sorter_runs(const struct gnn_sorter *sorter)
{
    return sorter->run_count;
}

void gnn_sorter_close(struct gnn_sorter *sorter)
{
    if (sorter == NULL)
        return;
    merge_close(&sorter->merge);
    free(sorter->keys);
    free(sorter->scratch);
    free(sorter->slice);
    free(sorter->run_keys);
    free(sorter);
}
