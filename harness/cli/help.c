/* SPDX-License-Identifier: MIT */
#include "harness/cli/help.h"

#include "harness/base/data_dirs.h"
#include "harness/dataset/prepare.h"
#include "harness/figure/metric.h"
#include "harness/run/config.h"
#include "harness/run/preset.h"
#include "harness/world/profile.h"

#include <assert.h>
#include <string.h>

enum { HELP_COLUMN = 34, PAGE_COLUMNS = 120, HELP_BYTES = 1024 };
_Static_assert(HELP_COLUMN < PAGE_COLUMNS / 2, "room for the text after the names");

enum gnn_status gnn_help_kind(const char *value, enum gnn_help *out, struct gnn_err *err)
{
    static const struct {
        const char *word;
        enum gnn_help help;
    } kinds[] = {{"man", GNN_HELP_MAN}, {"bash", GNN_HELP_BASH}, {"zsh", GNN_HELP_ZSH}};
    *out = GNN_HELP_TEXT;
    if (value == NULL)
        return GNN_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(value, kinds[i].word) == 0) {
            *out = kinds[i].help;
            return GNN_OK;
        }
    return gnn_fail(err, GNN_EUSAGE, "--help=%s: plain --help, or --help=man, bash or zsh", value);
}

/* ---- an option in words ---- */

/* "--name UNIT", "--name a|b", "--flag", "--[no-]flag" for one that is on by default. */
static void left_side(const struct gnn_option *o, char *text, size_t text_bytes)
{
    const bool on = o->type == GNN_OPT_BOOL && (strcmp(o->def, "yes") == 0 || strcmp(o->def, "true") == 0);
    size_t used = (size_t)snprintf(text, text_bytes, on ? "--[no-]%s" : "--%s", o->name);
    assert(used < text_bytes);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    for (uint32_t i = 0; o->type == GNN_OPT_CHOICE && o->choices[i] != NULL && used < text_bytes; i++)
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", i == 0 ? " " : "|", o->choices[i]);
    if (o->type != GNN_OPT_CHOICE && o->type != GNN_OPT_BOOL)
        (void)snprintf(text + used, text_bytes - used, " %s", o->unit != NULL && o->unit[0] != '\0' ? o->unit : "N");
}

/* Prints text from column HELP_COLUMN on, broken at blanks before PAGE_COLUMNS; `column` is where the line stands. */
static void wrap(const char *text, int column, FILE *out)
{
    assert(column >= 0);
    if (column >= HELP_COLUMN)
        column = fprintf(out, "\n") - 1;
    (void)fprintf(out, "%*s", HELP_COLUMN - column, "");
    column = HELP_COLUMN;
    while (*text != '\0') {
        const int length = (int)strcspn(text, " ");
        if (column > HELP_COLUMN && column + length >= PAGE_COLUMNS)
            column = fprintf(out, "\n%*s", HELP_COLUMN, "") - 1;
        column += fprintf(out, column > HELP_COLUMN ? " %.*s" : "%.*s", length, text);
        text += length + (text[length] == ' ' ? 1 : 0);
    }
    (void)fputs("\n", out);
}

/* What it does, default and range. */
static void right_side(const struct gnn_option *o, char text[HELP_BYTES])
{
    char range[GNN_RANGE_BYTES];
    (void)gnn_option_range(o, range, sizeof range);
    if (o->type == GNN_OPT_CHOICE)
        range[0] = '\0'; /* the choices stand on the left */
    const char *const between = o->def[0] != '\0' && range[0] != '\0' ? "; " : "";
    const bool any = o->def[0] != '\0' || range[0] != '\0';
    assert(strlen(o->help) + strlen(o->def) + strlen(range) + 8 < HELP_BYTES);
    (void)snprintf(text, HELP_BYTES, "%s%s%s%s%s%s", o->help, any ? " [" : "", o->def, between, range, any ? "]" : "");
}

static void print_option(const struct gnn_option *o, FILE *out)
{
    char left[GNN_TEXT_MAX], text[HELP_BYTES];
    left_side(o, left, sizeof left);
    right_side(o, text);
    wrap(text, fprintf(out, "  %s ", left), out);
}

