/* SPDX-License-Identifier: MIT */
#include "tests/support/cuda_host.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "harness/tensor/cuda/runtime.h"
#include "harness/tensor/cuda/spans.h"
#include "tests/support/cuda_host_ptx.h"
#include "tests/support/sanitizers.h"

extern "C" {
#define _Noreturn [[noreturn]]
#include "harness/world/simulated/coroutine.h"
#undef _Noreturn
}

/* To ThreadSanitizer a block's threads run in parallel: it does not watch the launcher's own words, a switch orders
 * nothing, and a barrier orders what is given away at a word's address before what is taken there. */
#if SANITIZERS_THREAD
#include <sanitizer/tsan_interface.h>
#define NOT_WATCHED __attribute__((no_sanitize("thread")))
#define GIVE_ORDER(word) __tsan_release(word)
#define TAKE_ORDER(word) __tsan_acquire(word)
#else
#define NOT_WATCHED
#define GIVE_ORDER(word) (void)(word)
#define TAKE_ORDER(word) (void)(word)
#endif

cuda_host_dim threadIdx, blockIdx, blockDim, gridDim;

namespace
{

enum { WARP = 32, THREADS_MAX = 1024 };

/* A barrier: those who arrive wait for the number of the next generation. One that is early for the next generation
 * orders it at another word than those who are late for this one. */
struct barrier {
    uint32_t arrived, generation;
    uint64_t order[2];
};

struct thread {
    struct sim_coroutine stack;
    bool open, finished;
    const char *waits_at; /* NULL: runs */
    uint64_t word;        /* what it shows its warp */
};

struct launcher {
    struct sim_coroutine self; /* the test's stack */
    struct thread threads[THREADS_MAX];
    struct barrier block, warps[THREADS_MAX / WARP];
    uint32_t thread_count, running;
    const std::function<void()> *kernel;
    uint64_t progress;   /* of barriers and ends: a round without any is a deadlock */
    uint64_t begin, end; /* of a block: where they order */
};

launcher l;

void fail(const char *what)
{
    std::fprintf(stderr, "cuda_host: block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, what);
    std::abort();
}

NOT_WATCHED void switch_to_launcher(struct thread *t)
{
    sim_coroutine_switch(&t->stack, &l.self);
}

/* Waits for the others, and orders nothing. */
NOT_WATCHED void wait_at(struct barrier *b, uint32_t wanted, const char *name)
{
    struct thread *const t = &l.threads[l.running];
    const uint32_t generation = b->generation;
    l.progress++;
    if (++b->arrived == wanted) {
        b->arrived = 0;
        b->generation++;
        return;
    }
    t->waits_at = name;
    while (b->generation == generation)
        switch_to_launcher(t);
    t->waits_at = NULL;
}

/* The same, and what any did before it is done before what any does behind it. */
NOT_WATCHED void order_at(struct barrier *b, uint32_t wanted, const char *name)
{
    uint64_t *const order = &b->order[b->generation % 2];
    GIVE_ORDER(order);
    wait_at(b, wanted, name);
    TAKE_ORDER(order);
}

NOT_WATCHED void thread_main(void *arg)
{
    struct thread *const t = static_cast<struct thread *>(arg);
    for (;;) { /* the stack serves every block */
        TAKE_ORDER(&l.begin);
        (*l.kernel)();
        GIVE_ORDER(&l.end);
        t->finished = true;
        l.progress++;
        switch_to_launcher(t);
    }
}

NOT_WATCHED void open_thread(struct thread *t)
{
    struct gnn_err err = {};
    if (t->open)
        return;
    if (sim_coroutine_open(&t->stack, thread_main, t, &err) != GNN_OK)
        fail(err.message);
    t->stack.unordered = true;
    t->open = true;
}

NOT_WATCHED void run_block()
{
    l.block = {};
    for (barrier &b : l.warps)
        b = {};
    for (uint32_t i = 0; i < l.thread_count; i++) {
        open_thread(&l.threads[i]);
        l.threads[i].finished = false;
        l.threads[i].waits_at = NULL;
    }
    GIVE_ORDER(&l.begin);
    for (uint32_t left = l.thread_count; left > 0;) {
        const uint64_t before = l.progress;
        left = 0;
        for (uint32_t i = 0; i < l.thread_count; i++) {
            if (l.threads[i].finished)
                continue;
            l.running = i;
            threadIdx = {i, 0, 0};
            sim_coroutine_switch(&l.self, &l.threads[i].stack);
            left += !l.threads[i].finished;
        }
        if (left > 0 && l.progress == before)
            fail("threads wait at barriers that others never reach");
    }
    TAKE_ORDER(&l.end);
}

} // namespace

NOT_WATCHED void cuda_host_launch(uint32_t blocks, uint32_t threads, const std::function<void()> &kernel)
{
    if (threads == 0 || threads > THREADS_MAX || threads % WARP != 0)
        fail("a block's threads must be whole warps, 1024 at most");
    sim_coroutine_adopt(&l.self);
    l.thread_count = threads;
    l.kernel = &kernel;
    blockDim = {threads, 1, 1};
    gridDim = {blocks, 1, 1};
    for (uint32_t b = 0; b < blocks; b++) {
        blockIdx = {b, 0, 0};
        run_block();
    }
    sim_coroutine_close(&l.self);
}

NOT_WATCHED void __syncthreads()
{
    const cuda_host_dim own = threadIdx;
    order_at(&l.block, l.thread_count, "__syncthreads");
    threadIdx = own;
}

NOT_WATCHED void __syncwarp(uint32_t mask)
{
    const cuda_host_dim own = threadIdx;
    if (mask != 0xffffffffu)
        fail("only whole warps are supported");
    order_at(&l.warps[own.x / WARP], WARP, "__syncwarp");
    threadIdx = own;
}

/* The lanes meet, and what they wrote to memory is not ordered by it. */
NOT_WATCHED static void meet()
{
    const cuda_host_dim own = threadIdx;
    wait_at(&l.warps[own.x / WARP], WARP, "a shuffle");
    threadIdx = own;
}

NOT_WATCHED uint64_t cuda_host_exchange(uint64_t word, uint32_t from_lane)
{
    const uint32_t me = threadIdx.x;
    l.threads[me].word = word;
    meet();
    const uint64_t other = l.threads[me / WARP * WARP + from_lane].word;
    meet(); /* nobody shows another word before all have read this one */
    return other;
}

/* ---- runtime.h in host memory ---- */

/* What a stream does when its turn comes. */
struct cuda_host_work {
    const char *name;
    std::function<void()> run;
};

/* A point in a lane, with the time of the device when the lane came to it. */
struct cuda_host_point {
    uint32_t lane;
    uint64_t given;             /* the lane's work before it */
    uint64_t recorded, reached; /* how often */
    uint64_t at_ns;
};

/* spans.h on the launcher: time passes by a nanosecond a byte copied and a kernel of a lane. */
struct cuda_host_clock {
    using event = cuda_host_point;
    struct gnn_device *device;

