/* SPDX-License-Identifier: MIT */
#include "harness/compare/callgrind.h"

#include "harness/base/grow.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { LINE_BYTES = 4096, IDS_MAX = 1 << 20, KEY_BYTES = 512 };

/* Sources that stand for the machine and the graph: a run on a real one does not execute them. */
static const char *const simulation_folders[] = {"harness/world/", "harness/graph/", "harness/dataset/", NULL};

/* Names by their number: "fn=(12) name" gives 12 its name, "fn=(12)" uses it. */
struct names {
    char **of;
    uint32_t room;
};

struct function {
    char *name;
    bool simulation;
    uint64_t count;
};

struct reader {
    const char *name, *program;
    uint32_t line, positions, event; /* numbers before the costs, and which of the costs is Ir */
    struct names objects, files, functions;
    const char *file; /* of the costs; owned by files */
    bool ours, after_calls;
    uint32_t current; /* of counts; before the first function `count` */
    struct function *counts;
    uint32_t count, room;
    uint64_t totals[2]; /* of the system, of the simulation */
};

/* ---- names ---- */

static enum gnn_status give_name(struct names *names, uint64_t id, const char *text, struct gnn_err *err)
{
    if (id >= IDS_MAX)
        return gnn_fail(err, GNN_EFORMAT, "a name's number %" PRIu64 " is too large", id);
    while (id >= names->room) {
        const uint32_t before = names->room;
        char **const of = gnn_grow(names->of, before, &names->room, sizeof *of);
        if (of == NULL)
            return gnn_fail(err, GNN_ENOMEM, "%" PRIu64 " names", id + 1);
        memset(of + before, 0, (names->room - before) * sizeof *of);
        names->of = of;
    }
    free(names->of[id]);
    names->of[id] = strdup(text);
    return names->of[id] != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "the name %s", text);
}