typedef void option_fn(const struct gnn_option *option, FILE *out);

/* Prints the options of a group of all parts, or with NULL every option of a part. */
static void each_option(const struct gnn_option *table, const char *group, option_fn *print, FILE *out)
{
    for (const struct gnn_option *o = table; o->name != NULL; o++)
        if (group == NULL || (o->group != NULL && strcmp(o->group, group) == 0))
            print(o, out);
}

typedef void heading_fn(const char *heading, FILE *out);

/* Prints a page's options: by group where the page has groups, else part by part, each under its title. */
static void print_parts(const struct gnn_help_page *page, heading_fn *head, option_fn *print, FILE *out)
{
    for (uint32_t g = 0; page->groups != NULL && page->groups[g] != NULL; g++) {
        head(page->groups[g], out);
        for (uint32_t p = 0; p < GNN_HELP_PARTS_MAX && page->parts[p].table != NULL; p++)
            each_option(page->parts[p].table, page->groups[g], print, out);
    }
    for (uint32_t p = 0; page->groups == NULL && p < GNN_HELP_PARTS_MAX && page->parts[p].table != NULL; p++) {
        if (page->parts[p].title != NULL)
            head(page->parts[p].title, out);
        each_option(page->parts[p].table, NULL, print, out);
    }
}

/* ---- what a shell may offer ---- */

static void print_word(FILE *out, const char *word)
{
    (void)fprintf(out, "%s ", word);
}

static void print_preset(void *ctx, const struct gnn_preset *preset)
{
    print_word(ctx, preset->name);
}

static void print_profile(void *ctx, const char *path, const struct gnn_profile *profile)
{
    (void)path;
    print_word(ctx, profile->name);
}

static void print_named(const char *option, FILE *out)
{
    struct gnn_err ignored = {0};
    struct gnn_data_dirs found;
    if (strcmp(option, "system") == 0)
        for (const struct gnn_system *const *s = gnn_systems; *s != NULL; s++)
            print_word(out, (*s)->name);
    if (strcmp(option, "dataset") == 0)
        for (const struct gnn_registry_entry *e = gnn_registry; e->name != NULL; e++)
            print_word(out, e->name);
    if (strcmp(option, "preset") == 0)
        (void)!gnn_preset_each(print_preset, out, &ignored); /* those that can be read */
    if (strcmp(option, "profile") == 0) {
        gnn_data_dirs(&found);
        (void)!gnn_profile_scan(found.dirs, print_profile, out, &ignored);
    }
}

void gnn_help_parameters(FILE *out)
{
    for (const struct gnn_system *const *s = gnn_systems; *s != NULL; s++)
        for (const struct gnn_option *o = (*s)->options; o != NULL && o->name != NULL; o++)
            (void)fprintf(out, "%s.%s= ", (*s)->name, o->name);
}

/* The option's name as it is typed. */
static const char *typed_name(const struct gnn_option *option, char name[GNN_NAME_MAX])
{
    (void)snprintf(name, GNN_NAME_MAX, "%s", option->name);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    return name;
}

/* Every option of a run can be the one that a comparison varies. */
static void print_run_options(FILE *out)
{
    char name[GNN_NAME_MAX];
    for (const struct gnn_option *o = gnn_run_options; o->name != NULL; o++)
        print_word(out, typed_name(o, name));
}

static void print_figure(void *ctx, const char *path, const char *name)
{
    (void)path;
    if (strcmp(name, "tolerances") != 0)
        print_word(ctx, name);
}

static void print_words(const char *words, FILE *out)
{
    struct gnn_err ignored = {0};
    struct gnn_data_dirs found;
    if (words == NULL || strcmp(words, GNN_HELP_FIGURES) != 0) {
        (void)fputs(words == NULL ? "" : words, out);
        return;
    }
    gnn_figure_dirs(&found);
    (void)!gnn_data_files(found.dirs, print_figure, out, &ignored); /* those that can be read */
}

