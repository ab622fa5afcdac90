/* SPDX-License-Identifier: MIT */
#include "harness/dataset/input_kind.h"

#include "harness/base/plain_text.h"
#include "harness/dataset/output.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WORD_BYTES = GNN_OUTPUT_PATH + 64, TAR_MARK_AT = 257 };

struct kind {
    const char *name;
    size_t at, len;
    const char *magic;
    const char *command; /* writes the text if the path follows it; NULL: `way` */
    bool archive;        /* may have several members, which are named behind the path */
    const char *way;
};

#define NUMPY_WAY "write its arrays with numpy.save into a directory for --format ogb"

static const struct kind kinds[] = {
    {"bzip2 data", 0, 3, "BZh", "bzcat", false, NULL},
    {"xz data", 0, 6, "\xfd\x37\x7a\x58\x5a", "xzcat", false, NULL},
    {"lzma data", 0, 4, "\x5d\0\0\x80", "xzcat", false, NULL},
    {"zstd data", 0, 4, "\x28\xb5\x2f\xfd", "zstdcat", false, NULL},
    {"lz4 data", 0, 4, "\x04\x22\x4d\x18", "lz4cat", false, NULL},
    {"a 7-Zip archive", 0, 4, "7z\xbc\xaf", "7z x -so", true, NULL},
    {"a zip archive", 0, 4, "PK\x03\x04", "unzip -p", true, NULL},
    {"a tar archive", TAR_MARK_AT, 5, "ustar", "tar -xOf", true, NULL},
    {"UTF-16 text", 0, 2, "\xff\xfe", "iconv -f UTF-16 -t UTF-8", false, NULL},
    {"UTF-16 text", 0, 2, "\xfe\xff", "iconv -f UTF-16 -t UTF-8", false, NULL},
    {"a NumPy array", 0, 6, "\x93NUMPY", NULL, false, "name the directory of the arrays, with --format ogb"},
    {"an HDF5 file", 0, 4, "\x89HDF", NULL, false, NUMPY_WAY},
    {"a Python pickle", 0, 2, "\x80\x02", NULL, false, NUMPY_WAY},
    {"a Python pickle", 0, 2, "\x80\x04", NULL, false, NUMPY_WAY},
    {"a Parquet file", 0, 4, "PAR1", NULL, false, "write it as text with pandas: to_csv('edges.csv', index=False)"},
};

static const char *ending_of(const char *path)
{
    const char *const dot = strrchr(path, '.'), *const slash = strrchr(path, '/');
    return dot != NULL && (slash == NULL || dot > slash) ? dot : "";
}

const char *gnn_input_pipe(const char *path, const char *command, char *text, size_t text_bytes)
{
    char word[WORD_BYTES];
    (void)gnn_shell_word(path, word, sizeof word);
    if (strcmp(ending_of(path), ".gz") == 0)
        (void)snprintf(text, text_bytes, "<(zcat %s | %s)", word, command);
    else
        (void)snprintf(text, text_bytes, "<(%s %s)", command, word);
    return text;
}

/* WebGraph stores the lists of FILE.graph in bits, with a description in FILE.properties. */
static bool is_webgraph(const char *path)
{
    char properties[WORD_BYTES];
    const char *const ending = ending_of(path);
    if (strcmp(ending, ".graph") != 0)
        return false;
    (void)snprintf(properties, sizeof properties, "%.*s.properties", (int)(ending - path), path);
    return access(properties, F_OK) == 0;
}

const char *gnn_input_binary(const char *path)
{
    static const struct {
        const char *ending, *way;
    } ways[] = {
        {".sg", ": a binary graph of the GAP benchmarks; --from takes the list (.el) that it was made from"},
        {".wsg", ": a binary graph of the GAP benchmarks; --from takes the list (.wel) that it was made from"},
        {".bin", ": binary data; write its edges as text, or as edge_index.npy for --format ogb"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ending_of(path), ways[i].ending) == 0)
            return ways[i].way;
    return "";
}

