-- SPDX-License-Identifier: MIT
-- The record of runs. This file is the only source of names: it is compiled into the program, and --json uses the same
-- names.
--
-- Units are in the names: _ns nanoseconds, _bytes bytes, _pct percent, _per_s per second. All other numbers are counts.
-- NULL means that the value is unknown or does not apply. It is never stored as 0. A comment names NULL only where it
-- has a more specific meaning. 64-bit values above 2^63 - 1 are stored as negative numbers.
--
-- The database is opened in WAL mode with a busy timeout. Several processes may write one database on a local disk.

PRAGMA application_id = 1869570919; -- "oocg"
PRAGMA user_version = 9;            -- schema version; raised when a name is added, removed or changes its meaning

CREATE TABLE runs ( -- one row per run
    run_id                INTEGER PRIMARY KEY, -- ascending in the order in which the runs started
    status                TEXT NOT NULL CHECK (status IN -- how the run ended; oom: out of memory; oot: timeout
        ('running', 'ok', 'oom', 'gpu_oom', 'oot', 'failed', 'invalid', 'interrupted')),
    valid                 INTEGER, -- 1: all invariants held; 0: the times must not be used; NULL: not checked, because
                                   -- the run did not complete. A feature, loss or gradient that is not finite gives 0,
                                   -- and reasons names its mini-batch and node
    reasons               TEXT,    -- why the status is not ok, one reason per line; NULL: no reason
    started_unix_ns       INTEGER, -- wall-clock time of the start, since 1970
    finished_unix_ns      INTEGER, -- wall-clock time of the last write to this row, since 1970; NULL: still running
    wall_ns               INTEGER, -- lifetime of the worker, including opening and evaluation

    system                TEXT,    -- folder under systems/; or fio: device reads for a figure, with read_bytes_per_s,
                                   -- reads_per_s and read_latency_ns in table figures
    dataset               TEXT,    -- registry name or directory name
    scale                 TEXT,    -- share of the paper's dataset: '1' or '1/K'
    dim                   INTEGER, -- floats in a feature row
    dataset_bytes         INTEGER, -- size of topology and features on disk
    model                 TEXT,    -- sage, gcn or gat; with --task link the decoder, after the encoder if there is one
    preset                TEXT,    -- preset whose options were used; NULL: none
    variant               TEXT,    -- 'sample-only'; NULL: the full pipeline
    tag                   TEXT,    -- label given by the user; NULL: none
    world                 TEXT,    -- measured or simulated
    profile               TEXT,    -- hardware profile of a simulated run or of a modelled accelerator; NULL: none
    compute               TEXT,    -- tensor back-end: cpu, ref, cuda or model:PROFILE; NULL: no training
    io_engine             TEXT,    -- engine of asynchronous reads: uring or pool; NULL: runs of fio
    seed                  INTEGER, -- seed for mini-batches, parameters and dropout
    batch_size            INTEGER, -- seed nodes per mini-batch
    fanout                TEXT,    -- neighbours sampled per hop: '10,10,10'
    epochs_planned        INTEGER, -- epochs requested

    cap_bytes             INTEGER, -- memory limit requested; NULL: none
    cap_swap_bytes        INTEGER, -- swap allowed in addition to the memory limit; NULL: no memory limit
    cap_enforcement       TEXT,    -- cgroup-v2, cgroup-v1, simulated, none, or in-program (page cache not limited)
    cap_read_back_bytes   INTEGER, -- memory limit read back from the kernel; NULL: no limit
    swap_read_back_bytes  INTEGER, -- swap limit read back from the kernel; NULL: no limit, or no swap accounting
    oom_kills             INTEGER, -- processes that the kernel killed at the memory limit
    device_bps            INTEGER, -- device throttle in bytes per second; NULL: none
    device_iops           INTEGER, -- device throttle in requests per second; NULL: none

    cold_asked            INTEGER, -- 1: a cold start was requested; 0: it was not
    cold_observed         INTEGER, -- 1: at most 1/1000 of the dataset was in the page cache at the start; 0: more was
    direct_asked          INTEGER, -- 1: the system opened files for direct reads; 0: it did not
    direct_observed       INTEGER, -- 1: files read directly stayed out of the page cache; 0: they came into it
    resident_start_bytes  INTEGER, -- page cache of the dataset's files at the start; NULL also in the simulated world
    resident_end_bytes    INTEGER, -- page cache of the dataset's files at the end; NULL also in the simulated world

    -- Identity of the supervisor process. It distinguishes a run in progress from one whose supervisor died.
    machine_id            TEXT,    -- /etc/machine-id, or the host name
    boot_id               TEXT,    -- boot of the kernel
    pid_namespace         TEXT,    -- namespace of supervisor_pid
    supervisor_pid        INTEGER, -- process ID
    supervisor_start_ticks INTEGER -- start time of the process since boot, in clock ticks
) STRICT;

