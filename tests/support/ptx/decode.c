/* SPDX-License-Identifier: MIT */
#include "tests/support/ptx/parse.h"

#include "harness/base/grow.h"

#include <string.h>

/* What stands between two commas: up to four slots (a vector in braces, or a pair a|b), or an address in brackets. */
struct operand {
    uint32_t slots[4], count;
    bool address;
    int64_t offset;                    /* of an address */
    const struct ptx_variable *within; /* an address that names a variable and no register */
};

/* The parts of an opcode between its dots. */
struct parts {
    struct {
        const char *text;
        size_t length;
    } part[8];
    uint32_t count;
};

/* ---- operands ---- */

static bool register_named(const struct ptx_family *f, const struct ptx_token *t, uint32_t *out)
{
    const size_t length = strlen(f->name);
    if (t->length < length || memcmp(f->name, t->text, length) != 0)
        return false;
    uint64_t number = 0;
    const struct ptx_token digits = {PTX_NUMBER, t->text + length, t->length - (uint32_t)length, t->line};
    if (f->numbered ? digits.length == 0 || !ptx_token_value(&digits, &number) : digits.length > 0)
        return false;
    if (number >= f->count)
        return false;
    *out = f->first + (uint32_t)number;
    return true;
}

static bool special_named(const struct ptx_token *t, struct ptx_slot *out)
{
    static const struct {
        const char *name;
        enum ptx_slot_kind kind;
        uint64_t value;
    } specials[] = {{"%tid.x", PTX_TID, 0},        {"%ctaid.x", PTX_CTAID, 0},    {"%ntid.x", PTX_NTID, 0},
                    {"%nctaid.x", PTX_NCTAID, 0},  {"%laneid", PTX_LANEID, 0},    {"%tid.y", PTX_CONSTANT, 0},
                    {"%tid.z", PTX_CONSTANT, 0},   {"%ctaid.y", PTX_CONSTANT, 0}, {"%ctaid.z", PTX_CONSTANT, 0},
                    {"%ntid.y", PTX_CONSTANT, 1},  {"%ntid.z", PTX_CONSTANT, 1},  {"%nctaid.y", PTX_CONSTANT, 1},
                    {"%nctaid.z", PTX_CONSTANT, 1}};
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++)
        if (ptx_token_is(t, specials[i].name)) {
            *out = (struct ptx_slot){.kind = specials[i].kind, .value = specials[i].value, .bits = 32};
            return true;
        }
    return false;
}

/* Equal constants share a slot. */
static enum gnn_status constant(struct ptx_parser *p, struct ptx_slot wanted, uint32_t *out)
{
    for (uint32_t i = 0; i < p->kernel->slot_count; i++) {
        const struct ptx_slot *const slot = &p->kernel->slots[i];
        if (slot->kind == wanted.kind && wanted.kind != PTX_REGISTER && slot->value == wanted.value &&
            slot->bits == wanted.bits) {
            *out = i;
            return GNN_OK;
        }
    }
    return ptx_add_slot(p, wanted, out);
}

static const struct ptx_variable *variable_named(const struct ptx_parser *p, const struct ptx_token *t)
{
    for (uint32_t i = 0; i < p->variable_count; i++)
        if (p->variables[i].name.length == t->length && memcmp(p->variables[i].name.text, t->text, t->length) == 0)
            return &p->variables[i];
    return NULL;
}

static enum gnn_status named(struct ptx_parser *p, const struct ptx_token *t, uint32_t *out)
{
    struct ptx_slot special;
    for (uint32_t i = 0; i < p->kernel->family_count; i++)
        if (register_named(&p->kernel->families[i], t, out))
            return GNN_OK;
    if (special_named(t, &special))
        return constant(p, special, out);
    const struct ptx_variable *const variable = variable_named(p, t);
    if (variable == NULL)
        return t->text[0] == '%' ? ptx_unknown(p, t, "register") : ptx_expected(p, t, "a register, number or variable");
    *out = variable->slot;
    return GNN_OK;
}

/* A register, a special one, a number with its sign, or a variable's address. */
static enum gnn_status scalar(struct ptx_parser *p, uint32_t *out)
{
    struct ptx_token t = ptx_scan_take(&p->scan);
    const bool negative = ptx_token_mark(&t, '-');
    if (negative)
        t = ptx_scan_take(&p->scan);
    if (t.kind == PTX_WORD && !negative)
        return named(p, &t, out);
    uint64_t value = 0;
    if (!ptx_token_value(&t, &value))
        return ptx_expected(p, &t, "an operand");
    return constant(p, (struct ptx_slot){.kind = PTX_CONSTANT, .value = negative ? 0 - value : value, .bits = 64}, out);
}

