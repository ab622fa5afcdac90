/* SPDX-License-Identifier: MIT */
#include "harness/graph/mutual.h"

#include "harness/base/rng.h"
#include "harness/graph/class_groups.h"
#include "harness/graph/permute.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    SIZES = 5,
    PLACES_MAX = 8,   /* of a member, in cliques: a hub's neighbours hardly know each other */
    FEW_CLIQUES = 8,  /* for each place that a member has: among fewer it would meet itself too often */
    ALL_CLASSES = -1, /* instead of one */
};

/* Other members of a clique, by size; size 0 is a pair. Thrice as many from size to size: members whose lists are of
 * unlike lengths meet in one, and none is wholly among its like. */
static const uint32_t others_of[SIZES] = {1, 3, 9, 27, 81};

/* Stubs of the members of a row, one behind the other. */
struct stubs {
    uint32_t first;      /* number of the first one in its class */
    uint32_t many, each; /* of one of the first `many_upto` members; of one of the others */
    uint32_t many_upto;
};

/* Members of one class and split that have lists of one length: those of the class from number `first` to the next
 * row's. */
struct row {
    uint32_t first, members, degree;
    uint32_t size;        /* of their cliques; 0: none */
    struct stubs cliques; /* the first members have one place more than the others, ... */
    struct stubs pairs;   /* ... and fewer of these */
};

/* The stubs of one class and size. */
struct strand {
    uint32_t stubs;
    uint32_t inside;        /* of them, shuffled: in cliques of the class */
    uint32_t before;        /* others of the classes before it */
    uint32_t owner, owners; /* its part of gnn_mutual.owners */
};

struct gnn_mutual {
    uint32_t count, train_count;
    uint64_t rank_key, stub_key;
    const struct gnn_degree_law *lists, *train_lists;
    double clique_share;
    struct gnn_class_groups groups;
    uint32_t *class_row; /* (classes + 1) */
    struct row *rows;
    struct strand *strands;  /* (classes, SIZES) */
    uint32_t *owners;        /* rows that have stubs of a strand, ascending */
    uint32_t outside[SIZES]; /* stubs in cliques of all classes */
};

/* ---- members ---- */

/* Members in the order of falling lengths, training nodes first: a permutation of each. */
static uint32_t rank_of(const struct gnn_mutual *m, uint32_t member)
{
    assert(member < m->count);
    if (member < m->train_count)
        return gnn_permute(m->rank_key, m->train_count, member);
    return m->train_count + gnn_permute(m->rank_key + 1, m->count - m->train_count, member - m->train_count);
}

static uint32_t member_at(const struct gnn_mutual *m, uint32_t rank)
{
    assert(rank < m->count);
    if (rank < m->train_count)
        return gnn_permute_back(m->rank_key, m->train_count, rank);
    return m->train_count + gnn_permute_back(m->rank_key + 1, m->count - m->train_count, rank - m->train_count);
}

static const struct gnn_degree_law *law_of(const struct gnn_mutual *m, uint32_t rank)
{
    return rank < m->train_count ? m->train_lists : m->lists;
}

/* Where its list stands among those of its law in rising order, of 2^32. */
static uint32_t quantile_of(const struct gnn_mutual *m, uint32_t rank)
{
    const bool train = rank < m->train_count;
    const uint32_t first = train ? 0 : m->train_count, count = train ? m->train_count : m->count - m->train_count;
    const double rising = 1 - (rank - first + 0.5) / count;
    return (uint32_t)fmin(rising * 0x1p32, 0x1p32 - 1);
}

static uint32_t degree_at(const struct gnn_mutual *m, uint32_t rank)
{
    return gnn_degree_at(law_of(m, rank), quantile_of(m, rank));
}

uint32_t gnn_mutual_class(const struct gnn_mutual *m, uint32_t member)
{
    return gnn_class_of(&m->groups, rank_of(m, member));
}

uint32_t gnn_mutual_degree(const struct gnn_mutual *m, uint32_t member)
{
    return degree_at(m, rank_of(m, member));
}

/* Members of a class whose rank is below `rank`. */
static uint32_t class_below(const struct gnn_mutual *m, uint32_t class, uint32_t rank)
{
    const uint32_t whole = rank / m->groups.count;
    return whole + (gnn_class_member(&m->groups, class, whole) < rank);
}

/* ---- cliques ---- */

/* The largest of the first `sizes` whose other members fit into a list. */
static uint32_t size_for(uint32_t degree, uint32_t sizes)
{
    uint32_t size = 0;
    while (size + 1 < sizes && others_of[size + 1] <= degree)
        size++;
    return size;
}

