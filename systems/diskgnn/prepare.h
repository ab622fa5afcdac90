/* SPDX-License-Identifier: MIT */
/* Preparation: everything before the first epoch (DiskGNN, SIGMOD 2025, sections 3 to 5.2). Mini-batches are sampled
 * beforehand, so every feature access is known. Each row is given one of four levels. Rows in no cache are packed.
 *
 *   1 sampling     The n mini-batches of one epoch by the harness's own samplers, and access counts (samples.c).
 *   2 placement    Caches by popularity, segments and their disk caches, address tables (search.c, place.c).
 *   3 packing      Chunks, disk caches and the file of the cached rows (pack.c).
 *
 * Each stage writes files that the next one reads, in <dataset>/diskgnn-<key>/ or under option prepare_dir. The key is
 * a hash of everything that the samples depend on. Files of stages 2 and 3 have a second key in their names, a hash of
 * everything that the placement depends on. Every file is written as <name>.part, synced and renamed. The index of a
 * stage is written last, so a stage is complete if it exists.
 *
 * A preparation that was killed resumes at the stage it was in, and within packing where its progress was last saved
 * (option checkpoint). One that fails or is stopped removes what the stage wrote. A packing that was stopped and can be
 * resumed keeps it. A run that prepares holds a lock; other runs wait for it and use its result.
 *
 *   `e<epoch>-samples`        Records, page-aligned: V_i, then the blocks (diskgnn_sample_view).
 *   `e<epoch>-counts`         A uint32 per node: mini-batches that use it.
 *   `e<epoch>-index`          Header, struct diskgnn_sample per mini-batch, histogram of the counts.
 *   `e<epoch>-<key>-tables`   Records, page-aligned: struct diskgnn_place describes one.
 *   `e<epoch>-<key>-layout`   Header, struct diskgnn_place per mini-batch, struct diskgnn_segment per segment.
 *   `e<epoch>-<key>-chunks`   Packed chunks: rows one after another, each chunk padded to whole pages.
 *   `e<epoch>-<key>-disk`     Disk caches, one after another, R rows a page.
 *   `e<epoch>-<key>-cached`   Rows of the GPU cache; on the next page, rows of the CPU cache. Written last.
 *   `e<epoch>-<key>-packing`  Progress of packing. Removed at its end.
 *
 * All numbers are little-endian. Option `page` is the size of a page. Chunks are padded to it, and rows of a disk cache
 * do not cross it. A row longer than a page has whole pages to itself.
 *
 * Threads  One thread opens and closes. What is open is constant, and any thread may read it. */
#ifndef DISKGNN_PREPARE_H
#define DISKGNN_PREPARE_H

#include "harness/system/system.h"

#include <string.h>

/* ---- options ---- */

enum diskgnn_page { DISKGNN_PAGE_4096, DISKGNN_PAGE_512 };
enum diskgnn_io { DISKGNN_IO_DIRECT, DISKGNN_IO_BUFFERED };
enum diskgnn_search {
    DISKGNN_SEARCH_EXACT,       /* Algorithm 2, then s is raised until the plan's exact bytes fit */
    DISKGNN_SEARCH_APPROXIMATE, /* Algorithm 2 as printed: a plan over the limit is taken and reported */
    DISKGNN_SEARCH_BRUTE,       /* every step-th s, the best m of each within the limit, by the first segment's pages */
};
enum diskgnn_reorder {
    DISKGNN_REORDER_PAIR,    /* one value a hash function, compared one after another */
    DISKGNN_REORDER_PRINTED, /* one running minimum over all functions, as Algorithm 1 is printed */
    DISKGNN_REORDER_OFF,     /* by falling count */
};
enum diskgnn_packing { DISKGNN_PACKING_BATCHED, DISKGNN_PACKING_INDIVIDUAL };

enum { DISKGNN_HASHES_MAX = 3, DISKGNN_WORKERS_MAX = 64, DISKGNN_PARTITIONS_MAX = 1024 };

