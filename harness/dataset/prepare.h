/* SPDX-License-Identifier: MIT */
/* Prepares datasets (format: harness/storage/meta.h): the registry of the papers' graphs, the generator, the importers
 * and the check. Uses no world, but plain files and threads.
 *
 * Generating and importing write to "<out>.partial-<pid>", next to the target, and rename it at the end. After an
 * error, a full disk or a set stop flag that directory is removed. An incomplete dataset therefore never has the
 * name. */
#ifndef GNN_DATASET_PREPARE_H
#define GNN_DATASET_PREPARE_H

#include "harness/base/half.h"
#include "harness/base/id_width.h"
#include "harness/base/option.h"
#include "harness/oocgnn.h"

#include <stdatomic.h>

/* ---- the registry ---- */

enum gnn_registry_kind {
    GNN_REGISTRY_PROCEDURAL, /* harness/graph/procedural.h, at any scale, with or without a disk */
    GNN_REGISTRY_KNOWLEDGE,  /* edges with relations, harness/graph/knowledge.h, at any scale, on a disk */
    GNN_REGISTRY_KRON,       /* R-MAT edges grouped by source (kron.h), at its own size, on a disk */
};

/* The closed reachable set of the generated graph (harness/graph/procedural.h). share 0: none. */
struct gnn_registry_reach {
    double share; /* of the nodes */
    /* Places of its nodes among the IDs (harness/graph/node_order.h) and the bracket of an estimate. NULL: `even`; a
     * graph without a bracket has its own order on both sides. */
    const char *order, *order_low, *order_high;
    double empty, list_mean, train_empty, train_mean, train_share;
    double hub_shift, coupling;
    double homophily; /* 0: the generator's default */
};

struct gnn_recipe_laws;

/* A graph of the papers at scale 1, with the public counts if they exist (README.md has the sources). */
struct gnn_registry_entry {
    const char *name;   /* as typed: "papers100m" */
    const char *title;  /* as published: "ogbn-papers100M" */
    const char *papers; /* systems whose papers use it, by folder name */
    uint64_t nodes;
    uint64_t edges; /* as stored: one entry of indices per edge */
    uint32_t dim;   /* default width */
    uint32_t classes;
    uint64_t train, valid, test; /* nodes */
    uint32_t relations;          /* for GNN_REGISTRY_KNOWLEDGE, as the next line; edges are then training edges */
    uint64_t valid_edges, test_edges;
    bool splits_published; /* false: the counts are this project's choice */
    enum gnn_registry_kind kind;
    double degree_exponent; /* of the tail of the generated in-degrees */
    double popularity; /* Zipf exponent of the generated sources, 0 to 1, up to 4 with a reachable set (README.md) */
    double locality;   /* share of generated sources near their target */
    struct gnn_registry_reach reach;
    struct {
        const char *what; /* that graphs of earlier versions lack (earlier.h); NULL: nothing */
        bool had_reach;   /* whether they have a reachable set */
    } since;
    const struct gnn_recipe_laws *laws; /* of a recipe file (recipe_file.h); NULL in the registry */
    const char *note;
};

/* Ends with an entry whose name is NULL. */
extern const struct gnn_registry_entry gnn_registry[];

/* Finds the entry of that name. Returns GNN_EUSAGE, which names the nearest entries, if there is none. */
GNN_MUST_CHECK enum gnn_status gnn_registry_find(const char *name, const struct gnn_registry_entry **out,
                                                 struct gnn_err *err);

/* The counts of an entry at scale 1/divisor. Every count is divided, and rounded to the nearest number; splits have at
 * least 1. */
struct gnn_registry_counts {
    uint32_t nodes;
    uint64_t edges; /* target; the generated count is within 1 % from 10^6 nodes on (no reachable set: 10^5) */
    uint32_t train, valid, test;
    uint64_t dataset_bytes; /* on disk, with features of width dim and IDs of 4 bytes */
};
GNN_MUST_CHECK enum gnn_status gnn_registry_scale(const struct gnn_registry_entry *entry, uint32_t divisor,
                                                  uint32_t dim, struct gnn_registry_counts *out, struct gnn_err *err);

/* ---- declarations of all preparations ---- */

struct gnn_progress {
    const char *phase; /* "indices"; valid during the call */
    const char *unit;  /* "B", "edges" */
    uint64_t done, total;
    double rate;      /* units per second since the phase began */
    double left_s;    /* seconds left in this phase at that rate; negative: unknown */
    bool phase_ended; /* this is the last report of this phase */
};
typedef void gnn_progress_fn(void *ctx, const struct gnn_progress *progress);

