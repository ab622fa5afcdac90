/* SPDX-License-Identifier: MIT */
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
