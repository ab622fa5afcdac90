#include "systems/presort/order.h"

#include "harness/base/bitset.h"

/* Marked loads first, both kinds by row. */
static bool is_before(const struct presort_load *a, const struct presort_load *b)
{
    const bool marked = (a->slot & PRESORT_SORTED_LOAD) != 0;
    if (marked != ((b->slot & PRESORT_SORTED_LOAD) != 0))
        return marked;
    return a->row < b->row;
}

static void sift_down(struct presort_load *heap, uint32_t at, uint32_t count)
{
    const struct presort_load load = heap[at];
    for (uint64_t child; (child = UINT64_C(2) * at + 1) < count; at = (uint32_t)child) {
        if (child + 1 < count && is_before(&heap[child], &heap[child + 1]))
            child++;
        if (!is_before(&load, &heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = load;
}

uint32_t presort_order_by_row(struct presort_load *loads, uint32_t count)
{
    uint32_t ordered = 1;
    while (ordered < count && !is_before(&loads[ordered], &loads[ordered - 1]))
        ordered++;
    if (ordered >= count)
        return 0;
    for (uint32_t at = count / 2; at-- > 0;)
        sift_down(loads, at, count);
    for (uint32_t end = count; end-- > 1;) {
        const struct presort_load last = loads[end];
        loads[end] = loads[0];
        loads[0] = last;
        sift_down(loads, 0, end);
    }
    return count;
}

/* Marks the sorted rows that are packed, and puts their places where the rows were; returns how many. */
static uint32_t mark_packed(const struct presort_hot *hot, const struct presort_classes *classes,
                            struct presort_load *loads, uint32_t count)
{
    const uint64_t *const members = presort_hot_packed(hot)->members;
    uint32_t marked = 0;
    for (uint32_t i = 0; i < count; i++)
        if (gnn_bitset_has(members, loads[i].row) && presort_classes_sorted(classes, loads[i].row)) {
            loads[i].row = presort_hot_place(hot, loads[i].row);
            loads[i].slot |= PRESORT_SORTED_LOAD;
            marked++;
        }
    return marked;
}

uint32_t presort_order_as_swept(const struct presort_hot *hot, const struct presort_classes *classes,
                                struct presort_load *loads, uint32_t count)
{
    const gnn_node *const rows = presort_hot_packed(hot)->rows;
    const uint32_t marked = mark_packed(hot, classes, loads, count);
    if (marked == 0)
        return 0;
    (void)presort_order_by_row(loads, count);
    for (uint32_t i = 0; i < marked; i++) {
        loads[i].row = rows[loads[i].row];
        loads[i].slot &= ~PRESORT_SORTED_LOAD;
    }
    return count;
}

/* ---- wants ---- */

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, FEW = 32, NODE_SHIFT = 32 };

static void insert_few(uint64_t *keys, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        const uint64_t key = keys[i];
        uint64_t at = i;
        for (; at > 0 && keys[at - 1] > key; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

static uint32_t digit_of(uint64_t key, uint32_t shift)
{
    return (uint32_t)(key >> shift) % DIGITS;
}

/* Puts keys that are equal above a digit in the order of that digit, in place; begin (DIGITS + 1): where the keys of
 * each digit are then. (McIlroy, Bostic, McIlroy: Engineering Radix Sort, Computing Systems 6(1), 1993.) */
static void order_by_digit(uint64_t *keys, uint64_t count, uint32_t shift, uint64_t *begin)
{
    uint64_t next[DIGITS];
    memset(begin, 0, (DIGITS + 1) * sizeof *begin);
    for (uint64_t i = 0; i < count; i++)
        begin[digit_of(keys[i], shift) + 1]++;
    for (uint32_t d = 0; d < DIGITS; d++) {
        begin[d + 1] += begin[d];
        next[d] = begin[d];
    }
    for (uint32_t d = 0; d < DIGITS; d++)
        while (next[d] < begin[d + 1]) {
            const uint64_t key = keys[next[d]];
            const uint32_t to = digit_of(key, shift);
            keys[next[d]] = keys[next[to]];
            keys[next[to]++] = key;
        }
}

static void order_below(uint64_t *keys, uint64_t count, uint32_t shift)
{
    uint64_t begin[DIGITS + 1];
    if (count <= FEW) {
        insert_few(keys, count);
        return;
    }
    order_by_digit(keys, count, shift, begin);
    if (shift == NODE_SHIFT)
        return;
    for (uint32_t d = 0; d < DIGITS; d++)
        order_below(keys + begin[d], begin[d + 1] - begin[d], shift - DIGIT_BITS);
}

void presort_order_wants(uint64_t *wants, uint64_t count)
{
    order_below(wants, count, 64 - DIGIT_BITS);
}
