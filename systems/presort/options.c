/* SPDX-License-Identifier: MIT */
/* presort's options. All sizes follow from the cap and the device where they are left alone. */
#include "systems/presort/presort.h"

static const char *const io_words[] = {[PRESORT_IO_DIRECT] = "direct", [PRESORT_IO_BUFFERED] = "buffered", NULL};
static const char *const topology_words[] = {[PRESORT_TOPOLOGY_AUTO] = "auto",
                                             [PRESORT_TOPOLOGY_RESIDENT] = "resident",
                                             [PRESORT_TOPOLOGY_SWEPT] = "swept",
                                             [PRESORT_TOPOLOGY_MAPPED] = "mapped",
                                             NULL};
static const char *const class_words[] = {
    [PRESORT_AUTO] = "auto", [PRESORT_DIRECT] = "direct", [PRESORT_SORTED] = "sorted", NULL};
static const char *const hot_words[] = {[PRESORT_HOT_OFF] = "off", [PRESORT_HOT_RUN] = "run", NULL};

/* A GNN_OPT_CHOICE writes a uint32_t into its field. */
_Static_assert(sizeof(enum presort_io) == sizeof(uint32_t), "io");
_Static_assert(sizeof(enum presort_topology_kind) == sizeof(uint32_t), "topology");
_Static_assert(sizeof(enum presort_choice) == sizeof(uint32_t), "classes");
_Static_assert(sizeof(enum presort_hot_kind) == sizeof(uint32_t), "hot");