CREATE TABLE config ( -- the options of a run, including defaults, as the user would write them
    run_id INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    key    TEXT NOT NULL, -- option name: 'batch', 'gnndrive.extractors'
    value  TEXT,          -- value of the option
    PRIMARY KEY (run_id, key)
) STRICT;

CREATE TABLE environment ( -- facts that the results depend on in addition to the options
    run_id INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    key    TEXT NOT NULL, -- dotted name: 'kernel.release', 'device.scheduler', 'build.version', 'build.revision'
                          --
                          -- 'bound.bytes': minimum reads of the run, in bytes of features over all epochs. No exact
                          -- system reads less for these mini-batches if the memory limit, its swap and the GPU memory
                          -- are used as cache, empty at the start. Premise: all rows of a mini-batch are in memory
                          -- together. Exists after run --bound or `oocgnn bound RUN`.
                          -- --json and --csv have it as bound_bytes. Their bound_ratio is the bytes of rows_read and
                          -- of statistic open_rows of all epochs, divided by bound_bytes. Below 1 a run is invalid.
                          --
                          -- 'dataset.resident_most_bytes': most bytes of the dataset in the page cache, at the end of
                          -- an epoch (with a memory limit) or of the run. Missing: none, or not reported by the kernel
                          --
                          -- 'memory.inherited_limit_bytes': smallest memory limit of the control groups that the
                          -- program was started in, such as a container's; exists if it is below the physical memory
                          --
                          -- 'epoch.batches', 'epoch.whole_batches': mini-batches of an epoch of this run, and of a
                          -- whole one, over all workers. They differ with --max-batches and --batches; --json and --csv
                          -- then name the part of an epoch (part)
                          --
                          -- 'dataset.shared': when another measured run used the same dataset, 'start', 'end' or
                          -- 'start and end' of this run. Missing: none was seen then
                          --
                          -- 'batch_digest.version': version of the batch digests; digests of two versions cannot be
                          -- compared. No row: 1, in which targets without neighbours do not count
                          --
                          -- 'cpu.load': line of /proc/loadavg at the start of a measured run. --json has `notes`, which
                          -- states a high load and long waits for a core; NULL: neither
                          --
                          -- 'floor.profile': name and digest of the profile that floor_device_ns was computed from
                          -- 'floor.calibrated': time of that profile's calibration in UTC, if the profile has it
                          --
                          -- 'dataset.blocks_compared': blocks of features and neighbour IDs that were compared with
                          -- their checksums before the start; 0: the dataset was prepared without such checksums
                          --
                          -- 'accuracy.valid_split', 'accuracy.test_split': split of the dataset on whose nodes
                          -- valid_accuracy and test_accuracy were computed. Another split than 'valid' and 'test'
                          -- makes the run invalid
    value  TEXT,          -- NULL: this machine does not report the value
    PRIMARY KEY (run_id, key)
) STRICT;