bool gnn_help_values(const struct gnn_option *option, FILE *out)
{
    static const char *const named[] = {"system", "dataset", "preset", "profile"};
    for (uint32_t i = 0; option->type == GNN_OPT_CHOICE && option->choices[i] != NULL; i++)
        print_word(out, option->choices[i]);
    if (option->type == GNN_OPT_CHOICE)
        return true;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(option->name, named[i]) == 0) {
            print_named(option->name, out);
            return true;
        }
    if (strcmp(option->name, "set") == 0)
        gnn_help_parameters(out);
    else if (strcmp(option->name, "series") == 0 || strcmp(option->name, "x") == 0 ||
             strcmp(option->name, "facet") == 0)
        print_run_options(out);
    else if (strcmp(option->name, "y") == 0)
        for (uint32_t i = 0; gnn_metric_name(i) != NULL; i++)
            print_word(out, gnn_metric_name(i));
    else
        return false;
    return true;
}

static bool is_path(const struct gnn_option *option)
{
    return option->unit != NULL && (strstr(option->unit, "FILE") != NULL || strstr(option->unit, "DIR") != NULL ||
                                    strstr(option->unit, "PATH") != NULL);
}

/* ---- roff ---- */

void gnn_help_roff(const char *text, FILE *out)
{
    bool line_start = true;
    for (; *text != '\0'; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            (void)fputs("\\&", out);
        if (*text == '-')
            (void)fputs("\\-", out);
        else if (*text == '\\')
            (void)fputs("\\e", out);
        else
            (void)fputc(*text, out);
        line_start = *text == '\n';
    }
}

static void print_man_option(const struct gnn_option *o, FILE *out)
{
    char left[GNN_TEXT_MAX], right[HELP_BYTES];
    left_side(o, left, sizeof left);
    right_side(o, right);
    char *const blank = strchr(left, ' ');
    if (blank != NULL)
        *blank = '\0';
    (void)fputs(".TP\n\\fB", out);
    gnn_help_roff(left, out);
    (void)fputs("\\fR", out);
    if (blank != NULL) {
        (void)fputs(" \\fI", out);
        gnn_help_roff(blank + 1, out);
        (void)fputs("\\fR", out);
    }
    (void)fputs("\n", out);
    gnn_help_roff(right, out);
    (void)fputs("\n", out);
}

/* Lines as they stand: a usage, an example. */
static void print_man_lines(const char *text, FILE *out)
{
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n')
        length--;
    if (length == 0)
        return;
    (void)fputs(".PP\n.nf\n", out);
    char *const copy = strndup(text, length);
    gnn_help_roff(copy == NULL ? "" : copy, out);
    free(copy);
    (void)fputs("\n.fi\n", out);
}

static void print_man_heading(const char *heading, FILE *out)
{
    (void)fputs(".PP\n", out);
    gnn_help_roff(heading, out);
    (void)fputs(":\n", out);
}

static void print_man(const char *command, const struct gnn_help_page *page, FILE *out)
{
    (void)fprintf(out, ".SS oocgnn %s\n", command);
    print_man_lines(page->usage, out);
    print_parts(page, print_man_heading, print_man_option, out);
    if (page->notes != NULL)
        print_man_lines(page->notes + strspn(page->notes, "\n"), out);
}

/* ---- bash ---- */

/* Returns the values of an option, which the caller frees, or NULL if they are not known. */
static char *values_of(const struct gnn_option *o)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const values = open_memstream(&text, &bytes);
    const bool known = values != NULL && gnn_help_values(o, values);
    if (values != NULL)
        (void)fclose(values);
    if (known)
        return text;
    free(text);
    return NULL;
}

static void print_bash_values(const struct gnn_option *o, FILE *out)
{
    char name[GNN_NAME_MAX], *const text = values_of(o);
    if (text != NULL)
        (void)fprintf(out, "        --%s) values='%s' ;;\n", typed_name(o, name), text);
    else if (is_path(o))
        (void)fprintf(out, "        --%s) values=PATH ;;\n", typed_name(o, name));
    else if (o->type != GNN_OPT_BOOL)
        (void)fprintf(out, "        --%s) values=NONE ;;\n", typed_name(o, name));
    free(text);
}

