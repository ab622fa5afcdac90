/* SPDX-License-Identifier: MIT */
/* The model of device.h in integers.
 *
 * Source   The grid of a closed loop (profile.h): read_ps(size, depth), the time between two completions.
 *          Scattered reads have a grid of their own; what follows holds for either.
 * Latency  f(size, k) = k x read_ps(size, k) is how long a request stays in a closed loop of depth k (Little's law).
 *          Between depths of the grid f is linear in k: exact both where requests run side by side (f constant) and
 *          where they queue (f proportional to k); a knee between two grid points is cut by its chord. Beyond the
 *          last depth, or depth_max, f grows in proportion to k: the rest waits.
 *          Between sizes of the grid read_ps is linear in the size. Beyond the largest it goes on with the slope of
 *          the last two, but never faster than the best bandwidth seen at the largest; below the smallest it stays.
 * Weight   g(size) = the least read_ps over the depths: what a request costs the device when it is kept busy.
 * State    of a member device: the requests in flight with their weights (n requests, w picoseconds), and the time at
 *          which everything accepted so far could have been served one after the other at full speed (gate).
 * A read   that finds n others weighing w takes f(size, 1 + min(n, w / g)): others count as one each, or less when
 *          they are smaller; the one that ends next counts for the part of it that is still to come, so a caller who
 *          comes a little late leaves no device idle that had others to serve. It ends not before the gate, which
 *          moved on by g, unless that lies further off than (n + 1) x g: large requests do not hold a small one up for
 *          longer than its fair share of the device. Where all sizes are equal f keeps to the gate by itself, but for
 *          that part of a request.
 * A write  takes write_latency + bytes / bandwidth, behind the same gate, with g = max(1 / IOPS, bytes / bandwidth).
 * Mixture  Reads that take r of a device's time and writes that take w, each alone, take r + w + c x min(r, w)
 *          together: c = 0 they take turns, c = -1 they go side by side (a full-duplex drive), c > 0 they disturb each
 *          other. c is what makes the profile's mixed figure come out, 0 without one, at least -1; either kind alone is
 *          what it was. Request by request, while some of the other kind are in flight: g grows by
 *          g x c x min(s, 1 - s), s the share of writes in the device's work of late.
 * Burst    A device that has a sustained rate takes writes into a cache that empties at that rate. While there is room
 *          g is as above; a write that finds none waits for as much as it brings: g = bytes / sustained rate then. The
 *          room is such that write_burst bytes go at full speed from rest: burst x (1 - sustained / bandwidth). */
#include "harness/world/simulated/device.h"

#include "harness/world/simulated/time_queue.h"

#include <assert.h>
#include <string.h>

enum { SHAPES = 256, IN_FLIGHT_START = 256 };
static const uint64_t ps_per_ns = 1000, ps_per_s = UINT64_C(1000000000000), million = 1000000;
static const uint64_t of_late_ps = UINT64_C(20000000000); /* of work, between half of that and all */

typedef const uint64_t (*read_grid)[GNN_PROFILE_DEPTHS_MAX]; /* one of the profile's two */

/* Reads of one size out of one grid: computed once, then looked up. */
struct shape {
    uint64_t len_bytes; /* 0: empty */
    bool scattered;
    uint64_t weight_ps;
    uint64_t latency_ps[GNN_PROFILE_DEPTHS_MAX]; /* f at the depths of the grid */
};

struct member {
    struct sim_time_queue in_flight;      /* value: twice the request's weight, one more for a write */
    uint64_t weight_ps;                   /* of all in flight */
    uint64_t write_weight_ps;             /* of the writes among them */
    uint64_t late_read_ps, late_write_ps; /* weights of late, each alone; kept where a profile has a mixed figure */
    uint64_t cache_empty_ps;              /* then all that was written so far has left the write cache */
    uint64_t gate_ps;
    uint64_t since_ns; /* the last one ended then, or the first came to an idle device */
    uint64_t busy_until_ns;
};

