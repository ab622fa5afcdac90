-- SPDX-License-Identifier: MIT
-- The record of runs. This file is the one source of names: it is compiled into the program, and --json uses the same.
-- Units are in the names (_ns, _bytes, _pct). Unknown is NULL, never 0. 64-bit values above 2^63 - 1 wrap to negative.
-- Opened with WAL and a busy timeout: several processes may write one database on a local disk.

PRAGMA application_id = 1869570919; -- "oocg"
PRAGMA user_version = 7;            -- raised when a name comes, goes or changes its meaning; 4: writes asked for, peak, disk;
                                    -- 5: a GPU's power and PCIe; 6: queued_ns; 7: ranks of links

CREATE TABLE runs (
    run_id                INTEGER PRIMARY KEY, -- ascending in the order of their starts
    status                TEXT NOT NULL CHECK (status IN -- how it ended
        ('running', 'ok', 'oom', 'gpu_oom', 'oot', 'failed', 'invalid', 'interrupted')),
    valid                 INTEGER, -- 1: every invariant held; 0: times must not be used (also where a feature, loss or
                                   -- gradient was no finite number: reasons has batch and node); NULL: not judged yet
    reasons               TEXT,    -- why the status is not ok, one reason a line
    started_unix_ns       INTEGER, -- wall-clock time of the start
    finished_unix_ns      INTEGER, -- of the last write to this row; NULL while running
    wall_ns               INTEGER, -- the worker's life: opening and evaluation included

    system                TEXT,    -- what ran: a folder under systems/; fio: reads of a device for a figure, with
                                   -- read_bytes_per_s, reads_per_s and read_latency_ns among the figures
    dataset               TEXT,    -- registry name or directory name
    scale                 TEXT,    -- '1' or '1/K' of the paper's dataset
    dim                   INTEGER, -- floats in a feature row
    dataset_bytes         INTEGER, -- topology and features on disk
    model                 TEXT,    -- sage, gcn, gat
    preset                TEXT,    -- paper whose defaults were taken; NULL: none
    variant               TEXT,    -- 'sample-only'; NULL: the full pipeline
    tag                   TEXT,    -- the user's own word for this run or sweep
    world                 TEXT,    -- measured or simulated
    profile               TEXT,    -- hardware profile of a simulated run or a modelled accelerator; NULL: none
    compute               TEXT,    -- cpu, cuda or model:PROFILE
    io_engine             TEXT,    -- uring, pool or mmap
    seed                  INTEGER, -- of everything random
    batch_size            INTEGER, -- training nodes per mini-batch
    fanout                TEXT,    -- neighbours drawn per hop: '10,10,10'
    epochs_planned        INTEGER, -- asked for

    cap_bytes             INTEGER, -- memory limit asked for; NULL: none
    cap_swap_bytes        INTEGER, -- swap allowed on top of it
    cap_enforcement       TEXT,    -- cgroup-v2, cgroup-v1, simulated, none, or in-program: then the page cache had no cap
    cap_read_back_bytes   INTEGER, -- the limit as the kernel said it afterwards
    swap_read_back_bytes  INTEGER, -- swap allowed as the kernel said it
    oom_kills             INTEGER, -- processes the kernel killed at the limit
    device_bps            INTEGER, -- throttle in bytes per second; NULL: none
    device_iops           INTEGER, -- throttle in requests per second; NULL: none

    cold_asked            INTEGER, -- 1: eviction of the dataset was asked for
    cold_observed         INTEGER, -- 1: (almost) nothing of the dataset was resident at the start
    direct_asked          INTEGER, -- 1: reads past the page cache were asked for
    direct_observed       INTEGER, -- 1: and were what happened
    resident_start_bytes  INTEGER, -- of the dataset's files, in the page cache
    resident_end_bytes    INTEGER,

    -- Who wrote this row: tells a run in progress from one whose supervisor died.
    machine_id            TEXT,
    boot_id               TEXT,
    pid_namespace         TEXT,
    supervisor_pid        INTEGER,
    supervisor_start_ticks INTEGER -- start time of that process since boot, in clock ticks
) STRICT;

CREATE TABLE config ( -- every option after defaults, as the user would write it
    run_id INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    key    TEXT NOT NULL, -- option name: 'batch', 'gnndrive.extractors'
    value  TEXT,
    PRIMARY KEY (run_id, key)
) STRICT;