static void print_bash(const char *command, const struct gnn_help_page *page, FILE *out)
{
    char name[GNN_NAME_MAX];
    (void)fprintf(out, "    %s)\n        case $previous in\n", command);
    for (uint32_t p = 0; p < GNN_HELP_PARTS_MAX && page->parts[p].table != NULL; p++)
        for (const struct gnn_option *o = page->parts[p].table; o->name != NULL; o++)
            print_bash_values(o, out);
    (void)fputs("        esac\n        options='--help", out);
    for (uint32_t p = 0; p < GNN_HELP_PARTS_MAX && page->parts[p].table != NULL; p++)
        for (const struct gnn_option *o = page->parts[p].table; o->name != NULL; o++) {
            (void)fprintf(out, " --%s", typed_name(o, name));
            if (o->type == GNN_OPT_BOOL)
                (void)fprintf(out, " --no-%s", name);
        }
    (void)fputs("'\n        words='", out);
    print_words(page->words, out);
    (void)fputs("'\n        ;;\n", out);
}

/* ---- zsh ---- */

/* A text inside a specification of _arguments, within single quotes. */
static void print_zsh_text(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            (void)fputs("'\\'", out);
        else if (strchr("[]:\\", *text) != NULL)
            (void)fputc('\\', out);
        (void)fputc(*text, out);
    }
}

static void print_zsh_option(const struct gnn_option *o, FILE *out)
{
    char name[GNN_NAME_MAX];
    (void)typed_name(o, name);
    if (o->type == GNN_OPT_BOOL) {
        (void)fprintf(out, "            '--%s[", name);
        print_zsh_text(o->help, out);
        (void)fprintf(out, "]' '--no-%s[not --%s]' \\\n", name, name);
        return;
    }
    (void)fprintf(out, "            '*--%s=[", name);
    print_zsh_text(o->help, out);
    (void)fputs("]:", out);
    print_zsh_text(o->unit == NULL || o->unit[0] == '\0' ? "value" : o->unit, out);
    (void)fputs(":", out);
    char *const text = values_of(o);
    if (text != NULL)
        (void)fprintf(out, "(%s)", text);
    else if (is_path(o))
        (void)fputs("_files", out);
    (void)fputs("' \\\n", out);
    free(text);
}

static void print_zsh(const char *command, const struct gnn_help_page *page, FILE *out)
{
    (void)fprintf(out, "    (%s)\n        _arguments \\\n", command);
    for (uint32_t p = 0; p < GNN_HELP_PARTS_MAX && page->parts[p].table != NULL; p++)
        for (const struct gnn_option *o = page->parts[p].table; o->name != NULL; o++)
            print_zsh_option(o, out);
    if (page->words == NULL)
        (void)fputs("            '*:file:_files' \\\n", out);
    else if (page->words[0] != '\0') {
        (void)fputs("            '*:word:(", out);
        print_words(page->words, out);
        (void)fputs(")' \\\n", out);
    }
    (void)fputs("            '--help[what the command does]'\n        ;;\n", out);
}

/* ---- text ---- */

static void print_heading(const char *heading, FILE *out)
{
    (void)fprintf(out, "\n%s:\n", heading);
}

static void print_text(const struct gnn_help_page *page, FILE *out)
{
    (void)fputs(page->usage, out);
    print_parts(page, print_heading, print_option, out);
    (void)fputs(page->notes != NULL ? page->notes : "", out);
}

void gnn_help_print(const char *command, const struct gnn_help_page *page, enum gnn_help help, FILE *out)
{
    assert(help != GNN_HELP_NONE);
    if (help == GNN_HELP_TEXT)
        print_text(page, out);
    else if (help == GNN_HELP_MAN)
        print_man(command, page, out);
    else if (help == GNN_HELP_BASH)
        print_bash(command, page, out);
    else
        print_zsh(command, page, out);
}