struct diskgnn_prepare_config {
    uint32_t samplers;      /* threads of stage 1; at least 1 after `complete` */
    enum diskgnn_page page; /* bytes of a page */
    double disk_limit;      /* L as a multiple of the feature file; 0 = none */
    enum diskgnn_search search;
    uint32_t segment;    /* s in mini-batches; 0 = by the search */
    uint32_t disk_rows;  /* m; used only with `segment` */
    uint32_t brute_step; /* of s in the brute-force search; 0 = n / 10 */
    uint32_t hashes;     /* k of MinHash, 1 to DISKGNN_HASHES_MAX */
    enum diskgnn_reorder reorder;
    enum diskgnn_packing packing;
    uint32_t partitions;            /* of batched packing; 0 = as many as let two fit pack_memory */
    uint64_t checkpoint_bytes;      /* bytes of packing between two saves of its progress; 0 = none */
    uint64_t pack_memory;           /* bytes; 0 = 1 GiB (diskgnn_pack_memory regards the memory limit) */
    uint32_t pack_workers;          /* threads that gather and write; at least 1 after `complete` */
    uint32_t pack_depth;            /* reads in flight */
    uint32_t resample_every;        /* epochs; 0 = one set of samples for all */
    bool reuse;                     /* use what an earlier run prepared; off: prepare again */
    enum diskgnn_io io;             /* reads and writes of all prepared files */
    char prepare_dir[GNN_TEXT_MAX]; /* "": the dataset's directory */
};

static inline uint32_t diskgnn_page_bytes(const struct diskgnn_prepare_config *config)
{
    return config->page == DISKGNN_PAGE_512 ? 512 : 4096;
}

static inline unsigned diskgnn_direct_flag(enum diskgnn_io io)
{
    return io == DISKGNN_IO_DIRECT ? (unsigned)GNN_OPEN_DIRECT : 0U;
}

/* Returns the epoch whose mini-batches epoch `epoch` trains. */
static inline uint64_t diskgnn_base_epoch(const struct diskgnn_prepare_config *config, uint64_t epoch)
{
    return config->resample_every == 0 ? 0 : epoch - epoch % config->resample_every;
}

/* ---- rows on pages of a disk cache ---- */

struct diskgnn_rows {
    uint32_t row_bytes;
    uint32_t align_bytes; /* the option's page */
    uint32_t per_page;    /* R: at least 1 */
    uint32_t page_bytes;  /* of a read: the page, or a long row rounded up to whole pages */
};

static inline struct diskgnn_rows diskgnn_rows_of(uint32_t row_bytes, uint32_t align_bytes)
{
    const uint32_t per_page = row_bytes <= align_bytes ? align_bytes / row_bytes : 1;
    return (struct diskgnn_rows){.row_bytes = row_bytes,
                                 .align_bytes = align_bytes,
                                 .per_page = per_page,
                                 .page_bytes = (uint32_t)gnn_round_up(row_bytes, align_bytes)};
}

/* Returns the offset in bytes of row `row` from the beginning of a disk cache. */
static inline uint64_t diskgnn_row_offset(const struct diskgnn_rows *rows, uint64_t row)
{
    return row / rows->per_page * rows->page_bytes + row % rows->per_page * rows->row_bytes;
}

static inline uint64_t diskgnn_rows_pages(const struct diskgnn_rows *rows, uint64_t count)
{
    return gnn_div_up(count, rows->per_page);
}

/* Returns the bytes of `count` rows one after another, padded to whole pages: a chunk, or the rows of one cache. */
static inline uint64_t diskgnn_dense_bytes(const struct diskgnn_rows *rows, uint64_t count)
{
    return gnn_round_up(count * rows->row_bytes, rows->align_bytes);
}

/* ---- stage 1: samples ---- */

/* Mini-batch i in the file of samples. Its record is V_i as uint32 node IDs, seeds first. Then for each block from 0 on
 * follow row_start (dst_count + 1) and col (edge_count), uint32 each. */
struct diskgnn_sample {
    uint64_t offset_bytes;              /* a multiple of 4096 */
    uint64_t digest;                    /* gnn_batch_digest under (base epoch, i) */
    uint32_t nodes[GNN_LAYERS_MAX + 1]; /* [l]: nodes after hop l; [0] is the seeds, [layers] is |V_i| */
    uint32_t edges[GNN_LAYERS_MAX];     /* [b]: of block b */
    uint32_t layers, padding[2];
};
_Static_assert(sizeof(struct diskgnn_sample) == 96, "its layout on disk");

static inline uint32_t diskgnn_sample_nodes(const struct diskgnn_sample *sample)
{
    return sample->nodes[sample->layers];
}

/* Returns the bytes of the record, without the padding to whole pages of 4096 that follows it in the file. */
static inline uint64_t diskgnn_sample_bytes(const struct diskgnn_sample *sample)
{
    uint64_t words = diskgnn_sample_nodes(sample);
    for (uint32_t b = 0; b < sample->layers; b++)
        words += sample->nodes[sample->layers - 1 - b] + UINT64_C(1) + sample->edges[b];
    return words * sizeof(uint32_t);
}

