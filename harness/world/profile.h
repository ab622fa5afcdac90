/* SPDX-License-Identifier: MIT */
/* A profile: the parameters of one machine, from which the simulated world computes time. In either world the modelled
 * tensor back-end does, too. Files: workloads/hardware/NAME.ini; `oocgnn calibrate` writes `this`. The README there
 * describes each key and the sources of parameters: stated, datasheet, measured, derived, assumed.
 *
 * Parameters are integers once loaded. So the same profile gives the same nanosecond on every machine. Immutable after
 * open: any thread may read it. */
#ifndef GNN_WORLD_PROFILE_H
#define GNN_WORLD_PROFILE_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

enum { GNN_PROFILE_SIZES_MAX = 16, GNN_PROFILE_DEPTHS_MAX = 16, GNN_PROFILE_CHANGES_MAX = 256 };
enum { GNN_PROFILE_KERNEL = 6018 }; /* kernel of a profile that names none: the last whose rules are modelled */

/* One device under a closed loop. read_ps[s][d] is the time between two completions, in picoseconds, with `depth[d]`
 * reads of size_bytes[s] in flight. Between grid points it is interpolated. Beyond the largest size time is linear in
 * size, beyond the largest depth it is constant. A calibrated profile has fio's grid. The others are filled from
 * latency, IOPS and bandwidth: max(latency(size) / depth, 1 / IOPS, size / bandwidth).
 *
 * Reads into large pages, as direct I/O does, follow read_ps. Reads into scattered single pages, as the page cache
 * does, follow scattered_ps. A device gets the address of every page, so long scattered reads may be slower. */
struct gnn_profile_storage {
    uint32_t devices; /* members of a RAID-0, all equal */
    uint64_t stripe_bytes;
    uint32_t sector_bytes;
    uint32_t depth_max; /* requests that one device works on; more wait in its queue */
    uint32_t size_count, depth_count;
    uint64_t size_bytes[GNN_PROFILE_SIZES_MAX]; /* ascending */
    uint32_t depth[GNN_PROFILE_DEPTHS_MAX];     /* ascending, the first is 1 */
    uint64_t read_ps[GNN_PROFILE_SIZES_MAX][GNN_PROFILE_DEPTHS_MAX];
    uint64_t scattered_ps[GNN_PROFILE_SIZES_MAX][GNN_PROFILE_DEPTHS_MAX]; /* 0 for a size: as read_ps */
    uint64_t read_latency_ps, read_iops, read_bytes_per_s; /* what read_ps was filled from; unused with fio's grid */
    uint64_t write_latency_ns;
    uint64_t write_bytes_per_s; /* of one device */
    uint64_t write_iops;
    uint64_t mixed_bytes_per_s;           /* of one device, reads and writes together, see below; 0: not known */
    uint64_t write_sustained_bytes_per_s; /* of one device after write_burst_bytes; 0: as write_bytes_per_s */
    uint64_t write_burst_bytes;           /* bytes that one device at rest accepts before it falls to that rate */
    uint64_t readahead_bytes;             /* the kernel's window: read_ahead_kb */
};

/* Mix of reads and writes of mixed_bytes_per_s. It is the rate of a deep closed loop of GNN_MIXED_BYTES requests.
 * GNN_MIXED_READ_PERCENT of its bytes are read, the others written. The rate shows how much reads and writes disturb
 * each other or overlap. If it is not known, they take turns, each at its own rate: (7/10 / reads' rate + 3/10 /
 * writes' rate) per byte. */
enum { GNN_MIXED_BYTES = 131072, GNN_MIXED_READ_PERCENT = 70 };

/* Returns the picoseconds of a read of `bytes` on one device, at the best depth. Between the sizes of the grid it is
 * interpolated, beyond the largest it is linear in size. It never exceeds the time of a larger read, which could be
 * used instead. */
double gnn_storage_best_read_ps(const struct gnn_profile_storage *storage, uint64_t bytes);

/* Costs of calls and work on one core. Charged picoseconds are per unit of enum gnn_work. Work that only released
 * programs do costs nothing until gnn_profile_add_costs. */