/* Places of a list in cliques of a size above 0, on average over lists as long. */
static double places_for(double clique_share, uint32_t degree, uint32_t size)
{
    const uint32_t others = others_of[size], room = degree / others;
    return fmin(clique_share * degree / others, gnn_min_u32(room, PLACES_MAX));
}

/* ---- neighbours ---- */

struct stub {
    uint32_t class, number;
};

static uint64_t shuffle_key(const struct gnn_mutual *m, uint32_t size, int64_t class)
{
    return gnn_rng_fold(m->stub_key, (uint64_t)size << 40 | (uint64_t)(class - ALL_CLASSES));
}

static const struct strand *strand_of(const struct gnn_mutual *m, uint32_t class, uint32_t size)
{
    return &m->strands[(size_t) class * SIZES + size];
}

/* The place `turn` behind this one in its clique. */
static uint32_t turn_in_clique(uint32_t place, uint32_t turn, uint32_t members)
{
    const uint32_t at = place % members, next = at + turn;
    return place - at + (next < members ? next : next - members);
}

/* The class that has this one of the stubs in cliques of all classes. */
static uint32_t class_with(const struct gnn_mutual *m, uint32_t size, uint32_t outside)
{
    uint32_t low = 0, high = m->groups.count - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (strand_of(m, middle, size)->before <= outside)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The stub `turn` places behind in the clique; itself in what is left over for a last clique. */
static struct stub other_stub(const struct gnn_mutual *m, struct stub stub, uint32_t size, uint32_t turn)
{
    const uint32_t members = others_of[size] + 1, all = m->outside[size];
    const struct strand *s = strand_of(m, stub.class, size);
    const uint64_t key = shuffle_key(m, size, stub.class);
    const uint32_t place = gnn_permute(key, s->stubs, stub.number);
    if (place < s->inside)
        return (struct stub){stub.class, gnn_permute_back(key, s->stubs, turn_in_clique(place, turn, members))};
    const uint64_t all_key = shuffle_key(m, size, ALL_CLASSES);
    const uint32_t among = gnn_permute(all_key, all, s->before + place - s->inside);
    if (among >= all - all % members)
        return stub;
    const uint32_t other = gnn_permute_back(all_key, all, turn_in_clique(among, turn, members));
    const uint32_t class = class_with(m, size, other);
    s = strand_of(m, class, size);
    return (struct stub){class, gnn_permute_back(shuffle_key(m, size, class), s->stubs, s->inside + other - s->before)};
}

static uint32_t stub_at(const struct stubs *s, uint32_t nth)
{
    const uint32_t many = gnn_min_u32(nth, s->many_upto);
    return s->first + many * s->many + (nth - many) * s->each;
}

/* The member of the row whose stub it is. */
static uint32_t nth_with(const struct stubs *s, uint32_t stub)
{
    const uint32_t at = stub - s->first, of_many = s->many_upto * s->many;
    return at < of_many ? at / s->many : s->many_upto + (at - of_many) / s->each;
}

static const struct stubs *stubs_of(const struct row *row, uint32_t size)
{
    return size == 0 ? &row->pairs : &row->cliques;
}

/* The last row of [low, high] that begins at or before this member of its class. */
static const struct row *row_of(const struct gnn_mutual *m, uint32_t class, uint32_t number)
{
    uint32_t low = m->class_row[class], high = m->class_row[class + 1] - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (m->rows[middle].first <= number)
            low = middle;
        else
            high = middle - 1;
    }
    return &m->rows[low];
}

/* The member of the class that a stub belongs to. */
static uint32_t owner_of(const struct gnn_mutual *m, struct stub stub, uint32_t size)
{
    const struct strand *const s = strand_of(m, stub.class, size);
    assert(s->owners > 0);
    uint32_t low = s->owner, high = s->owner + s->owners - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (stubs_of(&m->rows[m->owners[middle]], size)->first <= stub.number)
            low = middle;
        else
            high = middle - 1;
    }
    const struct row *const row = &m->rows[m->owners[low]];
    return row->first + nth_with(stubs_of(row, size), stub.number);
}

uint32_t gnn_mutual_neighbour(const struct gnn_mutual *m, uint32_t member, uint32_t position)
{
    const uint32_t rank = rank_of(m, member), class = gnn_class_of(&m->groups, rank);
    const uint32_t number = gnn_class_group(&m->groups, rank);
    const struct row *const row = row_of(m, class, number);
    const uint32_t nth = number - row->first, places = stub_at(&row->cliques, nth + 1) - stub_at(&row->cliques, nth);
    assert(position < row->degree);
    const bool in_clique = position < places * others_of[row->size];
    const uint32_t size = in_clique ? row->size : 0, others = others_of[size];
    const uint32_t at = in_clique ? position : position - places * others_of[row->size];
    const struct stub own = {class, stub_at(stubs_of(row, size), nth) + at / others};
    const struct stub other = other_stub(m, own, size, 1 + at % others);
    uint32_t found = owner_of(m, other, size);
    if (other.class == class && found == number) /* step aside */
        found = number + 1 < class_below(m, class, m->count) ? number + 1 : 0;
    return member_at(m, (uint32_t)gnn_class_member(&m->groups, other.class, found));
}

