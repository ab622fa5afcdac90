/* SPDX-License-Identifier: MIT */
#include "tests/support/ptx/parse.h"

#include "harness/base/grow.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- errors and small words ---- */

enum gnn_status ptx_expected(const struct ptx_parser *p, const struct ptx_token *at, const char *what)
{
    return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: expected %s, found \"%.*s\"", p->module->file, at->line, what,
                    (int)gnn_min_u32(at->length, 80), at->text);
}

enum gnn_status ptx_unknown(const struct ptx_parser *p, const struct ptx_token *at, const char *what)
{
    return gnn_fail(p->err, GNN_ENOTSUP, "%s:%u: the %s %.*s is not modelled: add it to tests/support/ptx",
                    p->module->file, at->line, what, (int)gnn_min_u32(at->length, 80), at->text);
}

enum gnn_status ptx_no_memory(const struct ptx_parser *p)
{
    return gnn_fail(p->err, GNN_ENOMEM, "parsed PTX of %s", p->module->file);
}

enum gnn_status ptx_take_mark(struct ptx_parser *p, char mark)
{
    const struct ptx_token t = ptx_scan_take(&p->scan);
    const char what[] = {'"', mark, '"', '\0'};
    return ptx_token_mark(&t, mark) ? GNN_OK : ptx_expected(p, &t, what);
}

enum gnn_status ptx_take_number(struct ptx_parser *p, uint64_t most, uint64_t *out)
{
    const struct ptx_token t = ptx_scan_take(&p->scan);
    if (!ptx_token_value(&t, out))
        return ptx_expected(p, &t, "a number");
    return *out <= most ? GNN_OK : ptx_expected(p, &t, "a smaller number");
}

static bool next_is_mark(const struct ptx_parser *p, char mark)
{
    return ptx_token_mark(&p->scan.next, mark);
}

/* Skips to behind the mark. */
static enum gnn_status skip_to(struct ptx_parser *p, char mark)
{
    for (;;) {
        const struct ptx_token t = ptx_scan_take(&p->scan);
        if (t.kind == PTX_END)
            return ptx_expected(p, &t, "the end of a statement");
        if (ptx_token_mark(&t, mark))
            return GNN_OK;
    }
}

