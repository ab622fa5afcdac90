/* SPDX-License-Identifier: MIT */
#include "harness/dataset/pickle.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 1 << 12, STACK_MAX = 1 << 10, MEMO_MAX = 1 << 12, NO_VALUE = 0 };

enum kind { OTHER, MARK, NUMBER, TEXT, TUPLE, DICTIONARY, NAME, DTYPE, STORAGE, TENSOR, ARRAY };

/* Values refer to each other by their index, 0 = none. A tuple and a dictionary have a chain of members; of a
 * dictionary these are key, value, key, value and so on. */
struct value {
    enum kind kind;
    const unsigned char *text; /* TEXT, NAME without its module; STORAGE: its key */
    uint64_t len;
    bool utf8;                         /* TEXT: characters stand for bytes */
    int64_t number;                    /* NUMBER; STORAGE: numbers in it; TENSOR: its first one */
    uint32_t first, last, next, count; /* members, and the next member of the owner */
    uint32_t member;                   /* of a chain: the value */
    uint32_t storage;                  /* TENSOR */
    struct gnn_npy_header header;      /* DTYPE, STORAGE, TENSOR, ARRAY */
};

struct machine {
    const unsigned char *at, *end;
    const char *path;
    struct value *values; /* [0] is none */
    uint32_t value_count;
    uint32_t stack[STACK_MAX], depth;
    uint32_t *memo; /* (MEMO_MAX) */
    uint32_t memo_count;
    bool failed;
};

/* ---- values ---- */

static uint32_t new_value(struct machine *m, enum kind kind)
{
    if (m->value_count == VALUES_MAX) {
        m->failed = true;
        return NO_VALUE;
    }
    m->values[m->value_count] = (struct value){.kind = kind};
    return m->value_count++;
}

static void push(struct machine *m, uint32_t value)
{
    if (m->depth == STACK_MAX)
        m->failed = true;
    else
        m->stack[m->depth++] = value;
}

static uint32_t pop(struct machine *m)
{
    if (m->depth == 0) {
        m->failed = true;
        return NO_VALUE;
    }
    return m->stack[--m->depth];
}

static uint32_t top(struct machine *m)
{
    m->failed = m->failed || m->depth == 0;
    return m->depth > 0 ? m->stack[m->depth - 1] : NO_VALUE;
}

static void push_new(struct machine *m, enum kind kind)
{
    push(m, new_value(m, kind));
}

static void push_number(struct machine *m, int64_t number)
{
    const uint32_t v = new_value(m, NUMBER);
    m->values[v].number = number;
    push(m, v);
}

static void append(struct machine *m, uint32_t owner, uint32_t member)
{
    const uint32_t link = new_value(m, OTHER);
    struct value *const o = &m->values[owner];
    if (link == NO_VALUE || owner == NO_VALUE)
        return;
    m->values[link].member = member;
    if (o->first == NO_VALUE)
        o->first = link;
    else
        m->values[o->last].next = link;
    o->last = link;
    o->count++;
}

/* The member number `index`; none if there are fewer. */
static uint32_t member(const struct machine *m, uint32_t owner, uint32_t index)
{
    uint32_t link = m->values[owner].first;
    for (; link != NO_VALUE && index > 0; index--)
        link = m->values[link].next;
    return m->values[link].member;
}

static bool is_text(const struct machine *m, uint32_t v, const char *text)
{
    const struct value *const value = &m->values[v];
    return (value->kind == TEXT || value->kind == NAME) && value->len == strlen(text) &&
           memcmp(value->text, text, value->len) == 0;
}

/* ---- bytes ---- */

static uint64_t take_number(struct machine *m, unsigned bytes)
{
    uint64_t value = 0;
    if ((uint64_t)(m->end - m->at) < bytes) {
        m->failed = true;
        m->at = m->end;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)*m->at++ << (8 * i);
    return value;
}

static void push_text(struct machine *m, uint64_t len, bool utf8)
{
    const uint32_t v = new_value(m, TEXT);
    if ((uint64_t)(m->end - m->at) < len) {
        m->failed = true;
        return;
    }
    m->values[v].text = m->at;
    m->values[v].len = len;
    m->values[v].utf8 = utf8;
    m->at += len;
    push(m, v);
}

/* A whole number of up to eight bytes, with its sign in the last. */
static void push_long(struct machine *m, uint64_t bytes)
{
    if (bytes > 8) {
        m->failed = true;
        return;
    }
    uint64_t value = take_number(m, (unsigned)bytes);
    if (bytes > 0 && bytes < 8 && (value >> (8 * bytes - 1)) != 0)
        value |= UINT64_MAX << (8 * bytes);
    push_number(m, (int64_t)value);
}

