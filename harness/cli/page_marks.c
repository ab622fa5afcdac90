/* SPDX-License-Identifier: MIT */
#include "harness/cli/page_marks.h"

#include "harness/base/kv.h"
#include "harness/base/text_file.h"
#include "harness/cli/page_ratios.h"
#include "harness/record/csv_table.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 1024, PATH_BYTES = 2 * LINE_BYTES, VERDICTS_BYTES = 16384 };

#define BEGIN "<!-- "
#define CLOSE " -->"
#define END BEGIN "end" CLOSE

struct mark {
    char text[LINE_BYTES];   /* the line; the words below point into it */
    const char *kind;        /* NULL: the line is no mark */
    const char *what;        /* "": not given */
    char *columns, *methods; /* NULL: not given */
    struct gnn_kv_list where;
};

/* ---- contents ---- */

static enum gnn_status put_figure(const struct gnn_page *page, struct mark *mark, FILE *out, struct gnn_err *err)
{
    char path[PATH_BYTES], verdicts[VERDICTS_BYTES];
    struct gnn_csv csv;
    struct gnn_err cause = {0};
    (void)snprintf(path, sizeof path, "%s/%s.csv", page->dir, mark->what);
    if (gnn_csv_open(path, &csv, &cause) != GNN_OK)
        return gnn_fail(err, cause.status, "%s; `oocgnn figure %s --out %s` writes it", cause.message, mark->what,
                        page->dir);
    const enum gnn_status status = gnn_csv_table(&csv, path, mark->columns, &mark->where, out, err);
    gnn_csv_close(&csv);
    (void)snprintf(path, sizeof path, "%s/%s.verdicts.md", page->dir, mark->what);
    if (mark->where.count == 0 && gnn_text_file_read(path, verdicts, sizeof verdicts) == 0)
        (void)fprintf(out, "\n%s", verdicts);
    return status;
}

/* Marks of files of results: the file, and the table that a mark has of it. */
static const struct results {
    const char *kind, *file;
    enum gnn_status (*open)(const char *path, struct gnn_csv *out, struct gnn_err *err);
    enum gnn_status (*put)(const struct gnn_csv *csv, const char *paper, char *methods, FILE *out, struct gnn_err *err);
} results[] = {
    {"ratios", "ratios", gnn_ratio_file_open, gnn_ratio_table},
    {"merit", "ratios", gnn_ratio_file_open, gnn_merit_table},
    {"findings", "findings", gnn_finding_file_open, gnn_finding_table},
};

/* Returns NULL for another kind of mark. */
static const struct results *find_results(const char *kind)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (strcmp(results[i].kind, kind) == 0)
            return &results[i];
    return NULL;
}

static enum gnn_status put_results(const struct gnn_page *page, const struct results *r, struct mark *mark, FILE *out,
                                   struct gnn_err *err)
{
    char path[PATH_BYTES];
    struct gnn_csv csv;
    struct gnn_err cause = {0};
    (void)snprintf(path, sizeof path, "%s/%s.csv", page->dir, r->file);
    if (r->open(path, &csv, &cause) != GNN_OK)
        return gnn_fail(err, cause.status, "%s; `oocgnn figure --all --%s %s` writes it", cause.message, r->file, path);
    const enum gnn_status status = r->put(&csv, mark->what, mark->methods, out, err);
    gnn_csv_close(&csv);
    return status;
}

/* Makes a mark's part, with an empty line on either side. */
static enum gnn_status make_part(const struct gnn_page *page, struct mark *mark, char **part, struct gnn_err *err)
{
    size_t bytes = 0;
    FILE *const out = open_memstream(part, &bytes);
    if (out == NULL)
        return gnn_fail(err, GNN_ENOMEM, "a part of a page");
    (void)fputc('\n', out);
    const struct results *const r = find_results(mark->kind);
    enum gnn_status status = r == NULL ? put_figure(page, mark, out, err) : put_results(page, r, mark, out, err);
    (void)fputc('\n', out);
    if (fclose(out) != 0 && status == GNN_OK)
        status = gnn_fail(err, GNN_ENOMEM, "a part of a page");
    return status;
}

/* ---- marks ---- */

/* Takes the next word and undoes its quotes in place. Returns NULL at the end. */
static char *take_word(char **rest)
{
    char *from = *rest + strspn(*rest, " "), *to = from, *const word = from;
    for (bool quoted = false; *from != '\0' && (quoted || *from != ' '); from++)
        if (*from == '"')
            quoted = !quoted;
        else
            *to++ = *from;
    *rest = from + (*from != '\0' ? 1 : 0);
    *to = '\0';
    return word[0] != '\0' ? word : NULL;
}

/* Takes KEY=VALUE, or what the mark is about. */
static enum gnn_status take_setting(char *word, struct mark *mark, struct gnn_err *err)
{
    char *const sign = strchr(word, '='), *const second = sign != NULL ? strchr(sign + 1, '=') : NULL;
    if (sign == NULL) {
        mark->what = word;
        return GNN_OK;
    }
    *sign = '\0';
    if (strcmp(word, "columns") == 0)
        mark->columns = sign + 1;
    else if (strcmp(word, "methods") == 0)
        mark->methods = sign + 1;
    else if (strcmp(word, "where") == 0 && second != NULL) {
        *second = '\0';
        return gnn_kv_set(&mark->where, sign + 1, second + 1, err);
    } else
        return gnn_fail(err, GNN_EUSAGE, "\"%s=%s\": expected columns=A,B, methods=\"A|B\" or where=KEY=VALUE", word,
                        sign + 1);
    return GNN_OK;
}

