/* SPDX-License-Identifier: MIT */
/* runtime.h in host memory. Copies and kernels are queued in streams (cuda_host_streams.h). The device fails the test
 * where CUDA would fail a call, and where a GPU would use memory that is no longer its own. */
#include "tests/support/cuda_host_streams.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "harness/tensor/cuda/spans.h"
#include "tests/support/cuda_host_ptx.h"

/* spans.h on the launcher. */
struct cuda_host_clock {
    using event = cuda_host_point;
    struct gnn_device *device;

    void record(cuda_host_point *point, uint32_t lane);
    bool passed(const cuda_host_point &point)
    {
        return point == NULL || point->passed;
    }
    uint64_t ns_between(const cuda_host_point &begin, const cuda_host_point &end);
};
using cuda_host_spans = gnn_spans<cuda_host_clock>;

struct gnn_event {
    cuda_host_point point; /* NULL: not recorded yet, or passed */
};

struct gnn_device {
    uint32_t number;
    cuda_host_streams streams;
    uint64_t allocated_bytes;
    std::vector<std::pair<void *, uint64_t>> pieces, pins;
    uint64_t capacity_bytes;
    std::atomic<std::thread::id> capturer; /* the thread that records a step */
    std::vector<cuda_host_work> captured;
    std::vector<const char *> graphs[GNN_STEP_GRAPHS]; /* by the names of their launches; empty: none */
    gnn_device_times times;
    cuda_host_spans copies, busy, held; /* of the stream */
    cuda_host_spans lane_copies[GNN_LANES_MAX];
    std::vector<char> driver;
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
uint32_t cuda_host_fail_capture = 0; /* the nth recording of a step fails at its end */
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

static void fail(const char *what)
{
    cuda_host_fail(what);
}

/* Whether the calling thread records a step. Other threads may do meanwhile what it may not. */
static bool captures(const gnn_device *d)
{
    return d->capturer.load() == std::this_thread::get_id();
}

static void not_captured(const gnn_device *d, const char *what)
{
    if (captures(d))
        fail(what);
}

static void give(gnn_device *d, uint32_t lane, cuda_host_work work)
{
    ALONE;
    if (lane == GNN_LANE_STREAM && captures(d)) {
        d->streams.spend(cuda_host_capture_ns);
        d->captured.push_back(std::move(work));
    } else {
        d->streams.give(cuda_host_streams::line_of(lane), std::move(work));
    }
}

/* ---- times of copies ---- */

void cuda_host_clock::record(cuda_host_point *point, uint32_t lane)
{
    *point = device->streams.mark(cuda_host_streams::line_of(lane), "time");
}

uint64_t cuda_host_clock::ns_between(const cuda_host_point &begin, const cuda_host_point &end)
{
    if (!passed(begin) || !passed(end) || end->at_ns < begin->at_ns)
        fail("a span ends before it begins");
    return end->at_ns - begin->at_ns;
}

static cuda_host_spans *copies_of(gnn_device *d, uint32_t lane)
{
    return lane == GNN_LANE_STREAM ? &d->copies : &d->lane_copies[lane];
}

void gnn_device_copy_begin(struct gnn_device *d, uint32_t lane)
{
    ALONE;
    cuda_host_clock clock = {d};
    if (lane != GNN_LANE_STREAM || !captures(d))
        copies_of(d, lane)->copy_begin(clock, lane);
}

void gnn_device_copy_end(struct gnn_device *d, uint32_t lane)
{
    ALONE;
    cuda_host_clock clock = {d};
    if (lane == GNN_LANE_STREAM && captures(d))
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

/* The words of a kernel's arguments: among them are the addresses that it uses. */
static std::vector<uint64_t> words_of(const cuda_host_call &call)
{
    std::vector<uint64_t> words;
    for (const std::string &argument : call.arguments)
        for (size_t at = 0; at + sizeof(uint64_t) <= argument.size(); at += sizeof(uint64_t)) {
            uint64_t word = 0;
            std::memcpy(&word, argument.data() + at, sizeof word);
            words.push_back(word);
        }
    return words;
}

static void run_kernel(const gnn_device *d, uint32_t blocks, const cuda_host_call &call)
{
    if (!cuda_host_ptx_asked())
        cuda_host_launch(blocks, GNN_BLOCK_THREADS, call.run);
    else if (const std::string fault = cuda_host_ptx_launch(call, blocks, GNN_BLOCK_THREADS, ranges_of(d));
             !fault.empty()) {
        std::fprintf(stderr, "cuda_host: %s\n", fault.c_str());
        std::abort();
    }
}

void cuda_host_enqueue(gnn_device *d, uint32_t lane, const char *name, uint32_t blocks, const cuda_host_call &call)
{
    ALONE;
    doze("launch");
    d->times.launches++;
    if (!captures(d))
        d->streams.spend(cuda_host_launch_ns);
    if (lane == GNN_LANE_STREAM)
        gnn_device_work_begin(d);
    give(d, lane, {name, 1, [d, blocks, call] { run_kernel(d, blocks, call); }, {}, {}, words_of(call), 0});
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
    (*out)->streams.host_ns = cuda_host_clock_ns;
    (*out)->capacity_bytes = cuda_host_capacity_bytes;
    (*out)->driver.assign(cuda_host_driver_bytes, 1);
    return GNN_OK;
}

void gnn_device_close(struct gnn_device *d)
{
    if (d == NULL)
        return;
    for (uint32_t line = 0; line < cuda_host_streams::LINES; line++)
        if (!d->streams.idle(line))
            fail("a stream's work was not waited for");
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
    not_captured(d, "memory is allocated in the midst of a captured step");
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
    if (ptr == NULL)
        return;
    not_captured(d, "memory is freed in the midst of a captured step");
    d->streams.drain_all();
    for (size_t i = 0; i < d->pieces.size(); i++)
        if (d->pieces[i].first == ptr) {
            d->allocated_bytes -= d->pieces[i].second;
            d->pieces.erase(d->pieces.begin() + (std::ptrdiff_t)i);
            std::free(ptr);
            return;
        }
    fail("freed memory that is not the device's");
}

enum gnn_status gnn_device_pin(struct gnn_device *d, const char *name, void *host, uint64_t bytes, struct gnn_err *err)
{
    ALONE;
    doze("pin");
    not_captured(d, "memory is pinned in the midst of a captured step");
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
    not_captured(d, "memory is unpinned in the midst of a captured step");
    for (size_t i = 0; i < d->pins.size(); i++)
        if (d->pins[i].first == host) {
            if (const char *const user = d->streams.user_of(host, d->pins[i].second); user != NULL)
                fail((std::string("memory is unpinned, and queued work may still use it: ") + user).c_str());
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

static uint64_t address_of(const void *at)
{
    return reinterpret_cast<uintptr_t>(at);
}

/* Gives a copy to a stream, or fails as a device would. */
static void give_copy(gnn_device *d, uint32_t lane, const char *name, void *dst, const void *src, uint64_t bytes)
{
    if (nth(&cuda_host_fail_upload) && d->err.status == GNN_OK)
        (void)gnn_fail(&d->err, GNN_EIO, "%s: the test's device fails it", name);
    give(d, lane,
         {name,
          bytes,
          [dst, src, bytes] { std::memmove(dst, src, bytes); },
          {},
          {},
          {address_of(dst), address_of(src)},
          0});
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
    d->streams.drain(cuda_host_streams::STREAM);
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
    d->streams.drain(cuda_host_streams::STREAM);
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
    ALONE;
    gnn_device_work_begin(d);
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
    d->streams.drain(lane);
}

void gnn_device_synchronize(struct gnn_device *d)
{
    ALONE;
    doze("synchronize");
    not_captured(d, "a wait for the stream, in the midst of a captured step");
    cuda_host_clock clock = {d};
    d->busy.finish(clock, GNN_LANE_STREAM);
    d->held.finish(clock, GNN_LANE_STREAM);
    d->streams.drain(cuda_host_streams::STREAM);
}

bool gnn_device_passed(struct gnn_device *d)
{
    ALONE;
    not_captured(d, "a look at the stream, in the midst of a captured step");
    return !d->streams.step(cuda_host_streams::STREAM);
}

void gnn_device_choose(struct gnn_device *d)
{
    (void)d;
}

void *gnn_device_stream_of(struct gnn_device *d)
{
    ALONE;
    not_captured(d, "another library in the midst of a captured step");
    d->streams.drain(cuda_host_streams::STREAM);
    return NULL; /* the stand-in for NCCL computes in the host's memory, at once */
}

/* ---- events, captured steps, times ---- */

enum gnn_status gnn_device_event_open(struct gnn_device *d, struct gnn_event **out, struct gnn_err *err)
{
    ALONE;
    doze("event open");
    if (nth(&cuda_host_refuse_event))
        return gnn_fail(err, GNN_EGPU, "the test's device has no more events");
    *out = new gnn_event{};
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
    event->point = d->streams.mark(cuda_host_streams::line_of(lane), "event");
}

void gnn_device_event_wait(struct gnn_device *d, struct gnn_event *event)
{
    ALONE;
    doze("event wait");
    d->streams.reach(event->point);
}

void gnn_device_event_await(struct gnn_device *d, struct gnn_event *event, uint32_t lane)
{
    ALONE;
    doze("event await");
    if (lane == GNN_LANE_STREAM) /* lanes are other threads', and not captured */
        not_captured(d, "an event of another stream, in the midst of a captured step");
    else
        d->lane_copies[lane].close();
    give(d, lane, {"event", 0, {}, {}, event->point, {}, 0}); /* as it is now, though the event be recorded again */
}

bool gnn_device_capture(struct gnn_device *d)
{
    ALONE;
    if (!cuda_host_no_capture)
        d->capturer = std::this_thread::get_id();
    return !cuda_host_no_capture;
}

bool gnn_device_end_capture(struct gnn_device *d)
{
    ALONE;
    if (!captures(d))
        fail("nothing is being captured");
    d->capturer = std::thread::id();
    if (!nth(&cuda_host_fail_capture))
        return true;
    d->captured.clear();
    return false;
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
    gnn_device_work_begin(d);
    for (cuda_host_work &work : d->captured)
        d->streams.give(cuda_host_streams::STREAM, std::move(work));
    d->captured.clear();
}

void gnn_device_held_begin(struct gnn_device *d)
{
    ALONE;
    cuda_host_clock clock = {d};
    d->held.start(clock, GNN_LANE_STREAM);
}

void gnn_device_work_begin(struct gnn_device *d)
{
    ALONE;
    cuda_host_clock clock = {d};
    if (!captures(d))
        d->busy.start(clock, GNN_LANE_STREAM);
}

void gnn_device_work_end(struct gnn_device *d)
{
    ALONE;
    cuda_host_clock clock = {d};
    if (!captures(d))
        d->busy.finish(clock, GNN_LANE_STREAM);
}

void gnn_device_take_times(struct gnn_device *d, struct gnn_device_times *out)
{
    ALONE;
    doze("times");
    cuda_host_clock clock = {d};
    *out = d->times;
    out->kernel_ns = d->busy.take(clock);
    out->held_ns = d->held.take(clock);
    out->copy_ns = d->copies.take(clock);
    for (cuda_host_spans &copies : d->lane_copies)
        out->copy_ns += copies.take(clock);
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
    const auto sort = [=] {
        std::memset(scratch, 0, gnn_device_sort_bytes(count));
        sort_pairs(keys, keys_out, values, values_out, count, key_bits);
    };
    gnn_device_work_begin(d);
    give(d, GNN_LANE_STREAM, {"sort", 0, sort, {}, {}, {}, 0});
}

void gnn_device_gemm(struct gnn_device *d, bool trans_a, bool trans_b, float alpha, struct gnn_mat a, struct gnn_mat b,
                     float beta, struct gnn_mat c)
{
    gnn_device_work_begin(d);
    give(d, GNN_LANE_STREAM,
         {"GEMM", 0, [=] { gnn_tensor_ref.gemm(NULL, trans_a, trans_b, alpha, a, b, beta, c); }, {}, {}, {}, 0});
}

enum gnn_status gnn_device_check(const struct gnn_device *d, struct gnn_err *err)
{
    ALONE;
    return d->err.status == GNN_OK ? GNN_OK : gnn_fail(err, d->err.status, "%s", d->err.message);
}