CREATE TABLE environment ( -- what the numbers depend on besides the configuration
    run_id INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    key    TEXT NOT NULL, -- dotted: 'kernel.release', 'device.scheduler', 'build.version', 'build.revision'
                          -- 'bound.bytes', where it was asked for (run --bound, `oocgnn bound RUN`): the least feature
                          -- bytes that any exact system brings in for the run's mini-batches of all epochs, its cap, its
                          -- swap and its GPU's memory being cache and empty at first. --json and --csv say it as
                          -- bound_bytes, and as bound_ratio the run's rows_read, with the figure open_rows of the
                          -- first epoch, in bytes over it
                          -- 'floor.profile': name and digest of the profile that floor_device_ns was computed from
                          -- 'floor.calibrated': when that profile was measured, in UTC, where it says so
    value  TEXT,          -- NULL: this machine does not tell
    PRIMARY KEY (run_id, key)
) STRICT;

CREATE TABLE epochs (
    run_id         INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    epoch          INTEGER NOT NULL, -- from 0
    wall_ns        INTEGER, -- of training, evaluation left out
    prepare_ns     INTEGER, -- part of wall_ns spent preparing (inspect, reorder); what open took is in environment
                            -- 'system.open_ns'
    loss           REAL,    -- mean over the training nodes
    train_accuracy REAL,    -- in [0, 1], with dropout on
    valid_accuracy REAL,    -- in [0, 1]; NULL: not evaluated after this epoch
    test_accuracy  REAL,
    valid_mrr      REAL,    -- --task link: mean reciprocal rank among all nodes, true edges left out; or among sampled ones
    valid_raw_mrr  REAL,    -- among all nodes; NULL: candidates were sampled
    valid_hits_1   REAL,    -- share ranked first, among the first 3, among the first 10, as valid_mrr
    valid_hits_3   REAL,
    valid_hits_10  REAL,
    test_mrr       REAL,
    test_raw_mrr   REAL,
    test_hits_1    REAL,
    test_hits_3    REAL,
    test_hits_10   REAL,
    PRIMARY KEY (run_id, epoch)
) STRICT;

CREATE TABLE stages ( -- summed over a stage's workers; wall = work + waits within 1 %
    run_id           INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    epoch            INTEGER NOT NULL,
    position         INTEGER NOT NULL, -- order in the pipeline, from 0
    stage            TEXT NOT NULL,    -- sample, extract, train, release …
    workers          INTEGER, -- threads
    items            INTEGER, -- mini-batches that left the stage
    wall_ns          INTEGER, -- of all workers together
    work_ns          INTEGER, -- not waiting
    cpu_ns           INTEGER, -- as the kernel charged it; what work_ns has beyond this and queued_ns is looked at
    queued_ns        INTEGER, -- runnable without a core; NULL where the kernel does not tell
    wait_io_ns       INTEGER, -- for reads, writes and page faults
    wait_queue_ns    INTEGER, -- for another stage: a queue empty or full
    wait_lock_ns     INTEGER, -- for a mutex
    wait_compute_ns  INTEGER, -- for the accelerator or its model
    wait_resource_ns INTEGER, -- for a buffer slot, or a row another batch is loading
    PRIMARY KEY (run_id, epoch, position)
) STRICT;

CREATE TABLE counters (
    run_id             INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    epoch              INTEGER NOT NULL, -- -1: the whole run
    needed_bytes       INTEGER, -- feature and topology bytes the mini-batches needed
    requested_bytes    INTEGER, -- asked of storage by explicit reads; NULL for mappings
    requested_ios      INTEGER,
    requested_write_bytes INTEGER, -- asked of storage by explicit writes in the epoch: traces, spools, spilled rows
    requested_write_ios INTEGER,
    device_read_bytes  INTEGER, -- as the kernel counted for the worker's control group
    device_read_ios    INTEGER,
    device_write_bytes INTEGER,
    cache_hits         INTEGER, -- of the system's own cache or buffer, in rows
    cache_misses       INTEGER,
    cache_evictions    INTEGER,
    rows_asked         INTEGER, -- feature rows of the mini-batches
    rows_read          INTEGER, -- delivered by storage for them: misses, fills, rows read back; the hit ratio of every system
                                -- is 1 - rows_read / rows_asked
    sampled_nodes      INTEGER, -- unique nodes, summed over mini-batches
    sampled_edges      INTEGER,
    batches            INTEGER,
    batch_digest       TEXT,    -- 16 hex digits over every block; equal wherever the mini-batches are equal
    peak_memory_bytes  INTEGER, -- highest charge of the control group up to the end of the epoch, page cache included: what
                                -- is evaluated after the last epoch is left out (environment 'memory.peak_bytes' has it)
    page_cache_bytes   INTEGER, -- page cache in that charge at the end
    refaults           INTEGER, -- file pages read again after they were evicted
    prepare_disk_bytes INTEGER, -- on disk in files prepared for this system, by this run's open or by an earlier run's
    PRIMARY KEY (run_id, epoch)
) STRICT;