/* "module\nname\n". Modules were renamed between versions, so only the name counts. */
static void push_global(struct machine *m)
{
    const unsigned char *start = m->at;
    for (int lines = 0; lines < 2; lines++) {
        const unsigned char *const end = memchr(m->at, '\n', (size_t)(m->end - m->at));
        if (end == NULL) {
            m->failed = true;
            return;
        }
        start = m->at;
        m->at = end + 1;
    }
    const uint32_t v = new_value(m, NAME);
    m->values[v].text = start;
    m->values[v].len = (uint64_t)(m->at - 1 - start);
    push(m, v);
}

/* ---- what is built ---- */

static bool is_name(const struct machine *m, uint32_t v, const char *name)
{
    return m->values[v].kind == NAME && is_text(m, v, name);
}

static bool take_storage_type(const struct machine *m, uint32_t v, struct gnn_npy_header *out)
{
    static const struct {
        const char *name;
        char kind;
        uint32_t bytes;
    } known[] = {{"LongStorage", 'i', 8}, {"IntStorage", 'i', 4},  {"ShortStorage", 'i', 2}, {"CharStorage", 'i', 1},
                 {"ByteStorage", 'u', 1}, {"BoolStorage", 'b', 1}, {"FloatStorage", 'f', 4}, {"DoubleStorage", 'f', 8}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_name(m, v, known[i].name)) {
            out->kind = known[i].kind;
            out->item_bytes = known[i].bytes;
            return true;
        }
    return false;
}

/* ('storage', type, key, device, numbers). */
static void push_storage(struct machine *m)
{
    const uint32_t id = pop(m), v = new_value(m, STORAGE), key = member(m, id, 2);
    struct value *const s = &m->values[v];
    if (!is_text(m, member(m, id, 0), "storage") || m->values[key].kind != TEXT ||
        !take_storage_type(m, member(m, id, 1), &s->header))
        s->kind = OTHER;
    s->text = m->values[key].text;
    s->len = m->values[key].len;
    s->number = m->values[member(m, id, 4)].number;
    push(m, v);
}

/* Sizes of a tuple of one or two numbers. */
static bool take_sizes(const struct machine *m, uint32_t tuple, struct gnn_npy_header *out)
{
    out->dim_count = m->values[tuple].count;
    out->items = 1;
    if (m->values[tuple].kind != TUPLE || out->dim_count == 0 || out->dim_count > GNN_NPY_DIMS_MAX)
        return false;
    for (uint32_t i = 0; i < out->dim_count; i++) {
        const struct value *const size = &m->values[member(m, tuple, i)];
        if (size->kind != NUMBER || size->number < 0 ||
            __builtin_mul_overflow(out->items, (uint64_t)size->number, &out->items))
            return false;
        out->shape[i] = (uint64_t)size->number;
    }
    return gnn_mul_bytes(out->items, out->item_bytes) < UINT64_MAX;
}

/* (storage, first, sizes, strides, ...) of a tensor whose numbers are one after the other. */
static void build_tensor(struct machine *m, uint32_t args, struct value *t)
{
    const uint32_t storage = member(m, args, 0), strides = member(m, args, 3);
    const struct value *const first = &m->values[member(m, args, 1)];
    t->header = m->values[storage].header;
    if (m->values[storage].kind != STORAGE || !take_sizes(m, member(m, args, 2), &t->header) || first->number < 0)
        return;
    uint64_t expected = 1;
    for (uint32_t i = t->header.dim_count; i-- > 0; expected *= t->header.shape[i])
        if (t->header.shape[i] > 1 && (uint64_t)m->values[member(m, strides, i)].number != expected)
            return;
    t->kind = TENSOR;
    t->storage = storage;
    t->number = first->number;
}

static void build_dtype(const struct machine *m, uint32_t args, struct value *d)
{
    const struct value *const text = &m->values[member(m, args, 0)];
    if (text->kind != TEXT || text->len != 2 || strchr("fiub", text->text[0]) == NULL || text->text[1] < '1' ||
        text->text[1] > '8')
        return;
    d->kind = DTYPE;
    d->header.kind = (char)text->text[0];
    d->header.item_bytes = (uint32_t)(text->text[1] - '0');
}

/* A call: only those that build arrays or their parts give a value with content. */
static void reduce(struct machine *m)
{
    const uint32_t args = pop(m), name = pop(m), v = new_value(m, OTHER);
    struct value *const out = &m->values[v];
    if (v == NO_VALUE)
        return;
    if (is_name(m, name, "_rebuild_tensor_v2") || is_name(m, name, "_rebuild_tensor"))
        build_tensor(m, args, out);
    else if (is_name(m, name, "_reconstruct"))
        out->kind = ARRAY;
    else if (is_name(m, name, "dtype"))
        build_dtype(m, args, out);
    else if (is_name(m, name, "OrderedDict"))
        out->kind = DICTIONARY;
    else if (is_name(m, name, "encode") && m->values[member(m, args, 0)].kind == TEXT)
        *out = m->values[member(m, args, 0)]; /* of characters below 256 to bytes */
    push(m, v);
}

