/* SPDX-License-Identifier: MIT */
#include "systems/mariusgnn/dense_marks.h"

#include <assert.h>

enum { FIND_AT_ONCE = 32 }; /* ranks before places: both are random accesses, one waits for the other */

uint64_t marius_marks_bytes(uint32_t local_count, uint32_t nodes)
{
    const uint64_t words = marius_marks_words(local_count);
    return words * (sizeof(uint64_t) + sizeof(struct marius_known)) + nodes * sizeof(uint32_t);
}

enum gnn_status marius_marks_reserve(struct gnn_world *world, struct marius_marks *marks, uint32_t local_count,
                                     uint32_t nodes, struct gnn_err *err)
{
    const uint64_t words = marius_marks_words(local_count);
    GNN_MEM_NEW(world, marks->mark, words, "marks of neighbours", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, marks->known, words, "nodes of a mini-batch as bits", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, marks->place, nodes, "places of a mini-batch's nodes", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

void marius_marks_release(struct gnn_world *world, struct marius_marks *marks)
{
    gnn_mem_free(world, marks->mark);
    gnn_mem_free(world, marks->known);
    gnn_mem_free(world, marks->place);
    *marks = (struct marius_marks){0};
}

void marius_marks_begin(struct marius_marks *marks, uint32_t local_count)
{
    marks->words = (uint32_t)marius_marks_words(local_count);
    memset(marks->known, 0, marks->words * sizeof *marks->known);
}

void marius_marks_know(struct marius_marks *marks, const uint32_t *locals, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *const bits = &marks->known[locals[i] / 64].bits;
        const uint64_t bit = UINT64_C(1) << (locals[i] % 64);
        assert(locals[i] / 64 < marks->words);
        assert((*bits & bit) == 0); /* a node stands in a batch once */
        *bits |= bit;
    }
}

uint32_t marius_marks_take(struct marius_marks *marks, uint32_t *out)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < marks->words; w++) {
        uint64_t fresh = marks->mark[w] & ~marks->known[w].bits;
        marks->mark[w] = 0;
        marks->known[w].bits |= fresh;
        for (; fresh != 0; fresh &= fresh - 1)
            out[count++] = w * 64 + (uint32_t)__builtin_ctzll(fresh);
    }
    return count;
}

void marius_marks_place(struct marius_marks *marks, const uint32_t *locals, uint32_t count)
{
    uint64_t before = 0;
    for (uint32_t w = 0; w < marks->words; w++) {
        marks->known[w].before = before;
        before += (uint64_t)__builtin_popcountll(marks->known[w].bits);
    }
    assert(before == count);
    for (uint32_t i = 0; i < count; i++)
        marks->place[marius_marks_rank(marks, locals[i])] = i;
}

void marius_marks_find(const struct marius_marks *marks, uint32_t *locals, uint32_t count)
{
    for (uint32_t at = 0; at < count; at += FIND_AT_ONCE) {
        const uint32_t some = gnn_min_u32(count - at, FIND_AT_ONCE);
        uint64_t rank[FIND_AT_ONCE];
        for (uint32_t i = 0; i < some; i++) {
            rank[i] = marius_marks_rank(marks, locals[at + i]);
            __builtin_prefetch(&marks->place[rank[i]]);
        }
        for (uint32_t i = 0; i < some; i++)
            locals[at + i] = marks->place[rank[i]];
    }
}