struct sim_device {
    struct gnn_profile_storage storage;
    uint32_t depth_count;    /* of the grid, up to depth_max */
    int64_t mixed_ppm;       /* c, in millionths */
    uint64_t cache_drain_ps; /* a full write cache takes so long to empty */
    uint64_t last_now_ns;
    struct shape shapes[SHAPES];
    struct member *members; /* (storage.devices) */
    struct sim_device_counts counts;
};

/* ---- arithmetic ---- */

static uint64_t mul_div(uint64_t a, uint64_t b, uint64_t divisor)
{
    uint64_t product;
    if (!__builtin_mul_overflow(a, b, &product)) /* nearly always; dividing 128 bits is slow */
        return product / divisor;
    const unsigned __int128 quotient = (unsigned __int128)a * b / divisor;
    assert(quotient <= UINT64_MAX);
    return (uint64_t)quotient;
}

typedef unsigned __int128 wide;

/* How long so many bytes take at that rate. */
static wide bytes_ps(uint64_t bytes, uint64_t bytes_per_s)
{
    return (wide)bytes * ps_per_s / bytes_per_s;
}

/* At most ages, 53 days: whatever the figures of a slowed device come to. */
static uint64_t at_most_ages(wide ps)
{
    static const uint64_t ages_ps = UINT64_MAX / 4;
    return ps < ages_ps ? (uint64_t)ps : ages_ps;
}

/* The line through (x0, y0) and (x1, y1) at x in [x0, x1]. */
static uint64_t between(uint64_t x, uint64_t x0, uint64_t x1, uint64_t y0, uint64_t y1)
{
    return y1 >= y0 ? y0 + mul_div(y1 - y0, x - x0, x1 - x0) : y0 - mul_div(y0 - y1, x - x0, x1 - x0);
}

/* ---- the grid ---- */

/* Picoseconds a byte at best, at the largest size, of len_bytes. */
static uint64_t fastest_ps(const struct sim_device *device, read_grid ps, uint64_t len_bytes)
{
    const struct gnn_profile_storage *g = &device->storage;
    const uint32_t last = g->size_count - 1;
    uint64_t least_ps = UINT64_MAX;
    for (uint32_t d = 0; d < device->depth_count; d++)
        least_ps = gnn_min_u64(ps[last][d], least_ps);
    return mul_div(least_ps, len_bytes, g->size_bytes[last]);
}

static uint64_t beyond_largest(const struct sim_device *device, read_grid ps, uint64_t len_bytes, uint32_t d)
{
    const struct gnn_profile_storage *g = &device->storage;
    const uint32_t last = g->size_count - 1;
    const uint64_t last_ps = ps[last][d];
    const uint64_t floor_ps = fastest_ps(device, ps, len_bytes);
    if (last == 0)
        return mul_div(last_ps, len_bytes, g->size_bytes[0]);
    const uint64_t previous_ps = ps[last - 1][d];
    const uint64_t rise_ps = last_ps > previous_ps ? last_ps - previous_ps : 0;
    const uint64_t on_ps =
        last_ps + mul_div(rise_ps, len_bytes - g->size_bytes[last], g->size_bytes[last] - g->size_bytes[last - 1]);
    return gnn_max_u64(on_ps, floor_ps);
}

static uint64_t read_ps(const struct sim_device *device, read_grid ps, uint64_t len_bytes, uint32_t d)
{
    const struct gnn_profile_storage *g = &device->storage;
    if (len_bytes <= g->size_bytes[0])
        return ps[0][d];
    for (uint32_t s = 1; s < g->size_count; s++)
        if (len_bytes <= g->size_bytes[s])
            return between(len_bytes, g->size_bytes[s - 1], g->size_bytes[s], ps[s - 1][d], ps[s][d]);
    return beyond_largest(device, ps, len_bytes, d);
}