    void record(cuda_host_point *point, uint32_t lane);
    bool passed(const cuda_host_point &point);
    uint64_t ns_between(const cuda_host_point &begin, const cuda_host_point &end);
};
using cuda_host_spans = gnn_spans<cuda_host_clock>;

struct cuda_host_lane {
    std::vector<cuda_host_work> given;
    uint64_t done;
    cuda_host_spans copies;
};

struct gnn_event {
    uint32_t lane; /* GNN_LANE_STREAM: has passed */
    uint64_t count;
};

struct gnn_device {
    uint32_t number;
    uint64_t allocated_bytes;
    std::vector<std::pair<void *, uint64_t>> pieces, pins;
    uint64_t capacity_bytes;
    cuda_host_lane lanes[GNN_LANES_MAX];
    bool capturing;
    std::vector<cuda_host_work> captured;
    std::vector<const char *> graphs[GNN_STEP_GRAPHS]; /* by the names of their launches; empty: none */
    gnn_device_times times;
    cuda_host_spans copies, busy; /* of the stream */
    std::vector<char> driver;
    uint64_t now_ns;
    gnn_err err;
    uint32_t events;
};

static std::recursive_mutex one_at_a_time; /* the launcher has one set of threads */
#define ALONE const std::lock_guard<std::recursive_mutex> alone(one_at_a_time)

/* Of devices opened next; tests/op/test_cuda_kernels.c. */
uint64_t cuda_host_capacity_bytes = UINT64_MAX;
uint64_t cuda_host_driver_bytes = 0; /* of the host's memory, as a driver takes them */
uint32_t cuda_host_devices = 1;
uint32_t cuda_host_refuse_pin = 0;   /* the nth pin fails; 0: none does */
uint32_t cuda_host_refuse_event = 0; /* likewise */
uint32_t cuda_host_fail_upload = 0;  /* the nth copy fails, whichever stream it is in */
bool cuda_host_no_capture = false;
uint32_t cuda_host_read_ranges = 0;   /* ranges called "read" that were opened */
const char *cuda_host_doze_in = NULL; /* the next call of that name sleeps, as a driver's may; NULL: it has */
uint64_t cuda_host_doze_ns = 0;

static bool nth(uint32_t *countdown)
{
    return *countdown > 0 && --*countdown == 0;
}

static void doze(const char *call)
{
    if (cuda_host_doze_in == NULL || std::strcmp(cuda_host_doze_in, call) != 0)
        return;
    cuda_host_doze_in = NULL;
    const struct timespec length = {0, (long)cuda_host_doze_ns};
    (void)nanosleep(&length, NULL);
}

static void give(gnn_device *d, uint32_t lane, const char *name, std::function<void()> run)
{
    ALONE;
    if (lane != GNN_LANE_STREAM)
        d->lanes[lane].given.push_back({name, std::move(run)});
    else if (d->capturing)
        d->captured.push_back({name, std::move(run)});
    else
        run();
}

static void catch_up(gnn_device *d, uint32_t lane, uint64_t count)
{
    cuda_host_lane &own = d->lanes[lane];
    for (; own.done < count; own.done++) {
        own.given[own.done].run();
        own.given[own.done].run = nullptr;
    }
}

static void not_captured(const gnn_device *d, const char *what)
{
    if (d->capturing)
        fail(what);
}

/* ---- times of copies ---- */

void cuda_host_clock::record(cuda_host_point *point, uint32_t lane)
{
    gnn_device *const d = device;
    const uint64_t turn = ++point->recorded;
    give(d, lane, "time", [d, point, turn] {
        if (point->recorded != turn)
            return; /* recorded again since */
        point->reached = turn;
        point->at_ns = d->now_ns;
    });
    point->lane = lane;
    point->given = lane == GNN_LANE_STREAM ? 0 : d->lanes[lane].given.size();
}

bool cuda_host_clock::passed(const cuda_host_point &point)
{
    return point.reached == point.recorded;
}

uint64_t cuda_host_clock::ns_between(const cuda_host_point &begin, const cuda_host_point &end)
{
    if (!passed(end))
        catch_up(device, end.lane, end.given);
    if (!passed(begin) || !passed(end) || end.at_ns < begin.at_ns)
        fail("a span ends before it begins");
    return end.at_ns - begin.at_ns;
}

static cuda_host_spans *copies_of(gnn_device *d, uint32_t lane)
{
    return lane == GNN_LANE_STREAM ? &d->copies : &d->lanes[lane].copies;
}

void gnn_device_copy_begin(struct gnn_device *d, uint32_t lane)
{
    ALONE;
    cuda_host_clock clock = {d};
    if (lane != GNN_LANE_STREAM || !d->capturing)
        copies_of(d, lane)->copy_begin(clock, lane);
}

void gnn_device_copy_end(struct gnn_device *d, uint32_t lane)
{
    ALONE;
    cuda_host_clock clock = {d};
    if (lane == GNN_LANE_STREAM && d->capturing)
        return;
    copies_of(d, lane)->copy_end(clock, lane);
    if (lane == GNN_LANE_STREAM)
        d->copies.close();
}

/* The bytes that a kernel may access: the device's, and those of the host that are pinned. */
static std::vector<ptx_range> ranges_of(const gnn_device *d)
{
    std::vector<ptx_range> ranges;
    for (const auto *const list : {&d->pieces, &d->pins})
        for (const auto &piece : *list) {
            const uint64_t begin = reinterpret_cast<uintptr_t>(piece.first);
            ranges.push_back({begin, begin + piece.second});
        }
    return ranges;
}

void cuda_host_enqueue(gnn_device *d, uint32_t lane, const char *name, uint32_t blocks, const cuda_host_call &call)
{
    ALONE;
    doze("launch");
    d->times.launches++;
    give(d, lane, name, [d, blocks, call] {
        if (!cuda_host_ptx_asked())
            cuda_host_launch(blocks, GNN_BLOCK_THREADS, call.run);
        else if (const std::string fault = cuda_host_ptx_launch(call, blocks, GNN_BLOCK_THREADS, ranges_of(d));
                 !fault.empty()) {
            std::fprintf(stderr, "cuda_host: %s\n", fault.c_str());
            std::abort();
        }
        d->now_ns++;
    });
}

enum gnn_status gnn_device_open(uint32_t number, enum gnn_precision precision, struct gnn_device **out,
                                struct gnn_err *err)
{
    (void)precision;
    if (number >= cuda_host_devices)
        return gnn_fail(err, GNN_ENOTSUP, "--compute cuda:%u: there are devices 0 to %u", number,
                        cuda_host_devices - 1);
    *out = new gnn_device{};
    (*out)->number = number;
    (*out)->capacity_bytes = cuda_host_capacity_bytes;
    (*out)->driver.assign(cuda_host_driver_bytes, 1);
    return GNN_OK;
}

void gnn_device_close(struct gnn_device *d)
{
    if (d == NULL)
        return;
    for (const cuda_host_lane &lane : d->lanes)
        if (lane.done < lane.given.size())
            fail("a lane's copies were not waited for");
    if (!d->pieces.empty() || !d->pins.empty() || d->events > 0)
        fail("memory, pinned memory or events of the device were not freed");
    delete d;
}

uint32_t gnn_device_multiprocessors(const struct gnn_device *d)
{
    (void)d;
    return 1;
}

uint64_t gnn_device_memory_bytes(const struct gnn_device *d)
{
    return d->capacity_bytes;
}

void gnn_device_identify(const struct gnn_device *d, struct gnn_gpu_identity *out)
{
    *out = {};
    (void)std::snprintf(out->name, sizeof out->name, "stand-in");
    (void)std::snprintf(out->bus_id, sizeof out->bus_id, "ffff:00:%02x.0", d->number);
    (void)std::snprintf(out->uuid, sizeof out->uuid, "GPU-stand-in-%u", d->number);
    out->multiprocessors = gnn_device_multiprocessors(d);
}

/* Few, so that every loop over a grid goes round. */
uint32_t gnn_device_blocks(const struct gnn_device *d, uint64_t threads)
{
    (void)d;
    return (uint32_t)gnn_min_u64(gnn_div_up(threads, GNN_BLOCK_THREADS), 3);
}

enum gnn_status gnn_device_alloc(struct gnn_device *d, const char *name, uint64_t bytes, void **out,
                                 struct gnn_err *err)
{
    ALONE;
    doze("alloc");
    if (d->allocated_bytes + bytes > d->capacity_bytes)
        return gnn_fail(err, GNN_EGPU, "%s: the test's device is full", name);
    *out = std::aligned_alloc(256, gnn_round_up(bytes, 256));
    std::memset(*out, 0xff, bytes); /* NaN: what is read before it is written shows */
    d->allocated_bytes += bytes;
    d->pieces.push_back({*out, bytes});
    return GNN_OK;
}

void gnn_device_free(struct gnn_device *d, void *ptr)
{
    ALONE;
    for (size_t i = 0; i < d->pieces.size(); i++)
        if (d->pieces[i].first == ptr) {
            d->allocated_bytes -= d->pieces[i].second;
            d->pieces.erase(d->pieces.begin() + (std::ptrdiff_t)i);
            std::free(ptr);
            return;
        }
    if (ptr != NULL)
        fail("freed memory that is not the device's");
}

enum gnn_status gnn_device_pin(struct gnn_device *d, const char *name, void *host, uint64_t bytes, struct gnn_err *err)
{
    ALONE;
    doze("pin");
    if (nth(&cuda_host_refuse_pin))
        return gnn_fail(err, GNN_ENOMEM, "%s: the test's device refuses to pin it", name);
    for (uint64_t at = 0; at < bytes; at += 4096) { /* what is pinned is there */
        volatile char *const byte = static_cast<char *>(host) + at;
        *byte = *byte;
    }
    d->pins.push_back({host, bytes});
    return GNN_OK;
}

void gnn_device_unpin(struct gnn_device *d, void *host)
{
    ALONE;
    doze("unpin");
    for (size_t i = 0; i < d->pins.size(); i++)
        if (d->pins[i].first == host) {
            d->pins.erase(d->pins.begin() + (std::ptrdiff_t)i);
            return;
        }
    if (host != NULL)
        fail("unpinned memory that was not pinned");
}

static void must_be_pinned(const gnn_device *d, const void *host, uint64_t bytes)
{
    const char *at = static_cast<const char *>(host);
    for (const auto &pin : d->pins) {
        const char *base = static_cast<const char *>(pin.first);
        if (at >= base && at + bytes <= base + pin.second)
            return;
    }
    fail("a copy beside the host reads or writes memory that is not pinned");
}

/* Gives a copy to a stream, or fails as a device would. */
static void give_copy(gnn_device *d, uint32_t lane, const char *name, void *dst, const void *src, uint64_t bytes)
{
    if (nth(&cuda_host_fail_upload) && d->err.status == GNN_OK)
        (void)gnn_fail(&d->err, GNN_EIO, "%s: the test's device fails it", name);
    give(d, lane, name, [d, dst, src, bytes] {
        std::memmove(dst, src, bytes);
        d->now_ns += bytes;
    });
}

/* Likewise over the bus, with its time. */
static void give_crossing(gnn_device *d, uint32_t lane, const char *name, void *dst, const void *src, uint64_t bytes)
{
    gnn_device_copy_begin(d, lane);
    give_copy(d, lane, name, dst, src, bytes);
    gnn_device_copy_end(d, lane);
}

void gnn_device_upload(struct gnn_device *d, void *dst, const void *host_src, uint64_t bytes)
{
    ALONE;
    doze("upload");
    not_captured(d, "a copy that waits, in the midst of a captured step");
    gnn_device_count_upload(d, bytes);
    give_crossing(d, GNN_LANE_STREAM, "upload", dst, host_src, bytes);
}

void gnn_device_upload_ordered(struct gnn_device *d, void *dst, const void *pinned_src, uint64_t bytes)
{
    ALONE;
    must_be_pinned(d, pinned_src, bytes);
    gnn_device_count_upload(d, bytes);
    give_crossing(d, GNN_LANE_STREAM, "upload of staged arrays", dst, pinned_src, bytes);
}

void gnn_device_download(struct gnn_device *d, void *host_dst, const void *src, uint64_t bytes)
{
    ALONE;
    doze("download");
    not_captured(d, "a copy that waits, in the midst of a captured step");
    d->times.downloaded_bytes += bytes;
    give_crossing(d, GNN_LANE_STREAM, "download", host_dst, src, bytes);
}

void gnn_device_download_ordered(struct gnn_device *d, void *pinned_dst, const void *src, uint64_t bytes)
{
    ALONE;
    must_be_pinned(d, pinned_dst, bytes);
    d->times.downloaded_bytes += bytes;
    give_crossing(d, GNN_LANE_STREAM, "download", pinned_dst, src, bytes);
}

void gnn_device_copy(struct gnn_device *d, void *dst, const void *src, uint64_t bytes)
{
    give_copy(d, GNN_LANE_STREAM, "copy on the device", dst, src, bytes);
}

void gnn_device_upload_lane(struct gnn_device *d, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    ALONE;
    doze("copy in a lane");
    must_be_pinned(d, host_src, bytes);
    gnn_device_count_upload(d, bytes);
    give_crossing(d, lane, "upload in a lane", dst, host_src, bytes);
}

void gnn_device_count_upload(struct gnn_device *d, uint64_t bytes)
{
    ALONE;
    d->times.uploaded_bytes += bytes;
}

void gnn_device_wait_lane(struct gnn_device *d, uint32_t lane)
{
    ALONE;
    doze("wait for a lane");
    catch_up(d, lane, d->lanes[lane].given.size());
}

void gnn_device_synchronize(struct gnn_device *d)
{
    ALONE;
    doze("synchronize");
    not_captured(d, "a wait for the stream, in the midst of a captured step");
    cuda_host_clock clock = {d};
    d->busy.finish(clock, GNN_LANE_STREAM);
}

bool gnn_device_passed(struct gnn_device *d)
{
    not_captured(d, "a look at the stream, in the midst of a captured step");
    return true; /* it runs as it comes */
}

void gnn_device_choose(struct gnn_device *d)
{
    (void)d;
}

void *gnn_device_stream_of(struct gnn_device *d)
{
    not_captured(d, "another library in the midst of a captured step");
    return NULL; /* the stand-in for NCCL computes in the host's memory */
}

/* ---- events, captured steps, times ---- */

enum gnn_status gnn_device_event_open(struct gnn_device *d, struct gnn_event **out, struct gnn_err *err)
{
    ALONE;
    doze("event open");
    if (nth(&cuda_host_refuse_event))
        return gnn_fail(err, GNN_EGPU, "the test's device has no more events");
    *out = new gnn_event{GNN_LANE_STREAM, 0};
    d->events++;
    return GNN_OK;
}

void gnn_device_event_close(struct gnn_device *d, struct gnn_event *event)
{
    ALONE;
    d->events -= event != NULL;
    delete event;
}

void gnn_device_event_record(struct gnn_device *d, struct gnn_event *event, uint32_t lane)
{
    ALONE;
    doze("event record");
    if (lane == GNN_LANE_STREAM) /* lanes are other threads', and not captured */
        not_captured(d, "an event of another stream, in the midst of a captured step");
    *event = {lane, lane == GNN_LANE_STREAM ? 0 : d->lanes[lane].given.size()};
}

void gnn_device_event_wait(struct gnn_device *d, struct gnn_event *event)
{
    ALONE;
    doze("event wait");
    if (event->lane != GNN_LANE_STREAM)
        catch_up(d, event->lane, event->count);
}

void gnn_device_event_await(struct gnn_device *d, struct gnn_event *event, uint32_t lane)
{
    ALONE;
    doze("event await");
    const gnn_event point = *event; /* as it is now, though the event be recorded again */
    if (lane == GNN_LANE_STREAM) {  /* lanes are other threads', and not captured */
        not_captured(d, "an event of another stream, in the midst of a captured step");
        gnn_device_event_wait(d, event);
        return;
    }
    d->lanes[lane].copies.close();
    if (lane != point.lane && point.lane != GNN_LANE_STREAM) /* a lane is in order by itself, the stream runs at once */
        give(d, lane, "event", [d, point] { catch_up(d, point.lane, point.count); });
}

bool gnn_device_capture(struct gnn_device *d)
{
    ALONE;
    d->capturing = !cuda_host_no_capture;
    return d->capturing;
}

bool gnn_device_end_capture(struct gnn_device *d)
{
    ALONE;
    if (!d->capturing)
        fail("nothing is being captured");
    d->capturing = false;
    return true;
}

static std::vector<const char *> shape_of(const std::vector<cuda_host_work> &captured)
{
    std::vector<const char *> names;
    for (const cuda_host_work &work : captured)
        names.push_back(work.name);
    return names;
}

bool gnn_device_graph_update(struct gnn_device *d, uint32_t slot)
{
    ALONE;
    return shape_of(d->captured) == d->graphs[slot] && !d->captured.empty();
}

void gnn_device_graph_build(struct gnn_device *d, uint32_t slot)
{
    ALONE;
    d->graphs[slot] = shape_of(d->captured);
}

void gnn_device_graph_launch(struct gnn_device *d, uint32_t slot)
{
    ALONE;
    doze("graph");
    if (shape_of(d->captured) != d->graphs[slot])
        fail("a graph of another shape is launched");
    for (const cuda_host_work &work : d->captured)
        work.run();
    d->captured.clear();
}

void gnn_device_busy_begin(struct gnn_device *d)
{
    ALONE;
    cuda_host_clock clock = {d};
    d->busy.start(clock, GNN_LANE_STREAM);
}

void gnn_device_take_times(struct gnn_device *d, struct gnn_device_times *out)
{
    ALONE;
    doze("times");
    cuda_host_clock clock = {d};
    *out = d->times;
    out->kernel_ns = d->busy.take(clock);
    out->copy_ns = d->copies.take(clock);
    for (cuda_host_lane &lane : d->lanes)
        out->copy_ns += lane.copies.take(clock);
    d->times = {};
}

void gnn_device_range(struct gnn_device *d, const char *name)
{
    static thread_local uint32_t open = 0;
    (void)d;
    if (name != NULL && strcmp(name, "read") == 0) /* no lock: a range never waits for a kernel */
        (void)__atomic_fetch_add(&cuda_host_read_ranges, 1, __ATOMIC_RELAXED);
    if (name == NULL && open == 0)
        fail("a range was closed that nobody opened");
    open += name != NULL ? 1 : UINT32_MAX;
}

uint64_t gnn_device_sort_bytes(uint32_t count)
{
    return count + UINT64_C(1);
}

/* A stable sort of pairs. */
static void sort_pairs(const uint32_t *keys, uint32_t *keys_out, const uint32_t *values, uint32_t *values_out,
                       uint32_t count, uint32_t key_bits)
{
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    for (uint32_t i = 0; i < count; i++) {
        if (key_bits < 32 && keys[order[i]] >> key_bits != 0)
            fail("a key has more bits than were said");
        keys_out[i] = keys[order[i]];
        values_out[i] = values[order[i]];
    }
}

void gnn_device_sort(struct gnn_device *d, void *scratch, uint64_t scratch_bytes, const uint32_t *keys,
                     uint32_t *keys_out, const uint32_t *values, uint32_t *values_out, uint32_t count,
                     uint32_t key_bits)
{
    if (scratch_bytes < gnn_device_sort_bytes(count))
        fail("the sort has too little scratch");
    give(d, GNN_LANE_STREAM, "sort", [=] {
        std::memset(scratch, 0, gnn_device_sort_bytes(count));
        sort_pairs(keys, keys_out, values, values_out, count, key_bits);
    });
}

void gnn_device_gemm(struct gnn_device *d, bool trans_a, bool trans_b, float alpha, struct gnn_mat a, struct gnn_mat b,
                     float beta, struct gnn_mat c)
{
    give(d, GNN_LANE_STREAM, "GEMM", [=] { gnn_tensor_ref.gemm(NULL, trans_a, trans_b, alpha, a, b, beta, c); });
}

enum gnn_status gnn_device_check(const struct gnn_device *d, struct gnn_err *err)
{
    ALONE;
    return d->err.status == GNN_OK ? GNN_OK : gnn_fail(err, d->err.status, "%s", d->err.message);
}