CREATE TABLE epochs ( -- one row per finished epoch; losses and accuracies are NULL if no values are computed
    run_id         INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    epoch          INTEGER NOT NULL, -- from 0
    complete       INTEGER, -- 1: the epoch did the work of exactly one epoch; 0: more or less than that, because the
                            -- system prepares a part of each epoch in the one before. The time of an epoch is the
                            -- median over the complete epochs after the first
    wall_ns        INTEGER, -- time of training, without evaluation
    prepare_ns     INTEGER, -- part of wall_ns spent in preparation (inspect, reorder); opening the system is not part
                            -- of it: environment 'system.open_ns'
    loss           REAL,    -- mean over the training nodes
    train_accuracy REAL,    -- accuracy on the training nodes with dropout, in [0, 1]
    valid_accuracy REAL,    -- accuracy on the validation nodes, in [0, 1]; NULL: not evaluated after this epoch
    test_accuracy  REAL,    -- accuracy on the test nodes, as valid_accuracy
    -- The next columns are for --task link, on validation and test edges. NULL: other task, or not evaluated.
    valid_mrr      REAL,    -- mean reciprocal rank among all nodes without other true edges, or among sampled nodes
    valid_raw_mrr  REAL,    -- mean reciprocal rank among all nodes; NULL also if candidates were sampled
    valid_hits_1   REAL,    -- share of edges ranked first, in [0, 1]; ranks as in valid_mrr
    valid_hits_3   REAL,    -- share of edges ranked among the first 3
    valid_hits_10  REAL,    -- share of edges ranked among the first 10
    test_mrr       REAL,    -- as valid_mrr
    test_raw_mrr   REAL,    -- as valid_raw_mrr
    test_hits_1    REAL,    -- as valid_hits_1
    test_hits_3    REAL,    -- as valid_hits_3
    test_hits_10   REAL,    -- as valid_hits_10
    PRIMARY KEY (run_id, epoch)
) STRICT;

CREATE TABLE stages ( -- times of a stage, summed over its workers; wall_ns = work_ns + all wait_*_ns, within 1 %
    run_id           INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    epoch            INTEGER NOT NULL, -- from 0
    position         INTEGER NOT NULL, -- order in the pipeline, from 0
    stage            TEXT NOT NULL,    -- name: sample, extract, train, release …
    workers          INTEGER, -- threads
    items            INTEGER, -- mini-batches that left the stage
    wall_ns          INTEGER, -- lifetime of the workers, all added up
    work_ns          INTEGER, -- time not spent waiting; the validity check compares it with cpu_ns + queued_ns
    cpu_ns           INTEGER, -- CPU time as counted by the kernel
    queued_ns        INTEGER, -- time runnable without a core; NULL: not reported by the kernel
    wait_io_ns       INTEGER, -- waiting for reads, writes and page faults
    wait_queue_ns    INTEGER, -- waiting for another stage: a queue was empty or full
    wait_lock_ns     INTEGER, -- waiting for a mutex
    wait_compute_ns  INTEGER, -- waiting for the accelerator or its model
    wait_resource_ns INTEGER, -- waiting for a buffer slot, or for a row that another mini-batch is loading
    PRIMARY KEY (run_id, epoch, position)
) STRICT;

