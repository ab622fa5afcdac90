/* SPDX-License-Identifier: MIT */
/* A profile: one machine's figures, from which the simulated world, and the modelled tensor back-end in either world,
 * compute time. Files: workloads/hardware/NAME.ini (its README says what each key means and how a figure is sourced:
 * stated, datasheet, measured, derived, assumed); `this` is written by `oocgnn calibrate`.
 *
 * Figures are integers once loaded, so that the same profile gives the same nanosecond on every machine. Immutable
 * after open: any thread may read. */
#ifndef GNN_WORLD_PROFILE_H
#define GNN_WORLD_PROFILE_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

enum { GNN_PROFILE_SIZES_MAX = 16, GNN_PROFILE_DEPTHS_MAX = 16 };
enum { GNN_PROFILE_KERNEL = 6018 }; /* of a profile that names none: the last whose rules are modelled */

/* One device under a closed loop: read_ps[s][d] is the time between two completions, in picoseconds, when `depth[d]`
 * reads of size_bytes[s] are kept in flight. Between grid points it is interpolated, beyond the largest size time is
 * linear in size, beyond the largest depth it is constant. A calibrated profile carries fio's grid; the others are
 * filled from latency, IOPS and bandwidth: max(latency(size) / depth, 1 / IOPS, size / bandwidth).
 *
 * read_ps is of reads into memory of large pages, as that of direct I/O is; scattered_ps of those into single pages
 * that lie anywhere, as the page cache's do: a device is told of each of them, so that long reads may be slower. */
struct gnn_profile_storage {
    uint32_t devices; /* members of a RAID-0, all alike */
    uint64_t stripe_bytes;
    uint32_t sector_bytes;
    uint32_t depth_max; /* requests one device works on; more wait in its queue */
    uint32_t size_count, depth_count;
    uint64_t size_bytes[GNN_PROFILE_SIZES_MAX]; /* ascending */
    uint32_t depth[GNN_PROFILE_DEPTHS_MAX];     /* ascending, the first is 1 */
    uint64_t read_ps[GNN_PROFILE_SIZES_MAX][GNN_PROFILE_DEPTHS_MAX];
    uint64_t scattered_ps[GNN_PROFILE_SIZES_MAX][GNN_PROFILE_DEPTHS_MAX]; /* a size's are 0: as read_ps */
    uint64_t write_latency_ns;
    uint64_t write_bytes_per_s; /* of one device */
    uint64_t write_iops;
    uint64_t mixed_bytes_per_s;           /* of one device: read and written together, see below; 0: not known */
    uint64_t write_sustained_bytes_per_s; /* of one device that has taken write_burst_bytes; 0: as write_bytes_per_s */
    uint64_t write_burst_bytes;           /* of one device at rest: written before it falls to that */
    uint64_t readahead_bytes;             /* the kernel's window: read_ahead_kb */
};

/* mixed_bytes_per_s is that of a closed loop of GNN_MIXED_BYTES requests, kept deep, of whose bytes
 * GNN_MIXED_READ_PERCENT are read and the others written. It says how far the two disturb each other, or go side by
 * side: without it they take turns, each at its own figures, which is (7/10 / reads' rate + 3/10 / writes' rate) a
 * byte. */
enum { GNN_MIXED_BYTES = 131072, GNN_MIXED_READ_PERCENT = 70 };

/* Picoseconds of a read of `bytes` on one device, at the depth that suits it most: between the sizes of the grid in
 * proportion, beyond the largest linear in size, and no more than any larger read, which would do as well. */
double gnn_storage_best_read_ps(const struct gnn_profile_storage *storage, uint64_t bytes);

/* What calls and work cost on one core. Charged picoseconds are per unit of enum gnn_work; work that released programs
 * alone do costs nothing until gnn_profile_add_costs. */
struct gnn_profile_cpu {
    uint32_t cores;
    uint64_t work_ps[GNN_WORK_KINDS];
    uint64_t gather_element_ns; /* a 4-byte element at a random place in a mapping whose page is there */
    uint64_t gather_row_ns;     /* a row likewise, besides its copied bytes */
    uint64_t fault_minor_ns;    /* the page is in the cache but not in the page table */
    uint64_t fault_major_ns;    /* CPU time of a fault that reads, the device's time not included */
    uint64_t readahead_page_ns; /* CPU time of every further page such a fault brings in */
    uint64_t syscall_ns;        /* entering and leaving the kernel: pread, io_uring_enter */
    uint64_t submit_ns;         /* each request handed to a ring, direct */
    uint64_t complete_ns;       /* each completion: interrupt and reaping */
    uint64_t evict_page_ns;     /* each page that reclaim takes from the page cache; 0: not known */
    uint64_t unmap_page_ns;     /* what it takes besides if page-table entries name the page; 0: not known */
    uint64_t buffered_page_ns;  /* each 4 KiB page a buffered read or write copies */
    uint64_t ring_cached_ns;    /* a small buffered read of a ring that finds its page, besides calls; 0: not known */
    uint64_t ring_missed_ns;    /* likewise, one that does not; its interrupt included, the device's time not */
    uint64_t lock_ns;           /* taking or leaving a free lock; a signal without a waiter */
    uint64_t wake_ns;           /* waking a sleeping thread: CPU time of the waker */
    uint64_t wake_latency_ns;   /* from the wake until the sleeper runs on an idle core */
    uint64_t thread_start_ns;
};

/* A device that computes: max(FLOPs / flops_per_s + operands x gemm_operand_ps, bytes / bytes_per_s) + launches x
 * launch_ns. */