/* What stands behind the '=': "(12) name", "(12)" or "name". NULL: a number without a name. */
static enum gnn_status resolve(struct names *names, char *text, char **out, struct gnn_err *err)
{
    uint64_t id = 0;
    *out = text;
    if (text[0] == '(') {
        char *end;
        id = strtoull(text + 1, &end, 10);
        if (*end != ')')
            return gnn_fail(err, GNN_EFORMAT, "a name's number without its end: %.40s", text);
        end++;
        while (*end == ' ')
            end++;
        if (*end == '\0') {
            *out = id < names->room ? names->of[id] : NULL;
            return *out != NULL ? GNN_OK : gnn_fail(err, GNN_EFORMAT, "number %" PRIu64 " has no name yet", id);
        }
        text = end;
    }
    GNN_TRY(give_name(names, id, text, err)); /* a name without a number stands at 0, which none has */
    *out = names->of[id];
    return GNN_OK;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* ---- lines ---- */

static bool starts(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

/* Assembly has no file; the names of the simulated world begin with sim_. */
static bool is_simulation(const char *file, const char *function)
{
    for (const char *const *folder = simulation_folders; *folder != NULL; folder++)
        if (strstr(file, *folder) != NULL)
            return true;
    return strcmp(file, "???") == 0 && starts(function, "sim_");
}

/* Makes the function of that name in the current file the one that costs belong to. */
static enum gnn_status enter(struct reader *r, const char *name, struct gnn_err *err)
{
    const bool simulation = is_simulation(r->file, name);
    for (r->current = 0; r->current < r->count; r->current++)
        if (r->counts[r->current].simulation == simulation && strcmp(r->counts[r->current].name, name) == 0)
            return GNN_OK;
    struct function *const counts = gnn_grow(r->counts, r->count, &r->room, sizeof *counts);
    if (counts == NULL)
        return gnn_fail(err, GNN_ENOMEM, "function %u", r->count);
    r->counts = counts;
    r->counts[r->count] = (struct function){.name = strdup(name), .simulation = simulation};
    if (r->counts[r->count].name == NULL)
        return gnn_fail(err, GNN_ENOMEM, "function %u", r->count);
    r->count++;
    return GNN_OK;
}

/* "+3 17", "12 17 2": positions, then costs. */
static enum gnn_status take_cost(struct reader *r, char *line, struct gnn_err *err)
{
    char *rest = line, *field = NULL;
    if (r->after_calls) { /* what the callee cost: it is counted where it was spent */
        r->after_calls = false;
        return GNN_OK;
    }
    for (uint32_t i = 0; i <= r->positions + r->event; i++)
        field = strsep(&rest, " ");
    if (field == NULL) /* costs of 0 at the end of a line are left out */
        return GNN_OK;
    if (!isdigit((unsigned char)field[0]))
        return gnn_fail(err, GNN_EFORMAT, "no cost: %.40s", field);
    if (r->ours && r->current < r->count) {
        const uint64_t cost = strtoull(field, NULL, 10);
        r->counts[r->current].count += cost;
        r->totals[r->counts[r->current].simulation] += cost;
    }
    return GNN_OK;
}

/* "events: Ir Dr": which of them is Ir. */
static enum gnn_status take_events(struct reader *r, char *words, struct gnn_err *err)
{
    uint32_t at = 0;
    for (char *word = strsep(&words, " "); word != NULL; word = strsep(&words, " ")) {
        if (strcmp(word, "Ir") == 0) {
            r->event = at;
            return GNN_OK;
        }
        at += word[0] != '\0' ? 1 : 0;
    }
    return gnn_fail(err, GNN_EFORMAT, "the event Ir is missing");
}

static uint32_t count_words(char *words)
{
    uint32_t count = 0;
    for (char *word = strsep(&words, " "); word != NULL; word = strsep(&words, " "))
        count += word[0] != '\0' ? 1 : 0;
    return count;
}

/* "fn=", "ob=", "fl=" and what is only named: "cfn=", "cob=", "cfi=", "cfl=". "fi=" and "fe=" change the file within a
 * function. Other lines are comments and totals. */
static enum gnn_status take_name(struct reader *r, char *line, struct gnn_err *err)
{
    char *name;
    if (starts(line, "cfn="))
        return resolve(&r->functions, line + 4, &name, err);
    if (starts(line, "cob="))
        return resolve(&r->objects, line + 4, &name, err);
    if (starts(line, "cfi=") || starts(line, "cfl="))
        return resolve(&r->files, line + 4, &name, err);
    if (starts(line, "fl=") || starts(line, "fi=") || starts(line, "fe=")) {
        GNN_TRY(resolve(&r->files, line + 3, &name, err));
        r->file = name;
    } else if (starts(line, "fn=")) {
        GNN_TRY(resolve(&r->functions, line + 3, &name, err));
        name[strcspn(name, "'.")] = '\0'; /* "f'2": f inside f; "f.part.0": a part of f */
        return enter(r, name, err);
    } else if (starts(line, "ob=")) {
        GNN_TRY(resolve(&r->objects, line + 3, &name, err));
        r->ours = ends_with(name, r->program);
    }
    return GNN_OK;
}

static enum gnn_status take_line(struct reader *r, char *line, struct gnn_err *err)
{
    if (isdigit((unsigned char)line[0]) || line[0] == '+' || line[0] == '-' || line[0] == '*')
        return take_cost(r, line, err);
    if (starts(line, "positions: "))
        r->positions = count_words(line + strlen("positions: "));
    else if (starts(line, "events: "))
        return take_events(r, line + strlen("events: "), err);
    else if (starts(line, "calls="))
        r->after_calls = true;
    else
        return take_name(r, line, err);
    return GNN_OK;
}

/* ---- the whole ---- */

static enum gnn_status put(struct gnn_kv_list *out, const char *part, bool simulation, const char *name, uint64_t count,
                           struct gnn_err *err)
{
    char key[KEY_BYTES];
    (void)snprintf(key, sizeof key, "%.*s%s: %.*s", GNN_NAME_MAX, part, simulation ? " simulation" : "",
                   KEY_BYTES - GNN_NAME_MAX - 16, name);
    const char *const before = gnn_kv_get(out, key);
    const uint64_t earlier = before == NULL ? 0 : strtoull(before, NULL, 10);
    return gnn_kv_setf(out, err, key, "%" PRIu64, count + earlier);
}

static enum gnn_status put_all(const struct reader *r, const char *part, struct gnn_kv_list *out, struct gnn_err *err)
{
    if (r->totals[false] == 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: no instruction of %s in it", r->name, r->program);
    for (int simulation = 0; simulation < 2; simulation++)
        if (r->totals[simulation] > 0)
            GNN_TRY(put(out, part, simulation == 1, "total", r->totals[simulation], err));
    for (uint32_t i = 0; i < r->count; i++)
        if (r->counts[i].count > 0)
            GNN_TRY(put(out, part, r->counts[i].simulation, r->counts[i].name, r->counts[i].count, err));
    return GNN_OK;
}

static enum gnn_status read_lines(struct reader *r, FILE *in, struct gnn_err *err)
{
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, in) != NULL) {
        struct gnn_err cause = {0};
        r->line++;
        line[strcspn(line, "\r\n")] = '\0';
        const enum gnn_status status = take_line(r, line, &cause);
        if (status != GNN_OK)
            return gnn_fail(err, status, "%s:%u: %s", r->name, r->line, cause.message);
    }
    return GNN_OK;
}

static void free_names(struct names *names)
{
    for (uint32_t i = 0; i < names->room; i++)
        free(names->of[i]);
    free(names->of);
}

enum gnn_status gnn_callgrind_read(FILE *in, const char *name, const char *program, const char *part,
                                   struct gnn_kv_list *out, struct gnn_err *err)
{
    struct reader r = {.name = name, .program = program, .positions = 1, .file = "???"};
    enum gnn_status status = read_lines(&r, in, err);
    GNN_NEXT(status, put_all(&r, part, out, err));
    for (uint32_t i = 0; i < r.count; i++)
        free(r.counts[i].name);
    free(r.counts);
    free_names(&r.objects);
    free_names(&r.files);
    free_names(&r.functions);
    return status;
}