static const struct shape *shape_of(struct sim_device *device, uint64_t len_bytes, bool scattered)
{
    const uint64_t hash = ((2 * len_bytes + scattered) * UINT64_C(0x9e3779b97f4a7c15)) >> 56;
    struct shape *shape = &device->shapes[hash % SHAPES];
    if (shape->len_bytes == len_bytes && shape->scattered == scattered)
        return shape;
    *shape = (struct shape){.len_bytes = len_bytes, .scattered = scattered, .weight_ps = UINT64_MAX};
    read_grid grid = scattered ? device->storage.scattered_ps : device->storage.read_ps;
    for (uint32_t d = 0; d < device->depth_count; d++) {
        const uint64_t ps = read_ps(device, grid, len_bytes, d);
        if (__builtin_mul_overflow(ps, device->storage.depth[d], &shape->latency_ps[d]))
            shape->latency_ps[d] = UINT64_MAX;
        shape->weight_ps = gnn_min_u64(ps, shape->weight_ps);
    }
    return shape;
}

/* f: how long the k-th in flight takes. */
static uint64_t latency_ps(const struct sim_device *device, const struct shape *shape, uint64_t k)
{
    const uint32_t *const depth = device->storage.depth;
    const uint32_t last = device->depth_count - 1;
    if (k >= depth[last])
        return k == depth[last] ? shape->latency_ps[last] : mul_div(shape->latency_ps[last], k, depth[last]);
    uint32_t d = 0;
    while (k > depth[d])
        d++;
    if (k == depth[d])
        return shape->latency_ps[d];
    return between(k, depth[d - 1], depth[d], shape->latency_ps[d - 1], shape->latency_ps[d]);
}

/* ---- one member ---- */

static void retire(struct member *m, uint64_t now_ns)
{
    const struct sim_timed *first = sim_time_queue_first(&m->in_flight);
    while (first != NULL && first->time_ns <= now_ns) {
        const uint64_t weight_ps = first->value / 2, written_ps = first->value % 2 == 0 ? 0 : weight_ps;
        assert(m->weight_ps >= weight_ps);
        assert(m->write_weight_ps >= written_ps);
        m->weight_ps -= weight_ps;
        m->write_weight_ps -= written_ps;
        m->since_ns = first->time_ns;
        sim_time_queue_drop(&m->in_flight);
        first = sim_time_queue_first(&m->in_flight);
    }
}

/* How many others a request of this weight counts. */
static uint64_t others_of(const struct member *m, uint64_t weight_ps)
{
    const uint64_t n = m->in_flight.count;
    if (weight_ps == 0 || m->weight_ps == n * weight_ps)
        return n;
    const uint64_t in_weight = m->weight_ps / weight_ps;
    return gnn_min_u64(in_weight, n);
}

/* Notes a request; returns what it weighs beside those of the other kind. */
static uint64_t mixed_weight_ps(const struct sim_device *device, struct member *m, uint64_t weight_ps, bool write)
{
    if (device->mixed_ppm == 0)
        return weight_ps;
    *(write ? &m->late_write_ps : &m->late_read_ps) += weight_ps;
    if (m->late_read_ps + m->late_write_ps > of_late_ps) {
        m->late_read_ps /= 2;
        m->late_write_ps /= 2;
    }
    const uint64_t other_ps = write ? m->weight_ps - m->write_weight_ps : m->write_weight_ps;
    const uint64_t late_ps = m->late_read_ps + m->late_write_ps;
    if (other_ps == 0 || late_ps == 0)
        return weight_ps;
    const uint64_t disturbed_ps = mul_div(weight_ps, gnn_min_u64(m->late_read_ps, m->late_write_ps), late_ps);
    return device->mixed_ppm < 0 ? weight_ps - mul_div(disturbed_ps, (uint64_t)-device->mixed_ppm, million)
                                 : weight_ps + mul_div(disturbed_ps, (uint64_t)device->mixed_ppm, million);
}