/* Writes the name of the first file of a zip or tar archive, whose first bytes are given; false: that is none. */
static bool first_member(const char *bytes, size_t len, char name[WORD_BYTES])
{
    enum { ZIP_LENGTH_AT = 26, ZIP_NAME_AT = 30, TAR_NAME = 100 };
    const bool zip = bytes[0] == 'P' && bytes[1] == 'K';
    const size_t at = zip ? ZIP_NAME_AT : 0;
    size_t length = TAR_NAME;
    if (zip && len > ZIP_NAME_AT)
        length = (unsigned char)bytes[ZIP_LENGTH_AT] | (size_t)(unsigned char)bytes[ZIP_LENGTH_AT + 1] << 8;
    if (len < at + length || length >= WORD_BYTES)
        return false;
    (void)snprintf(name, WORD_BYTES, "%.*s", (int)length, bytes + at);
    length = strlen(name);
    return length > 0 && length < TAR_NAME && name[length - 1] != '/';
}

static bool is_packed_tar(const char *path)
{
    static const char *const endings[] = {".tbz2", ".tbz", ".txz", ".tzst", NULL};
    const char *const ending = ending_of(path);
    for (int i = 0; endings[i] != NULL; i++)
        if (strcmp(ending, endings[i]) == 0)
            return true;
    return ending - path >= 4 && strncmp(ending - 4, ".tar", 4) == 0;
}

static enum gnn_status fail_archive(const char *path, const struct kind *kind, const char *bytes, size_t len,
                                    struct gnn_err *err)
{
    char word[WORD_BYTES], name[WORD_BYTES], member[WORD_BYTES];
    const bool tar = kind->archive && strncmp(kind->command, "tar", 3) == 0, zip = kind->magic[0] == 'P';
    (void)gnn_shell_word(path, word, sizeof word);
    if ((tar || zip) && first_member(bytes, len, name))
        return gnn_fail(
            err, GNN_EFORMAT,
            "%s: %s, not a line of text; unpack it, or read an edge list with --from <(%s %s %s), its first "
            "file (`%s %s` lists all)",
            path, kind->name, kind->command, word, gnn_shell_word(name, member, sizeof member),
            zip ? "unzip -l" : "tar -tf", word);
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: %s, not a line of text; unpack it, or read an edge list with --from <(%s %s MEMBER), where "
                    "MEMBER is a file in it (`%s %s` lists all)",
                    path, kind->name, kind->archive ? kind->command : "tar -xOf", word,
                    zip                     ? "unzip -l"
                    : kind->archive && !tar ? "7z l"
                                            : "tar -tf",
                    word);
}

static enum gnn_status fail_kind(const char *path, const struct kind *kind, const char *bytes, size_t len,
                                 struct gnn_err *err)
{
    char word[WORD_BYTES];
    if (kind->command == NULL)
        return gnn_fail(err, GNN_EFORMAT, "%s: %s, not a line of text; %s", path, kind->name, kind->way);
    if (kind->archive || is_packed_tar(path))
        return fail_archive(path, kind, bytes, len, err);
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: %s, not a line of text; unpack it, or read an edge list with --from <(%s %s)", path,
                    kind->name, kind->command, gnn_shell_word(path, word, sizeof word));
}

enum gnn_status gnn_input_check_text(const char *path, const char *bytes, size_t len, struct gnn_err *err)
{
    char text[WORD_BYTES + 64];
    if (is_webgraph(path))
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: a WebGraph file, not a line of text; its library writes the edges as text: java -cp "
                        "'webgraph/*' it.unimi.dsi.webgraph.ArcListASCIIGraph %.*s edges.txt",
                        path, (int)(ending_of(path) - path), path);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (len >= kinds[i].at + kinds[i].len && memcmp(bytes + kinds[i].at, kinds[i].magic, kinds[i].len) == 0)
            return fail_kind(path, &kinds[i], bytes, len, err);
    const char *const cr = memchr(bytes, '\r', len);
    if (cr != NULL && cr + 1 < bytes + len && memchr(bytes, '\n', len) == NULL)
        return gnn_fail(err, GNN_EFORMAT, "%s: its lines end with CR alone; read an edge list with --from %s", path,
                        gnn_input_pipe(path, "sed 's/\\r/\\n/g'", text, sizeof text));
    return GNN_OK;
}
