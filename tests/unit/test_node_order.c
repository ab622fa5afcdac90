/* SPDX-License-Identifier: MIT */
/* Places of a reachable set among the node IDs: texts, the order of the members, the exact inverse, and the density of
 * each piece at several scales. */
#include "harness/graph/node_order.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Orders with steps up and down, with an empty piece at either end and between, and with a piece that is full. */
static const char *const orders[] = {
    "even",        "0.133:0.03+0.417:0.25+0.16:0.12+0.116:0.15+0.174:0.45",
    "0.4:1+0.6:0", "0.1:0+0.2:0.8+0.5:0+0.2:0.2",
    "0.5:0+0.5:1", "0.19:1+0.81:0",
    "1:1",
};
enum { ORDERS = sizeof orders / sizeof orders[0] };
static const double share = 0.19;

static struct gnn_node_order parse(const char *text)
{
    struct gnn_node_order order;
    struct gnn_err err = {0};
    must(gnn_node_order_parse(text, &order, &err), &err);
    return order;
}

static struct gnn_places open_places(const char *text, uint32_t nodes, uint32_t *members)
{
    struct gnn_places places;
    const struct gnn_node_order order = parse(text);
    *members = (uint32_t)(share * nodes + 0.5);
    gnn_places_open(&order, nodes, *members, 42, &places);
    return places;
}

static void test_text(void **state)
{
    (void)state;
    static const char *const same[][2] = {
        {"even", "even"},
        {"0.133:.03+0.417:.25+0.16:.12+0.116:.15+0.174:.45", "0.133:0.03+0.417:0.25+0.16:0.12+0.116:0.15+0.174:0.45"},
        {"1:1", "1:1"},
        {"5e-1:0+.5:1.0", "0.5:0+0.5:1"},
        {"0.1234567:0.5+0.8765433:0.5", "0.1234567:0.5+0.8765433:0.5"}};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        const struct gnn_node_order order = parse(same[i][0]);
        char text[GNN_ORDER_TEXT];
        gnn_node_order_format(&order, text);
        assert_string_equal(text, same[i][1]);
    }
    const struct gnn_node_order order = parse("0.25:0.75+0.7:0+0.05:0.25");
    assert_int_equal(order.count, 3);
    assert_true(order.ids[0] == 0.25 && order.ids[1] == 0.7 && order.ids[2] == 0.05);
    assert_true(order.members[0] == 0.75 && order.members[1] == 0 && order.members[2] == 0.25);
}

static void test_wrong_text(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "old",
        "0.5",
        "1:1+",
        "0.5:0.5",
        "0.5:0.5+0.5:0.4",
        "0.5:0.5+",
        "0.5:0.5+0:0.5",
        "0.5:0.5+0.6:0.5",
        "0.5:1+.5:0x",
        "1.5:1+-0.5:0",
        "0.5:nan+0.5:1",
        "0.5:1 +.5:0",
        "0.00005:0+0.99995:1",
        "0.5:0.5+0.5:0.5+",
        ".1:.1+.1:.1+.1:.1+.1:.1+.1:.1+.1:.1+.4:.4",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct gnn_node_order order;
        struct gnn_err err = {0};
        if (gnn_node_order_parse(wrong[i], &order, &err) != GNN_EUSAGE)
            fail_msg("'%s' is accepted", wrong[i]);
        assert_non_null(strstr(err.message, wrong[i]));
        assert_non_null(strstr(err.message, "0.6:0.25+0.4:0.75"));
    }
}

static void test_filled(void **state)
{
    (void)state;
    static const double shares[] = {1, 0.7, 0.25, 0.0001};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        const struct gnn_node_order order = gnn_node_order_fill(shares[i]);
        assert_true(gnn_node_order_filled(&order) == shares[i]);
    }
    const struct gnn_node_order uneven = parse(orders[1]), late = parse("0.5:0+0.5:1");
    assert_true(isnan(gnn_node_order_filled(&uneven)));
    assert_true(isnan(gnn_node_order_filled(&late)));
}

static void test_too_dense(void **state)
{
    (void)state;
    const struct gnn_node_order order = parse(orders[1]);
    struct gnn_err err = {0};
    must(gnn_node_order_check(&order, 0.174 / 0.45, &err), &err);
    assert_int_equal(gnn_node_order_check(&order, 0.39, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "piece 5 has 0.174 of the node IDs"));
    assert_non_null(strstr(err.message, "order=even"));
}