/* [%rd1+8], [name+8], [%rd1+-8] */
static enum gnn_status address(struct ptx_parser *p, struct operand *out)
{
    GNN_TRY(ptx_take_mark(p, '['));
    out->address = true;
    out->count = 1;
    if (p->scan.next.kind == PTX_WORD && p->scan.next.text[0] != '%')
        out->within = variable_named(p, &p->scan.next);
    GNN_TRY(scalar(p, &out->slots[0]));
    if (ptx_token_mark(&p->scan.next, '+') || ptx_token_mark(&p->scan.next, '-')) {
        struct ptx_token sign = ptx_scan_take(&p->scan);
        uint64_t offset = 0;
        if (ptx_token_mark(&p->scan.next, '-'))
            sign = ptx_scan_take(&p->scan);
        GNN_TRY(ptx_take_number(p, INT32_MAX, &offset));
        out->offset = ptx_token_mark(&sign, '-') ? -(int64_t)offset : (int64_t)offset;
    }
    return ptx_take_mark(p, ']');
}

static enum gnn_status operand(struct ptx_parser *p, struct operand *out)
{
    *out = (struct operand){0};
    const struct ptx_token first = p->scan.next;
    if (ptx_token_mark(&first, '['))
        return address(p, out);
    const bool vector = ptx_token_mark(&first, '{');
    const char between = vector ? ',' : '|';
    if (vector)
        GNN_TRY(ptx_take_mark(p, '{'));
    for (;;) {
        if (out->count == 4)
            return ptx_expected(p, &first, "at most four elements");
        GNN_TRY(scalar(p, &out->slots[out->count++]));
        if (!ptx_token_mark(&p->scan.next, between))
            break;
        GNN_TRY(ptx_take_mark(p, between));
    }
    return vector ? ptx_take_mark(p, '}') : GNN_OK;
}

static enum gnn_status operands(struct ptx_parser *p, struct operand *out, uint32_t *count)
{
    for (*count = 0; !ptx_token_mark(&p->scan.next, ';');) {
        if (*count > 0)
            GNN_TRY(ptx_take_mark(p, ','));
        if (*count == PTX_OPERANDS_MAX)
            return ptx_expected(p, &p->scan.next, "fewer operands");
        GNN_TRY(operand(p, &out[(*count)++]));
    }
    return ptx_take_mark(p, ';');
}

/* ---- opcodes ---- */

static struct parts parts_of(const struct ptx_token *opcode)
{
    struct parts parts = {.count = 0};
    const char *at = opcode->text, *const end = opcode->text + opcode->length;
    while (at < end && parts.count < 8) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        dot = dot == NULL ? end : dot;
        parts.part[parts.count].text = at;
        parts.part[parts.count++].length = (size_t)(dot - at);
        at = dot + 1;
    }
    return parts;
}

static bool part_is(const struct parts *parts, uint32_t i, const char *word)
{
    return i < parts->count && parts->part[i].length == strlen(word) &&
           memcmp(parts->part[i].text, word, parts->part[i].length) == 0;
}

static bool writable(const struct ptx_parser *p, uint32_t slot)
{
    return p->kernel->slots[slot].kind == PTX_REGISTER;
}

static void add_slots(const struct operand *o, uint32_t *slots, uint32_t *count)
{
    for (uint32_t i = 0; i < o->count; i++)
        slots[(*count)++] = o->slots[i];
}

static enum gnn_status set_targets(const struct ptx_parser *p, const struct ptx_token *at, struct ptx_step *step,
                                   const struct operand *o)
{
    add_slots(o, step->to, &step->to_count);
    for (uint32_t i = 0; i < step->to_count; i++)
        if (o->address || !writable(p, step->to[i]))
            return ptx_expected(p, at, "a register as target");
    return GNN_OK;
}

static const char *const space_names[] = {
    [PTX_GENERIC] = "", [PTX_GLOBAL] = "global", [PTX_SHARED] = "shared", [PTX_LOCAL] = "local", [PTX_PARAM] = "param"};

/* ld.global.nc.v4.f32 and the like. */
static enum gnn_status access_opcode(const struct ptx_parser *p, const struct ptx_token *at, const struct parts *parts,
                                     struct ptx_step *step, uint32_t *elements)
{
    uint32_t i = 1;
    for (uint32_t space = PTX_GLOBAL; space <= PTX_PARAM; space++)
        if (part_is(parts, i, space_names[space])) {
            step->space = (enum ptx_space)space;
            i++;
            break;
        }
    i += part_is(parts, i, "nc") && step->kind == PTX_LOAD && step->space == PTX_GLOBAL;
    *elements = part_is(parts, i, "v2") ? 2 : part_is(parts, i, "v4") ? 4 : 1;
    i += *elements > 1;
    if (i + 1 != parts->count)
        return ptx_unknown(p, at, "opcode");
    step->bytes = ptx_type_bytes(parts->part[i].text, parts->part[i].length);
    step->sign = parts->part[i].text[0] == 's';
    return step->bytes == 0 || step->bytes * *elements > 16 ? ptx_unknown(p, at, "opcode") : GNN_OK;
}