CREATE TABLE counters ( -- counts of an epoch, of all epochs, and of what came before the first epoch
    run_id             INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    epoch              INTEGER NOT NULL, -- from 0, and:
                                -- -1: sum over the epochs, of peaks and sizes the largest
                                -- -2: before the first epoch: start of the worker, opening of dataset, model and
                                --     system. A system may read, sort or pack files there. Requests are those of the
                                --     dataset and the system. Counts that only an epoch has are NULL
                                -- Evaluation is in none of these rows
    elapsed_ns         INTEGER, -- time on the run's clock: wall_ns of the epoch; at -2 since the start of the worker
    cpu_ns             INTEGER, -- CPU time of the worker's processes
    needed_bytes       INTEGER, -- feature and topology bytes that the mini-batches needed
    requested_bytes    INTEGER, -- bytes that the system requested by explicit reads; NULL: it reads through mappings
    requested_ios      INTEGER, -- number of explicit reads
    requested_write_bytes INTEGER, -- bytes that the system wrote explicitly: traces, spools, spilled rows; NULL: it
                                -- writes through mappings
    requested_write_ios INTEGER, -- number of explicit writes
    device_read_bytes  INTEGER, -- device reads as counted for the control group of the run; NULL: no control group
    device_read_ios    INTEGER, -- number of device reads, counted in the same way
    device_write_bytes INTEGER, -- device writes, counted in the same way. NULL also if something was written through
                                -- the page cache with cgroup v1, which does not count such writes for the group
    cache_hits         INTEGER, -- feature rows found in the system's own cache or buffer; NULL: not counted
    cache_misses       INTEGER, -- feature rows not found there; NULL: not counted
    cache_evictions    INTEGER, -- feature rows evicted from it; NULL: not counted
    rows_asked         INTEGER, -- feature rows of the mini-batches
    rows_read          INTEGER, -- feature rows that storage delivered for them: misses, cache fills, rows read back
                                -- after a spill. The hit ratio of every system is 1 - rows_read / rows_asked
    sampled_nodes      INTEGER, -- unique nodes per mini-batch, summed over the mini-batches
    sampled_edges      INTEGER, -- sampled edges
    batches            INTEGER, -- mini-batches
    batch_digest       TEXT,    -- hash of all blocks in 16 hex digits; equal mini-batches have equal digests of one
                                -- version: environment 'batch_digest.version'
    peak_memory_bytes  INTEGER, -- highest charge of the control group up to the end of the epoch, page cache included;
                                -- NULL: not reported by the kernel. Evaluation after the last epoch is not part of it:
                                -- environment 'memory.peak_bytes'
    page_cache_bytes   INTEGER, -- page cache of the control group at the end of the epoch
    refaults           INTEGER, -- file pages that were read again after their eviction
    prepare_disk_bytes INTEGER, -- files on disk prepared for this system by this run or an earlier one; 0: none
    PRIMARY KEY (run_id, epoch)
) STRICT;

CREATE TABLE figures ( -- statistics of an epoch: the system's own, and those of the harness, among them:
                       --
                       -- Time between the ends of two training steps:
                       --   batch_p50_ns, batch_p90_ns, batch_p99_ns, batch_max_ns
                       --
                       -- Part of an epoch (--batches N); wall_ns, counters and stages are those of the part:
                       --   warmup_batches, extrapolated_from_batches
                       --   full_epoch_ns         estimated time of the whole epoch
                       --   full_epoch_settled    0: not settled, so no result. The mini-batches still get faster or
                       --                         slower, or too few of them are independent. 1: settled
                       --   full_epoch_low_ns, full_epoch_high_ns
                       --                         95 % interval if all further mini-batches are like these; no rows if
                       --                         not settled
                       --   full_epoch_groups     groups of mini-batches that the interval is from; 0: fewer than 4
                       --
                       -- CPU:
                       --   cpu_stolen_ns         time that a hypervisor took from all cores
                       --
                       -- GPU, real or modelled; no rows if the host computes. With several GPUs, times are those of
                       -- the busiest one, and bytes are those of all:
                       --   gpu_busy_ns           time in which the stream computed: from the launch of ops, or of
                       --                         a step as one graph, to the end of the last one
                       --   gpu_held_ns           the same, and the time in which the host copied lists, recorded the
                       --                         step or waited for a queue between its first and its last call
                       --   gpu_copy_ns           time of copies over the bus by the device's clock, without gaps,
                       --                         summed over the lanes
                       --   gpu_uploaded_bytes, gpu_downloaded_bytes
                       --   gpu_launches          launches
                       --   gpu_graph_steps, gpu_graph_builds
                       --                         steps launched as one graph, and those that built a new graph
                       --   gpu_plain_step_ns, gpu_graph_step_ns
                       --                         median of eight steps op by op, and of eight as graphs, in turns
                       --   step_graphs           1 if later steps are graphs, 0 if they run op by op
                       --
                       -- Minimum time (docs/floor.md); no row if unknown:
                       --   floor_device_ns       minimum time of the device for its reads and writes in the epoch
                       --   floor_training_ns     minimum time of the training stage
                       --   floor_ns              the larger of the two. No epoch with the same reads, writes and
                       --                         training is faster. --json and --csv have the sum over the epochs as
                       --                         floor_ns. Their floor_ratio is the sum of wall_ns divided by it
                       --
                       -- Explicit reads, from submission until the reading thread sees the completion; page faults
                       -- are not counted:
                       --   reads_timed           number of reads
                       --   read_p50_ns, read_p90_ns, read_p99_ns, read_p999_ns, read_max_ns
                       --   read_bytes_p50, read_bytes_p90, read_bytes_p99, read_bytes_max
                       --   reads_to_4K           reads of at most 4 KiB that are larger than the next smaller class.
                       --                         Classes are 512 bytes and its doubles; empty classes have no row
                       --
                       -- Requests to the device, including readahead and page faults. Only in the simulated world,
                       -- because kernels do not count requests by size:
                       --   device_read_bytes_p50 and so on, device_reads_to_4K and so on
    run_id INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    epoch  INTEGER NOT NULL, -- from 0
    name   TEXT NOT NULL,    -- name of the statistic
    value  INTEGER,          -- sum over the epoch, or a size or setting; unit as in the name
    PRIMARY KEY (run_id, epoch, name)
) STRICT;

