/* SPDX-License-Identifier: MIT */
/* Options. An option is declared once, in a table. Parser, limits, help, output, record and `oocgnn list params` read
 * that entry, as in fio. A table ends with an entry whose name is NULL. */
#ifndef GNN_BASE_OPTION_H
#define GNN_BASE_OPTION_H

#include "harness/oocgnn.h"

#include <stdio.h>

enum {
    GNN_TEXT_MAX = 256,    /* bytes of a GNN_OPT_TEXT field, its 0 included */
    GNN_RANGE_BYTES = 256, /* bytes for a range or a list of choices as text */
};

struct gnn_u32_list {
    uint32_t count;
    uint32_t values[GNN_LAYERS_MAX];
};

enum gnn_option_type {
    GNN_OPT_BOOL,     /* bool: true/false, yes/no, on/off, 1/0 */
    GNN_OPT_U32,      /* uint32_t */
    GNN_OPT_U64,      /* uint64_t */
    GNN_OPT_F64,      /* double */
    GNN_OPT_BYTES,    /* uint64_t, text as "320M", "1.5GiB" (base/units.h) */
    GNN_OPT_CHOICE,   /* an enum of 32 bits: index into choices */
    GNN_OPT_TEXT,     /* char[GNN_TEXT_MAX] */
    GNN_OPT_DURATION, /* uint64_t nanoseconds, text as "30m", "250ms" */
    GNN_OPT_SCALE,    /* uint32_t K, text as "1/K" */
    GNN_OPT_U32_LIST, /* struct gnn_u32_list, text as "10,10,10"; max limits each value */
};

struct gnn_option {
    const char *name; /* "extractors"; the user writes --set SYSTEM.extractors=4 */
    enum gnn_option_type type;
    size_t offset;              /* offsetof the field in the config struct */
    const char *unit;           /* "threads", "bytes", "batches"; "" or NULL if none */
    const char *def;            /* default, as the user writes it */
    double min, max;            /* inclusive; both 0: no limits */
    const char *const *choices; /* GNN_OPT_CHOICE: NULL-terminated words */
    const char *help;           /* one sentence; explains 0 where 0 means "automatic" */
    const char *group;          /* heading that help prints it under; NULL: none */
    const char *source;         /* paper section or artifact file the default comes from; NULL: our choice */
    bool added;                 /* later than some records: a run with its default is the same run as without it */
};

/* An entry for a field of struct config: GNN_OPTION(config, "lr", F64, lr, "0.003", .help = "learning rate"). */
#define GNN_OPTION(config, word, kind, field, usual, ...)                                                              \
    {                                                                                                                  \
        .name = (word), .type = GNN_OPT_##kind, .offset = offsetof(struct config, field), .def = (usual), __VA_ARGS__  \
    }

/* Fills config with the defaults. A default that does not parse is a bug and asserts. */
void gnn_option_defaults(const struct gnn_option *table, void *config);

/* Parses one value into config. Returns GNN_EUSAGE, which names the option, the value and the limits, or near misses of
 * an unknown name. */
GNN_MUST_CHECK enum gnn_status gnn_option_set(const struct gnn_option *table, void *config, const char *name,
                                              const char *value, struct gnn_err *err);

/* Writes the value to text as the user writes it. Parsing the text gives the same config. */
void gnn_option_format(const struct gnn_option *option, const void *config, char *text, size_t text_bytes);

/* Writes the accepted values to text: "1 to 64", "lru, belady", or "" if every value of the type is accepted. Returns
 * text. */
const char *gnn_option_range(const struct gnn_option *option, char *text, size_t text_bytes);

/* Prints name, type, default, unit, range, meaning and source of every entry, for `oocgnn list params`. */
void gnn_option_help(const struct gnn_option *table, FILE *out);

/* Prints the same entries as a Markdown table: parameter, meaning, default, range, source. */
void gnn_option_markdown(const struct gnn_option *table, FILE *out);

#endif
