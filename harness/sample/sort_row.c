#include "harness/sample/sort_row.h"

#include <string.h>

enum { LANES = 16 };
_Static_assert(GNN_FANOUT_MAX % LANES == 0, "a row fits into whole vectors");

/* Sixteen columns side by side: the compiler makes of it what the processor has. */
typedef uint32_t columns __attribute__((vector_size(4 * LANES)));

/* Every column goes to the place of its rank: how many come before it, equal ones in their order. No jump depends on a
 * value, so that nothing waits for a jump foreseen wrongly, as insertion does at each column that repeats a node of the
 * mini-batch. */
void gnn_sort_row(uint32_t *row, uint32_t count, uint64_t readable)
{
    static const columns lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    uint32_t value[GNN_FANOUT_MAX], rank[GNN_FANOUT_MAX];
    if (count < 2)
        return;
    for (uint32_t first = 0; first < count; first += LANES) {
        columns values = {0}, ranks = {0};
        if (first + LANES <= readable)
            memcpy(&values, row + first, sizeof values);
        else
            memcpy(&values, row + first, (count - first) * sizeof *row);
        for (uint32_t i = 0; i < count; i++) {
            const columns after = (columns)(lane + first > i); /* all bits: places behind i */
            ranks -= (columns)(row[i] < values - after);       /* behind it an equal one comes later, too */
        }
        memcpy(value + first, &values, sizeof values);
        memcpy(rank + first, &ranks, sizeof ranks);
    }
    for (uint32_t i = 0; i < count; i++)
        row[rank[i]] = value[i];
}