/* The state of a NumPy array, (version, sizes, dtype, is_fortran, bytes), or of a dtype, (version, byte order, ...). */
static void build(struct machine *m)
{
    const uint32_t state = pop(m), v = top(m);
    struct value *const out = &m->values[v];
    if (out->kind == DTYPE && is_text(m, member(m, state, 1), ">"))
        out->header.big_endian = true;
    if (out->kind != ARRAY)
        return;
    const struct value *const dtype = &m->values[member(m, state, 2)], *const data = &m->values[member(m, state, 4)];
    out->header = dtype->header;
    if (dtype->kind != DTYPE || data->kind != TEXT || !take_sizes(m, member(m, state, 1), &out->header))
        return;
    out->header.fortran = m->values[member(m, state, 3)].number != 0 && out->header.dim_count == 2 &&
                          out->header.shape[0] > 1 && out->header.shape[1] > 1;
    out->text = data->text;
    out->len = data->len;
    out->utf8 = data->utf8;
}

/* ---- running ---- */

/* Moves the values above the last mark to `owner`, in their order. */
static void take_marked(struct machine *m, uint32_t owner)
{
    uint32_t at = m->depth;
    while (at > 0 && m->values[m->stack[at - 1]].kind != MARK)
        at--;
    if (at == 0) {
        m->failed = true;
        return;
    }
    for (uint32_t i = at; i < m->depth; i++)
        append(m, owner, m->stack[i]);
    m->depth = at - 1;
}

/* For a collection below the mark: its members are what comes above. */
static void extend(struct machine *m)
{
    uint32_t at = m->depth;
    while (at > 0 && m->values[m->stack[at - 1]].kind != MARK)
        at--;
    if (at < 2)
        m->failed = true;
    else
        take_marked(m, m->stack[at - 2]);
}

static void tuple_of(struct machine *m, uint32_t count)
{
    const uint32_t v = new_value(m, TUPLE);
    if (m->depth < count) {
        m->failed = true;
        return;
    }
    for (uint32_t i = m->depth - count; i < m->depth; i++)
        append(m, v, m->stack[i]);
    m->depth -= count;
    push(m, v);
}

static void set_item(struct machine *m)
{
    const uint32_t value = pop(m), key = pop(m), owner = top(m);
    append(m, owner, key);
    append(m, owner, value);
}

static void remember(struct machine *m, uint64_t place)
{
    if (place >= MEMO_MAX) {
        m->failed = true;
        return;
    }
    m->memo[place] = top(m);
}

static void recall(struct machine *m, uint64_t place)
{
    if (place >= MEMO_MAX)
        m->failed = true;
    else
        push(m, m->memo[place]);
}

/* Operations that push one value of their own. Returns false for any other. */
static bool run_value(struct machine *m, int op)
{
    switch (op) {
    case '(':
        push_new(m, MARK);
        return true;
    case '}':
        push_new(m, DICTIONARY);
        return true;
    case ')':
    case ']':
        push_new(m, TUPLE);
        return true;
    case 'N':
        push_new(m, OTHER);
        return true;
    case 'G':
        (void)take_number(m, 8);
        push_new(m, OTHER);
        return true;
    case 0x88: /* true */
    case 0x89:
        push_number(m, op == 0x88);
        return true;
    case 'J':
        push_number(m, (int32_t)take_number(m, 4));
        return true;
    case 'K':
        push_number(m, (int64_t)take_number(m, 1));
        return true;
    case 'M':
        push_number(m, (int64_t)take_number(m, 2));
        return true;
    case 0x8a:
        push_long(m, take_number(m, 1));
        return true;
    default:
        return false;
    }
}

