/* SPDX-License-Identifier: MIT */
/* Pictures that lie in a folder, inside the page. */
#include "harness/record/page.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

enum { PATH_BYTES = 1024, CSV_ROWS_MAX = 400 };

/* Reads a whole file; NULL with errno: it cannot be read. The caller frees it; it ends with a 0. */
static char *read_file(const char *dir, const char *name, const char *ending, size_t *bytes)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%.700s/%.200s%s", dir, name, ending);
    FILE *const in = fopen(path, "re");
    char *text = NULL;
    *bytes = 0;
    FILE *const whole = in == NULL ? NULL : open_memstream(&text, bytes);
    for (int c = whole == NULL ? EOF : fgetc(in); c != EOF; c = fgetc(in))
        (void)fputc(c, whole);
    const bool failed = in == NULL || whole == NULL || ferror(in) != 0;
    const int error = errno;
    if (whole != NULL)
        (void)fclose(whole);
    if (in != NULL)
        (void)fclose(in);
    if (!failed)
        return text;
    free(text);
    errno = error;
    return NULL;
}

static void put_base64(const char *text, size_t bytes, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes; i += 3) {
        const uint32_t left = (uint32_t)gnn_min_u64(bytes - i, 3);
        uint32_t word = 0;
        for (uint32_t k = 0; k < 3; k++)
            word = word << 8 | (k < left ? (uint32_t)(unsigned char)text[i + k] : 0);
        for (uint32_t k = 0; k < 4; k++)
            (void)fputc(k <= left ? digits[(word >> (18 - 6 * k)) & 63] : '=', out);
    }
}

/* ---- the data behind a picture ---- */

/* One field of a line of CSV, which *at leaves behind it and its comma. */
static void put_field(const char **at, const char *tag, FILE *out)
{
    char field[256];
    size_t used = 0;
    const bool quoted = **at == '"';
    if (quoted)
        ++*at;
    for (; **at != '\0'; ++*at) {
        if (quoted && **at == '"' && (*at)[1] != '"')
            break;
        if (!quoted && (**at == ',' || **at == '\n' || **at == '\r'))
            break;
        if (quoted && **at == '"')
            ++*at; /* a pair of quotes is one */
        if (used + 1 < sizeof field)
            field[used++] = **at;
    }
    field[used] = '\0';
    if (quoted && **at == '"')
        ++*at;
    (void)fprintf(out, "<%s>", tag);
    gnn_page_text(field, out);
    (void)fprintf(out, "</%s>", tag);
}

static void put_table(const char *csv, FILE *out)
{
    uint32_t row = 0;
    (void)fputs("<div class=\"wide\"><table>", out);
    for (const char *at = csv; *at != '\0' && row < CSV_ROWS_MAX; row++) {
        (void)fputs("<tr>", out);
        for (bool more = true; more;) {
            put_field(&at, row == 0 ? "th" : "td", out);
            more = *at == ',';
            at += more ? 1 : 0;
        }
        (void)fputs("</tr>\n", out);
        at += strspn(at, "\r\n");
        while (*at != '\0' && at[-1] != '\n') /* what stands behind a closing quote */
            at++;
    }
    (void)fputs("</table></div>\n", out);
}

static void put_csv(const char *dir, const char *name, FILE *out)
{
    size_t bytes;
    char *const csv = read_file(dir, name, ".csv", &bytes);
    if (csv == NULL)
        return;
    (void)fputs("<p><a download=\"", out);
    gnn_page_text(name, out);
    (void)fputs(".csv\" href=\"data:text/csv;base64,", out);
    put_base64(csv, bytes, out);
    (void)fputs("\">CSV</a></p>\n<details><summary>Table</summary>", out);
    put_table(csv, out);
    (void)fputs("</details>\n", out);
    free(csv);
}

/* ---- a figure ---- */

static bool put_caption(const char *dir, const char *name, const char *ending, FILE *out)
{
    size_t bytes;
    char *const text = read_file(dir, name, ending, &bytes);
    if (text == NULL)
        return false;
    (void)fputs("<pre class=\"caption\">", out);
    gnn_page_text(text, out);
    (void)fputs("</pre>\n", out);
    free(text);
    return true;
}