/* Fills a view of a record that was read to `record`. The record must outlive the view. */
void diskgnn_sample_view(const struct diskgnn_sample *sample, uint64_t epoch, uint64_t batch, const uint32_t *record,
                         struct gnn_batch_view *out);

struct diskgnn_sampled {
    char dir[700];  /* directory of all prepared files */
    uint64_t epoch; /* the base epoch */
    uint64_t key;   /* of the samples; the directory's name contains it */
    struct gnn_file *samples, *counts;
    uint64_t samples_bytes, counts_bytes, index_bytes; /* of the files */
    uint32_t batches;                                  /* n */
    struct diskgnn_sample *of;                         /* (n) */
    uint64_t *histogram;                /* (n + 1) [c]: nodes that c mini-batches use; they sum to node_count */
    uint64_t accesses;                  /* A: sum of |V_i| */
    uint64_t edges;                     /* sum over all blocks */
    uint32_t nodes_most;                /* largest |V_i| */
    uint64_t record_bytes_most;         /* largest record, padded */
    uint64_t prepare_ns, written_bytes; /* of this open; 0 if nothing was drawn */
};

/* Opens the samples of base epoch `epoch` and draws them if they are absent. These are the mini-batches that every
 * exact system trains in that epoch, in its order, all of them even with max_batches. The caller must close *out even
 * after an error. Memory while drawing: the samplers, two mini-batches each, 4 bytes a node.
 *
 * Returns GNN_EFORMAT if a file does not match the run or is damaged. Returns GNN_ENOSPC if the disk is full; what this
 * call wrote is then removed. Returns GNN_ECANCELLED and the errors of files and sampling, too. */
GNN_MUST_CHECK enum gnn_status diskgnn_sampled_open(const struct gnn_env *env,
                                                    const struct diskgnn_prepare_config *config, uint64_t epoch,
                                                    struct diskgnn_sampled *out, struct gnn_err *err);
void diskgnn_sampled_close(struct gnn_world *world, struct diskgnn_sampled *sampled); /* accepts a zeroed one */

/* Returns the exact number of accesses to the disk in an epoch if the `cached` most popular rows are cached. */
uint64_t diskgnn_cold_accesses(const struct diskgnn_sampled *sampled, uint64_t cached);
/* Returns the number of rows that any mini-batch uses. Caches hold no others. */
uint64_t diskgnn_used_rows(const struct diskgnn_sampled *sampled);

/* ---- stages 2 and 3: the four levels ---- */

/* Rows for which the two caches in memory have room. The layout may use fewer, never more. */
struct diskgnn_caches {
    uint32_t gpu_rows, cpu_rows; /* nG, nC */
};

/* Mini-batch i on the disk. Its address table consists of uint32 arrays:
 *
 *   `cached_at`  (gpu + cpu) Positions in V_i of rows in the GPU cache, then of those in the CPU cache.
 *   `cached_row` (gpu + cpu) Their rows in the file of cached rows, ascending within either cache. Rows below gpu_rows
 *                are in the GPU cache; others, less gpu_rows, in the CPU cache.
 *   `partial_at` (packed + shared) Positions in V_i of the rows read: partial row j goes to position partial_at[j].
 *   `disk_row`   (shared) Row in the segment's disk cache of partial row packed + j, ascending.
 *
 * Partial rows 0 .. packed - 1 are the chunk as it is on the disk, so that it can be read straight into place. */
struct diskgnn_place {
    uint64_t table_offset_bytes; /* a multiple of the page */
    uint64_t chunk_offset_bytes; /* likewise */
    uint32_t gpu, cpu;           /* rows in the caches: together h */
    uint32_t packed;             /* r */
    uint32_t shared;             /* q */
    uint32_t pages;              /* pages of the disk cache that hold the q rows */
    uint32_t padding;
};
_Static_assert(sizeof(struct diskgnn_place) == 40, "its layout on disk");

static inline uint64_t diskgnn_table_words(const struct diskgnn_place *place)
{
    return 2 * ((uint64_t)place->gpu + place->cpu) + place->packed + 2 * (uint64_t)place->shared;
}