CREATE TABLE figures ( -- a system's own figures, summed over the epoch, and the harness's: among them batch_p50_ns,
                       -- batch_p90_ns, batch_p99_ns and batch_max_ns, of the time from one training step's end to the next,
                       -- cpu_stolen_ns, what a hypervisor took from all cores,
                       -- of a device, real or modelled, and of none where the host computes, gpu_busy_ns (its stream had work),
                       -- gpu_copy_ns (of what crossed the bus, on the device's clock, gaps between copies left out, lanes added
                       -- up), gpu_uploaded_bytes, gpu_downloaded_bytes and gpu_launches,
                       -- floor_ns, which no epoch that reads and trains the same can be faster than: the larger of
                       -- floor_device_ns, the least time of the device for what it read and wrote, and floor_training_ns, of
                       -- the stage that trains (docs/floor.md; --json and --csv say the epochs' sum as floor_ns, and as
                       -- floor_ratio their wall time over it),
                       -- and read_p50_ns to read_max_ns (p999 too) of reads_timed reads of storage, each from the moment it
                       -- was handed over until its thread saw it done; page faults of a mapping are none; of the same
                       -- reads, by what each asked for, read_bytes_p50, read_bytes_p90, read_bytes_p99 and read_bytes_max,
                       -- and reads_to_4K and the like: reads of so many bytes or fewer, more than the class below (512, then
                       -- twice that, and so on; a class without any is left out); and of what the device was asked for,
                       -- readahead and page faults included, device_read_bytes_p50 and the like and device_reads_to_4K and
                       -- the like, in the simulated world alone: no counter of a kernel tells how large each request was
    run_id INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    epoch  INTEGER NOT NULL,
    name   TEXT NOT NULL,
    value  INTEGER,
    PRIMARY KEY (run_id, epoch, name)
) STRICT;

CREATE TABLE series ( -- one row an interval, sampled from outside the worker; of a simulated run on its own clock
    run_id                 INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    time_ns                INTEGER NOT NULL, -- end of the interval, since the start of the run
    interval_ns            INTEGER,
    cpu_pct                REAL,    -- busy share of all CPUs
    iowait_pct             REAL,    -- /proc/stat, of all CPUs; not comparable between kernels or between mmap and io_uring
    worker_cpu_pct         REAL,    -- of the worker's process; 100 = one CPU
    psi_cpu_some_pct       REAL,    -- pressure stall information of the machine
    psi_memory_some_pct    REAL,    -- … of the control group where the kernel keeps it (v2), else of the machine
    psi_memory_full_pct    REAL,
    psi_io_some_pct        REAL,
    psi_io_full_pct        REAL,
    disk_read_bytes_per_s  REAL,    -- the dataset's block device, every process
    disk_read_ios_per_s    REAL,
    disk_write_bytes_per_s REAL,
    disk_busy_pct          REAL,    -- time with a request in flight
    group_read_bytes_per_s REAL,    -- the worker's control group
    group_read_ios_per_s   REAL,
    memory_bytes           INTEGER, -- charge of the control group at the end of the interval
    anon_bytes             INTEGER,
    file_bytes             INTEGER, -- page cache in it
    refaults               INTEGER, -- in the interval
    worker_major_faults    INTEGER, -- in the interval
    gpu_busy_pct           REAL,    -- NVML's window with any kernel running; not occupancy
    gpu_memory_bytes       INTEGER,
    gpu_power_w            REAL,    -- of the board, as NVML averages it
    gpu_rx_bytes_per_s     REAL,    -- over PCIe into the device, in the last 20 ms of the interval
    gpu_tx_bytes_per_s     REAL,    -- likewise out of it
    PRIMARY KEY (run_id, time_ns)
) STRICT;

-- Times that may be used: of valid runs alone.
CREATE VIEW epoch_times AS
SELECT runs.run_id, system, dataset, scale, model, world, compute, cap_bytes, cap_enforcement, seed, epoch, epochs.wall_ns, prepare_ns, loss,
       train_accuracy, valid_accuracy, test_accuracy
FROM runs JOIN epochs USING (run_id)
WHERE runs.valid = 1;
