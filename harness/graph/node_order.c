/* SPDX-License-Identifier: MIT */
#include "harness/graph/node_order.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double least_share = 1e-4;   /* so that seven digits take at most 12 characters */
static const double sum_error = 1e-6;     /* of shares that were written with seven digits */
static const double density_error = 1e-4; /* a set may pass a piece by rounding */

/* ---- text ---- */

static bool take_share(const char **text, char end, double *out)
{
    char *after = NULL;
    *out = strtod(*text, &after);
    const bool taken = after != *text && isfinite(*out) && (*out == 0 || *out >= least_share) && *after == end;
    *text = after;
    return taken;
}

static bool take_pairs(const char *text, struct gnn_node_order *out)
{
    double ids = 0, members = 0;
    for (bool more = true; more;) {
        double *const pair[] = {&out->ids[out->count], &out->members[out->count]};
        if (out->count == GNN_ORDER_PIECES_MAX || !take_share(&text, ':', pair[0]))
            return false;
        text++;
        more = strchr(text, '+') != NULL;
        if (!take_share(&text, more ? '+' : '\0', pair[1]) || *pair[0] == 0)
            return false;
        text += more;
        ids += *pair[0];
        members += *pair[1];
        out->count++;
    }
    return fabs(ids - 1) < sum_error && fabs(members - 1) < sum_error;
}

enum gnn_status gnn_node_order_parse(const char *text, struct gnn_node_order *out, struct gnn_err *err)
{
    *out = (struct gnn_node_order){0};
    if (strcmp(text, "even") == 0)
        return GNN_OK;
    if (take_pairs(text, out))
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE,
                    "order \"%s\": expected `even`, or 1 to %d pairs ID_SHARE:MEMBER_SHARE whose shares add up to 1, "
                    "such as 0.6:0.25+0.4:0.75; the least share above 0 is %g",
                    text, GNN_ORDER_PIECES_MAX, least_share);
}

_Static_assert(GNN_ORDER_PIECES_MAX *(2 * (int)sizeof "0.0001234567") <= GNN_ORDER_TEXT, "room for every pair");

void gnn_node_order_format(const struct gnn_node_order *order, char text[GNN_ORDER_TEXT])
{
    int used = 0;
    (void)snprintf(text, GNN_ORDER_TEXT, "even");
    for (uint32_t i = 0; i < order->count; i++) {
        used += snprintf(text + used, (size_t)(GNN_ORDER_TEXT - used), "%s%.7g:%.7g", i > 0 ? "+" : "", order->ids[i],
                         order->members[i]);
        assert(used < GNN_ORDER_TEXT);
    }
}

enum gnn_status gnn_node_order_check(const struct gnn_node_order *order, double share, struct gnn_err *err)
{
    for (uint32_t i = 0; i < order->count; i++)
        if (order->members[i] * share > order->ids[i] * (1 + density_error))
            return gnn_fail(err, GNN_EUSAGE,
                            "order: piece %" PRIu32 " has %g of the node IDs, too few for %g of a reachable set of %g; "
                            "choose a smaller set, or order=even",
                            i + 1, order->ids[i], order->members[i], share);
    return GNN_OK;
}

struct gnn_node_order gnn_node_order_fill(double filled)
{
    const double first = fmax(filled, least_share);
    if (1 - first < least_share)
        return (struct gnn_node_order){0};
    return (struct gnn_node_order){.count = 2, .ids = {first, 1 - first}, .members = {1, 0}};
}

double gnn_node_order_filled(const struct gnn_node_order *order)
{
    if (order->count == 0)
        return 1;
    return order->count <= 2 && order->members[0] == 1 ? order->ids[0] : (double)NAN;
}

/* ---- places ---- */

static uint32_t rounded(double share, uint32_t of)
{
    return (uint32_t)fmin(floor(share * of + 0.5), of);
}

/* Moves boundaries between pieces until each has an ID for every member: first upwards, then back from the end. */
static void make_room(struct gnn_places *p)
{
    for (uint32_t i = 1; i < p->count; i++) {
        const uint32_t members = p->piece[i].member - p->piece[i - 1].member;
        p->piece[i].node = gnn_max_u32(p->piece[i].node, p->piece[i - 1].node + members);
    }
    for (uint32_t i = p->count - 1; i > 0; i--) {
        const uint32_t members = p->piece[i + 1].member - p->piece[i].member;
        p->piece[i].node = gnn_min_u32(p->piece[i].node, p->piece[i + 1].node - members);
    }
}

void gnn_places_open(const struct gnn_node_order *order, uint32_t node_count, uint32_t member_count, uint64_t key,
                     struct gnn_places *out)
{
    double ids = 0, members = 0;
    assert(member_count <= node_count);
    *out = (struct gnn_places){.key = key, .count = gnn_max_u32(order->count, 1)};
    for (uint32_t i = 1; i < out->count; i++) {
        ids += order->ids[i - 1];
        members += order->members[i - 1];
        out->piece[i].node = rounded(ids, node_count);
        out->piece[i].member = rounded(members, member_count);
    }
    out->piece[out->count].node = node_count;
    out->piece[out->count].member = member_count;
    make_room(out);
    for (uint32_t i = 0; i < out->count; i++) {
        const uint64_t span = out->piece[i + 1].node - out->piece[i].node;
        const uint32_t inside = out->piece[i + 1].member - out->piece[i].member;
        assert(inside <= span);
        out->piece[i].step = inside > 0 ? (span << 32) / inside : 0;
    }
}

static inline uint64_t interval_start(uint64_t step, uint64_t interval)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)step * interval >> 32);
}

uint32_t gnn_places_interval(const struct gnn_places *places, uint32_t node)
{
    uint32_t i = 0;
    assert(node < places->piece[places->count].node);
    while (node >= places->piece[i + 1].node)
        i++;
    const uint64_t step = places->piece[i].step, inside = node - places->piece[i].node;
    const uint32_t members = places->piece[i + 1].member - places->piece[i].member;
    if (members == 0)
        return places->piece[i].member;
    uint64_t interval = (uint64_t)((double)inside * 0x1p32 / (double)step); /* exact, or one off */
    interval = gnn_min_u64(interval, members);
    while (interval_start(step, interval) > inside)
        interval--;
    while (interval < members && interval_start(step, interval + 1) <= inside)
        interval++;
    return places->piece[i].member + (uint32_t)interval;
}