/* Takes in a request that needs taken_ps at least: when it is done. */
static uint64_t accept(struct sim_device *device, struct member *m, uint64_t now_ns, uint64_t taken_ps,
                       uint64_t alone_ps, bool write)
{
    const uint64_t weight_ps = mixed_weight_ps(device, m, alone_ps, write);
    const uint64_t now_ps = now_ns * ps_per_ns;
    m->gate_ps = gnn_max_u64(m->gate_ps, now_ps) + weight_ps;
    const uint64_t fair_ps = now_ps + (m->in_flight.count + 1) * weight_ps;
    const uint64_t gate_ps = gnn_min_u64(m->gate_ps, fair_ps);
    const uint64_t done_ps = gnn_max_u64(now_ps + taken_ps, gate_ps);
    const uint64_t done_ns = (done_ps + ps_per_ns - 1) / ps_per_ns;
    if (m->in_flight.count == 0)
        m->since_ns = now_ns;
    sim_time_queue_add(&m->in_flight, done_ns, 2 * weight_ps + (write ? 1 : 0));
    m->weight_ps += weight_ps;
    m->write_weight_ps += write ? weight_ps : 0;
    if (done_ns > m->busy_until_ns) {
        device->counts.busy_ns += done_ns - gnn_max_u64(m->busy_until_ns, now_ns);
        m->busy_until_ns = done_ns;
    }
    return done_ns;
}

/* f of as many as are there and this one, less what the next of them to end has behind it. */
static uint64_t read_takes_ps(const struct sim_device *device, const struct member *m, uint64_t now_ns,
                              const struct shape *shape)
{
    const uint64_t others = others_of(m, shape->weight_ps);
    const uint64_t full_ps = latency_ps(device, shape, others + 1);
    if (others == 0 || now_ns == m->since_ns)
        return full_ps;
    const uint64_t without_ps = latency_ps(device, shape, others);
    const uint64_t next_ns = sim_time_queue_first(&m->in_flight)->time_ns;
    assert(m->since_ns < now_ns);
    assert(now_ns < next_ns);
    return between(now_ns, m->since_ns, next_ns, full_ps, without_ps);
}

static uint64_t read_shape(struct sim_device *device, struct member *m, uint64_t now_ns, const struct shape *shape)
{
    const uint64_t len_bytes = shape->len_bytes;
    device->counts.read_bytes += len_bytes;
    device->counts.read_ios++;
    gnn_sizes_add(&device->counts.read_sizes, len_bytes);
    retire(m, now_ns);
    return accept(device, m, now_ns, read_takes_ps(device, m, now_ns, shape), shape->weight_ps, false);
}

static uint64_t read_member(struct sim_device *device, struct member *m, uint64_t now_ns, uint64_t len_bytes)
{
    return read_shape(device, m, now_ns, shape_of(device, len_bytes, false));
}

static uint64_t read_member_scattered(struct sim_device *device, struct member *m, uint64_t now_ns, uint64_t len_bytes)
{
    return read_shape(device, m, now_ns, shape_of(device, len_bytes, true));
}

/* g of a write without a cache that fills. */
static uint64_t write_weight_ps(const struct gnn_profile_storage *g, uint64_t len_bytes)
{
    const uint64_t transfer_ps = mul_div(len_bytes, ps_per_s, g->write_bytes_per_s);
    const uint64_t io_ps = g->write_iops == 0 ? 0 : ps_per_s / g->write_iops;
    return gnn_max_u64(transfer_ps, io_ps);
}

/* Puts a write into the device's cache when its turn comes: what it weighs there. */
static uint64_t cached_weight_ps(const struct sim_device *device, struct member *m, uint64_t now_ns, uint64_t len_bytes,
                                 uint64_t weight_ps)
{
    const struct gnn_profile_storage *const g = &device->storage;
    if (g->write_sustained_bytes_per_s == 0)
        return weight_ps;
    const uint64_t begin_ps = gnn_max_u64(m->gate_ps, now_ns * ps_per_ns);
    const uint64_t drain_ps = at_most_ages(bytes_ps(len_bytes, g->write_sustained_bytes_per_s));
    m->cache_empty_ps = gnn_max_u64(m->cache_empty_ps, begin_ps) + drain_ps;
    const uint64_t filled_ps = m->cache_empty_ps - begin_ps;
    return filled_ps > device->cache_drain_ps ? gnn_max_u64(weight_ps, filled_ps - device->cache_drain_ps) : weight_ps;
}

static uint64_t write_member(struct sim_device *device, struct member *m, uint64_t now_ns, uint64_t len_bytes)
{
    device->counts.write_bytes += len_bytes;
    device->counts.write_ios++;
    retire(m, now_ns);
    const struct gnn_profile_storage *g = &device->storage;
    const uint64_t transfer_ps = mul_div(len_bytes, ps_per_s, g->write_bytes_per_s);
    const uint64_t weight_ps = cached_weight_ps(device, m, now_ns, len_bytes, write_weight_ps(g, len_bytes));
    return accept(device, m, now_ns, g->write_latency_ns * ps_per_ns + transfer_ps, weight_ps, true);
}