/* Views into a table that was read. */
struct diskgnn_table {
    const uint32_t *cached_at, *cached_row, *partial_at, *disk_row;
};
static inline struct diskgnn_table diskgnn_table_of(const struct diskgnn_place *place, const uint32_t *words)
{
    const uint64_t cached = (uint64_t)place->gpu + place->cpu, partial = (uint64_t)place->packed + place->shared;
    return (struct diskgnn_table){words, words + cached, words + 2 * cached, words + 2 * cached + partial};
}

struct diskgnn_segment {
    uint64_t offset_bytes; /* of its disk cache in the file */
    uint32_t rows, padding;
};
_Static_assert(sizeof(struct diskgnn_segment) == 16, "its layout on disk");

struct diskgnn_layout {
    uint64_t key;
    struct diskgnn_rows rows;
    struct gnn_file *tables, *chunks, *disk, *cached; /* NULL with --sample-only; the last three until packing */
    uint64_t tables_bytes, chunks_bytes, disk_bytes, cached_bytes, layout_bytes; /* of the files */
    uint64_t limit_bytes;                    /* L, of tables, chunks and disk together; 0 = none */
    uint32_t gpu_rows, cpu_rows;             /* nG and nC, without rows that no mini-batch uses */
    uint64_t cpu_offset_bytes;               /* offset of the CPU cache's rows in the file of cached rows */
    uint32_t segment;                        /* s; n without a disk cache */
    uint32_t disk_rows;                      /* m: most rows that a disk cache may have; 0 = none */
    uint32_t found_segment, found_disk_rows; /* the result of Algorithm 2, before s was raised */
    uint32_t batches, segments;
    struct diskgnn_place *of;                                           /* (n) */
    struct diskgnn_segment *segment_of;                                 /* (segments) of mini-batch i: i / s */
    uint32_t partial_most;                                              /* largest r + q */
    uint32_t cached_most, pages_most, disk_rows_most, table_words_most; /* likewise, of a mini-batch (of a segment) */
    uint64_t chunk_bytes_most;                                          /* padded */
    uint64_t packed_rows, shared_rows, pages;                           /* sums over all mini-batches */
    uint64_t prepare_ns, search_ns, place_ns, pack_ns, pack_read_ns, written_bytes; /* of this open; 0: none was due */
    uint64_t pack_read_bytes, pack_written_bytes; /* of this open: of features and disk caches, without padding */
    uint64_t pack_kept_rows;                      /* written by an earlier, interrupted packing */
};

/* Opens the layout and its tables, and places the rows if they are absent. sampled must be of the same environment and
 * configuration. With --sample-only the layout stays empty. The caller must close *out even after an error. Returns the
 * errors of diskgnn_sampled_open, or GNN_EUSAGE if no s and m, or not the given ones, keep the disk limit. */
GNN_MUST_CHECK enum gnn_status diskgnn_layout_open(const struct gnn_env *env,
                                                   const struct diskgnn_prepare_config *config,
                                                   const struct diskgnn_sampled *sampled,
                                                   const struct diskgnn_caches *caches, struct diskgnn_layout *out,
                                                   struct gnn_err *err);
/* Opens the rows of a layout and packs them if they are absent. Packing is the larger part of the work, so the caller
 * first checks that the layout fits the memory. Returns the errors of diskgnn_sampled_open. */
GNN_MUST_CHECK enum gnn_status diskgnn_layout_pack(const struct gnn_env *env,
                                                   const struct diskgnn_prepare_config *config,
                                                   const struct diskgnn_sampled *sampled, struct diskgnn_layout *layout,
                                                   struct gnn_err *err);
void diskgnn_layout_close(struct gnn_world *world, struct diskgnn_layout *layout); /* accepts a zeroed one */

/* Returns the memory in bytes that placement takes with mini-batches of `nodes` nodes. Only placement finds the rows of
 * a disk cache, so a quarter of the nodes is assumed. Packing is not included: it takes pack_memory, a page for each
 * mini-batch and the staging of its workers. */
uint64_t diskgnn_place_bytes(const struct gnn_env *env, const struct diskgnn_prepare_config *config, uint64_t nodes);

/* Returns the bytes on the disk of samples and layout, even if an earlier run wrote them. */
uint64_t diskgnn_prepared_bytes(const struct diskgnn_sampled *sampled, const struct diskgnn_layout *layout);

/* Removes the files of samples and layout before the next samples are drawn (resample_every). Both are open and stay
 * usable. */
void diskgnn_prepared_remove(const struct gnn_env *env, const struct diskgnn_sampled *sampled,
                             const struct diskgnn_layout *layout);

#endif