static bool run_text(struct machine *m, int op)
{
    static const struct {
        int op;
        unsigned length_bytes;
        bool utf8;
    } texts[] = {{'X', 4, true},  {0x8c, 1, true}, {0x8d, 8, true}, {'B', 4, false},
                 {'T', 4, false}, {'C', 1, false}, {'U', 1, false}, {0x8e, 8, false}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (op == texts[i].op) {
            push_text(m, take_number(m, texts[i].length_bytes), texts[i].utf8);
            return true;
        }
    if (op == 'c')
        push_global(m);
    return op == 'c';
}

static bool run_collection(struct machine *m, int op)
{
    switch (op) {
    case 't': {
        const uint32_t v = new_value(m, TUPLE);
        take_marked(m, v);
        push(m, v);
        return true;
    }
    case 0x85:
    case 0x86:
    case 0x87:
        tuple_of(m, (uint32_t)op - 0x84);
        return true;
    case 's':
        set_item(m);
        return true;
    case 'a': {
        const uint32_t value = pop(m);
        append(m, top(m), value);
        return true;
    }
    case 'u':
    case 'e':
        extend(m);
        return true;
    default:
        return false;
    }
}

static bool run_object(struct machine *m, int op)
{
    switch (op) {
    case 'Q':
        push_storage(m);
        return true;
    case 'R':
    case 0x81: /* a new object of a class */
        reduce(m);
        return true;
    case 'b':
        build(m);
        return true;
    case '0':
        (void)pop(m);
        return true;
    case 'q':
        remember(m, take_number(m, 1));
        return true;
    case 'r':
        remember(m, take_number(m, 4));
        return true;
    case 0x94:
        remember(m, m->memo_count++);
        return true;
    case 'h':
        recall(m, take_number(m, 1));
        return true;
    case 'j':
        recall(m, take_number(m, 4));
        return true;
    case 0x80: /* protocol */
        (void)take_number(m, 1);
        return true;
    case 0x95: /* frame */
        (void)take_number(m, 8);
        return true;
    default:
        return false;
    }
}

/* Module and name as two texts, as later protocols write them. */
static void name_of_texts(struct machine *m)
{
    const uint32_t name = pop(m), v = new_value(m, NAME);
    (void)pop(m);
    m->values[v].text = m->values[name].text;
    m->values[v].len = m->values[name].len;
    push(m, v);
}

static bool run(struct machine *m)
{
    while (m->at < m->end && !m->failed) {
        const int op = *m->at++;
        if (op == '.')
            return m->depth > 0;
        if (op == 0x93)
            name_of_texts(m);
        else if (!run_value(m, op) && !run_text(m, op) && !run_collection(m, op) && !run_object(m, op))
            return false;
    }
    return false;
}

/* ---- the result ---- */

static uint32_t look_up(const struct machine *m, uint32_t dictionary, const char *key)
{
    uint32_t link = m->values[dictionary].first;
    while (link != NO_VALUE && m->values[link].next != NO_VALUE) {
        const uint32_t value = m->values[link].next;
        if (is_text(m, m->values[link].member, key))
            return m->values[value].member;
        link = m->values[value].next;
    }
    return NO_VALUE;
}

static enum gnn_status give(const struct machine *m, uint32_t v, const char *key, struct gnn_pickle_array *out,
                            struct gnn_err *err)
{
    if (m->values[v].kind == DICTIONARY && m->values[v].count == 2)
        v = member(m, v, 1);
    const struct value *const value = &m->values[v], *const storage = &m->values[value->storage];
    *out = (struct gnn_pickle_array){.header = value->header};
    if (value->kind == TENSOR && storage->len < sizeof out->storage && storage->number >= 0) {
        memcpy(out->storage, storage->text, storage->len);
        out->storage_first = (uint64_t)value->number;
        out->storage_items = (uint64_t)storage->number;
        return GNN_OK;
    }
    if (value->kind == ARRAY && value->text != NULL) {
        out->bytes = value->text;
        out->byte_count = value->len;
        out->utf8 = value->utf8;
        return GNN_OK;
    }
    return gnn_fail(err, GNN_EFORMAT, "%s: its member \"%s\" is no list of node IDs and no mask", m->path, key);
}

enum gnn_status gnn_pickle_find(const unsigned char *bytes, uint64_t len, const char *const *keys, const char *path,
                                struct gnn_pickle_array *out, bool *found, struct gnn_err *err)
{
    struct machine *m;
    *found = false;
    GNN_NEW(m, 1, err, "reader of %s", path);
    m->at = bytes;
    m->end = bytes + len;
    m->path = path;
    m->value_count = 1;
    m->values = calloc(VALUES_MAX, sizeof *m->values);
    m->memo = calloc(MEMO_MAX, sizeof *m->memo);
    enum gnn_status status = GNN_OK;
    if (m->values == NULL || m->memo == NULL)
        status = gnn_fail(err, GNN_ENOMEM, "reader of %s", path);
    else if (!run(m) || m->values[top(m)].kind != DICTIONARY)
        status = gnn_fail(err, GNN_EFORMAT, "%s: no pickled dictionary of arrays", path);
    for (uint32_t k = 0; status == GNN_OK && keys[k] != NULL && !*found; k++) {
        const uint32_t v = look_up(m, top(m), keys[k]);
        *found = v != NO_VALUE;
        if (*found)
            status = give(m, v, keys[k], out, err);
    }
    free(m->values);
    free(m->memo);
    free(m);
    return status;
}