/* ---- RAID-0 ---- */

typedef uint64_t member_fn(struct sim_device *device, struct member *m, uint64_t now_ns, uint64_t len_bytes);

static uint64_t request(struct sim_device *device, uint64_t now_ns, uint64_t offset_bytes, uint64_t len_bytes,
                        member_fn *serve)
{
    assert(len_bytes > 0);
    assert(now_ns >= device->last_now_ns);
    assert(now_ns < UINT64_MAX / ps_per_ns / 2);
    device->last_now_ns = now_ns;
    if (device->storage.devices == 1)
        return serve(device, &device->members[0], now_ns, len_bytes);
    const uint64_t stripe_bytes = device->storage.stripe_bytes;
    uint64_t done_ns = now_ns;
    while (len_bytes > 0) {
        const uint64_t stripe = offset_bytes / stripe_bytes;
        const uint64_t left_bytes = (stripe + 1) * stripe_bytes - offset_bytes;
        const uint64_t part_bytes = gnn_min_u64(len_bytes, left_bytes);
        const uint64_t part_ns = serve(device, &device->members[stripe % device->storage.devices], now_ns, part_bytes);
        done_ns = gnn_max_u64(part_ns, done_ns);
        offset_bytes += part_bytes;
        len_bytes -= part_bytes;
    }
    return done_ns;
}

uint64_t sim_device_read(struct sim_device *device, uint64_t now_ns, uint64_t offset_bytes, uint64_t len_bytes)
{
    return request(device, now_ns, offset_bytes, len_bytes, read_member);
}

uint64_t sim_device_read_scattered(struct sim_device *device, uint64_t now_ns, uint64_t offset_bytes,
                                   uint64_t len_bytes)
{
    return request(device, now_ns, offset_bytes, len_bytes, read_member_scattered);
}

uint64_t sim_device_write(struct sim_device *device, uint64_t now_ns, uint64_t offset_bytes, uint64_t len_bytes)
{
    return request(device, now_ns, offset_bytes, len_bytes, write_member);
}

void sim_device_counts(const struct sim_device *device, struct sim_device_counts *out)
{
    *out = device->counts;
}

/* ---- open, close ---- */

static enum gnn_status check_axes(const struct gnn_profile_storage *g, struct gnn_err *err)
{
    bool sound = g->devices > 0 && g->stripe_bytes > 0 && g->depth_max > 0 && g->write_bytes_per_s > 0 &&
                 g->write_sustained_bytes_per_s <= g->write_bytes_per_s && g->size_count > 0 &&
                 g->size_count <= GNN_PROFILE_SIZES_MAX && g->depth_count > 0 &&
                 g->depth_count <= GNN_PROFILE_DEPTHS_MAX && g->depth[0] == 1 && g->size_bytes[0] > 0;
    for (uint32_t s = 1; sound && s < g->size_count; s++)
        sound = g->size_bytes[s] > g->size_bytes[s - 1];
    for (uint32_t d = 1; sound && d < g->depth_count; d++)
        sound = g->depth[d] > g->depth[d - 1];
    if (!sound)
        return gnn_fail(err, GNN_EFORMAT,
                        "storage of the profile: devices, stripe, depths, sizes and write bandwidth are positive, "
                        "sizes and depths ascend, the first depth is 1, the sustained write rate is no higher");
    for (uint32_t s = 0; s < g->size_count; s++)
        for (uint32_t d = 0; d < g->depth_count; d++)
            if (g->read_ps[s][d] == 0)
                return gnn_fail(err, GNN_EFORMAT, "storage of the profile: no time for reads of %llu bytes at depth %u",
                                (unsigned long long)g->size_bytes[s], g->depth[d]);
    return GNN_OK;
}