CREATE TABLE series ( -- one row per interval, sampled from outside the worker; simulated runs use the virtual clock.
                      -- NULL: not reported by this kernel, control group or machine, or not modelled
    run_id                 INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    time_ns                INTEGER NOT NULL, -- end of the interval, since the start of the run
    interval_ns            INTEGER, -- length of the interval
    cpu_pct                REAL,    -- busy share of all CPUs
    iowait_pct             REAL,    -- I/O wait of all CPUs in /proc/stat; not comparable between kernels, nor between
                                    -- mmap and io_uring
    worker_cpu_pct         REAL,    -- CPU time of the worker process; 100 = one CPU
    psi_cpu_some_pct       REAL,    -- pressure stall information of the machine: time in which some tasks waited
    psi_memory_some_pct    REAL,    -- for memory: of the control group with cgroup v2, otherwise of the machine
    psi_memory_full_pct    REAL,    -- as psi_memory_some_pct: time in which all tasks waited
    psi_io_some_pct        REAL,    -- as psi_memory_some_pct, for I/O
    psi_io_full_pct        REAL,    -- as psi_memory_full_pct, for I/O
    disk_read_bytes_per_s  REAL,    -- block device of the dataset, reads of all processes
    disk_read_ios_per_s    REAL,    -- the same in requests
    disk_write_bytes_per_s REAL,    -- block device of the dataset, writes of all processes
    disk_busy_pct          REAL,    -- time in which the device had a request in flight
    group_read_bytes_per_s REAL,    -- device reads of the control group of the run
    group_read_ios_per_s   REAL,    -- the same in requests
    memory_bytes           INTEGER, -- charge of the control group at the end of the interval
    anon_bytes             INTEGER, -- anonymous memory in memory_bytes
    file_bytes             INTEGER, -- page cache in memory_bytes
    refaults               INTEGER, -- file pages read again after their eviction, in the interval
    worker_major_faults    INTEGER, -- page faults of the worker that read from storage, in the interval
    gpu_busy_pct           REAL,    -- share of NVML's last window with a kernel running; not occupancy
    gpu_memory_bytes       INTEGER, -- GPU memory in use
    gpu_power_w            REAL,    -- power of the board in watts, as averaged by NVML
    gpu_rx_bytes_per_s     REAL,    -- PCIe traffic to the device in the last 20 ms of the interval
    gpu_tx_bytes_per_s     REAL,    -- PCIe traffic from the device in the last 20 ms of the interval
    PRIMARY KEY (run_id, time_ns)
) STRICT;

-- Epochs of valid runs: the times that may be used.
CREATE VIEW epoch_times AS
SELECT runs.run_id, system, dataset, scale, model, world, compute, cap_bytes, cap_enforcement, seed, epoch, complete,
       epochs.wall_ns, prepare_ns, loss, train_accuracy, valid_accuracy, test_accuracy
FROM runs JOIN epochs USING (run_id)
WHERE runs.valid = 1;
