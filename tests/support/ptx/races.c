/* SPDX-License-Identifier: MIT */
#include "tests/support/ptx/races.h"

#include "tests/support/ptx/code.h"

enum { BY_NOBODY, BY_THREAD, BY_WARP, BY_BLOCK, BY_BLOCKS };

enum { PAGE_BITS = 8, PAGE_BYTES = 1 << PAGE_BITS, BUCKETS = 4096 };

/* ---- order ---- */

static bool same_warp(const struct ptx_moment *a, const struct ptx_moment *b)
{
    return a->block == b->block && a->thread / PTX_LANES == b->thread / PTX_LANES;
}

/* Whether `before`, made by as many as `by` says, is ordered before what the thread does now. */
static bool ordered(const struct ptx_moment *before, uint32_t by, const struct ptx_moment *now)
{
    if (by == BY_NOBODY)
        return true;
    if (by == BY_BLOCKS || before->block != now->block)
        return false;
    if (before->barriers < now->barriers || (by == BY_THREAD && before->thread == now->thread))
        return true;
    return by <= BY_WARP && same_warp(before, now) && before->warp_barriers < now->warp_barriers;
}

/* The readers so far and this one, as few as can be said. */
static uint32_t readers(const struct ptx_byte *byte, const struct ptx_moment *now)
{
    if (byte->read == BY_BLOCKS || (byte->read != BY_NOBODY && byte->reader.block != now->block))
        return BY_BLOCKS;
    if (ordered(&byte->reader, byte->read, now))
        return BY_THREAD; /* what is ordered behind this read is behind the earlier ones */
    return byte->read <= BY_WARP && same_warp(&byte->reader, now) ? BY_WARP : BY_BLOCK;
}

bool ptx_byte_write(struct ptx_byte *byte, const struct ptx_moment *now, struct ptx_moment *other)
{
    const bool behind_write = ordered(&byte->writer, byte->written, now);
    const bool behind_read = ordered(&byte->reader, byte->read, now);
    *other = behind_write ? byte->reader : byte->writer;
    byte->writer = *now;
    byte->written = BY_THREAD;
    return behind_write && behind_read;
}

bool ptx_byte_read(struct ptx_byte *byte, const struct ptx_moment *now, struct ptx_moment *other)
{
    const bool behind = ordered(&byte->writer, byte->written, now);
    *other = byte->writer;
    byte->read = readers(byte, now);
    byte->reader = *now;
    return behind;
}

/* ---- global memory ---- */

struct page {
    uint64_t number;
    struct page *next;
    struct ptx_byte bytes[PAGE_BYTES];
};

struct ptx_shadow {
    struct page *buckets[BUCKETS], *last;
};

enum gnn_status ptx_shadow_open(struct ptx_shadow **out, struct gnn_err *err)
{
    GNN_NEW(*out, 1, err, "accesses of global memory");
    return GNN_OK;
}

void ptx_shadow_close(struct ptx_shadow *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < BUCKETS; i++)
        for (struct page *page = s->buckets[i], *next; page != NULL; page = next) {
            next = page->next;
            free(page);
        }
    free(s);
}

static struct page *page_of(struct ptx_shadow *s, uint64_t number)
{
    struct page **const bucket = &s->buckets[number % BUCKETS];
    for (struct page *page = *bucket; page != NULL; page = page->next)
        if (page->number == number)
            return page;
    struct page *const page = calloc(1, sizeof *page);
    if (page == NULL)
        return NULL;
    page->number = number;
    page->next = *bucket;
    return *bucket = page;
}

struct ptx_byte *ptx_shadow_at(struct ptx_shadow *s, uint64_t address)
{
    const uint64_t number = address >> PAGE_BITS;
    if (s->last == NULL || s->last->number != number)
        s->last = page_of(s, number);
    return s->last == NULL ? NULL : &s->last->bytes[address % PAGE_BYTES];
}