/* Copies a line without white space at its end. */
static void take_line(const char *line, char text[LINE_BYTES])
{
    (void)snprintf(text, LINE_BYTES, "%.*s", (int)strcspn(line, "\n"), line);
    gnn_trim(text);
}

/* Reads a line that may be a mark. gnn_kv_clear() frees mark->where, also after an error. */
static enum gnn_status read_mark(const char *line, struct mark *mark, struct gnn_err *err)
{
    *mark = (struct mark){.what = ""};
    take_line(line, mark->text);
    char *rest = mark->text + strlen(BEGIN), *const close = strstr(mark->text, CLOSE);
    if (strncmp(mark->text, BEGIN, strlen(BEGIN)) != 0 || close == NULL || close[strlen(CLOSE)] != '\0')
        return GNN_OK;
    *close = '\0';
    const char *const kind = take_word(&rest);
    if (kind == NULL || (strcmp(kind, "figure") != 0 && find_results(kind) == NULL))
        return GNN_OK;
    mark->kind = kind;
    for (char *word = take_word(&rest); word != NULL; word = take_word(&rest))
        GNN_TRY(take_setting(word, mark, err));
    return mark->what[0] != '\0' || kind[0] == 'm' ? GNN_OK
                                                   : gnn_fail(err, GNN_EUSAGE, "a mark \"%s\" names %s", kind,
                                                              find_results(kind) == NULL ? "a figure" : "a paper");
}

/* Returns the line that ends a mark's part, or NULL if another mark or the end of the page is before it. */
static const char *find_end(const char *line)
{
    for (; *line != '\0'; line = gnn_next_line(line)) {
        char text[LINE_BYTES];
        take_line(line, text);
        if (strncmp(text, BEGIN, strlen(BEGIN)) == 0)
            return strcmp(text, END) == 0 ? line : NULL;
    }
    return NULL;
}

/* ---- pages ---- */

/* Prints a part that is not what the page has in `bytes` bytes at old, from the first line that differs. */
static void print_change(const struct gnn_page *page, uint32_t line, const char *old, size_t bytes, const char *new)
{
    for (const char *end = old + bytes; old < end; line++) {
        const size_t same = (size_t)(gnn_next_line(old) - old);
        if (strncmp(old, new, same) != 0)
            break;
        old += same;
        new += same;
    }
    (void)printf("%s:%u: the page has \"%.*s\", the data in %s give:\n%s", page->path, line, (int)strcspn(old, "\n"),
                 old, page->dir, new);
}

/* Fills the mark in `line`, of that number; *next is set to the line that ends its part. */
static enum gnn_status fill_mark(struct gnn_page *page, struct mark *mark, uint32_t number, const char *line,
                                 const char **next, FILE *out, struct gnn_err *err)
{
    char *part = NULL;
    const char *const body = gnn_next_line(line), *const end = find_end(body);
    if (end == NULL)
        return gnn_fail(err, GNN_EUSAGE, "no line `" END "` ends the part of this mark");
    const size_t bytes = (size_t)(end - body);
    const enum gnn_status status = make_part(page, mark, &part, err);
    *next = end;
    page->marks++;
    if (status == GNN_OK && (strlen(part) != bytes || memcmp(part, body, bytes) != 0)) {
        page->differ++;
        print_change(page, number + 1, body, bytes, part);
    }
    if (status == GNN_OK)
        (void)fputs(part, out);
    free(part);
    return status;
}

enum gnn_status gnn_page_fill(struct gnn_page *page, const char *text, FILE *out, struct gnn_err *err)
{
    uint32_t number = 1;
    for (const char *line = text, *next; *line != '\0'; line = next) {
        struct mark mark;
        struct gnn_err cause = {0};
        next = gnn_next_line(line);
        (void)fprintf(out, "%.*s", (int)(next - line), line);
        enum gnn_status status = read_mark(line, &mark, &cause);
        if (status == GNN_OK && mark.kind != NULL)
            status = fill_mark(page, &mark, number, line, &next, out, &cause);
        gnn_kv_clear(&mark.where);
        if (status != GNN_OK)
            return gnn_fail(err, status, "%s:%u: %s", page->path, number, cause.message);
        for (; line < next; line = gnn_next_line(line))
            number++;
    }
    return GNN_OK;
}

enum gnn_status gnn_page_check_origin(const struct gnn_page *page, const char *text, struct gnn_err *err)
{
    static const char *const parts[] = {"[0-9]{4}-[0-9]{2}-[0-9]{2}", "(^|[^0-9a-z-])[0-9a-f]{7,40}([^0-9a-z-]|$)",
                                        "`[^`]+`"};
    uint32_t number = 0, last = 0;
    char line[LINE_BYTES] = "", text_of_line[LINE_BYTES];
    bool whole = true;
    for (const char *at = text; *at != '\0'; at = gnn_next_line(at)) {
        number++;
        take_line(at, text_of_line);
        if (text_of_line[0] != '\0') {
            memcpy(line, text_of_line, sizeof line);
            last = number;
        }
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        regex_t pattern;
        if (regcomp(&pattern, parts[i], REG_EXTENDED | REG_NOSUB) != 0)
            return gnn_fail(err, GNN_ENOMEM, "a pattern");
        whole = whole && regexec(&pattern, line, 0, NULL, 0) == 0;
        regfree(&pattern);
    }
    return whole ? GNN_OK
                 : gnn_fail(err, GNN_EFORMAT,
                            "%s:%u: the last line of a page with marks needs a date (2026-01-31), a commit (7 to 40 "
                            "hexadecimal digits) and a command in backquotes",
                            page->path, last);
}