#define FIELD(name) offsetof(struct presort_config, name)
/* clang-format off */
const struct gnn_option presort_options[] = {
    {.name = "hyperbatch", .type = GNN_OPT_U32, .offset = FIELD(hyperbatch), .unit = "batches", .def = "0",
     .max = 1 << 24, .help = "Mini-batches that are planned and sorted together (H), fewer where their lists are full; "
                             "0 = an epoch's."},
    {.name = "first", .type = GNN_OPT_U32, .offset = FIELD(first), .unit = "batches", .def = "0", .max = 1 << 24,
     .help = "Mini-batches of the first hyperbatch of a run, for which training waits; four times as many of the next, "
             "and so on up to H. 0 = a 64th of an epoch; H where that is given, or with reuse."},
    {.name = "window", .type = GNN_OPT_U32, .offset = FIELD(window), .unit = "batches", .def = "0", .max = 1 << 24,
     .help = "Mini-batches of a window at most (w); 0 = as many as window_share has room for."},
    {.name = "window_share", .type = GNN_OPT_U32, .offset = FIELD(window_share), .unit = "percent", .def = "12",
     .min = 1, .max = 50, .help = "Of the rows in memory, what a window may have; a mini-batch's at least. Small "
                                  "windows load less and need more staging."},
    {.name = "row_memory", .type = GNN_OPT_BYTES, .offset = FIELD(row_memory), .def = "0",
     .help = "Rows in memory, 12 bytes a row counted with them; 0 = what the cap leaves, without a cap a tenth of all "
             "rows. Two of the largest mini-batches at least."},
    {.name = "list_memory", .type = GNN_OPT_BYTES, .offset = FIELD(list_memory), .def = "0",
     .help = "Lists of windows and loads; 0 = a fifth of what the cap leaves. A hyperbatch ends where they "
             "are full."},
    {.name = "staging", .type = GNN_OPT_BYTES, .offset = FIELD(staging), .def = "0",
     .help = "Blocks that sorted rows are collected in, one a window; 0 = an eighth of what the cap leaves."},
    {.name = "block", .type = GNN_OPT_BYTES, .offset = FIELD(block_bytes), .def = "64K", .min = 4096, .max = 1 << 24,
     .help = "Bytes of a block of sorted rows at most (Z); less where staging has no room for one a window."},
    {.name = "classes", .type = GNN_OPT_CHOICE, .offset = FIELD(classes), .def = "auto", .choices = class_words,
     .help = "Of the rows that are loaded. auto: what the device's costs say, row by row; direct: each is read where "
             "it lies; sorted: all are sorted ahead."},
    {.name = "random_read", .type = GNN_OPT_BYTES, .offset = FIELD(random_read), .def = "0", .max = 1 << 30,
     .help = "What a read of a row at a random place costs, in bytes of large reads; 0 = by the device's profile, and "
             "5.5K where there is none."},
    {.name = "write_cost", .type = GNN_OPT_U32, .offset = FIELD(write_cost), .unit = "percent", .def = "0",
     .max = 100000, .help = "What a written byte costs, of one of large reads; 0 = by the device's profile, and 106 "
                            "where there is none."},
    {.name = "scratch_limit", .type = GNN_OPT_BYTES, .offset = FIELD(scratch_limit), .def = "1T",
     .help = "Sorted rows on disk at most, half of it for each of the two hyperbatches that are alive, with reuse for "
             "each of two epochs; hot=run, the lists of kept epochs and, with topology=swept, what each of two epochs "
             "drew take an equal part each."},
    {.name = "write_budget", .type = GNN_OPT_BYTES, .offset = FIELD(write_budget), .def = "1T",
     .help = "Bytes that an epoch may write; 0 = never write, so that every row is read where it lies. With "
             "topology=swept half of it is for what mini-batches draw."},
    {.name = "reuse", .type = GNN_OPT_U32, .offset = FIELD(reuse), .unit = "epochs", .def = "1", .min = 1,
     .max = 1 << 24, .help = "Epochs that drawn mini-batches serve (E), in the same order; their plan and their sorted "
                             "rows are kept with them. 1 = every epoch draws its own."},
    {.name = "scratch_dir", .type = GNN_OPT_TEXT, .offset = FIELD(scratch_dir), .def = "",
     .help = "Directory of the scratch files, which have no names; empty: the dataset's."},
    {.name = "hot", .type = GNN_OPT_CHOICE, .offset = FIELD(hot), .def = "off", .choices = hot_words,
     .help = "Packed file of the rows that sweeps have read, for later sweeps. off: none; run: a scratch file, where "
             "one sweep more over the same rows pays for writing them. Takes a 16th of what the cap leaves."},
    {.name = "ahead", .type = GNN_OPT_BOOL, .offset = FIELD(ahead), .def = "true",
     .help = "Prepare the next epoch's first hyperbatch while this epoch's last one trains."},
    {.name = "threads", .type = GNN_OPT_U32, .offset = FIELD(threads), .def = "0", .max = PRESORT_THREADS_MAX,
     .help = "Threads that draw mini-batches ahead, and as many that draw them again and copy their rows; 0 = as many "
             "as make an epoch shortest by the costs of device and processor, each taking memory from rows. One where "
             "lists are swept."},
    {.name = "depth", .type = GNN_OPT_U32, .offset = FIELD(depth), .unit = "reads", .def = "64", .min = 1, .max = 4096,
     .help = "Reads of direct rows in flight."},
    {.name = "merge", .type = GNN_OPT_BYTES, .offset = FIELD(merge), .def = "16K", .max = 1 << 24,
     .help = "Bytes of one read of direct rows that lie near each other, at most, where that costs less than a read a "
             "row; 0 = a read a row."},
    {.name = "write_depth", .type = GNN_OPT_U32, .offset = FIELD(write_depth), .unit = "writes", .def = "8", .min = 1,
     .max = 1024, .help = "Writes of blocks in flight."},
    {.name = "sweep_depth", .type = GNN_OPT_U32, .offset = FIELD(sweep_depth), .unit = "reads", .def = "8", .min = 1,
     .max = 1024, .help = "Reads of the sweep in flight."},
    {.name = "sweep_read", .type = GNN_OPT_BYTES, .offset = FIELD(sweep_read), .def = "128K", .min = 4096,
     .max = 1 << 26, .help = "Bytes of one read of the sweep at most."},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(io), .def = "direct", .choices = io_words,
     .help = "How features and scratch files are read and written: past the page cache, or through it."},
    {.name = "topology", .type = GNN_OPT_CHOICE, .offset = FIELD(topology), .def = "auto", .choices = topology_words,
     .help = "Neighbour lists. resident: in memory, all or those that can be drawn from; swept: read in ascending "
             "order, once a hop, for mini-batches that are drawn together; mapped: the page cache; auto: resident "
             "where topology_share has room, else swept where it has room for that and the disk may be written, else "
             "mapped."},
    {.name = "topology_share", .type = GNN_OPT_U32, .offset = FIELD(topology_share), .unit = "percent", .def = "40",
     .max = 90, .help = "Of what the cap leaves beside samplers and tables, what neighbour lists may have, or what is "
                        "drawn from them together; never more than all of them."},
    {.name = "round_memory", .type = GNN_OPT_BYTES, .offset = FIELD(round_memory), .def = "0",
     .help = "With topology=swept, what mini-batches draw together and the lists that they want for it; 0 = what "
             "topology_share leaves. A mini-batch's at least, and no more than an epoch's."},
    {.name = "readahead", .type = GNN_OPT_CHOICE, .offset = FIELD(readahead), .def = "off",
     .choices = gnn_map_advice_words, .help = "Of the mapped neighbour lists. off: a fault reads one page; kernel: "
                                              "nothing is advised."},
    {.name = "transfer", .type = GNN_OPT_CHOICE, .offset = FIELD(transfer), .def = "ahead",
     .choices = gnn_transfer_words,
     .help = "With a GPU. blocking: the trainer copies a batch out of pageable memory and waits; ahead: out of pinned "
             "memory, two buffers, batch k + 1 crosses while k trains."},
    {.name = NULL},
};
/* clang-format on */
