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
     .max = 1 << 24,
     .help = "Maximum number of mini-batches planned and sorted together (H), fewer if list_memory is full; 0 = one "
             "epoch."},
    {.name = "first", .type = GNN_OPT_U32, .offset = FIELD(first), .unit = "batches", .def = "0", .max = 1 << 24,
     .help = "Mini-batches in a run's first hyperbatch, for which training waits; each following one has four times "
             "as many, up to H. 0 = a 64th of an epoch, or H if hyperbatch is set or reuse is above 1."},
    {.name = "window", .type = GNN_OPT_U32, .offset = FIELD(window), .unit = "batches", .def = "0", .max = 1 << 24,
     .help = "Maximum number of mini-batches per window (w); 0 = as many as window_share allows."},
    {.name = "window_share", .type = GNN_OPT_U32, .offset = FIELD(window_share), .unit = "percent", .def = "12",
     .min = 1, .max = 50,
     .help = "Maximum share of the rows in memory that one window may use (at least one mini-batch). Small windows "
             "load fewer rows and need more staging."},
    {.name = "row_memory", .type = GNN_OPT_BYTES, .offset = FIELD(row_memory), .def = "0",
     .help = "Memory for rows, including 12 bytes of tables per row; at least the rows of two mini-batches of the "
             "largest size. 0 = what the memory limit leaves; without a limit, a tenth of all rows."},
    {.name = "list_memory", .type = GNN_OPT_BYTES, .offset = FIELD(list_memory), .def = "0",
     .help = "Memory for the lists of windows and loads; a hyperbatch ends when they are full. 0 = a fifth of what "
             "the memory limit leaves."},
    {.name = "staging", .type = GNN_OPT_BYTES, .offset = FIELD(staging), .def = "0",
     .help = "Memory for the blocks that collect sorted rows, one per window; 0 = an eighth of what the memory limit "
             "leaves."},
    {.name = "block", .type = GNN_OPT_BYTES, .offset = FIELD(block_bytes), .def = "64K", .min = 4096, .max = 1 << 24,
     .help = "Maximum size of a block of sorted rows (Z); smaller if staging cannot hold one block per window."},
    {.name = "classes", .type = GNN_OPT_CHOICE, .offset = FIELD(classes), .def = "auto", .choices = class_words,
     .help = "Way in which rows are loaded. direct: each from its place in the dataset; sorted: all sorted ahead; "
             "auto: the cheaper way for each row, by the device's costs."},
    {.name = "random_read", .type = GNN_OPT_BYTES, .offset = FIELD(random_read), .def = "0", .max = 1 << 30,
     .help = "Cost of reading one row at a random position, as the bytes that large reads deliver in the same time; "
             "0 = from the device's profile, or 5.5K without one."},
    {.name = "write_cost", .type = GNN_OPT_U32, .offset = FIELD(write_cost), .unit = "percent", .def = "0",
     .max = 100000,
     .help = "Cost of writing one byte, relative to one byte of a large read; 0 = from the device's profile, or 106 "
             "without one."},
    {.name = "scratch_limit", .type = GNN_OPT_BYTES, .offset = FIELD(scratch_limit), .def = "1T",
     .help = "Limit on the size of all scratch files. Two files for sorted rows, one for hot=run, one for the lists "
             "of reuse and two for topology=swept get equal parts."},
    {.name = "write_budget", .type = GNN_OPT_BYTES, .offset = FIELD(write_budget), .def = "1T",
     .help = "Maximum bytes written per epoch; 0 = never write, so that every row is read from the dataset. With "
             "topology=swept, half is for drawn neighbours."},
    {.name = "reuse", .type = GNN_OPT_U32, .offset = FIELD(reuse), .unit = "epochs", .def = "1", .min = 1,
     .max = 1 << 24,
     .help = "Epochs that train the same mini-batches in the same order (E), with one plan and one set of sorted "
             "rows; 1 = every epoch draws its own."},
    {.name = "scratch_dir", .type = GNN_OPT_TEXT, .offset = FIELD(scratch_dir), .def = "",
     .help = "Directory for the scratch files, which have no names; empty = the dataset's directory."},
    {.name = "hot", .type = GNN_OPT_CHOICE, .offset = FIELD(hot), .def = "off", .choices = hot_words,
     .help = "Packed file of rows that sweeps have read, for later sweeps. off: none; run: a scratch file, written "
             "if one more sweep over the same rows repays the writes. Its index and buffers take a 16th of what the "
             "memory limit leaves."},
    {.name = "ahead", .type = GNN_OPT_BOOL, .offset = FIELD(ahead), .def = "true",
     .help = "Prepare the next epoch's first hyperbatch while this epoch's last one trains."},
    {.name = "threads", .type = GNN_OPT_U32, .offset = FIELD(threads), .def = "0", .max = PRESORT_THREADS_MAX,
     .help = "Threads that draw mini-batches ahead, and as many that draw them again and copy their rows; 1 if lists "
             "are swept. 0 = the number with the shortest predicted epoch; each thread takes memory from rows."},
    {.name = "depth", .type = GNN_OPT_U32, .offset = FIELD(depth), .unit = "reads", .def = "64", .min = 1, .max = 4096,
     .help = "Reads of direct rows in flight."},
    {.name = "merge", .type = GNN_OPT_BYTES, .offset = FIELD(merge), .def = "16K", .max = 1 << 24,
     .help = "Maximum size of one read of several nearby direct rows, used if it costs less than one read per row; 0 "
             "= one read per row."},
    {.name = "write_depth", .type = GNN_OPT_U32, .offset = FIELD(write_depth), .unit = "writes", .def = "8", .min = 1,
     .max = 1024,
     .help = "Writes of blocks in flight."},
    {.name = "sweep_depth", .type = GNN_OPT_U32, .offset = FIELD(sweep_depth), .unit = "reads", .def = "8", .min = 1,
     .max = 1024,
     .help = "Reads of the sweep in flight."},
    {.name = "sweep_read", .type = GNN_OPT_BYTES, .offset = FIELD(sweep_read), .def = "128K", .min = 4096,
     .max = 1 << 26,
     .help = "Maximum size of one read of the sweep."},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(io), .def = "direct", .choices = io_words,
     .help = "I/O path for features and scratch files. direct: bypasses the page cache; buffered: uses it."},
    {.name = "topology", .type = GNN_OPT_CHOICE, .offset = FIELD(topology), .def = "auto", .choices = topology_words,
     .help = "Access to neighbour lists. With resident, all lists or those that can be drawn are in memory. With "
             "swept, they are read in ascending order, once per hop, for many mini-batches. With mapped, the page "
             "cache serves them. With auto, resident if topology_share allows it, otherwise swept if memory and "
             "write limits allow it, otherwise mapped."},
    {.name = "topology_share", .type = GNN_OPT_U32, .offset = FIELD(topology_share), .unit = "percent", .def = "40",
     .max = 90,
     .help = "Maximum share of memory for neighbour lists, relative to what samplers and tables leave; never more "
             "than all lists need. With swept lists, the share is for the mini-batches that are drawn together."},
    {.name = "round_memory", .type = GNN_OPT_BYTES, .offset = FIELD(round_memory), .def = "0",
     .help = "Memory with topology=swept for what mini-batches draw together and for the lists that they need; at "
             "least one mini-batch, at most one epoch; 0 = what topology_share leaves."},
    {.name = "readahead", .type = GNN_OPT_CHOICE, .offset = FIELD(readahead), .def = "off",
     .choices = gnn_map_advice_words,
     .help = "Advice for the mapped neighbour lists. off: a page fault reads one page; kernel: no advice, so a page "
             "fault reads the device's readahead."},
    {.name = "transfer", .type = GNN_OPT_CHOICE, .offset = FIELD(transfer), .def = "ahead",
     .choices = gnn_transfer_words,
     .help = "Copying of mini-batches to a GPU. blocking: the trainer copies from pageable memory and waits; ahead: "
             "batch k + 1 is copied from pinned memory (two buffers) while k trains."},
    {.name = NULL},
};
/* clang-format on */
