/* SPDX-License-Identifier: MIT */
/* What the files of the preparation share. prepare.h describes what they produce. */
#ifndef DISKGNN_INTERNAL_H
#define DISKGNN_INTERNAL_H

#include "harness/storage/stream.h"
#include "harness/system/buffer.h"
#include "systems/diskgnn/prepare.h"

/* ---- files.c: names, parts, headers ---- */

/* One stage of one preparation: the directory and the names of its files. */
struct diskgnn_job {
    const struct gnn_env *env;
    const struct diskgnn_prepare_config *config;
    const char *dir;
    char stem[64];          /* "e0" or "e0-<key>": prefix of the names of the stage's files */
    uint64_t written_bytes; /* of files that were finished */
    uint64_t said_ns;       /* host time of the last message about progress */
};

struct diskgnn_path {
    char text[800];
};
struct diskgnn_path diskgnn_path_of(const struct diskgnn_job *job, const char *name, const char *suffix);

/* Opens <name>.part for writing and empties it. Returns GNN_ENOTSUP if direct I/O requires larger units than the
 * option's page. */
GNN_MUST_CHECK enum gnn_status diskgnn_part_open(const struct diskgnn_job *job, const char *name, unsigned flags,
                                                 struct gnn_file **out, struct gnn_err *err);
/* Opens <name>.part for writing and keeps its content, or creates it if it is absent. Returns GNN_ENOTSUP as above. */
GNN_MUST_CHECK enum gnn_status diskgnn_part_reopen(const struct diskgnn_job *job, const char *name, unsigned flags,
                                                   struct gnn_file **out, struct gnn_err *err);
/* Closes the file. If status is GNN_OK, syncs it and gives it its final name, else removes it. Returns `status` or the
 * first error. */
GNN_MUST_CHECK enum gnn_status diskgnn_part_close(struct diskgnn_job *job, const char *name, struct gnn_file *file,
                                                  enum gnn_status status, struct gnn_err *err);
/* Opens a finished file. If there is none, sets *out to NULL and returns GNN_OK. */
GNN_MUST_CHECK enum gnn_status diskgnn_open_if_there(const struct diskgnn_job *job, const char *name, unsigned flags,
                                                     struct gnn_file **out, struct gnn_err *err);