struct gnn_prepare_job {
    const char *out_dir; /* must not exist, or hold the same dataset without a width that is wanted: of neighbour IDs,
                            or, if generated, of features */
    gnn_progress_fn *progress; /* may be NULL; called about five times a second by the calling thread */
    void *progress_ctx;
    const atomic_bool *stop; /* may be NULL; if set, for example by a signal handler: clean up, GNN_ECANCELLED */
};

/* Draws progress as one line on a terminal (a gnn_progress_fn). ctx is a FILE *; nothing is written if it is not a
 * terminal. */
void gnn_progress_terminal(void *ctx, const struct gnn_progress *progress);

/* ---- generating ---- */

/* Options of the generator. gnn_option_defaults(gnn_generate_table, &options) fills them. README.md has the
 * distributions. */
struct gnn_generate_options {
    uint64_t seed;
    uint32_t dim; /* 0 = the registry's */
    enum gnn_id_width id_width;
    enum gnn_feature_type feature_type;
    uint32_t threads;       /* 0 = every core */
    double homophily;       /* below 0 = the registry's, or the default */
    double popularity;      /* below 0 = the registry's */
    double locality;        /* below 0 = the registry's */
    double degree_exponent; /* 0 = the registry's */
    double label_noise;
    double signal;            /* below 0 = the default, with a reachable set or without */
    char order[GNN_TEXT_MAX]; /* of the reachable set; "own" = the registry's, "low" and "high" = its bracket */
    double reach;             /* this and the next up to coupling: below 0 (coupling: -2) = the registry's */
    double empty;
    double list_mean;
    double train_empty;
    double train_mean;
    double train_share;
    double hub_shift;
    double coupling;
    uint32_t votes;
    uint32_t levels; /* kron only: log2 of its nodes; 0 = the registry's */
};
extern const struct gnn_option gnn_generate_table[];

/* Sets "name=value,name=value" in options; "" sets nothing. Values have no commas. Returns errors of gnn_option_set(),
 * or GNN_EUSAGE for a word without "=". */
GNN_MUST_CHECK enum gnn_status gnn_generate_set(struct gnn_generate_options *options, const char *text,
                                                struct gnn_err *err);

/* Generates entry at scale 1/divisor into job->out_dir. That directory may already have the same dataset (name, scale,
 * seed and parameters) without features of the requested width and type or IDs of the requested width. These are then
 * added, and nothing else changes. Returns GNN_EUSAGE for options outside their limits or another existing target,
 * GNN_ENOSPC, GNN_EPERM, GNN_ECANCELLED or GNN_EIO. */
GNN_MUST_CHECK enum gnn_status gnn_prepare_generate(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                                    const struct gnn_generate_options *options,
                                                    const struct gnn_prepare_job *job, struct gnn_err *err);

/* What is added to a dataset. dim 0: features of the dataset's first width, or none without has_type. id_bytes 0: no
 * neighbour IDs. */
struct gnn_added_widths {
    uint32_t dim;
    bool has_type; /* feature_type was given; else it is GNN_F32 */
    enum gnn_feature_type feature_type;
    uint32_t id_bytes;
};

/* Adds features and neighbour IDs to the dataset at job->out_dir, with the options in its meta file. Existing files
 * stay. GNN_EUSAGE: features of a graph that is not generated by its name in the registry. */
GNN_MUST_CHECK enum gnn_status gnn_prepare_widths(const struct gnn_added_widths *added,
                                                  const struct gnn_prepare_job *job, struct gnn_err *err);

/* ---- importing ---- */

enum gnn_import_format { GNN_IMPORT_OGB, GNN_IMPORT_SNAP, GNN_IMPORT_TRIPLES };
extern const char *const gnn_import_formats[]; /* "ogb", "snap", "triples", NULL: index = enum */

/* Order of the columns of triples. */
enum gnn_columns { GNN_COLUMNS_HRT, GNN_COLUMNS_HTR, GNN_COLUMNS_HT, GNN_COLUMNS_RHT };
extern const char *const gnn_columns_words[]; /* "hrt", "htr", "ht", "rht", NULL: index = enum */

