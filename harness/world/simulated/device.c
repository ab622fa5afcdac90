/* The model of device.h in integers.
 *
 * Source   The grid of a closed loop (profile.h): read_ps(size, depth), the time between two completions.
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
 * A write  takes write_latency + bytes / bandwidth, behind the same gate, with g = max(1 / IOPS, bytes / bandwidth). */
#include "harness/world/simulated/device.h"

#include "harness/world/simulated/time_queue.h"

#include <assert.h>

enum { SHAPES = 256, IN_FLIGHT_START = 256 };
static const uint64_t ps_per_ns = 1000, ps_per_s = UINT64_C(1000000000000);

/* Reads of one size: computed once, then looked up. */
struct shape {
    uint64_t len_bytes; /* 0: empty */
    uint64_t weight_ps;
    uint64_t latency_ps[GNN_PROFILE_DEPTHS_MAX]; /* f at the depths of the grid */
};

struct member {
    struct sim_time_queue in_flight; /* value: the request's weight */
    uint64_t weight_ps;              /* of all in flight */
    uint64_t gate_ps;
    uint64_t since_ns; /* the last one ended then, or the first came to an idle device */
    uint64_t busy_until_ns;
};

struct sim_device {
    struct gnn_profile_storage storage;
    uint32_t depth_count; /* of the grid, up to depth_max */
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

/* The line through (x0, y0) and (x1, y1) at x in [x0, x1]. */
static uint64_t between(uint64_t x, uint64_t x0, uint64_t x1, uint64_t y0, uint64_t y1)
{
    return y1 >= y0 ? y0 + mul_div(y1 - y0, x - x0, x1 - x0) : y0 - mul_div(y0 - y1, x - x0, x1 - x0);
}

/* ---- the grid ---- */

/* Picoseconds a byte at best, at the largest size, of len_bytes. */
static uint64_t fastest_ps(const struct sim_device *device, uint64_t len_bytes)
{
    const struct gnn_profile_storage *g = &device->storage;
    const uint32_t last = g->size_count - 1;
    uint64_t least_ps = UINT64_MAX;
    for (uint32_t d = 0; d < device->depth_count; d++)
        least_ps = gnn_min_u64(g->read_ps[last][d], least_ps);
    return mul_div(least_ps, len_bytes, g->size_bytes[last]);
}

static uint64_t beyond_largest(const struct sim_device *device, uint64_t len_bytes, uint32_t d)
{
    const struct gnn_profile_storage *g = &device->storage;
    const uint32_t last = g->size_count - 1;
    const uint64_t last_ps = g->read_ps[last][d];
    const uint64_t floor_ps = fastest_ps(device, len_bytes);
    if (last == 0)
        return mul_div(last_ps, len_bytes, g->size_bytes[0]);
    const uint64_t previous_ps = g->read_ps[last - 1][d];
    const uint64_t rise_ps = last_ps > previous_ps ? last_ps - previous_ps : 0;
    const uint64_t on_ps =
        last_ps + mul_div(rise_ps, len_bytes - g->size_bytes[last], g->size_bytes[last] - g->size_bytes[last - 1]);
    return gnn_max_u64(on_ps, floor_ps);
}

static uint64_t read_ps(const struct sim_device *device, uint64_t len_bytes, uint32_t d)
{
    const struct gnn_profile_storage *g = &device->storage;
    if (len_bytes <= g->size_bytes[0])
        return g->read_ps[0][d];
    for (uint32_t s = 1; s < g->size_count; s++)
        if (len_bytes <= g->size_bytes[s])
            return between(len_bytes, g->size_bytes[s - 1], g->size_bytes[s], g->read_ps[s - 1][d], g->read_ps[s][d]);
    return beyond_largest(device, len_bytes, d);
}

static const struct shape *shape_of(struct sim_device *device, uint64_t len_bytes)
{
    const uint64_t hash = (len_bytes * UINT64_C(0x9e3779b97f4a7c15)) >> 56;
    struct shape *shape = &device->shapes[hash % SHAPES];
    if (shape->len_bytes == len_bytes)
        return shape;
    *shape = (struct shape){.len_bytes = len_bytes, .weight_ps = UINT64_MAX};
    for (uint32_t d = 0; d < device->depth_count; d++) {
        const uint64_t ps = read_ps(device, len_bytes, d);
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
        assert(m->weight_ps >= first->value);
        m->weight_ps -= first->value;
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

/* Takes in a request that needs taken_ps at least: when it is done. */
static uint64_t accept(struct sim_device *device, struct member *m, uint64_t now_ns, uint64_t taken_ps,
                       uint64_t weight_ps)
{
    const uint64_t now_ps = now_ns * ps_per_ns;
    m->gate_ps = gnn_max_u64(m->gate_ps, now_ps) + weight_ps;
    const uint64_t fair_ps = now_ps + (m->in_flight.count + 1) * weight_ps;
    const uint64_t gate_ps = gnn_min_u64(m->gate_ps, fair_ps);
    const uint64_t done_ps = gnn_max_u64(now_ps + taken_ps, gate_ps);
    const uint64_t done_ns = (done_ps + ps_per_ns - 1) / ps_per_ns;
    if (m->in_flight.count == 0)
        m->since_ns = now_ns;
    sim_time_queue_add(&m->in_flight, done_ns, weight_ps);
    m->weight_ps += weight_ps;
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

static uint64_t read_member(struct sim_device *device, struct member *m, uint64_t now_ns, uint64_t len_bytes)
{
    device->counts.read_bytes += len_bytes;
    device->counts.read_ios++;
    retire(m, now_ns);
    const struct shape *shape = shape_of(device, len_bytes);
    return accept(device, m, now_ns, read_takes_ps(device, m, now_ns, shape), shape->weight_ps);
}

static uint64_t write_member(struct sim_device *device, struct member *m, uint64_t now_ns, uint64_t len_bytes)
{
    device->counts.write_bytes += len_bytes;
    device->counts.write_ios++;
    retire(m, now_ns);
    const struct gnn_profile_storage *g = &device->storage;
    const uint64_t transfer_ps = mul_div(len_bytes, ps_per_s, g->write_bytes_per_s);
    const uint64_t io_ps = g->write_iops == 0 ? 0 : ps_per_s / g->write_iops;
    return accept(device, m, now_ns, g->write_latency_ns * ps_per_ns + transfer_ps,
                  transfer_ps > io_ps ? transfer_ps : io_ps);
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
                 g->size_count > 0 && g->size_count <= GNN_PROFILE_SIZES_MAX && g->depth_count > 0 &&
                 g->depth_count <= GNN_PROFILE_DEPTHS_MAX && g->depth[0] == 1 && g->size_bytes[0] > 0;
    for (uint32_t s = 1; sound && s < g->size_count; s++)
        sound = g->size_bytes[s] > g->size_bytes[s - 1];
    for (uint32_t d = 1; sound && d < g->depth_count; d++)
        sound = g->depth[d] > g->depth[d - 1];
    if (!sound)
        return gnn_fail(err, GNN_EFORMAT,
                        "storage of the profile: devices, stripe, depths, sizes and write bandwidth are positive, "
                        "sizes and depths ascend, the first depth is 1");
    for (uint32_t s = 0; s < g->size_count; s++)
        for (uint32_t d = 0; d < g->depth_count; d++)
            if (g->read_ps[s][d] == 0)
                return gnn_fail(err, GNN_EFORMAT, "storage of the profile: no time for reads of %llu bytes at depth %u",
                                (unsigned long long)g->size_bytes[s], g->depth[d]);
    return GNN_OK;
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
    for (uint32_t s = 0; s < g->size_count; s++)
        g->read_ps[s][count] = between(g->depth_max, low, g->depth[count], g->read_ps[s][count - 1] * low,
                                       g->read_ps[s][count] * g->depth[count]) /
                               g->depth_max;
    g->depth[count] = g->depth_max;
    device->depth_count++;
}

enum gnn_status sim_device_open(const struct gnn_profile_storage *storage, struct sim_device **out, struct gnn_err *err)
{
    *out = NULL;
    GNN_TRY(check_axes(storage, err));
    struct sim_device *device;
    GNN_NEW(device, 1, err, "storage device: %zu bytes", sizeof *device);
    *out = device;
    device->storage = *storage;
    cut_depths(device);
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