void diskgnn_remove(const struct diskgnn_job *job, const char *name); /* a finished file, if it exists */
/* Returns GNN_EFORMAT unless the file has `bytes` bytes. */
GNN_MUST_CHECK enum gnn_status diskgnn_check_size(const struct diskgnn_job *job, struct gnn_file *file, uint64_t bytes,
                                                  struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status diskgnn_not_ours(const struct diskgnn_job *job, const char *name, struct gnn_err *err);

/* Locks the directory, which is created if absent. Waits while another run holds the lock. Returns GNN_ECANCELLED if
 * this run is stopped meanwhile. */
GNN_MUST_CHECK enum gnn_status diskgnn_lock(const struct diskgnn_job *job, struct gnn_file **lock, struct gnn_err *err);

/* A small file of a header and two arrays, written and read as a whole. The size of an array is a multiple of 8
 * bytes. */
struct diskgnn_table_file {
    const char *name;
    char magic[16];
    uint64_t key;
    uint64_t words[24]; /* free for the stage */
    bool outdated;      /* after a read: it exists, but another version of this program wrote it */
    struct {
        void *data; /* after a read, allocated with gnn_mem_alloc; the caller frees it */
        uint64_t bytes;
    } array[2];
};
GNN_MUST_CHECK enum gnn_status diskgnn_write_table(struct diskgnn_job *job, const struct diskgnn_table_file *table,
                                                   uint64_t *bytes, struct gnn_err *err);
/* Reads the table file with the name, magic and key of *table, and fills the rest. *found is false if there is none, or
 * if it is outdated. Returns GNN_EFORMAT if magic, key, size or checksum differ. */
GNN_MUST_CHECK enum gnn_status diskgnn_read_table(const struct diskgnn_job *job, struct diskgnn_table_file *table,
                                                  bool *found, uint64_t *bytes, struct gnn_err *err);

/* Logs the progress of a stage, at most every 10 seconds of the host's clock. */
void diskgnn_progress(struct diskgnn_job *job, const char *what, uint64_t done, uint64_t total);

uint64_t diskgnn_fold_text(uint64_t key, const char *text);

/* ---- lists.c: one record after another ---- */

/* Reads the lists V_i or whole tables of mini-batches [first, end) in order, ahead of the caller. */
struct diskgnn_records {
    const struct gnn_env *env;
    struct gnn_stream *stream;
    struct gnn_span_reader *reader;
    const struct diskgnn_sample *samples; /* NULL when tables are read */
    const struct diskgnn_place *places;   /* NULL when lists are read */
    uint32_t align_bytes;                 /* of tables */
    const char *path;                     /* of lists, for messages */
    uint32_t next, end;
};
GNN_MUST_CHECK enum gnn_status diskgnn_lists_open(const struct gnn_env *env, const struct diskgnn_sampled *sampled,
                                                  struct diskgnn_records *out, struct gnn_err *err);
/* Opens a file of tables with `bytes` bytes. Tables are padded to align_bytes; `most` is the largest one's size in
 * bytes. */
GNN_MUST_CHECK enum gnn_status diskgnn_tables_open(const struct gnn_env *env, struct gnn_file *file, uint64_t bytes,
                                                   const struct diskgnn_place *places, uint32_t align_bytes,
                                                   uint64_t most, struct diskgnn_records *out, struct gnn_err *err);
void diskgnn_records_close(struct diskgnn_records *records); /* accepts a zeroed one */
void diskgnn_records_start(struct diskgnn_records *records, uint32_t first, uint32_t end);
/* Returns the next record in *words, or NULL after the last. It is valid until the next call. Returns GNN_ECANCELLED,
 * or GNN_EFORMAT if a list has an ID that is not a node. */
GNN_MUST_CHECK enum gnn_status diskgnn_records_next(struct diskgnn_records *records, const uint32_t **words,
                                                    struct gnn_err *err);

/* ---- sort.c ---- */

/* Sorts pairs by their upper 32 bits; equal ones keep their order. scratch (count). Charges the work to the world. */
void diskgnn_sort_pairs(struct gnn_world *world, uint64_t *pairs, uint64_t *scratch, uint64_t count);

/* ---- minhash.c: the order of a disk cache (Algorithm 1) ---- */

/* Returns the number of values that a row is compared by: one for each hash function, or one in all. */
static inline uint32_t diskgnn_minhash_values(uint32_t hashes, enum diskgnn_reorder reorder)
{
    return reorder == DISKGNN_REORDER_PAIR ? hashes : 1;
}

/* Fills hash (hashes, n) with a permutation of the n mini-batches for each function. */
void diskgnn_minhash_draw(uint64_t seed, uint32_t n, uint32_t hashes, uint32_t *hash);
/* Lowers value (values, count) of row `row` by mini-batch i, which uses it. All values are UINT32_MAX before the first
 * call. */
static inline void diskgnn_minhash_add(uint32_t *value, uint64_t count, uint64_t row, const uint32_t *hash, uint32_t n,
                                       uint32_t hashes, enum diskgnn_reorder reorder, uint32_t i)
{
    for (uint32_t f = 0; f < hashes; f++) {
        uint32_t *const at = &value[(reorder == DISKGNN_REORDER_PAIR ? f * count : 0) + row];
        *at = gnn_min_u32(*at, hash[(uint64_t)f * n + i]);
    }
}
/* Sorts the rows by their values, the first value first, and sets place[row] to the place of each. Rows with equal
 * values keep their order. pairs, scratch (count). */
void diskgnn_minhash_order(struct gnn_world *world, const uint32_t *value, uint32_t values, uint64_t count,
                           uint64_t *pairs, uint64_t *scratch, uint32_t *place);

/* ---- levels.c: the two caches ---- */

/* The rows of the two caches. row_of[v] is the row of node v in the file of cached rows, or GNN_NODE_NONE. */
struct diskgnn_levels {
    uint32_t *row_of; /* (node_count), world memory */
    uint32_t gpu_rows, cpu_rows;
};
/* Assigns the most popular nodes to the caches: by falling count, equal ones by rising ID, the GPU's first. Returns
 * GNN_EFORMAT if the counts do not match the index. */
GNN_MUST_CHECK enum gnn_status diskgnn_levels_open(const struct diskgnn_job *job, const struct diskgnn_sampled *sampled,
                                                   const struct diskgnn_caches *caches, struct diskgnn_levels *out,
                                                   struct gnn_err *err);
/* The cut of a histogram (batches + 1) of counts after its `rows` most popular nodes. Nodes with more than `above` uses
 * are inside. Of the nodes with exactly `above` uses, the first `ties` are inside. */
struct diskgnn_cut {
    uint32_t above;
    uint64_t ties;
};
struct diskgnn_cut diskgnn_cut_of(const uint64_t *histogram, uint32_t batches, uint64_t rows);

/* ---- segment.c: accesses of a run of mini-batches, and its disk cache ---- */

#define DISKGNN_IN_DISK UINT32_C(0x80000000) /* in a slot: the node is in the segment's disk cache */

struct diskgnn_segmenter {
    const struct gnn_env *env;
    const struct diskgnn_prepare_config *config;
    const struct diskgnn_sampled *sampled;
    const struct diskgnn_levels *levels;
    struct diskgnn_records lists;
    struct diskgnn_rows rows;
    uint32_t *hash;                       /* (hashes, n) */
    uint32_t *slot;                       /* (node_count) count; then DISKGNN_IN_DISK | row, or 0; 0 between segments */
    uint64_t *by_count;                   /* (n + 1) nodes by their count in this segment, only those in no cache */
    uint64_t touched, multiple, accesses; /* nodes used, used more than once; sum of the counts */
    uint32_t first, end;                  /* mini-batches */
    uint32_t disk_rows;                   /* |D_k| */
    struct gnn_buffer nodes;              /* (disk_rows) uint32, ascending */
    struct gnn_buffer values;             /* of MinHash */
    struct gnn_buffer pairs, scratch;
};
GNN_MUST_CHECK enum gnn_status diskgnn_segmenter_open(const struct diskgnn_job *job,
                                                      const struct diskgnn_sampled *sampled,
                                                      const struct diskgnn_levels *levels,
                                                      struct diskgnn_segmenter *out, struct gnn_err *err);
void diskgnn_segmenter_close(struct diskgnn_segmenter *segmenter); /* accepts a zeroed one */

/* Counts the uses of each node that no cache has, by mini-batches [first, end). Order of calls: count, choose, order
 * (if rows matter), clear; or count and drop. */
GNN_MUST_CHECK enum gnn_status diskgnn_segment_count(struct diskgnn_segmenter *s, uint32_t first, uint32_t end,
                                                     struct gnn_err *err);
/* Adds one mini-batch to the counts. diskgnn_segment_count and the search call it. */
void diskgnn_segment_add(struct diskgnn_segmenter *s, uint32_t batch, const gnn_node *list);
/* Chooses D_k: the most used nodes with a count above 1, at most `most` of them, equal ones by rising ID. Slots become
 * IN_DISK | index by rising ID. */
GNN_MUST_CHECK enum gnn_status diskgnn_segment_choose(struct diskgnn_segmenter *s, uint32_t most, struct gnn_err *err);
/* Orders the disk cache as the options require. Slots become IN_DISK | row of the disk cache. */
GNN_MUST_CHECK enum gnn_status diskgnn_segment_order(struct diskgnn_segmenter *s, struct gnn_err *err);
void diskgnn_segment_clear(struct diskgnn_segmenter *s); /* after choose */
void diskgnn_segment_drop(struct diskgnn_segmenter *s);  /* after count */

/* ---- search.c ---- */

struct diskgnn_found {
    uint32_t segment, disk_rows;             /* s, m */
    uint32_t first_segment, first_disk_rows; /* the result of Algorithm 2 */
};
/* Chooses s and m so that the files keep the limit L (limit_bytes). With L = 0 there is no disk cache. Returns
 * GNN_EUSAGE if no choice, or not the given one, keeps the limit. */
GNN_MUST_CHECK enum gnn_status diskgnn_search(struct diskgnn_segmenter *s, uint64_t limit_bytes,
                                              struct diskgnn_found *out, struct gnn_err *err);
/* The size of a plan, counted exactly. */
struct diskgnn_cost {
    uint64_t table_bytes, chunk_bytes, disk_bytes; /* padding included */
    uint64_t packed_rows, shared_rows;
    uint64_t disk_rows_most; /* rows used more than once in the largest segment, m at most */
};
GNN_MUST_CHECK enum gnn_status diskgnn_cost_of(struct diskgnn_segmenter *s, uint32_t segment, uint32_t disk_rows,
                                               struct diskgnn_cost *out, struct gnn_err *err);
static inline uint64_t diskgnn_cost_bytes(const struct diskgnn_cost *cost)
{
    return cost->table_bytes + cost->chunk_bytes + cost->disk_bytes;
}

/* ---- place.c, pack.c ---- */

/* Writes the tables and fills out: places, segments and sizes of files. The caller must have set out->rows, gpu_rows,
 * cpu_rows and limit_bytes. */
GNN_MUST_CHECK enum gnn_status diskgnn_place_all(struct diskgnn_job *job, struct diskgnn_segmenter *s,
                                                 const struct diskgnn_found *found, struct diskgnn_layout *out,
                                                 struct gnn_err *err);
void diskgnn_kept_remove(const struct diskgnn_job *job); /* the progress of packing (pack_kept.c), if it was saved */
/* Writes chunks, disk caches and cached rows of a layout whose tables exist. Resumes an interrupted packing where its
 * progress was last saved. */
GNN_MUST_CHECK enum gnn_status diskgnn_pack(struct diskgnn_job *job, const struct diskgnn_sampled *sampled,
                                            struct diskgnn_layout *layout, struct gnn_err *err);

#endif
