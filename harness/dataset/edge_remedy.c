/* SPDX-License-Identifier: MIT */
#include "harness/dataset/edge_remedy.h"

#include "harness/base/plain_text.h"
#include "harness/dataset/input_kind.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_BYTES = 256, PIPE_BYTES = 2 * GNN_OUTPUT_PATH };

/* ---- formats of graphs in text that have other lines than pairs ---- */

static const struct {
    const char *start, *name, *reader; /* of the first line; reader: a function of NetworkX, or NULL */
    const char *command;               /* writes pairs if the path follows it, or NULL */
} foreign[] = {
    {"c ", "lines of DIMACS", NULL, "awk '$1 == \"a\" || $1 == \"e\" {print $2 - 1, $3 - 1}'"},
    {"p ", "lines of DIMACS", NULL, "awk '$1 == \"a\" || $1 == \"e\" {print $2 - 1, $3 - 1}'"},
    {"<gexf", "GEXF", "read_gexf", NULL},
    {"<", "XML such as GraphML", "read_graphml", NULL},
    {"digraph", "edges in DOT", NULL, "sed -nE 's/^[^0-9]*([0-9]+)[^0-9]*-[->][^0-9]*([0-9]+).*/\\1 \\2/p'"},
    {"strict", "edges in DOT", NULL, "sed -nE 's/^[^0-9]*([0-9]+)[^0-9]*-[->][^0-9]*([0-9]+).*/\\1 \\2/p'"},
    {"graph", "GML", "read_gml", NULL},
    {"Creator", "GML", "read_gml", NULL},
    {"*", "Pajek's format", "read_pajek", NULL},
    {"{\"source\"", "edges in JSON", NULL,
     "python3 -c 'import json, sys; [print(e[\"source\"], e[\"target\"]) for e in map(json.loads, "
     "open(sys.argv[1]))]'"},
    {"{", "edges in JSON", NULL,
     "python3 -c 'import json, sys; [print(e[\"source\"], e[\"target\"]) for e in json.load(open(sys.argv[1]))"
     "[\"links\"]]'"},
    {"[", "edges in JSON", NULL,
     "python3 -c 'import json, sys; [print(*e[:2]) for e in json.load(open(sys.argv[1]))]'"},
    {"AdjacencyGraph", "a graph of PBBS or Ligra; write its edges as two numbers per line", NULL, NULL},
};

static bool name_foreign(const char *path, const char *line, char remedy[GNN_EDGE_REMEDY_BYTES])
{
    const size_t count = sizeof foreign / sizeof *foreign;
    char pipe[PIPE_BYTES];
    size_t i = 0;
    while (i < count && strncmp(line, foreign[i].start, strlen(foreign[i].start)) != 0)
        i++;
    if (i < count && strcmp(foreign[i].start, "graph") == 0 && strchr(line, '{') != NULL)
        i -= 1; /* DOT, undirected */
    if (i == count)
        return false;
    if (foreign[i].reader != NULL)
        (void)snprintf(remedy, GNN_EDGE_REMEDY_BYTES,
                       "; the file seems to be %s: python3 -c \"import networkx as n; n.write_edgelist("
                       "n.convert_node_labels_to_integers(n.%s('%s').to_directed()), 'edges.txt', data=False)\" writes "
                       "its edges to edges.txt",
                       foreign[i].name, foreign[i].reader, path);
    else if (foreign[i].command != NULL)
        (void)snprintf(remedy, GNN_EDGE_REMEDY_BYTES, "; the file seems to have %s: use --from %s", foreign[i].name,
                       gnn_input_pipe(path, foreign[i].command, pipe, sizeof pipe));
    else
        (void)snprintf(remedy, GNN_EDGE_REMEDY_BYTES, "; the file seems to be %s", foreign[i].name);
    return true;
}

/* ---- lines ---- */

/* The separator of a line, as a pattern of awk. */
static const char *separator_of(const char *line)
{
    static const char *const patterns[][2] = {{"\t", "\\t"}, {",", " *, *"}, {";", " *; *"}, {"|", " *[|] *"}};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (strchr(line, patterns[i][0][0]) != NULL)
            return patterns[i][1];
    return " ";
}

/* Counts leading numbers of the line, up to three. *whole: the first two are node IDs written as decimals. */
static int leading_numbers(const char *line, bool *whole)
{
    int count = 0;
    *whole = true;
    for (const char *at = line; count < 3; count++) {
        char *end;
        const double value = strtod(at, &end);
        if (end == at || strspn(at, "+-.0123456789eE") < (size_t)(end - at) ||
            (*end != '\0' && strchr(" \t,;|", *end) == NULL))
            break;
        *whole = *whole && (count == 2 || (value >= 0 && value < 9e15 && floor(value) == value));
        at = end + strspn(end, " \t,;|");
    }
    *whole = *whole && count >= 2;
    return count;
}