/* Options of an import. gnn_option_defaults(gnn_import_table, &options) fills them. */
struct gnn_import_options {
    uint64_t memory_bytes; /* limit of the importer's own memory */
    bool add_reverse;      /* store (b, a) for every (a, b), for undirected edges that are stored once */
    bool transpose;        /* swap source and target first */
    bool drop_self_loops;
    bool drop_duplicates;
    bool keep_order;     /* ogb: edges are grouped by target, and their order inside each list is kept */
    bool relabel;        /* snap: number the nodes that occur 0, 1, 2 … in ascending order of their IDs */
    bool ignore_columns; /* snap: further columns than the two node IDs may hold anything */
    bool row_normalise;  /* divide each feature row by the sum of its absolute values */
    enum gnn_id_width id_width;
    enum gnn_columns columns; /* triples: order of head, relation and tail; ht: all edges have one relation */
    enum gnn_feature_type feature_type;
    uint32_t nodes;    /* snap: how many there are; 0 = the largest ID + 1. triples: likewise, and all IDs are numbers;
                         0 = names are numbered as they come */
    uint32_t dim;      /* width of random features if the input has none; 0 = that is an error */
    uint32_t classes;  /* number of classes; of random labels where the input has none; 0 = from the labels, or
                         error */
    double unlabelled; /* label that means none, a whole number; -1 always does */
    uint32_t label_column; /* of labels with several per node, from 1; 0: those are an error */
    double train_fraction, valid_fraction, test_fraction; /* of random splits if the input has none */
    uint64_t seed;                                        /* for everything random */
};
extern const struct gnn_option gnn_import_table[];

struct gnn_import_source {
    enum gnn_import_format format;
    /* With ogb, a directory or a NumPy archive. With snap, a text file, maybe .gz, or a directory with edges.txt[.gz].
     * With triples, a directory with train, valid and test, each .txt, .tsv (maybe .gz) or _hrt.npy. */
    const char *from;
    const char *split; /* ogb: sub-directory or file with the splits; NULL = from itself, or the only one in split */
    const char *name;  /* the dataset's name; NULL = last part of from */
    /* ogb: files by path, or by path below from; NULL = by their usual names */
    const char *edges, *features, *labels;
    uint64_t raw_rows;    /* ogb: rows of features and labels without a header; 0 = from the size of the file */
    uint32_t raw_dim;     /* ogb: width of features that have no header and hold float32; 0 = none has */
    bool raw_if_needed;   /* raw_dim is no error if every array has a header */
    uint32_t labelled;    /* ogb: only the first nodes have labels, this many; 0 = all */
    uint32_t labelled_of; /* labelled is for this number of nodes, and in proportion for others; 0 = for any */
    bool split_by_id;     /* ogb: the first share of the (labelled) nodes trains, the next validates, the next tests */
    const char *title; /* published dataset whose parts the input must have; NULL: those that are missing are drawn */
    bool has_splits;   /* it also has splits */
    const char *relation; /* ogb: word in the name of the folder with the edges, such as "cites"; NULL: any folder */
};

/* Imports source into job->out_dir. That directory may already have the result of the same options, without neighbour
 * IDs of the requested width. These are then added from its lists, and the input is not read. Returns GNN_EUSAGE for
 * options that do not fit, GNN_EFORMAT for bad input, GNN_ENOENT, GNN_EPERM, GNN_ENOSPC, GNN_ECAP, GNN_ECANCELLED or
 * GNN_EIO. */
GNN_MUST_CHECK enum gnn_status gnn_prepare_import(const struct gnn_import_source *source,
                                                  const struct gnn_import_options *options,
                                                  const struct gnn_prepare_job *job, struct gnn_err *err);

/* ---- checking ---- */

/* Checks an existing dataset: meta and sizes. With `full` it also checks every checksum, of files and of blocks, every
 * offset, node ID, order inside lists, label and split. Memory: at most 12 B per node. Returns GNN_EFORMAT or
 * GNN_ESHORT, which name the file, the expected and the found value, or GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnn_prepare_check(const char *dir, bool full, gnn_progress_fn *progress,
                                                 void *progress_ctx, const atomic_bool *stop, struct gnn_err *err);

/* Adds the checksums of blocks (storage/block_sums.h) that the dataset in job->out_dir lacks, which earlier builds did
 * not write. Nothing else changes. Returns GNN_EFORMAT if a file differs from its checksum in meta, GNN_ENOENT if there
 * is no dataset, or errors of reading and writing. */
GNN_MUST_CHECK enum gnn_status gnn_prepare_add_checksums(const struct gnn_prepare_job *job, struct gnn_err *err);

#endif