struct gnn_profile_cpu {
    uint32_t cores;
    uint64_t work_ps[GNN_WORK_KINDS];
    uint64_t gather_element_ns; /* a 4-byte element at a random place in a mapping whose page is present */
    uint64_t gather_row_ns;     /* a row likewise, in addition to its copied bytes */
    uint64_t fault_minor_ns;    /* the page is in the cache but not in the page table */
    uint64_t fault_major_ns;    /* CPU time of a fault that reads, without the device's time */
    uint64_t readahead_page_ns; /* CPU time of every further page that such a fault reads */
    uint64_t syscall_ns;        /* entering and leaving the kernel: pread, io_uring_enter */
    uint64_t submit_ns;         /* each request handed to a ring, direct */
    uint64_t complete_ns;       /* each completion: interrupt and reaping */
    uint64_t evict_page_ns;     /* each page that reclaim takes from the page cache; 0: not known */
    uint64_t unmap_page_ns;     /* additional time if page-table entries refer to the page; 0: not known */
    uint64_t buffered_page_ns;  /* each 4 KiB page that a buffered read or write copies */
    uint64_t ring_cached_ns;    /* a ring's small buffered read that finds its page, without calls; 0: not known */
    uint64_t ring_missed_ns;    /* likewise, one that does not find it; with its interrupt, without the device's time */
    uint64_t lock_ns;           /* taking or leaving a free lock; a signal without a waiter */
    uint64_t wake_ns;           /* waking a sleeping thread: CPU time of the waker */
    uint64_t wake_latency_ns;   /* from the wake until the sleeper runs on an idle core */
    uint64_t thread_start_ns;
};

/* A device that computes. Time of an op: max(FLOPs / flops_per_s + operands x gemm_operand_ps, bytes / bytes_per_s) +
 * launches x launch_ns. */
struct gnn_profile_compute {
    bool present;
    uint64_t gemm_flops_per_s; /* rate that SGEMM reaches: of one core on the CPU, of the whole GPU */
    /* additional time for each element of its operands; 0: included in the rate. 0 on a GPU */
    uint64_t gemm_operand_ps;
    uint64_t bytes_per_s;        /* streaming; of one core on the CPU */
    uint64_t bytes_per_s_shared; /* CPU: all cores together; GPU: the same as bytes_per_s */
    uint64_t gather_bytes_per_s; /* rows at random places */
    uint64_t launch_ns;          /* CPU time to start an op */
    uint64_t memory_bytes;       /* GPU memory; 0 on the CPU */
    uint32_t devices;            /* GPUs, all equal, each with the values above */
};

/* Cost of training in the papers' released programs, whose ops pass through an interpreter and a framework. All zero
 * with ideal costs. */
struct gnn_profile_framework {
    uint64_t step_ns, step_edge_ps; /* on a GPU a training step takes at least step_ns + its edges x step_edge_ps */
    uint64_t milli_cores;           /* on the CPU SGEMM runs at most as fast as on this many thousandths of a core */
};

struct gnn_profile_bus {
    uint64_t pinned_bytes_per_s;
    uint64_t pageable_bytes_per_s;
    uint64_t latency_ns;
    uint64_t link_bytes_per_s; /* from a GPU to the next in a ring of them, all sending at once */
    uint64_t link_latency_ns;
};

struct gnn_profile {
    char name[GNN_NAME_MAX];               /* of the file, without ".ini" */
    char machine_id[GNN_NAME_MAX];         /* value of `--profile` for a paper's machine */
    char title[128];                       /* description for users */
    char gpu_model[128];                   /* "NVIDIA A10G"; "": no GPU, or not given */
    char digest[40];                       /* hash of the file, its costs and the changes: stored with every run */
    char costs_digest[40];                 /* hash of the file that gnn_profile_add_costs read; "": costs are ideal */
    char changes[GNN_PROFILE_CHANGES_MAX]; /* see gnn_profile_open_changed; "": none */
    uint64_t assumed[2];                   /* set of parameters, see gnn_profile_next_assumed */
    uint64_t calibrated_s;  /* seconds since 1970 (UTC) at which `oocgnn calibrate` measured it; 0: not known */
    uint32_t kernel;        /* 1000 x major + minor of the Linux whose page cache rules apply */
    uint64_t memory_bytes;  /* memory of a run without a memory limit */
    uint64_t process_bytes; /* code, libraries and heap of the harness itself, part of the memory limit */
    uint64_t clock_hz;      /* nominal clock of a core */
    struct gnn_profile_storage storage;
    struct gnn_profile_cpu cpu;
    struct gnn_profile_compute host, gpu;
    struct gnn_profile_framework framework;
    struct gnn_profile_bus bus;
};

/* Opens a profile, or returns GNN_EUSAGE, GNN_ENOENT, GNN_EIO or GNN_EFORMAT. If name contains a '/', it is the file's
 * path. Otherwise it is NAME.ini in one of the directories of search_dirs (NULL-terminated), or a profile whose
 * `machine_id` is NAME. GNN_EUSAGE lists similar names, or reports text that is not INI. GNN_EFORMAT reports a missing
 * or implausible parameter with file, line and key. Close it with gnn_profile_close. */