uint32_t ptx_type_bytes(const char *name, size_t length)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } types[] = {{"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2}, {"b32", 4},
                 {"u32", 4}, {"s32", 4}, {"f32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
            return types[i].bytes;
    return 0;
}

/* ---- slots, labels ---- */

enum gnn_status ptx_add_slot(struct ptx_parser *p, struct ptx_slot slot, uint32_t *out)
{
    struct ptx_kernel *const k = p->kernel;
    if (k->slot_count == PTX_SLOTS_MAX)
        return gnn_fail(p->err, GNN_ENOTSUP, "%s: %s has more than %u registers and values", p->module->file, k->name,
                        (uint32_t)PTX_SLOTS_MAX);
    struct ptx_slot *const slots = gnn_grow(k->slots, k->slot_count, &k->slot_room, sizeof *slots);
    if (slots == NULL)
        return ptx_no_memory(p);
    k->slots = slots;
    *out = k->slot_count;
    slots[k->slot_count++] = slot;
    return GNN_OK;
}

static bool same_text(const struct ptx_token *a, const struct ptx_token *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

enum gnn_status ptx_label_of(struct ptx_parser *p, struct ptx_token name, uint32_t *out)
{
    for (uint32_t i = 0; i < p->label_count; i++)
        if (same_text(&p->labels[i].name, &name)) {
            *out = i;
            return GNN_OK;
        }
    struct ptx_label *const labels = gnn_grow(p->labels, p->label_count, &p->label_room, sizeof *labels);
    if (labels == NULL)
        return ptx_no_memory(p);
    p->labels = labels;
    *out = p->label_count;
    labels[p->label_count++] = (struct ptx_label){name, PTX_NONE};
    return GNN_OK;
}

static enum gnn_status reach_label(struct ptx_parser *p, struct ptx_token name)
{
    uint32_t index = 0;
    GNN_TRY(ptx_label_of(p, name, &index));
    if (p->labels[index].step != PTX_NONE)
        return ptx_expected(p, &name, "a label that is not there twice");
    p->labels[index].step = p->kernel->step_count;
    return GNN_OK;
}

/* Branches name labels, by number, until all are reached. */
static enum gnn_status resolve_branches(struct ptx_parser *p)
{
    for (uint32_t i = 0; i < p->kernel->step_count; i++) {
        struct ptx_step *const step = &p->kernel->steps[i];
        if (step->kind != PTX_BRANCH)
            continue;
        const struct ptx_label *const label = &p->labels[step->target];
        if (label->step == PTX_NONE)
            return ptx_expected(p, &label->name, "a branch to a label of the kernel");
        step->target = label->step;
    }
    return GNN_OK;
}

/* ---- declarations ---- */

static enum gnn_status add_variable(struct ptx_parser *p, struct ptx_variable v)
{
    struct ptx_variable *const more = gnn_grow(p->variables, p->variable_count, &p->variable_room, sizeof *more);
    if (more == NULL)
        return ptx_no_memory(p);
    p->variables = more;
    GNN_TRY(ptx_add_slot(p, (struct ptx_slot){.kind = PTX_CONSTANT, .value = v.offset, .bits = 64}, &v.slot));
    more[p->variable_count++] = v;
    return GNN_OK;
}

/* .align 8 .b8 name[40], behind .param, .shared or .local. */
static enum gnn_status declare(struct ptx_parser *p, enum ptx_space space, uint32_t *used, uint32_t most)
{
    uint64_t alignment = 0, count = 1;
    struct ptx_token t = ptx_scan_take(&p->scan);
    if (ptx_token_is(&t, ".align")) {
        GNN_TRY(ptx_take_number(p, 256, &alignment));
        t = ptx_scan_take(&p->scan);
    }
    const uint32_t bytes = t.kind == PTX_WORD && t.length > 1 ? ptx_type_bytes(t.text + 1, t.length - 1) : 0;
    if (bytes == 0)
        return ptx_unknown(p, &t, "type");
    if (alignment == 0)
        alignment = bytes;
    if ((alignment & (alignment - 1)) != 0)
        return ptx_expected(p, &t, "an alignment that is a power of two");
    const struct ptx_token name = ptx_scan_take(&p->scan);
    if (name.kind != PTX_WORD)
        return ptx_expected(p, &name, "the name of a variable");
    if (next_is_mark(p, '[')) {
        GNN_TRY(ptx_take_mark(p, '['));
        GNN_TRY(ptx_take_number(p, most, &count));
        GNN_TRY(ptx_take_mark(p, ']'));
    }
    const uint64_t offset = (*used + alignment - 1) & ~(alignment - 1);
    if (offset + count * bytes > most)
        return gnn_fail(p->err, GNN_ENOTSUP, "%s:%u: variables take more than %u bytes", p->module->file, name.line,
                        most);
    *used = (uint32_t)(offset + count * bytes);
    return add_variable(
        p, (struct ptx_variable){
               .name = name, .space = space, .offset = (uint32_t)offset, .bytes = (uint32_t)(count * bytes)});
}

static enum gnn_status one_family(struct ptx_parser *p, uint32_t bits)
{
    struct ptx_kernel *const k = p->kernel;
    const struct ptx_token name = ptx_scan_take(&p->scan);
    struct ptx_family family = {.first = k->slot_count, .count = 1, .bits = bits};
    if (name.kind != PTX_WORD || name.text[0] != '%' || name.length >= sizeof family.name)
        return ptx_expected(p, &name, "the name of a register");
    memcpy(family.name, name.text, name.length);
    if (next_is_mark(p, '<')) {
        uint64_t count = 0;
        GNN_TRY(ptx_take_mark(p, '<'));
        GNN_TRY(ptx_take_number(p, PTX_SLOTS_MAX, &count));
        GNN_TRY(ptx_take_mark(p, '>'));
        family.count = (uint32_t)count;
        family.numbered = true;
    }
    struct ptx_family *const more = gnn_grow(k->families, k->family_count, &k->family_room, sizeof *more);
    if (more == NULL)
        return ptx_no_memory(p);
    k->families = more;
    for (uint32_t i = 0; i < family.count; i++) {
        uint32_t slot = 0;
        GNN_TRY(ptx_add_slot(
            p, (struct ptx_slot){.kind = PTX_REGISTER, .bits = bits, .family = k->family_count, .number = i}, &slot));
    }
    more[k->family_count++] = family;
    return GNN_OK;
}

/* .reg .b32 %r<70>, %x; */
static enum gnn_status registers(struct ptx_parser *p)
{
    const struct ptx_token type = ptx_scan_take(&p->scan);
    const bool typed = type.kind == PTX_WORD && type.length > 1;
    const uint32_t bytes = typed ? ptx_type_bytes(type.text + 1, type.length - 1) : 0;
    if (bytes == 0 && !ptx_token_is(&type, ".pred"))
        return ptx_unknown(p, &type, "type");
    GNN_TRY(one_family(p, bytes == 0 ? 1 : 8 * bytes));
    while (next_is_mark(p, ',')) {
        GNN_TRY(ptx_take_mark(p, ','));
        GNN_TRY(one_family(p, bytes == 0 ? 1 : 8 * bytes));
    }
    return ptx_take_mark(p, ';');
}

/* .loc 1 9 0, function_name $L__info_string0, inlined_at 1 11 5: the innermost line is kept. */
static enum gnn_status location(struct ptx_parser *p)
{
    uint64_t file = 0, line = 0, column = 0;
    GNN_TRY(ptx_take_number(p, UINT32_MAX, &file));
    GNN_TRY(ptx_take_number(p, UINT32_MAX, &line));
    GNN_TRY(ptx_take_number(p, UINT32_MAX, &column));
    p->source_file = (uint32_t)file;
    p->source_line = (uint32_t)line;
    while (next_is_mark(p, ',')) {
        GNN_TRY(ptx_take_mark(p, ','));
        const struct ptx_token word = ptx_scan_take(&p->scan);
        if (ptx_token_is(&word, "inlined_at")) {
            for (int i = 0; i < 3; i++)
                GNN_TRY(ptx_take_number(p, UINT32_MAX, &column));
            continue;
        }
        (void)ptx_scan_take(&p->scan); /* the function's name */
        if (ptx_token_mark(&p->scan.next, '+')) {
            (void)ptx_scan_take(&p->scan);
            GNN_TRY(ptx_take_number(p, UINT32_MAX, &column));
        }
    }
    return GNN_OK;
}

/* ---- kernels ---- */

static enum gnn_status add_parameter(struct ptx_parser *p)
{
    struct ptx_kernel *const k = p->kernel;
    const struct ptx_token t = ptx_scan_take(&p->scan);
    if (!ptx_token_is(&t, ".param"))
        return ptx_expected(p, &t, ".param");
    struct ptx_parameter *const more =
        gnn_grow(k->parameters, k->parameter_count, &k->parameter_room, sizeof *k->parameters);
    if (more == NULL)
        return ptx_no_memory(p);
    k->parameters = more;
    GNN_TRY(declare(p, PTX_PARAM, &k->parameter_bytes, PTX_PARAMETERS_MAX));
    const struct ptx_variable *const v = &p->variables[p->variable_count - 1];
    more[k->parameter_count++] = (struct ptx_parameter){v->offset, v->bytes};
    return GNN_OK;
}

static enum gnn_status parameters(struct ptx_parser *p)
{
    GNN_TRY(ptx_take_mark(p, '('));
    while (!next_is_mark(p, ')')) {
        GNN_TRY(add_parameter(p));
        if (!next_is_mark(p, ')'))
            GNN_TRY(ptx_take_mark(p, ','));
    }
    return ptx_take_mark(p, ')');
}

static enum gnn_status directive(struct ptx_parser *p, struct ptx_token t)
{
    struct ptx_kernel *const k = p->kernel;
    if (ptx_token_is(&t, ".reg"))
        return registers(p);
    if (ptx_token_is(&t, ".loc"))
        return location(p);
    if (ptx_token_is(&t, ".pragma"))
        return skip_to(p, ';');
    if (ptx_token_is(&t, ".shared"))
        GNN_TRY(declare(p, PTX_SHARED, &k->shared_bytes, PTX_SHARED_MAX));
    else if (ptx_token_is(&t, ".local"))
        GNN_TRY(declare(p, PTX_LOCAL, &k->local_bytes, PTX_LOCAL_MAX));
    else
        return ptx_unknown(p, &t, "directive");
    return ptx_take_mark(p, ';');
}

/* Statements up to the brace that closes the kernel. Inner braces are scopes, whose names are the kernel's here. */
static enum gnn_status body(struct ptx_parser *p)
{
    GNN_TRY(ptx_take_mark(p, '{'));
    for (uint32_t depth = 1; depth > 0;) {
        const struct ptx_token t = ptx_scan_take(&p->scan);
        if (ptx_token_mark(&t, '{') || ptx_token_mark(&t, '}')) {
            depth += ptx_token_mark(&t, '{') ? 1 : UINT32_MAX;
        } else if (t.kind == PTX_WORD && t.text[0] == '.') {
            GNN_TRY(directive(p, t));
        } else if (t.kind == PTX_WORD && next_is_mark(p, ':')) {
            (void)ptx_scan_take(&p->scan);
            GNN_TRY(reach_label(p, t));
        } else if (t.kind == PTX_WORD || ptx_token_mark(&t, '@')) {
            GNN_TRY(ptx_instruction(p, t));
        } else {
            return ptx_expected(p, &t, "an instruction");
        }
    }
    return GNN_OK;
}

static enum gnn_status new_kernel(struct ptx_parser *p, struct ptx_token name)
{
    struct ptx_module *const m = p->module;
    struct ptx_kernel **const more = gnn_grow(m->kernels, m->kernel_count, &m->kernel_room, sizeof *more);
    if (more == NULL)
        return ptx_no_memory(p);
    m->kernels = more;
    GNN_NEW(p->kernel, 1, p->err, "parsed PTX of a kernel");
    more[m->kernel_count++] = p->kernel;
    p->kernel->module = m;
    p->kernel->name = strndup(name.text, name.length);
    p->variable_count = p->label_count = 0;
    p->source_file = 0;
    return p->kernel->name == NULL ? ptx_no_memory(p) : GNN_OK;
}

/* The instruction behind the last one ends a thread, so that no counter leaves the kernel. */
static enum gnn_status entry(struct ptx_parser *p)
{
    static const char end[] = "ret;";
    const struct ptx_token name = ptx_scan_take(&p->scan);
    if (name.kind != PTX_WORD)
        return ptx_expected(p, &name, "the name of a kernel");
    GNN_TRY(new_kernel(p, name));
    GNN_TRY(parameters(p));
    GNN_TRY(body(p));
    const struct ptx_scan rest = p->scan;
    ptx_scan_open(&p->scan, end, strlen(end));
    const struct ptx_token ret = ptx_scan_take(&p->scan);
    GNN_TRY(ptx_instruction(p, ret));
    p->scan = rest;
    return resolve_branches(p);
}

/* ---- modules ---- */

/* .file 1 "path", 1790953445, 8613 */
static enum gnn_status source(struct ptx_parser *p)
{
    struct ptx_module *const m = p->module;
    uint64_t number = 0;
    GNN_TRY(ptx_take_number(p, UINT32_MAX, &number));
    const struct ptx_token path = ptx_scan_take(&p->scan);
    if (path.kind != PTX_STRING)
        return ptx_expected(p, &path, "a path in quotes");
    while (next_is_mark(p, ',')) {
        uint64_t stamp = 0;
        GNN_TRY(ptx_take_mark(p, ','));
        GNN_TRY(ptx_take_number(p, UINT64_MAX, &stamp));
    }
    struct ptx_source *const more = gnn_grow(m->sources, m->source_count, &m->source_room, sizeof *more);
    if (more == NULL)
        return ptx_no_memory(p);
    m->sources = more;
    more[m->source_count].number = (uint32_t)number;
    more[m->source_count].path = strndup(path.text, path.length);
    return more[m->source_count++].path == NULL ? ptx_no_memory(p) : GNN_OK;
}

static enum gnn_status address_size(struct ptx_parser *p)
{
    const struct ptx_token at = p->scan.next;
    uint64_t bits = 0;
    GNN_TRY(ptx_take_number(p, 64, &bits));
    return bits == 64 ? GNN_OK : ptx_expected(p, &at, "addresses of 64 bits");
}

static enum gnn_status module_statement(struct ptx_parser *p, struct ptx_token t)
{
    if (ptx_token_is(&t, ".version") || ptx_token_is(&t, ".target")) {
        (void)ptx_scan_take(&p->scan);
        return GNN_OK;
    }
    if (ptx_token_is(&t, ".address_size"))
        return address_size(p);
    if (ptx_token_is(&t, ".file"))
        return source(p);
    if (ptx_token_is(&t, ".section"))
        return skip_to(p, '}');
    if (ptx_token_is(&t, ".visible") || ptx_token_is(&t, ".weak"))
        return GNN_OK;
    if (ptx_token_is(&t, ".entry"))
        return entry(p);
    return t.kind == PTX_WORD ? ptx_unknown(p, &t, "directive") : ptx_expected(p, &t, "a directive");
}

static enum gnn_status parse(struct ptx_parser *p)
{
    for (;;) {
        const struct ptx_token t = ptx_scan_take(&p->scan);
        if (t.kind == PTX_END)
            return GNN_OK;
        GNN_TRY(module_statement(p, t));
    }
}

enum gnn_status ptx_open(const char *file, const char *text, size_t bytes, struct ptx_module **out, struct gnn_err *err)
{
    struct ptx_parser p = {.err = err};
    ptx_scan_open(&p.scan, text, bytes);
    GNN_NEW(p.module, 1, err, "parsed PTX");
    p.module->file = strdup(file);
    const enum gnn_status status = p.module->file == NULL ? gnn_fail(err, GNN_ENOMEM, "parsed PTX") : parse(&p);
    free(p.variables);
    free(p.labels);
    return GNN_OPENED(status, p.module, out, ptx_close);
}

static void close_kernel(struct ptx_kernel *k)
{
    free(k->name);
    free(k->parameters);
    free(k->steps);
    free(k->slots);
    free(k->families);
    free(k);
}

void ptx_close(struct ptx_module *m)
{
    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->kernel_count; i++)
        close_kernel(m->kernels[i]);
    for (uint32_t i = 0; i < m->source_count; i++)
        free(m->sources[i].path);
    free(m->kernels);
    free(m->sources);
    free(m->file);
    free(m);
}

uint32_t ptx_kernel_count(const struct ptx_module *m)
{
    return m->kernel_count;
}

const struct ptx_kernel *ptx_kernel_at(const struct ptx_module *m, uint32_t index)
{
    assert(index < m->kernel_count);
    return m->kernels[index];
}

const char *ptx_kernel_name(const struct ptx_kernel *k)
{
    return k->name;
}

uint32_t ptx_parameter_count(const struct ptx_kernel *k)
{
    return k->parameter_count;
}

struct ptx_parameter ptx_parameter_at(const struct ptx_kernel *k, uint32_t index)
{
    assert(index < k->parameter_count);
    return k->parameters[index];
}

uint32_t ptx_parameter_bytes(const struct ptx_kernel *k)
{
    return k->parameter_bytes;
}