/* ---- open and close ---- */

/* Whether the lists of two members of one law have the same length, and point of the law, where lengths fall. */
static bool are_alike(const struct gnn_mutual *m, uint32_t rank, uint32_t other)
{
    const struct gnn_degree_law *const law = law_of(m, rank);
    return degree_at(m, rank) == degree_at(m, other) &&
           gnn_degree_point(law, quantile_of(m, rank)) == gnn_degree_point(law, quantile_of(m, other));
}

/* One behind the last member of the class that is alike, from `first` on. */
static uint32_t row_end(const struct gnn_mutual *m, uint32_t class, uint32_t first)
{
    const uint32_t rank = (uint32_t)gnn_class_member(&m->groups, class, first);
    uint32_t low = first + 1, high = class_below(m, class, rank < m->train_count ? m->train_count : m->count);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (are_alike(m, rank, (uint32_t)gnn_class_member(&m->groups, class, middle)))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Writes the rows of a class, if there is room for them; returns how many there are. */
static uint32_t rows_of_class(const struct gnn_mutual *m, uint32_t class, struct row *rows)
{
    const uint32_t members = class_below(m, class, m->count);
    uint32_t count = 0;
    for (uint32_t first = 0; first < members; count++) {
        const uint32_t rank = (uint32_t)gnn_class_member(&m->groups, class, first);
        if (rows != NULL)
            rows[count] =
                (struct row){.first = first, .members = row_end(m, class, first) - first, .degree = degree_at(m, rank)};
        first = row_end(m, class, first);
    }
    return count;
}

static enum gnn_status build_rows(struct gnn_mutual *m, struct gnn_err *err)
{
    const uint32_t classes = m->groups.count;
    GNN_NEW(m->class_row, (size_t)classes + 1, err, "rows of %" PRIu32 " classes", classes);
    for (uint32_t c = 0; c < classes; c++)
        m->class_row[c + 1] = m->class_row[c] + rows_of_class(m, c, NULL);
    assert(m->class_row[classes] > 0);
    GNN_NEW(m->rows, m->class_row[classes], err, "%" PRIu32 " lengths of lists", m->class_row[classes]);
    for (uint32_t c = 0; c < classes; c++)
        (void)rows_of_class(m, c, m->rows + m->class_row[c]);
    return GNN_OK;
}

/* Gives a row its places in cliques, whole ones to each member; owed is what the rows before it are short of. */
static void deal_places(struct row *row, double places, double *owed)
{
    const uint32_t others = others_of[row->size], each = (uint32_t)places;
    *owed += (places - each) * row->members;
    const double wanted = places > each ? floor(*owed + 0.5) : 0; /* a list that is whole has no room for more */
    const uint32_t many_upto = (uint32_t)fmin(fmax(wanted, 0), row->members);
    *owed -= many_upto;
    row->cliques = (struct stubs){.many = each + 1, .each = each, .many_upto = many_upto};
    row->pairs = (struct stubs){.each = row->degree - each * others, .many_upto = many_upto};
    row->pairs.many = many_upto > 0 ? row->pairs.each - others : 0;
}

/* Gives all rows cliques of the first `sizes`. */
static void deal_cliques(struct gnn_mutual *m, uint32_t sizes)
{
    double owed = 0;
    for (uint32_t i = 0; i < m->class_row[m->groups.count]; i++) {
        struct row *const row = &m->rows[i];
        row->size = size_for(row->degree, sizes);
        deal_places(row, row->size > 0 ? places_for(m->clique_share, row->degree, row->size) : 0, &owed);
    }
}

static uint64_t stub_count(const struct stubs *s, uint32_t members)
{
    return (uint64_t)s->many_upto * s->many + (uint64_t)(members - s->many_upto) * s->each;
}

/* Whether the largest size has cliques enough, for all and for who has most places in them; or none at all. */
static bool are_enough(const struct gnn_mutual *m, uint32_t size)
{
    uint64_t stubs = 0, most = 0;
    for (uint32_t i = 0; i < m->class_row[m->groups.count]; i++)
        if (m->rows[i].size == size) {
            const struct stubs *const s = &m->rows[i].cliques;
            stubs += stub_count(s, m->rows[i].members);
            most = gnn_max_u64(most, s->many_upto > 0 ? s->many : s->each);
        }
    return stubs >= FEW_CLIQUES * most * (others_of[size] + 1);
}

/* Numbers the stubs of a class and size, and says whose they are. */
static enum gnn_status number_stubs(struct gnn_mutual *m, uint32_t class, uint32_t size, uint32_t *owners,
                                    struct gnn_err *err)
{
    struct strand *const s = &m->strands[(size_t) class * SIZES + size];
    uint64_t stubs = 0;
    s->owner = *owners;
    for (uint32_t i = m->class_row[class]; i < m->class_row[class + 1]; i++) {
        struct row *const row = &m->rows[i];
        struct stubs *const own = size == 0 ? &row->pairs : &row->cliques;
        const uint64_t count = size == 0 || size == row->size ? stub_count(own, row->members) : 0;
        if (count == 0)
            continue;
        own->first = (uint32_t)stubs;
        stubs += count;
        if (stubs > UINT32_MAX)
            return gnn_fail(err, GNN_EUSAGE,
                            "mutual lists of more than %" PRIu32 " entries a class: more classes, or "
                            "a smaller scale",
                            UINT32_MAX);
        m->owners[(*owners)++] = i;
    }
    s->owners = *owners - s->owner;
    s->stubs = (uint32_t)stubs;
    return GNN_OK;
}

/* Shares the stubs of a size out between cliques of one class and of all: those of all stay in a class by chance. */
static enum gnn_status share_out(struct gnn_mutual *m, uint32_t size, double homophily, struct gnn_err *err)
{
    const uint32_t classes = m->groups.count, members = others_of[size] + 1;
    const double chance = 1.0 / classes, inside = classes > 1 ? fmax(homophily - chance, 0) / (1 - chance) : 1;
    uint64_t outside = 0;
    for (uint32_t c = 0; c < classes; c++) {
        struct strand *const s = &m->strands[(size_t)c * SIZES + size];
        s->inside = (uint32_t)(inside * s->stubs) / members * members;
        s->before = (uint32_t)outside;
        outside += s->stubs - s->inside;
        if (outside > UINT32_MAX)
            return gnn_fail(err, GNN_EUSAGE,
                            "mutual lists of more than %" PRIu32 " entries between classes: choose a "
                            "smaller scale",
                            UINT32_MAX);
    }
    m->outside[size] = (uint32_t)outside;
    return GNN_OK;
}

static enum gnn_status build_stubs(struct gnn_mutual *m, double homophily, struct gnn_err *err)
{
    const uint32_t classes = m->groups.count;
    uint32_t sizes = SIZES, owners = 0;
    deal_cliques(m, sizes);
    while (sizes > 1 && !are_enough(m, sizes - 1))
        deal_cliques(m, --sizes);
    GNN_NEW(m->strands, (size_t)classes * SIZES, err, "stubs of %" PRIu32 " classes", classes);
    GNN_NEW(m->owners, 2 * (size_t)m->class_row[classes], err, "owners of stubs");
    for (uint32_t c = 0; c < classes; c++)
        for (uint32_t size = 0; size < SIZES; size++)
            GNN_TRY(number_stubs(m, c, size, &owners, err));
    for (uint32_t size = 0; size < SIZES; size++)
        GNN_TRY(share_out(m, size, homophily, err));
    return GNN_OK;
}

enum gnn_status gnn_mutual_open(const struct gnn_mutual_config *config, struct gnn_mutual **out, struct gnn_err *err)
{
    struct gnn_mutual *m;
    assert(config->count / 2 >= config->class_count);
    assert(config->train_count <= config->count);
    GNN_NEW(m, 1, err, "mutual lists");
    m->count = config->count;
    m->train_count = config->train_count;
    m->rank_key = gnn_rng_fork(config->seed, "mutual.rank");
    m->stub_key = gnn_rng_fork(config->seed, "mutual.stub");
    m->groups = gnn_class_groups_of(gnn_rng_fork(config->seed, "mutual.class"), config->class_count);
    m->lists = config->lists;
    m->train_lists = config->train_lists;
    m->clique_share = config->clique_share;
    enum gnn_status status = build_rows(m, err);
    GNN_NEXT(status, build_stubs(m, config->homophily, err));
    return GNN_OPENED(status, m, out, gnn_mutual_close);
}

void gnn_mutual_close(struct gnn_mutual *m)
{
    if (m == NULL)
        return;
    free(m->class_row);
    free(m->rows);
    free(m->strands);
    free(m->owners);
    free(m);
}