static enum gnn_status put_figure(const char *dir, const char *name, const char *ending, FILE *out, struct gnn_err *err)
{
    const bool picture = strcmp(ending, ".csv") != 0 && strcmp(ending, ".md") != 0;
    size_t bytes = 0;
    char *const text = picture ? read_file(dir, name, ending, &bytes) : NULL;
    if (picture && text == NULL)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "%s/%s%s: %s", dir, name, ending, strerror(errno));
    (void)fputs("<figure id=\"figure-", out);
    gnn_page_text(name, out);
    (void)fputs("\"><figcaption><h3>", out);
    gnn_page_text(name, out);
    (void)fputs("</h3></figcaption>\n", out);
    if (picture) {
        (void)fprintf(out, "<img alt=\"");
        gnn_page_text(name, out);
        (void)fprintf(out, "\" src=\"data:image/%s;base64,", strcmp(ending, ".svg") == 0 ? "svg+xml" : "png");
        put_base64(text, bytes, out);
        (void)fputs("\">\n", out);
    }
    free(text);
    if (!put_caption(dir, name, ".md", out))
        (void)put_caption(dir, name, ".txt", out);
    put_csv(dir, name, out);
    (void)fputs("</figure>\n", out);
    return GNN_OK;
}

/* ---- the folder ---- */

static const char *const endings[] = {".svg", ".png", ".csv", ".md"}; /* the first that is there shows the figure */

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), wanted = strlen(end);
    return length > wanted && strcmp(text + length - wanted, end) == 0;
}

/* The verdicts of a figure are a part of its caption. */
static int is_figure(const struct dirent *entry)
{
    if (strstr(entry->d_name, ".verdicts.") != NULL)
        return 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (entry->d_name[0] != '.' && ends_with(entry->d_name, endings[i]))
            return 1;
    return 0;
}

/* Whether the folder has this name with an earlier ending. */
static bool shown_better(struct dirent *const *entries, int count, const char *name, const char *ending)
{
    char other[NAME_MAX + 8];
    for (size_t e = 0; strcmp(endings[e], ending) != 0; e++) {
        (void)snprintf(other, sizeof other, "%s%s", name, endings[e]);
        for (int i = 0; i < count; i++)
            if (strcmp(entries[i]->d_name, other) == 0)
                return true;
    }
    return false;
}

/* Cuts an entry's ending off, which *ending is set to. */
static void name_of(const struct dirent *entry, char name[NAME_MAX + 1], const char **ending)
{
    *ending = strrchr(entry->d_name, '.');
    (void)snprintf(name, NAME_MAX + 1, "%.*s", (int)(*ending - entry->d_name), entry->d_name);
}

/* Links to the figures, which may be many. */
static void put_links(struct dirent *const *entries, int count, FILE *out)
{
    (void)fputs("<nav>", out);
    for (int i = 0; i < count; i++) {
        char name[NAME_MAX + 1];
        const char *ending;
        name_of(entries[i], name, &ending);
        if (shown_better(entries, count, name, ending))
            continue;
        (void)fputs("<a href=\"#figure-", out);
        gnn_page_text(name, out);
        (void)fputs("\">", out);
        gnn_page_text(name, out);
        (void)fputs("</a> ", out);
    }
    (void)fputs("</nav>\n", out);
}

/* Puts every figure, behind links to them. */
static enum gnn_status put_figures(const char *dir, struct dirent *const *entries, int count, FILE *out,
                                   struct gnn_err *err)
{
    (void)fputs("<section id=\"figures\"><h2>Figures</h2>\n", out);
    put_links(entries, count, out);
    for (int i = 0; i < count; i++) {
        char name[NAME_MAX + 1];
        const char *ending;
        name_of(entries[i], name, &ending);
        if (!shown_better(entries, count, name, ending))
            GNN_TRY(put_figure(dir, name, ending, out, err));
    }
    (void)fputs("</section>\n", out);
    return GNN_OK;
}

enum gnn_status gnn_page_figures(const char *dir, FILE *out, struct gnn_err *err)
{
    struct dirent **entries = NULL;
    const int count = scandir(dir, &entries, is_figure, alphasort);
    if (count < 0)
        return gnn_fail(err, errno == ENOENT ? GNN_ENOENT : gnn_errno_status(errno, GNN_EIO),
                        "--figures %s: %s; name a folder of pictures (`oocgnn figure --list` has what can be drawn)",
                        dir, strerror(errno));
    const enum gnn_status status =
        count > 0
            ? put_figures(dir, entries, count, out, err)
            : gnn_fail(
                  err, GNN_ENOENT,
                  "--figures %s: no picture, CSV file or caption there; `oocgnn figure --list` has what can be drawn",
                  dir);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return status;
}