/* Whether the line has two numbers of digits, and otherwise marks alone. */
static bool is_decorated(const char *line)
{
    int runs = 0;
    for (const char *at = line; *at != '\0'; at++) {
        const bool digit = isdigit((unsigned char)*at) != 0;
        if (isalpha((unsigned char)*at) || *at == '.' || (*at == '-' && isdigit((unsigned char)at[1])) ||
            (unsigned char)*at >= 0x80)
            return false;
        runs += digit && (at == line || !isdigit((unsigned char)at[-1]));
    }
    return runs == 2;
}

/* Writes the command that makes a list of pairs, and returns what it does. */
static const char *command_of(const struct gnn_edge_text *t, const char *line, bool large, char command[COMMAND_BYTES])
{
    char rows[32] = "";
    bool whole;
    const char *const separator = separator_of(line);
    const int numbers = large ? 0 : leading_numbers(line, &whole);
    if (strchr("/!;", line[0]) != NULL) {
        (void)snprintf(command, COMMAND_BYTES, "grep -v '^%c'", line[0]);
        return "if such lines are comments, use --from ";
    }
    if (numbers >= 2 && whole) {
        (void)snprintf(command, COMMAND_BYTES, "awk -F '%s' '!/^[#%%]/ {printf \"%%.0f %%.0f\\n\", $1, $2}'",
                       separator);
        return "if the IDs are decimals of whole numbers, use --from ";
    }
    if (numbers >= 3 && line[0] != '-') {
        (void)snprintf(command, COMMAND_BYTES, "awk -F '%s' '!/^[#%%]/ {print $2, $3}'", separator);
        return "if the IDs are in the second and third column, use --from ";
    }
    if (!large && is_decorated(line)) {
        (void)snprintf(command, COMMAND_BYTES, "sed -E '/^[#%%]/!s/[^0-9]+/ /g'");
        return "for the numbers alone, use --from ";
    }
    if (t->heading_named)
        (void)snprintf(rows, sizeof rows, "NR > %" PRIu64 " && ", t->heading_line);
    (void)snprintf(command, COMMAND_BYTES,
                   "awk -F '%s' '%s!/^[#%%]/ {sub(/\\r$/, \"\"); a = $%" PRIu32 "; b = $%" PRIu32
                   "; if (!(a in n)) n[a] = c++; if (!(b in n)) n[b] = c++; print n[a], n[b]}'",
                   separator, rows, t->columns[0] + 1, t->columns[1] + 1);
    return "if the IDs are names, use --from ";
}

const char gnn_edge_metis[] = "awk '!/^%/ {if (n++) for (i = 1; i <= NF; i++) print n - 2, $i - 1}'";

bool gnn_edge_is_metis(const char *path)
{
    const size_t length = strlen(path);
    return length > 6 && (strcmp(path + length - 6, ".graph") == 0 || strcmp(path + length - 6, ".metis") == 0);
}

void gnn_edge_remedy(const struct gnn_edge_text *t, const char *line, uint64_t at, bool large,
                     char remedy[GNN_EDGE_REMEDY_BYTES])
{
    char pipe[PIPE_BYTES], command[COMMAND_BYTES];
    const char *const path = t->input->path;
    remedy[0] = '\0';
    if (t->lines == 0 && name_foreign(path, line, remedy))
        return;
    const bool numbers = !large && strspn(line, " \t0123456789") == strlen(line);
    if (t->lines > 0 && (numbers || gnn_edge_is_metis(path))) {
        (void)snprintf(remedy, GNN_EDGE_REMEDY_BYTES, "; for METIS's lists of neighbours, use --from %s",
                       gnn_input_pipe(path, gnn_edge_metis, pipe, sizeof pipe));
        return;
    }
    (void)snprintf(command, sizeof command, "tail -n +%" PRIu64, at + 1);
    if (numbers && t->lines == 0) {
        (void)snprintf(remedy, GNN_EDGE_REMEDY_BYTES, "; if it is a count, --from %s begins behind it",
                       gnn_input_pipe(path, command, pipe, sizeof pipe));
        return;
    }
    if (strpbrk(line, " \t,;|:") == NULL)
        return;
    const char *const lead = command_of(t, line, large, command);
    (void)snprintf(remedy, GNN_EDGE_REMEDY_BYTES, "; %s%s", lead, gnn_input_pipe(path, command, pipe, sizeof pipe));
}
