/* SPDX-License-Identifier: MIT */
#include "harness/world/simulated/touched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { WORD_PAGES = 64, LOOK_PAGES = 64 * WORD_PAGES };

static uint64_t word_count(const struct sim_touched *touched)
{
    return gnn_div_up(touched->pages, WORD_PAGES);
}

/* The bits of a word's pages inside [first, end). */
static uint64_t word_mask(uint64_t word, uint64_t first, uint64_t end)
{
    const uint64_t start = word * WORD_PAGES;
    const uint64_t low = first > start ? first - start : 0;
    const uint64_t high = gnn_min_u64(end - start, WORD_PAGES);
    assert(low < high);
    const uint64_t up_to_high = high == WORD_PAGES ? UINT64_MAX : (UINT64_C(1) << high) - 1;
    return up_to_high & ~((UINT64_C(1) << low) - 1);
}

enum gnn_status sim_touched_open(uint64_t pages, struct sim_touched *out, struct gnn_err *err)
{
    *out = (struct sim_touched){.pages = pages};
    GNN_NEW(out->bits, word_count(out), err, "the touched ones of %llu pages", (unsigned long long)pages);
    return GNN_OK;
}

void sim_touched_close(struct sim_touched *touched)
{
    free(touched->bits);
    touched->bits = NULL;
}

void sim_touched_all(struct sim_touched *touched)
{
    sim_touched_close(touched);
    touched->count = touched->pages;
}

uint64_t sim_touched_mark(struct sim_touched *touched, uint64_t first, uint64_t pages)
{
    const uint64_t end = first + pages;
    uint64_t added = 0;
    assert(pages > 0);
    assert(end <= touched->pages);
    if (touched->bits == NULL)
        return 0;
    for (uint64_t word = first / WORD_PAGES; word * WORD_PAGES < end; word++) {
        const uint64_t fresh = word_mask(word, first, end) & ~touched->bits[word];
        touched->bits[word] |= fresh;
        added += (uint64_t)__builtin_popcountll(fresh);
    }
    touched->count += added;
    if (touched->count == touched->pages)
        sim_touched_close(touched);
    return added;
}

/* The lowest bits of 64 bytes, the first one lowest: each product moves those of eight bytes to its top byte. */
static uint64_t low_bits(const unsigned char *bytes)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < WORD_PAGES; i += 8) {
        uint64_t eight;
        memcpy(&eight, bytes + i, sizeof eight);
        bits |= ((eight & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56) << i;
    }
    return bits;
}

/* Asks about up to LOOK_PAGES pages from a word's first on. */
static uint64_t look_at(struct sim_touched *touched, unsigned char *base, uint64_t word, uint64_t pages, bool *whole)
{
    unsigned char there[LOOK_PAGES];
    const uint64_t words = gnn_div_up(pages, WORD_PAGES);
    uint64_t added = 0;
    assert(pages <= LOOK_PAGES);
    if (mincore(base + word * WORD_PAGES * GNN_PAGE_BYTES, pages * GNN_PAGE_BYTES, there) != 0) {
        *whole = false; /* the host is out of memory for a moment: another look will tell */
        return 0;
    }
    memset(there + pages, 0, words * WORD_PAGES - pages);
    for (uint64_t i = 0; i < words; i++) {
        const uint64_t fresh = low_bits(there + i * WORD_PAGES) & ~touched->bits[word + i];
        touched->bits[word + i] |= fresh;
        added += (uint64_t)__builtin_popcountll(fresh);
    }
    return added;
}

uint64_t sim_touched_look(struct sim_touched *touched, unsigned char *base, bool *whole)
{
    const uint64_t words = touched->bits == NULL ? 0 : word_count(touched);
    uint64_t added = 0;
    for (uint64_t word = 0; word < words;) {
        if (touched->bits[word] == UINT64_MAX) {
            word++;
            continue;
        }
        uint64_t end = word + 1;
        while (end < words && end - word < LOOK_PAGES / WORD_PAGES && touched->bits[end] != UINT64_MAX)
            end++;
        const uint64_t left = touched->pages - word * WORD_PAGES;
        added += look_at(touched, base, word, gnn_min_u64(left, (end - word) * WORD_PAGES), whole);
        word = end;
    }
    touched->count += added;
    if (added > 0 && touched->count == touched->pages)
        sim_touched_close(touched);
    return added;
}

/* ---- faults ---- */

uint64_t sim_touched_faults(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return UINT64_MAX;
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

bool sim_touched_faults_count(void)
{
    unsigned char *const page = mmap(NULL, GNN_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    const uint64_t before = sim_touched_faults();
    *(volatile unsigned char *)page = 1;
    const uint64_t after = sim_touched_faults();
    (void)munmap(page, GNN_PAGE_BYTES);
    return before != UINT64_MAX && after != UINT64_MAX && after > before;
}
