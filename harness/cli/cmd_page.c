/* SPDX-License-Identifier: MIT */
/* oocgnn page: fills the parts of Markdown pages that are made from data. */
#include "harness/base/text_file.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/page_marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 256 };

struct page_config {
    bool check, write;
    char from[GNN_TEXT_MAX];
};

#define OPTION(...) GNN_OPTION(page_config, __VA_ARGS__)

static const struct gnn_option page_table[] = {
    OPTION("check", BOOL, check, "no",
           .help = "Compare only. The exit status is 1 if a page is not what its data give, or if the last line of a "
                   "page with marks lacks date, commit or command"),
    OPTION("write", BOOL, write, "no", .help = "Write the pages"),
    OPTION("from", TEXT, from, "", .unit = "DIR",
           .help = "Folder of the data. Default: data/ in the folder of the page"),
    {.name = NULL},
};

struct pages {
    struct page_config config;
    const char *files[FILES_MAX];
    uint32_t count;
};

static enum gnn_status take_file(void *ctx, const char *word, struct gnn_err *err)
{
    struct pages *const p = ctx;
    if (p->count == FILES_MAX)
        return gnn_fail(err, GNN_EUSAGE, "page: more than %d pages", FILES_MAX);
    p->files[p->count++] = word;
    return GNN_OK;
}

/* Reads a page, which the caller frees. */
static enum gnn_status read_page(const char *path, char **text, struct gnn_err *err)
{
    size_t room = 0;
    GNN_TRY(gnn_cli_check_file("page", path, "name a Markdown file", err));
    FILE *const file = fopen(path, "re");
    const bool has_text = file != NULL && getdelim(text, &room, '\0', file) > 0;
    const bool failed = file == NULL || ferror(file) != 0;
    if (file != NULL)
        (void)fclose(file);
    return has_text ? GNN_OK
                    : gnn_fail(err, failed ? GNN_EIO : GNN_EFORMAT, "page %s: %s", path,
                               failed ? strerror(errno) : "it is empty");
}

/* Fills a page that was read. */
static enum gnn_status do_text(const struct pages *p, struct gnn_page *page, const char *text, struct gnn_err *err)
{
    char *filled = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&filled, &bytes);
    if (out == NULL)
        return gnn_fail(err, GNN_ENOMEM, "page %s", page->path);
    enum gnn_status status = gnn_page_fill(page, text, out, err);
    if (fclose(out) != 0 && status == GNN_OK)
        status = gnn_fail(err, GNN_ENOMEM, "page %s", page->path);
    if (status == GNN_OK && p->config.write && page->differ > 0)
        status = gnn_text_file_replace(page->path, filled, "name a page that you may write", err);
    if (status == GNN_OK && p->config.check && page->marks > 0)
        status = gnn_page_check_origin(page, text, err);
    free(filled);
    return status;
}

static enum gnn_status do_page(const struct pages *p, const char *path, bool *differs, struct gnn_err *err)
{
    char dir[GNN_TEXT_MAX + 4096];
    char *text = NULL;
    const char *const slash = strrchr(path, '/');
    struct gnn_page page = {.path = path, .dir = p->config.from[0] != '\0' ? p->config.from : dir};
    (void)snprintf(dir, sizeof dir, "%.*sdata", slash != NULL ? (int)(slash + 1 - path) : 0, path);
    enum gnn_status status = read_page(path, &text, err);
    GNN_NEXT(status, do_text(p, &page, text, err));
    free(text);
    *differs = *differs || page.differ > 0;
    return status;
}

/* Every page is looked at, also after one that cannot be filled. */
static int do_pages(const struct pages *p)
{
    int worst = GNN_EXIT_OK;
    bool differs = false;
    for (uint32_t i = 0; i < p->count; i++) {
        struct gnn_err err = {0};
        if (do_page(p, p->files[i], &differs, &err) != GNN_OK) {
            const int exit_status = gnn_cli_failed(&err);
            worst = exit_status > worst ? exit_status : worst;
        }
    }
    return worst == GNN_EXIT_OK && differs && p->config.check ? GNN_EXIT_FAILED : worst;
}

int gnn_cmd_page(int argc, char **argv)
{
    static const struct gnn_command_line line = {
        .usage =
            "usage: oocgnn page FILE... [--check | --write]\n\n"
            "Fills the parts of Markdown pages that are made from data, between the lines `<!-- figure ID -->`,\n"
            "`<!-- ratios PAPER -->`, `<!-- findings PAPER -->` or `<!-- merit -->` and `<!-- end -->`. Without an\n"
            "option, it prints what would change. `oocgnn figure --out DIR --ratios FILE --findings FILE` writes the\n"
            "data.\n\n",
        .table = page_table,
        .word = take_file};
    struct gnn_err err = {0};
    struct pages *const p = calloc(1, sizeof *p);
    int exit_status;
    if (p == NULL) {
        (void)gnn_fail(&err, GNN_ENOMEM, "the list of pages");
        return gnn_cli_failed(&err);
    }
    if (gnn_args_parse(&line, argc, argv, &p->config, p, &exit_status)) {
        enum gnn_status status = GNN_OK;
        if (p->count == 0)
            status = gnn_fail(&err, GNN_EUSAGE, "page: which pages? oocgnn page results/*.md --check");
        else if (p->config.check && p->config.write)
            status = gnn_fail(&err, GNN_EUSAGE, "page: --check and --write: the one or the other");
        exit_status = status == GNN_OK ? do_pages(p) : gnn_cli_failed(&err);
    }
    free(p);
    return exit_status;
}
