/* SPDX-License-Identifier: MIT */
/* Names numbered in the order in which they come: an open-addressed table over one text of all names. */
#include "harness/dataset/triples.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { SLOTS_MIN = 1024, TEXT_MIN = 16384 };

struct gnn_names {
    uint64_t memory_bytes;
    char *text; /* every name and a newline, one after another */
    uint64_t text_bytes, text_room;
    uint64_t *start; /* (room) of each name in text */
    uint32_t count, room;
    uint32_t *slots; /* (mask + 1) number + 1, or 0: free; at most half full */
    uint64_t mask;
};

enum gnn_status gnn_names_open(uint64_t memory_bytes, struct gnn_names **out, struct gnn_err *err)
{
    struct gnn_names *names;
    GNN_NEW(names, 1, err, "table of names");
    *names = (struct gnn_names){.memory_bytes = memory_bytes, .mask = SLOTS_MIN - 1};
    names->slots = calloc(SLOTS_MIN, sizeof *names->slots);
    if (names->slots == NULL) {
        gnn_names_close(names);
        return gnn_fail(err, GNN_ENOMEM, "table of names");
    }
    *out = names;
    return GNN_OK;
}

void gnn_names_close(struct gnn_names *names)
{
    if (names == NULL)
        return;
    free(names->text);
    free(names->start);
    free(names->slots);
    free(names);
}

uint32_t gnn_names_count(const struct gnn_names *names)
{
    return names->count;
}

const char *gnn_names_text(const struct gnn_names *names, uint64_t *bytes)
{
    *bytes = names->text_bytes;
    return names->text;
}

/* ---- growing ---- */

static uint64_t bytes_of(uint64_t text_room, uint64_t room, uint64_t slots)
{
    return text_room + room * sizeof(uint64_t) + slots * sizeof(uint32_t);
}

static enum gnn_status full(const struct gnn_names *names, struct gnn_err *err)
{
    return gnn_fail(err, GNN_ECAP,
                    "%" PRIu32 " names fill the %" PRIu64
                    " B of memory for names: raise --memory, or replace names by numbers and give --nodes N",
                    names->count, names->memory_bytes);
}

static enum gnn_status grow(struct gnn_names *names, uint64_t text_room, uint32_t room, struct gnn_err *err)
{
    if (bytes_of(text_room, room, names->mask + 1) > names->memory_bytes)
        return full(names, err);
    char *const text = realloc(names->text, text_room);
    if (text == NULL)
        return gnn_fail(err, GNN_ENOMEM, "text of %" PRIu32 " names", names->count);
    names->text = text;
    names->text_room = text_room;
    uint64_t *const start = realloc(names->start, room * sizeof *start);
    if (start == NULL)
        return gnn_fail(err, GNN_ENOMEM, "places of %" PRIu32 " names", names->count);
    names->start = start;
    names->room = room;
    return GNN_OK;
}

static uint32_t length_of(const struct gnn_names *names, uint32_t number)
{
    const uint64_t end = number + 1 < names->count ? names->start[number + 1] : names->text_bytes;
    return (uint32_t)(end - names->start[number] - 1);
}

/* The slot that holds the name, or the free one where it belongs. */
static uint32_t *slot_of(const struct gnn_names *names, const char *name, uint32_t length)
{
    uint64_t at = XXH3_64bits(name, length) & names->mask;
    while (names->slots[at] != 0) {
        const uint32_t number = names->slots[at] - 1;
        if (length_of(names, number) == length && memcmp(names->text + names->start[number], name, length) == 0)
            break;
        at = (at + 1) & names->mask;
    }
    return &names->slots[at];
}

static enum gnn_status double_slots(struct gnn_names *names, struct gnn_err *err)
{
    const uint64_t slots = 2 * (names->mask + 1);
    if (bytes_of(names->text_room, names->room, slots) > names->memory_bytes)
        return full(names, err);
    uint32_t *const larger = calloc(slots, sizeof *larger);
    if (larger == NULL)
        return gnn_fail(err, GNN_ENOMEM, "table of %" PRIu32 " names", names->count);
    free(names->slots);
    names->slots = larger;
    names->mask = slots - 1;
    for (uint32_t number = 0; number < names->count; number++)
        *slot_of(names, names->text + names->start[number], length_of(names, number)) = number + 1;
    return GNN_OK;
}

/* ---- adding ---- */

enum gnn_status gnn_names_add(struct gnn_names *names, const char *name, uint32_t length, uint32_t *number,
                              struct gnn_err *err)
{
    assert(length > 0);
    if (2 * (uint64_t)names->count >= names->mask)
        GNN_TRY(double_slots(names, err));
    uint32_t *const slot = slot_of(names, name, length);
    if (*slot != 0) {
        *number = *slot - 1;
        return GNN_OK;
    }
    if (names->count == GNN_NODE_NONE - 1)
        return gnn_fail(err, GNN_EFORMAT, "more than %" PRIu32 " names", names->count);
    if (names->count == names->room || names->text_bytes + length + 1 > names->text_room) {
        const uint64_t text = gnn_max_u64(names->text_room + names->text_room / 2, TEXT_MIN);
        const uint64_t room = gnn_max_u64(names->room + (uint64_t)names->room / 2, SLOTS_MIN);
        GNN_TRY(grow(names, gnn_max_u64(text, names->text_bytes + length + 1), (uint32_t)gnn_min_u64(room, UINT32_MAX),
                     err));
    }
    names->start[names->count] = names->text_bytes;
    memcpy(names->text + names->text_bytes, name, length);
    names->text[names->text_bytes + length] = '\n';
    names->text_bytes += length + 1;
    *number = names->count++;
    *slot = names->count;
    return GNN_OK;
}