GNN_MUST_CHECK enum gnn_status gnn_profile_open(const char *name, const char *const *search_dirs,
                                                struct gnn_profile **out, struct gnn_err *err);
void gnn_profile_close(struct gnn_profile *profile); /* accepts NULL */

/* Opens a profile and changes parameters of it. `changes` is a list "SECTION.KEY=VALUE,...". Later changes apply to the
 * result of earlier ones. A VALUE is in the units of the file, or a factor as x2. Parameters of [released] change when
 * gnn_profile_add_costs reads them. GNN_EUSAGE also reports a change that is not possible, with similar names or the
 * unit. Other errors as of gnn_profile_open. */
GNN_MUST_CHECK enum gnn_status gnn_profile_open_changed(const char *name, const char *changes,
                                                        const char *const *search_dirs, struct gnn_profile **out,
                                                        struct gnn_err *err);
/* Returns whether a list of changes has a parameter of the section. */
bool gnn_profile_changes_section(const char *changes, const char *section);

/* Writes the next parameter that was not measured on its machine: key "storage.read_latency", value "90us". These are
 * the times, rates and the readahead that the files mark as assumed, and all times and rates of [released] costs. *at
 * is 0 at first. Returns false after the last. */
bool gnn_profile_next_assumed(const struct gnn_profile *profile, uint32_t *at, char key[GNN_NAME_MAX],
                              char value[GNN_NAME_MAX]);

/* Parses a profile from text and changes it, with errors as gnn_profile_open_changed. `path` appears in messages. Its
 * last part without ".ini" is the profile's name, and the file of `costs` is searched in its folder. */
GNN_MUST_CHECK enum gnn_status gnn_profile_parse_changed(const char *path, const char *text, const char *changes,
                                                         struct gnn_profile **out, struct gnn_err *err);
/* Does the same without changes. */
GNN_MUST_CHECK enum gnn_status gnn_profile_parse(const char *path, const char *text, struct gnn_profile **out,
                                                 struct gnn_err *err);

/* Parses the text of one parameter, named by section and key ("storage.read_iops"): "98000/s datasheet: ...". Returns
 * it in bytes, seconds, or units per second. Returns NAN if the text is not such a value. key_known: whether a profile
 * has a parameter of this name that is a number. */
double gnn_profile_parameter(const char *key, const char *text, bool *key_known);

/* Adds the costs of released programs at the profile's clock. They are read from a file of [released] costs. The name
 * is a path if it contains a '/', else costs/NAME.ini in one of search_dirs. Errors as of gnn_profile_open. */
GNN_MUST_CHECK enum gnn_status gnn_profile_add_costs(struct gnn_profile *profile, const char *name,
                                                     const char *const *search_dirs, struct gnn_err *err);
/* Does the same for text. `path` appears in messages. A section [released MODEL] has the step of a model of GPU: it
 * replaces the step of all in profiles with this `model` in [gpu]. */
GNN_MUST_CHECK enum gnn_status gnn_profile_parse_costs(struct gnn_profile *profile, const char *path, const char *text,
                                                       struct gnn_err *err);

/* Divides the costs of released programs that do not depend on size by `divisor` >= 1. These are `step` of a mini-batch
 * and `process_start` of an epoch. At scale 1/K a mini-batch has a K-th of the paper's size, so undivided costs would
 * have K times their weight. Costs per edge, row or page scale by themselves. The digests stay the file's. */
void gnn_profile_divide_costs(struct gnn_profile *profile, uint32_t divisor);

/* Returns the seconds since the profile was calibrated, or GNN_UNKNOWN if it has no time of calibration, or now_s is
 * before it. */
uint64_t gnn_profile_age_s(const struct gnn_profile *profile, uint64_t now_s);
/* Returns whether that is more than a week. The machine or its kernel may have changed since. */
bool gnn_profile_is_old(const struct gnn_profile *profile, uint64_t now_s);
/* Writes and returns a text for users: "calibrated 2026-11-24T17:33:34Z, 3 days ago". The text also covers a time in
 * the future and an unknown time. */
enum { GNN_PROFILE_AGE_BYTES = 80 };
const char *gnn_profile_age_text(const struct gnn_profile *profile, uint64_t now_s, char *text, size_t text_bytes);

/* Calls fn for every profile of search_dirs, in order of directory and name. The strings are valid during the call.
 * Files that do not parse are skipped (opening them reports why). A directory that does not exist counts as empty. */
typedef void gnn_profile_seen_fn(void *ctx, const char *path, const struct gnn_profile *profile);
GNN_MUST_CHECK enum gnn_status gnn_profile_scan(const char *const *search_dirs, gnn_profile_seen_fn *fn, void *ctx,
                                                struct gnn_err *err);

#endif