struct gnn_profile_compute {
    bool present;
    uint64_t gemm_flops_per_s;   /* of one core on the CPU, of the whole GPU: what SGEMM reaches */
    uint64_t gemm_operand_ps;    /* besides, for each element of its operands; 0: that is in the rate. 0 on a GPU */
    uint64_t bytes_per_s;        /* streaming; of one core on the CPU */
    uint64_t bytes_per_s_shared; /* CPU: all cores together; GPU: the same as bytes_per_s */
    uint64_t gather_bytes_per_s; /* rows at random places */
    uint64_t launch_ns;          /* CPU time to start an op */
    uint64_t memory_bytes;       /* GPU memory; 0 on the CPU */
    uint32_t devices;            /* GPUs, all alike, each with what stands above to itself */
};

/* What training takes in the papers' released programs, whose ops go through an interpreter and a framework. All zero
 * where costs are ideal. */
struct gnn_profile_framework {
    uint64_t step_ns, step_edge_ps; /* on a GPU a training step takes at least step_ns + its edges x step_edge_ps */
    uint64_t milli_cores;           /* on the CPU SGEMM goes at most as fast as on so many thousandths of a core */
};

struct gnn_profile_bus {
    uint64_t pinned_bytes_per_s;
    uint64_t pageable_bytes_per_s;
    uint64_t latency_ns;
    uint64_t link_bytes_per_s; /* from a GPU to the next in a ring of them, all sending at once */
    uint64_t link_latency_ns;
};

struct gnn_profile {
    char name[GNN_NAME_MAX];       /* of the file, without ".ini" */
    char machine_id[GNN_NAME_MAX]; /* what the `--profile` of a paper's machine is called */
    char title[128];               /* for people */
    char digest[40];               /* over the bytes of the file and its costs: stored with every run */
    char costs_digest[40];         /* of what gnn_profile_add_costs read; "": costs are ideal */
    uint64_t calibrated_s;         /* since 1970 in UTC, when `oocgnn calibrate` measured it; 0: not known */
    uint32_t kernel;               /* 1000 x major + minor of the Linux whose page cache rules hold */
    uint64_t memory_bytes;         /* the room of a run without a cap */
    uint64_t process_bytes;        /* code, libraries and heap of the harness itself, charged to the cap */
    uint64_t clock_hz;             /* of a core, nominal */
    struct gnn_profile_storage storage;
    struct gnn_profile_cpu cpu;
    struct gnn_profile_compute host, gpu;
    struct gnn_profile_framework framework;
    struct gnn_profile_bus bus;
};

/* name is a file's path when it holds a '/', else NAME.ini in one of the directories of search_dirs (NULL-terminated),
 * or a profile whose `machine_id` is NAME. GNN_EUSAGE names near misses, or says what is no INI file; a missing or
 * doubtful figure is GNN_EFORMAT with file, line and key. */
GNN_MUST_CHECK enum gnn_status gnn_profile_open(const char *name, const char *const *search_dirs,
                                                struct gnn_profile **out, struct gnn_err *err);
void gnn_profile_close(struct gnn_profile *profile); /* accepts NULL */

/* The same over text. path stands in messages; its last part without ".ini" is the profile's name, and its folder is
 * where the file of `costs` is looked for. */
GNN_MUST_CHECK enum gnn_status gnn_profile_parse(const char *path, const char *text, struct gnn_profile **out,
                                                 struct gnn_err *err);

/* Adds what released programs spend, read from a file of [released] costs, at the profile's clock: name is a path when
 * it holds a '/', else costs/NAME.ini in one of search_dirs. Errors as of gnn_profile_open. */
GNN_MUST_CHECK enum gnn_status gnn_profile_add_costs(struct gnn_profile *profile, const char *name,
                                                     const char *const *search_dirs, struct gnn_err *err);
/* The same over text; path stands in messages. */
GNN_MUST_CHECK enum gnn_status gnn_profile_parse_costs(struct gnn_profile *profile, const char *path, const char *text,
                                                       struct gnn_err *err);

/* Divides what released programs spend on a piece whatever its size, `step` of a mini-batch and `process_start` of an
 * epoch, by `divisor` >= 1: at scale 1/K a mini-batch is a K-th of the paper's, and undivided they would weigh K times
 * what they weigh there. Costs of an edge, a row or a page shrink by themselves. The digests stay the file's. */
void gnn_profile_divide_costs(struct gnn_profile *profile, uint32_t divisor);

/* Seconds since the profile was calibrated; GNN_UNKNOWN where it does not say when, or now_s is before that. */
uint64_t gnn_profile_age_s(const struct gnn_profile *profile, uint64_t now_s);
/* Whether that is more than a week: what the figures were of has changed since, or its kernel. */
bool gnn_profile_is_old(const struct gnn_profile *profile, uint64_t now_s);
/* For people: "calibrated 2026-11-24T17:33:34Z, 3 days ago"; that the moment lies ahead, or is not known. */
enum { GNN_PROFILE_AGE_BYTES = 80 };
const char *gnn_profile_age_text(const struct gnn_profile *profile, uint64_t now_s, char *text, size_t text_bytes);

/* Calls fn for every profile of search_dirs, in order of directory and name; the strings live during the call. Files
 * that do not parse are passed over (opening them says why). A directory that is not there holds none. */
typedef void gnn_profile_seen_fn(void *ctx, const char *path, const struct gnn_profile *profile);
GNN_MUST_CHECK enum gnn_status gnn_profile_scan(const char *const *search_dirs, gnn_profile_seen_fn *fn, void *ctx,
                                                struct gnn_err *err);

#endif