static enum gnn_status memory_step(const struct ptx_parser *p, const struct ptx_token *at, const struct parts *parts,
                                   struct ptx_step *step, const struct operand *o, uint32_t count)
{
    uint32_t elements = 0;
    GNN_TRY(access_opcode(p, at, parts, step, &elements));
    const bool load = step->kind == PTX_LOAD;
    const struct operand *const place = &o[load ? 1 : 0], *const value = &o[load ? 0 : 1];
    if (count != 2 || !place->address || value->address || value->count != elements)
        return ptx_expected(p, at, "an address, and a value for each element");
    step->offset = place->offset;
    if (place->within != NULL && place->within->space != step->space)
        return ptx_expected(p, at, "a variable of the opcode's space");
    if (place->within != NULL &&
        (place->offset < 0 || (uint64_t)place->offset + (uint64_t)step->bytes * elements > place->within->bytes))
        return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: %u bytes at %lld of a variable of %u bytes", p->module->file,
                        at->line, step->bytes * elements, (long long)place->offset, place->within->bytes);
    add_slots(place, step->from, &step->from_count);
    if (load)
        return set_targets(p, at, step, value);
    add_slots(value, step->from, &step->from_count);
    return GNN_OK;
}

static enum gnn_status shuffle_step(const struct ptx_parser *p, const struct ptx_token *at, const struct parts *parts,
                                    struct ptx_step *step, const struct operand *o, uint32_t count)
{
    static const char *const modes[] = {
        [PTX_UP] = "up", [PTX_DOWN] = "down", [PTX_BUTTERFLY] = "bfly", [PTX_INDEX] = "idx"};
    uint32_t mode = 0;
    while (mode <= PTX_INDEX && !part_is(parts, 2, modes[mode]))
        mode++;
    if (mode > PTX_INDEX || !part_is(parts, 1, "sync") || !part_is(parts, 3, "b32") || parts->count != 4)
        return ptx_unknown(p, at, "opcode");
    step->shuffle = (enum ptx_shuffle)mode;
    if (count != 5 || o[0].count > 2)
        return ptx_expected(p, at, "five operands of a shuffle");
    GNN_TRY(set_targets(p, at, step, &o[0]));
    for (uint32_t i = 1; i < 5; i++) {
        if (o[i].count != 1 || o[i].address)
            return ptx_expected(p, at, "one value an operand");
        step->from[step->from_count++] = o[i].slots[0];
    }
    return GNN_OK;
}

static enum gnn_status barrier_step(const struct ptx_parser *p, const struct ptx_token *at, const struct parts *parts,
                                    struct ptx_step *step, const struct operand *o, uint32_t count)
{
    const bool warp = part_is(parts, 1, "warp") && part_is(parts, 2, "sync") && parts->count == 3;
    if (!warp && !(part_is(parts, 1, "sync") && parts->count == 2))
        return ptx_unknown(p, at, "opcode");
    if (count != 1 || o[0].count != 1 || o[0].address)
        return ptx_expected(p, at, "one operand of a barrier, without a count of threads");
    const struct ptx_slot *const number = &p->kernel->slots[o[0].slots[0]];
    if (!warp && (number->kind != PTX_CONSTANT || number->value != 0))
        return ptx_expected(p, at, "barrier 0");
    step->kind = warp ? PTX_WARP_BARRIER : PTX_BARRIER;
    if (warp)
        add_slots(&o[0], step->from, &step->from_count);
    return GNN_OK;
}

/* mov.b64 with a vector on one side. */
static enum gnn_status pack_step(const struct ptx_parser *p, const struct ptx_token *at, const struct parts *parts,
                                 struct ptx_step *step, const struct operand *o)
{
    const uint32_t bytes = parts->count == 2 ? ptx_type_bytes(parts->part[1].text, parts->part[1].length) : 0;
    const uint32_t elements = o[0].count > 1 ? o[0].count : o[1].count;
    if (bytes == 0 || bytes % elements != 0 || (o[0].count > 1) == (o[1].count > 1) || o[1].address)
        return ptx_expected(p, at, "a vector that fills the type, on one side");
    step->kind = o[0].count > 1 ? PTX_UNPACK : PTX_PACK;
    step->bytes = bytes / elements;
    add_slots(&o[1], step->from, &step->from_count);
    return set_targets(p, at, step, &o[0]);
}