/* Makes ps[count], of a row, that of depth_max, which lies between the two depths there. */
static void cut_row(const struct gnn_profile_storage *g, uint64_t ps[GNN_PROFILE_DEPTHS_MAX], uint32_t count)
{
    const uint32_t low = g->depth[count - 1], high = g->depth[count];
    ps[count] = between(g->depth_max, low, high, ps[count - 1] * low, ps[count] * high) / g->depth_max;
}

/* The grid ends at depth_max: where that lies between two depths it becomes one. */
static void cut_depths(struct sim_device *device)
{
    struct gnn_profile_storage *g = &device->storage;
    uint32_t count = 1;
    while (count < g->depth_count && g->depth[count] <= g->depth_max)
        count++;
    device->depth_count = count;
    const uint32_t low = g->depth[count - 1];
    if (count == g->depth_count || g->depth_max == low)
        return;
    for (uint32_t s = 0; s < g->size_count; s++) {
        cut_row(g, g->read_ps[s], count);
        cut_row(g, g->scattered_ps[s], count);
    }
    g->depth[count] = g->depth_max;
    device->depth_count++;
}

/* c from the profile's mixed figure. */
static int64_t mixed_ppm_of(struct sim_device *device)
{
    const struct gnn_profile_storage *const g = &device->storage;
    if (g->mixed_bytes_per_s == 0)
        return 0;
    const uint64_t read_ps = shape_of(device, GNN_MIXED_BYTES, false)->weight_ps * GNN_MIXED_READ_PERCENT / 100;
    const uint64_t write_ps = write_weight_ps(g, GNN_MIXED_BYTES) * (100 - GNN_MIXED_READ_PERCENT) / 100;
    const uint64_t together_ps = mul_div(GNN_MIXED_BYTES, ps_per_s, g->mixed_bytes_per_s);
    const uint64_t lesser_ps = gnn_max_u64(gnn_min_u64(read_ps, write_ps), 1);
    if (together_ps >= read_ps + write_ps)
        return (int64_t)mul_div(together_ps - read_ps - write_ps, million, lesser_ps);
    const uint64_t saved_ppm = mul_div(read_ps + write_ps - together_ps, million, lesser_ps);
    return -(int64_t)gnn_min_u64(saved_ppm, million);
}

/* How long the write cache takes to empty when it is full. */
static uint64_t cache_drain_ps_of(const struct gnn_profile_storage *g)
{
    if (g->write_sustained_bytes_per_s == 0)
        return 0;
    return at_most_ages(bytes_ps(g->write_burst_bytes, g->write_sustained_bytes_per_s) -
                        bytes_ps(g->write_burst_bytes, g->write_bytes_per_s));
}

/* Sizes that have no figures for scattered reads take those they have. */
static void complete_scattered(struct gnn_profile_storage *g)
{
    for (uint32_t s = 0; s < g->size_count; s++)
        if (g->scattered_ps[s][0] == 0)
            memcpy(g->scattered_ps[s], g->read_ps[s], sizeof g->read_ps[s]);
}

enum gnn_status sim_device_open(const struct gnn_profile_storage *storage, struct sim_device **out, struct gnn_err *err)
{
    *out = NULL;
    GNN_TRY(check_axes(storage, err));
    struct sim_device *device;
    GNN_NEW(device, 1, err, "storage device: %zu bytes", sizeof *device);
    *out = device;
    device->storage = *storage;
    complete_scattered(&device->storage);
    cut_depths(device);
    device->mixed_ppm = mixed_ppm_of(device);
    device->cache_drain_ps = cache_drain_ps_of(storage);
    GNN_NEW(device->members, storage->devices, err, "storage device of %u members", storage->devices);
    for (uint32_t i = 0; i < storage->devices; i++)
        if (!sim_time_queue_open(&device->members[i].in_flight, IN_FLIGHT_START))
            return gnn_fail(err, GNN_ENOMEM, "storage device of %u members", storage->devices);
    return GNN_OK;
}

void sim_device_close(struct sim_device *device)
{
    if (device == NULL)
        return;
    for (uint32_t i = 0; device->members != NULL && i < device->storage.devices; i++)
        sim_time_queue_close(&device->members[i].in_flight);
    free(device->members);
    free(device);
}
