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
    struct gnn_names_memory *memory; /* shared with other tables */
    uint64_t held_bytes;             /* of it, by this table */
    char *text;                      /* every name and a newline, one after another */
    uint64_t text_bytes, text_room;
    uint64_t *start; /* (room) of each name in text */
    uint32_t count, room;
    uint32_t *slots; /* (mask + 1) number + 1, or 0: free; never full */
    uint64_t mask;
};

enum gnn_status gnn_names_open(struct gnn_names_memory *memory, struct gnn_names **out, struct gnn_err *err)
{
    struct gnn_names *names;
    GNN_NEW(names, 1, err, "table of names");
    *names = (struct gnn_names){.memory = memory, .mask = SLOTS_MIN - 1};
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
                    names->count, names->memory->limit_bytes);
}

/* Returns how many bytes this table may take in total. */
static uint64_t allowed(const struct gnn_names *names)
{
    const struct gnn_names_memory *const memory = names->memory;
    assert(memory->used_bytes >= names->held_bytes);
    return memory->limit_bytes - gnn_min_u64(memory->limit_bytes, memory->used_bytes - names->held_bytes);
}

static void hold(struct gnn_names *names, uint64_t bytes)
{
    names->memory->used_bytes += bytes - names->held_bytes;
    names->held_bytes = bytes;
}

static enum gnn_status grow_text(struct gnn_names *names, uint64_t needed, struct gnn_err *err)
{
    const uint64_t others = bytes_of(0, names->room, names->mask + 1), most = allowed(names);
    uint64_t room = gnn_max_u64(gnn_max_u64(names->text_room + names->text_room / 2, TEXT_MIN), needed);
    if (others + room > most)
        room = gnn_max_u64(most - gnn_min_u64(most, others), needed);
    if (others + room > most)
        return full(names, err);
    char *const text = realloc(names->text, room);
    if (text == NULL)
        return gnn_fail(err, GNN_ENOMEM, "text of %" PRIu32 " names", names->count);
    names->text = text;
    names->text_room = room;
    hold(names, others + room);
    return GNN_OK;
}

static enum gnn_status grow_starts(struct gnn_names *names, struct gnn_err *err)
{
    const uint64_t others = bytes_of(names->text_room, 0, names->mask + 1);
    uint64_t room = gnn_min_u64(gnn_max_u64(names->room + (uint64_t)names->room / 2, SLOTS_MIN), UINT32_MAX);
    const uint64_t most = (allowed(names) - gnn_min_u64(allowed(names), others)) / sizeof *names->start;
    room = gnn_min_u64(room, most);
    if (room <= names->room)
        return full(names, err);
    uint64_t *const start = realloc(names->start, room * sizeof *start);
    if (start == NULL)
        return gnn_fail(err, GNN_ENOMEM, "places of %" PRIu32 " names", names->count);
    names->start = start;
    names->room = (uint32_t)room;
    hold(names, others + room * sizeof *start);
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

/* Doubles the slots if they are half full. Without memory for that they may become seven eighths full. */
static enum gnn_status make_slots(struct gnn_names *names, struct gnn_err *err)
{
    const uint64_t now = names->mask + 1, slots = 2 * now;
    if (2 * (uint64_t)names->count < names->mask)
        return GNN_OK;
    if (bytes_of(names->text_room, names->room, slots + now) > allowed(names)) /* both while they are copied */
        return names->count < now - now / 8 ? GNN_OK : full(names, err);
    uint32_t *const larger = calloc(slots, sizeof *larger);
    if (larger == NULL)
        return gnn_fail(err, GNN_ENOMEM, "table of %" PRIu32 " names", names->count);
    free(names->slots);
    names->slots = larger;
    names->mask = slots - 1;
    hold(names, bytes_of(names->text_room, names->room, slots));
    for (uint32_t number = 0; number < names->count; number++)
        *slot_of(names, names->text + names->start[number], length_of(names, number)) = number + 1;
    return GNN_OK;
}

/* ---- adding ---- */

enum gnn_status gnn_names_add(struct gnn_names *names, const char *name, uint32_t length, uint32_t *number,
                              struct gnn_err *err)
{
    assert(length > 0);
    GNN_TRY(make_slots(names, err));
    uint32_t *const slot = slot_of(names, name, length);
    if (*slot != 0) {
        *number = *slot - 1;
        return GNN_OK;
    }
    if (names->count == GNN_NODE_NONE - 1)
        return gnn_fail(err, GNN_EFORMAT, "more than %" PRIu32 " names", names->count);
    if (names->count == names->room)
        GNN_TRY(grow_starts(names, err));
    if (names->text_bytes + length + 1 > names->text_room)
        GNN_TRY(grow_text(names, names->text_bytes + length + 1, err));
    names->start[names->count] = names->text_bytes;
    memcpy(names->text + names->text_bytes, name, length);
    names->text[names->text_bytes + length] = '\n';
    names->text_bytes += length + 1;
    *number = names->count++;
    *slot = names->count;
    return GNN_OK;
}

bool gnn_names_has(const struct gnn_names *names, const char *name, uint32_t length)
{
    return *slot_of(names, name, length) != 0;
}