static enum gnn_status value_step(const struct ptx_parser *p, const struct ptx_token *at, const struct parts *parts,
                                  struct ptx_step *step, const struct operand *o, uint32_t count)
{
    if (part_is(parts, 0, "mov") && count == 2 && (o[0].count > 1 || o[1].count > 1))
        return pack_step(p, at, parts, step, o);
    const struct ptx_op *const op = ptx_op_find(at->text, at->length);
    if (op == NULL)
        return ptx_unknown(p, at, "opcode");
    step->function = op->function;
    if (count != op->sources + 1 || o[0].count != 1)
        return ptx_expected(p, at, "as many operands as the opcode has");
    for (uint32_t i = 1; i < count; i++) {
        if (o[i].count != 1 || o[i].address)
            return ptx_expected(p, at, "one value an operand");
        step->from[step->from_count++] = o[i].slots[0];
    }
    return set_targets(p, at, step, &o[0]);
}

/* The label's number; parse.c puts its step in. */
static enum gnn_status branch_step(struct ptx_parser *p, const struct ptx_token *at, const struct parts *parts,
                                   struct ptx_step *step)
{
    if (parts->count > 1 && !(parts->count == 2 && part_is(parts, 1, "uni")))
        return ptx_unknown(p, at, "opcode");
    step->kind = PTX_BRANCH;
    const struct ptx_token label = ptx_scan_take(&p->scan);
    if (label.kind != PTX_WORD)
        return ptx_expected(p, &label, "a label");
    GNN_TRY(ptx_label_of(p, label, &step->target));
    return ptx_take_mark(p, ';');
}

static enum gnn_status guard(struct ptx_parser *p, struct ptx_step *step)
{
    struct ptx_token t = ptx_scan_take(&p->scan);
    step->guard_negated = ptx_token_mark(&t, '!');
    if (step->guard_negated)
        t = ptx_scan_take(&p->scan);
    if (t.kind != PTX_WORD)
        return ptx_expected(p, &t, "a predicate");
    GNN_TRY(named(p, &t, &step->guard));
    const bool predicate = writable(p, step->guard) && p->kernel->slots[step->guard].bits == 1;
    return predicate ? GNN_OK : ptx_expected(p, &t, "a predicate");
}

static enum gnn_status decode(struct ptx_parser *p, const struct ptx_token *opcode, struct ptx_step *step)
{
    const struct parts parts = parts_of(opcode);
    struct operand o[PTX_OPERANDS_MAX];
    uint32_t count = 0;
    if (part_is(&parts, 0, "bra"))
        return branch_step(p, opcode, &parts, step);
    GNN_TRY(operands(p, o, &count));
    if (part_is(&parts, 0, "ret") || part_is(&parts, 0, "exit")) {
        step->kind = PTX_EXIT;
        return parts.count == 1 && count == 0 ? GNN_OK : ptx_unknown(p, opcode, "opcode");
    }
    if (part_is(&parts, 0, "ld") || part_is(&parts, 0, "st")) {
        step->kind = part_is(&parts, 0, "ld") ? PTX_LOAD : PTX_STORE;
        return memory_step(p, opcode, &parts, step, o, count);
    }
    if (part_is(&parts, 0, "shfl")) {
        step->kind = PTX_SHUFFLE;
        return shuffle_step(p, opcode, &parts, step, o, count);
    }
    if (part_is(&parts, 0, "bar") || part_is(&parts, 0, "barrier"))
        return barrier_step(p, opcode, &parts, step, o, count);
    return value_step(p, opcode, &parts, step, o, count);
}

enum gnn_status ptx_instruction(struct ptx_parser *p, struct ptx_token first)
{
    struct ptx_kernel *const k = p->kernel;
    struct ptx_step step = {.kind = PTX_VALUE,
                            .guard = PTX_NONE,
                            .line = first.line,
                            .source_file = p->source_file,
                            .source_line = p->source_line};
    if (ptx_token_mark(&first, '@')) {
        GNN_TRY(guard(p, &step));
        first = ptx_scan_take(&p->scan);
    }
    if (first.kind != PTX_WORD)
        return ptx_expected(p, &first, "an opcode");
    struct ptx_step *const more = gnn_grow(k->steps, k->step_count, &k->step_room, sizeof *more);
    if (more == NULL)
        return ptx_no_memory(p);
    k->steps = more;
    GNN_TRY(decode(p, &first, &step));
    more[k->step_count++] = step;
    return GNN_OK;
}