/* Every ID of a small graph: members ascend, each is found at its ID, and no other ID is taken for a member. */
static void test_inverse(void **state)
{
    (void)state;
    static const uint32_t nodes[] = {100, 11106, 111060};
    for (size_t i = 0; i < ORDERS * sizeof nodes / sizeof nodes[0]; i++) {
        const uint32_t count = nodes[i / ORDERS];
        uint32_t members, next = 0;
        const struct gnn_places places = open_places(orders[i % ORDERS], count, &members);
        for (uint32_t v = 0; v < count; v++) {
            const uint32_t at = gnn_places_interval(&places, v);
            const bool member = next < members && gnn_places_node(&places, next) == v;
            assert_true(at == next || (!member && at + 1 == next)); /* before or behind the place in its interval */
            assert_true(!member || at == next);
            next += member;
        }
        assert_int_equal(next, members);
    }
}

/* papers100M from 1/10000 to 1: below any ID there are as many members as the order states, to within one. */
static void test_density(void **state)
{
    (void)state;
    for (size_t i = 0; i < (size_t)5 * ORDERS; i++) {
        const uint32_t nodes = (uint32_t)(111059956 / pow(10, (double)(i / ORDERS)));
        const struct gnn_node_order order = parse(orders[i % ORDERS]);
        uint32_t members;
        const struct gnn_places places = open_places(orders[i % ORDERS], nodes, &members);
        double ids = 0, below = 0;
        for (uint32_t piece = 0; piece < order.count; piece++) {
            for (int part = 0; part < 50; part++) {
                const double at = part / 50.0;
                const uint32_t v = (uint32_t)((ids + at * order.ids[piece]) * nodes);
                const double wanted = (below + at * order.members[piece]) * members;
                const double found = gnn_places_interval(&places, v);
                if (fabs(found - wanted) > 2) /* of the boundary and of the interval: a rounding each */
                    fail_msg("%s, %u nodes: %.0f members below %u, expected %.1f", orders[i % ORDERS], nodes, found, v,
                             wanted);
            }
            ids += order.ids[piece];
            below += order.members[piece];
            assert_true(fabs(places.piece[piece + 1].member - below * members) <= 0.5 + 1e-6 * members);
            assert_true(fabs(places.piece[piece + 1].node - ids * nodes) <= 1 + 1e-6 * nodes);
        }
    }
}

/* The first and the last member of each piece are in the piece, at scale 1, and sampled members are found again. */
static void test_scale_1(void **state)
{
    (void)state;
    uint32_t members;
    const struct gnn_places places = open_places(orders[1], 111059956, &members);
    for (uint32_t i = 0; i < places.count; i++) {
        const uint32_t first = places.piece[i].member, end = places.piece[i + 1].member;
        assert_true(gnn_places_node(&places, first) >= places.piece[i].node);
        assert_true(gnn_places_node(&places, end - 1) < places.piece[i + 1].node);
        for (uint32_t member = first; member + 1 < end; member += 9973) {
            const uint32_t v = gnn_places_node(&places, member);
            assert_true(v < gnn_places_node(&places, member + 1));
            assert_int_equal(gnn_places_interval(&places, v), member);
        }
    }
}

/* Full pieces have an ID for each member, whichever way their shares are rounded. */
static void test_full_pieces(void **state)
{
    (void)state;
    for (uint32_t nodes = 100; nodes < 1100; nodes++) {
        uint32_t members;
        const struct gnn_places places = open_places("0.057:0.3+0.81:0+0.133:0.7", nodes, &members);
        for (uint32_t i = 0; i < places.count; i++)
            assert_true(places.piece[i + 1].member - places.piece[i].member <=
                        places.piece[i + 1].node - places.piece[i].node);
        for (uint32_t member = 0; member < members; member++)
            assert_int_equal(gnn_places_interval(&places, gnn_places_node(&places, member)), member);
    }
}

/* Without pieces, member i is at a hashed place in interval i of as many equal ones, whatever the order's code does. */
static void test_even(void **state)
{
    (void)state;
    uint32_t members;
    const struct gnn_places places = open_places("even", 1000003, &members),
                            same = open_places("1:1", 1000003, &members);
    const uint64_t step = (UINT64_C(1000003) << 32) / members;
    for (uint32_t i = 0; i < members; i++) {
        const uint64_t low = step * i >> 32, width = (step * (i + 1) >> 32) - low;
        const uint64_t bits = gnn_splitmix64_at(42, i) >> 32;
        assert_int_equal(gnn_places_node(&places, i), low + (bits * width >> 32));
        assert_int_equal(gnn_places_node(&same, i), gnn_places_node(&places, i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),      cmocka_unit_test(test_wrong_text), cmocka_unit_test(test_filled),
        cmocka_unit_test(test_too_dense), cmocka_unit_test(test_inverse),    cmocka_unit_test(test_density),
        cmocka_unit_test(test_scale_1),   cmocka_unit_test(test_even),       cmocka_unit_test(test_full_pieces),
    };
    return cmocka_run_group_tests_name("node_order", tests, NULL, NULL);
}
