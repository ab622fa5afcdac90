/* SPDX-License-Identifier: MIT */
/* What goes through the page cache: page_cache.c says which pages must be read, this file has the device read them,
 * keeps pages in flight until they are there, and names the CPU time.
 *
 * Pages count as cached from the moment their read is submitted (Linux puts them into the cache locked); a table keeps
 * when they are done, and a thread that needs one before waits for it. Linux never evicts a page whose read is in
 * flight, the model can when a window is larger than the room.
 *
 * CPU time  a fault costs fault_minor_ns or fault_major_ns before its read is submitted, and readahead_page_ns for
 *           every further page it brings in; read() and write() cost gather_row_ns a call, for a place that is in no
 *           cache of the processor, buffered_page_ns a page, less what is not copied of it, and readahead_page_ns for
 *           each page brought in; through a ring ring_cached_ns or ring_missed_ns a read instead, for its call, its
 *           first page and its first page brought in, where the profile knows them
 * Reclaim   charges evict_page_ns for each evicted page, and unmap_page_ns more if it was mapped, to the thread that
 *           brings pages in: Linux reclaims for a group's limit in the thread that charges memory. A fault submits its
 *           read after that. Both are zero if the profile does not have them
 * Requests  a range is cut at 1 MiB, the pages of one bio (BIO_MAX_VECS); a thread waits for the piece of its page.
 *           Pages that a fault or a random read brings in lie anywhere (the profile's scattered reads)
 * Dirty     pages that reclaim evicts are written then, and a writer waits for those it pushed out, which is how a
 *           group that is full of dirty pages is slowed down to the device. Part of a page written is not read first */
#include "harness/world/simulated/inode.h"

#include <assert.h>
#include <stdlib.h>

enum {
    REQUEST_PAGES_MAX = 256,
    FLIGHTS_MIN = 1024, /* slots; a power of two */
    RANGES_AT_ONCE = 64,
    FILE_SHIFT = 40,
    BLOCK_PAGES = 64,
    FOLIOS_KERNEL = 6016, /* from which on ext4 has large folios */
};

/* Reclaim sees the group's statistics as of their last reading; the harness's probes read them four times a second, the
 * kernel itself every two seconds. */
static const uint64_t statistics_ns = UINT64_C(250000000);

/* Pages of one block that one request reads. A block may have several; a page is in one at most. */
struct flight {
    uint64_t key;   /* file and block, plus one; 0: free */
    uint64_t pages; /* a bit each */
    uint64_t done_ns;
};

struct sim_cached {
    struct flight *flights; /* (mask + 1) hash table by key, open addressing, at most half full */
    uint64_t mask, count;
    uint64_t last_done_ns;    /* of everything in the table */
    uint64_t summed_ns;       /* when the statistics were summed up */
    uint64_t *device_offsets; /* (file_count) of files that were written to */
    uint32_t file_count;
};

enum gnn_status sim_cached_open(struct simulated *s, struct gnn_err *err)
{
    _Static_assert((FLIGHTS_MIN & (FLIGHTS_MIN - 1)) == 0, "a mask finds the slot");
    GNN_NEW(s->cached, 1, err, "the table of pages in flight: %zu bytes", sizeof *s->cached);
    GNN_NEW(s->cached->flights, FLIGHTS_MIN, err, "%d pages in flight", FLIGHTS_MIN);
    s->cached->mask = FLIGHTS_MIN - 1;
    return GNN_OK;
}

void sim_cached_close(struct simulated *s)
{
    if (s->cached == NULL)
        return;
    free(s->cached->flights);
    free(s->cached->device_offsets);
    free(s->cached);
    s->cached = NULL;
}

/* ---- pages in flight ---- */

static uint64_t key_of(uint32_t file, uint64_t page)
{
    assert(page >> FILE_SHIFT == 0);
    assert(file < UINT32_C(1) << (64 - FILE_SHIFT));
    return ((uint64_t)file << FILE_SHIFT) + page / BLOCK_PAGES + 1;
}

static uint64_t slot_of(const struct sim_cached *c, uint64_t key)
{
    return (key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & c->mask;
}

static void put_flight(struct sim_cached *c, struct flight flight)
{
    uint64_t at = slot_of(c, flight.key);
    while (c->flights[at].key != 0)
        at = (at + 1) & c->mask;
    c->flights[at] = flight;
    c->count++;
}

static bool is_alive(const struct flight *flight, uint64_t now_ns)
{
    return flight->pages != 0 && flight->done_ns > now_ns;
}

/* Drops reads that are done; doubles the table when that does not help. Without host memory the table goes on
 * fuller. */
static void make_room(struct sim_cached *c, uint64_t now_ns)
{
    struct flight *const old = c->flights;
    const uint64_t old_slots = c->mask + 1;
    uint64_t alive = 0;
    for (uint64_t i = 0; i < old_slots; i++)
        alive += is_alive(&old[i], now_ns);
    const uint64_t slots = alive > old_slots / 4 ? 2 * old_slots : old_slots;
    assert(slots > 0);
    struct flight *const flights = calloc(slots, sizeof *flights);
    if (flights == NULL) {
        assert(c->count < c->mask);
        return;
    }
    c->flights = flights;
    c->mask = slots - 1;
    c->count = 0;
    for (uint64_t i = 0; i < old_slots; i++)
        if (is_alive(&old[i], now_ns))
            put_flight(c, old[i]);
    free(old);
}

/* `pages` of one block. What flew there before counts no more: the last read of a page is waited for. */
static void add_flight(struct sim_cached *c, struct flight flight, uint64_t now_ns)
{
    if (2 * c->count > c->mask)
        make_room(c, now_ns);
    struct flight *unused = NULL;
    uint64_t at = slot_of(c, flight.key);
    for (; c->flights[at].key != 0; at = (at + 1) & c->mask) {
        if (c->flights[at].key != flight.key)
            continue;
        c->flights[at].pages &= ~flight.pages;
        if (!is_alive(&c->flights[at], now_ns))
            unused = &c->flights[at];
    }
    c->count += unused == NULL;
    *(unused != NULL ? unused : &c->flights[at]) = flight;
}

static void add_flights(struct sim_cached *c, uint32_t file, uint64_t first, uint64_t pages, uint64_t now_ns,
                        uint64_t done_ns)
{
    for (uint64_t page = first; page < first + pages;) {
        const uint64_t at = page % BLOCK_PAGES;
        const uint64_t count = gnn_min_u64(first + pages - page, BLOCK_PAGES - at);
        const uint64_t bits = count == BLOCK_PAGES ? UINT64_MAX : (UINT64_C(1) << count) - 1;
        add_flight(c, (struct flight){.key = key_of(file, page), .pages = bits << at, .done_ns = done_ns}, now_ns);
        page += count;
    }
    c->last_done_ns = gnn_max_u64(done_ns, c->last_done_ns);
}

/* Returns when the page is there: now_ns when no read of it is in flight. */
static uint64_t flight_done(const struct sim_cached *c, uint32_t file, uint64_t page, uint64_t now_ns)
{
    if (c->last_done_ns <= now_ns)
        return now_ns;
    const uint64_t key = key_of(file, page), bit = UINT64_C(1) << page % BLOCK_PAGES;
    for (uint64_t at = slot_of(c, key); c->flights[at].key != 0; at = (at + 1) & c->mask)
        if (c->flights[at].key == key && (c->flights[at].pages & bit) != 0)
            return gnn_max_u64(c->flights[at].done_ns, now_ns);
    return now_ns;
}

/* ---- the device ---- */

static uint64_t device_write(struct simulated *s, uint64_t now_ns, uint64_t device_offset_bytes,
                             const struct sim_page_range *range)
{
    uint64_t done_ns = now_ns;
    for (uint64_t at = 0; at < range->pages; at += REQUEST_PAGES_MAX) {
        const uint64_t left = range->pages - at;
        const uint64_t pages = left < REQUEST_PAGES_MAX ? left : (uint64_t)REQUEST_PAGES_MAX;
        const uint64_t written_ns = sim_device_write(
            s->device, now_ns, device_offset_bytes + (range->first_page + at) * GNN_PAGE_BYTES, pages * GNN_PAGE_BYTES);
        done_ns = gnn_max_u64(written_ns, done_ns);
    }
    return done_ns;
}

/* Writes the dirty pages that reclaim evicted; returns when the last is written. */
static uint64_t write_evicted(struct simulated *s, uint64_t now_ns)
{
    struct sim_page_range ranges[RANGES_AT_ONCE];
    uint64_t done_ns = now_ns;
    uint32_t count;
    while ((count = sim_page_cache_take_evicted(s->cache, ranges, RANGES_AT_ONCE)) > 0) {
        for (uint32_t i = 0; i < count; i++) {
            assert(ranges[i].file < s->cached->file_count);
            const uint64_t written_ns = device_write(s, now_ns, s->cached->device_offsets[ranges[i].file], &ranges[i]);
            done_ns = gnn_max_u64(written_ns, done_ns);
        }
    }
    return done_ns;
}

/* What has pages brought in. Only a read() that is read ahead has its pages in large folios, whose memory lies
 * together. */
enum bring { BRING_READ, BRING_FOLIOS, BRING_FAULT };

/* Reports a request of a page fault to the observer. */
static void report_fill(const struct simulated *s, const struct gnn_page_fill *fill)
{
    if (s->config.on_fill != NULL)
        s->config.on_fill(s->config.on_fill_ctx, fill);
}

/* Submits the reads of a touch; returns how many pages they are. */
static uint64_t submit(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, const struct sim_touch *touch,
                       enum bring bring)
{
    uint64_t (*const device_read)(struct sim_device *, uint64_t, uint64_t, uint64_t) =
        bring == BRING_FOLIOS ? sim_device_read : sim_device_read_scattered;
    uint64_t brought_in = 0;
    for (uint32_t i = 0; i < touch->read_count; i++) {
        const struct sim_page_range *const range = &touch->reads[i];
        for (uint64_t at = 0; at < range->pages; at += REQUEST_PAGES_MAX) {
            const uint64_t left = range->pages - at, first = range->first_page + at;
            const uint64_t pages = left < REQUEST_PAGES_MAX ? left : (uint64_t)REQUEST_PAGES_MAX;
            const uint64_t done_ns =
                device_read(s->device, now_ns, sim_inode_device_offset(file->inode, first * GNN_PAGE_BYTES),
                            pages * GNN_PAGE_BYTES);
            add_flights(s->cached, range->file, first, pages, now_ns, done_ns);
            if (bring == BRING_FAULT)
                report_fill(s, &(struct gnn_page_fill){.file = file,
                                                       .offset_bytes = first * GNN_PAGE_BYTES,
                                                       .len_bytes = pages * GNN_PAGE_BYTES,
                                                       .now_ns = now_ns,
                                                       .done_ns = done_ns});
        }
        brought_in += range->pages;
    }
    (void)write_evicted(s, now_ns);
    return brought_in;
}

/* What the page cache goes by, as of about now: the room that memory leaves it, and its own statistics. */
static void look_around(struct simulated *s, uint64_t now_ns)
{
    sim_memory_look(s, now_ns);
    if (now_ns - s->cached->summed_ns < statistics_ns)
        return;
    s->cached->summed_ns = now_ns;
    sim_page_cache_sum_statistics(s->cache);
}

/* CPU time of reclaim since the last call. */
static uint64_t reclaim_ps(struct simulated *s)
{
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    const struct sim_reclaimed gone = sim_page_cache_take_reclaimed(s->cache);
    return (gone.pages * cpu->evict_page_ns + gone.mapped * cpu->unmap_page_ns) * SIM_PS_PER_NS;
}

/* ---- read, write, sync ---- */

static uint64_t pages_of(uint64_t offset_bytes, uint64_t len_bytes, uint64_t *first)
{
    assert(len_bytes > 0);
    *first = offset_bytes / GNN_PAGE_BYTES;
    return (offset_bytes + len_bytes - 1) / GNN_PAGE_BYTES - *first + 1;
}

/* buffered_page_ns holds the copy of a page, and the rest of what a page costs in a long read: here that rest for every
 * page, and the copy of the bytes that are copied. */
static uint64_t copied_ps(const struct gnn_profile_cpu *cpu, uint64_t pages, uint64_t bytes)
{
    const uint64_t page_ps = cpu->buffered_page_ns * SIM_PS_PER_NS;
    const uint64_t byte_ps = gnn_min_u64(cpu->work_ps[GNN_WORK_COPIED_BYTE], page_ps / GNN_PAGE_BYTES);
    return pages * (page_ps - byte_ps * GNN_PAGE_BYTES) + bytes * byte_ps;
}

/* A call for a few bytes finds page and bytes in no cache of the processor, like a row of a mapping. */
static uint64_t buffered_ps(const struct gnn_profile_cpu *cpu, uint64_t pages, uint64_t bytes)
{
    return cpu->gather_row_ns * SIM_PS_PER_NS + copied_ps(cpu, pages, bytes);
}

/* Has the missing pages of a range read, *brought_in of them. Returns when all are there: now_ns when all were. */
static uint64_t read_range(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t first,
                           uint64_t pages, uint64_t *brought_in)
{
    const uint32_t number = sim_inode_cache_number(file->inode);
    struct sim_touch touch;
    look_around(s, now_ns);
    sim_page_cache_read(s->cache, number, first, pages, file->random ? SIM_READAHEAD_RANDOM : SIM_READAHEAD_NORMAL,
                        &touch);
    const bool folios = !file->random && s->profile->kernel >= FOLIOS_KERNEL;
    *brought_in = submit(s, file, now_ns, &touch, folios ? BRING_FOLIOS : BRING_READ);
    uint64_t done_ns = now_ns;
    for (uint64_t page = first; page < first + pages && s->cached->last_done_ns > done_ns; page++) {
        const uint64_t page_ns = flight_done(s->cached, number, page, now_ns);
        done_ns = gnn_max_u64(page_ns, done_ns);
    }
    return done_ns;
}

uint64_t sim_cached_read(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                         uint64_t len_bytes, uint64_t *cpu_ps)
{
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    uint64_t first, brought_in;
    const uint64_t pages = pages_of(offset_bytes, len_bytes, &first);
    const uint64_t done_ns = read_range(s, file, now_ns, first, pages, &brought_in);
    *cpu_ps = buffered_ps(cpu, pages, len_bytes) + brought_in * cpu->readahead_page_ns * SIM_PS_PER_NS + reclaim_ps(s);
    return done_ns;
}

/* What a read of a page through a ring takes before its completion is reaped, `more_ps` that of its further pages and
 * bytes. The kernel serves one that finds its page while it is submitted; one that does not is tried, sends its page
 * for, and is tried again when that has come. complete_ns of it is charged where its completion is reaped. */
static uint64_t ring_ps(const struct gnn_profile_cpu *cpu, uint64_t brought_in, uint64_t more_ps)
{
    assert(cpu->ring_cached_ns > 0);
    if (brought_in == 0)
        return cpu->ring_cached_ns * SIM_PS_PER_NS + more_ps;
    const uint64_t missed_ns = gnn_max_u64(cpu->ring_missed_ns, cpu->ring_cached_ns + cpu->complete_ns);
    return (missed_ns - cpu->complete_ns + (brought_in - 1) * cpu->readahead_page_ns) * SIM_PS_PER_NS + more_ps;
}

uint64_t sim_cached_ring_read(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                              uint64_t len_bytes, uint64_t *cpu_ps)
{
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    if (cpu->ring_cached_ns == 0)
        return sim_cached_read(s, file, now_ns, offset_bytes, len_bytes, cpu_ps);
    uint64_t first, brought_in;
    const uint64_t pages = pages_of(offset_bytes, len_bytes, &first);
    const uint64_t done_ns = read_range(s, file, now_ns, first, pages, &brought_in);
    *cpu_ps = ring_ps(cpu, brought_in, copied_ps(cpu, pages - 1, len_bytes)) + reclaim_ps(s);
    return done_ns;
}

/* Keeps where the file lies on the device: evicted pages are known by their file's number alone. */
static bool remember_place(struct sim_cached *c, uint32_t number, const struct gnn_file *file)
{
    if (number >= c->file_count) {
        uint64_t *const offsets = realloc(c->device_offsets, (number + (size_t)1) * sizeof *offsets);
        if (offsets == NULL)
            return false;
        for (uint32_t i = c->file_count; i <= number; i++)
            offsets[i] = 0;
        c->device_offsets = offsets;
        c->file_count = number + 1;
    }
    c->device_offsets[number] = file->inode->device_offset_bytes;
    return true;
}

uint64_t sim_cached_write(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                          uint64_t len_bytes, uint64_t *cpu_ps)
{
    const uint32_t number = sim_inode_cache_number(file->inode);
    uint64_t first;
    const uint64_t pages = pages_of(offset_bytes, len_bytes, &first);
    *cpu_ps = buffered_ps(&s->profile->cpu, pages, len_bytes);
    const struct sim_page_range through = {.file = number, .first_page = first, .pages = pages};
    if (!remember_place(s->cached, number, file)) /* out of host memory: as if it were synced at once */
        return device_write(s, now_ns, file->inode->device_offset_bytes, &through);
    look_around(s, now_ns);
    sim_page_cache_write(s->cache, number, first, pages);
    *cpu_ps += reclaim_ps(s);
    return write_evicted(s, now_ns);
}

void sim_cached_dirty(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                      uint64_t len_bytes)
{
    const uint32_t number = sim_inode_cache_number(file->inode);
    uint64_t first;
    const uint64_t pages = pages_of(offset_bytes, len_bytes, &first);
    if (!remember_place(s->cached, number, file))
        return; /* out of host memory: as if it stayed clean */
    sim_page_cache_write(s->cache, number, first, pages);
    (void)write_evicted(s, now_ns);
}

uint64_t sim_cached_sync(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t *cpu_ps)
{
    const uint32_t number = sim_inode_cache_number(file->inode);
    uint64_t from_page = 0, done_ns = now_ns;
    struct sim_page_range range;
    *cpu_ps = 0;
    while (sim_page_cache_take_dirty(s->cache, number, &from_page, &range)) {
        const uint64_t written_ns = device_write(s, now_ns, file->inode->device_offset_bytes, &range);
        done_ns = gnn_max_u64(written_ns, done_ns);
        *cpu_ps += s->profile->cpu.submit_ns * SIM_PS_PER_NS;
    }
    return done_ns;
}

/* ---- faults ---- */

static enum sim_readahead readahead_of(enum gnn_map_advice advice)
{
    return advice == GNN_MAP_RANDOM ? SIM_READAHEAD_RANDOM : SIM_READAHEAD_NORMAL;
}

bool sim_cached_hit(struct simulated *s, const struct gnn_file *file, enum gnn_map_advice advice, uint64_t page)
{
    const uint32_t number = sim_inode_cache_number(file->inode);
    const uint64_t now_ns = sim_now(s->executor);
    return flight_done(s->cached, number, page, now_ns) == now_ns &&
           sim_page_cache_hit(s->cache, number, page, readahead_of(advice));
}

uint64_t sim_cached_fault(struct simulated *s, const struct gnn_file *file, enum gnn_map_advice advice, uint64_t page)
{
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    const uint32_t number = sim_inode_cache_number(file->inode);
    const bool cached = sim_page_cache_holds(s->cache, number, page);
    if (!cached && advice != GNN_MAP_RANDOM)
        sim_page_cache_prefetch_window(s->cache, number, page); /* others run first */
    sim_cpu(s->executor, (cached ? cpu->fault_minor_ns : cpu->fault_major_ns) * SIM_PS_PER_NS);
    sim_settle(s->executor);
    const uint64_t now_ns = sim_now(s->executor);
    struct sim_touch touch;
    look_around(s, now_ns);
    sim_page_cache_touch(s->cache, number, page, readahead_of(advice), &touch);
    const uint64_t further = submit(s, file, now_ns, &touch, BRING_FAULT) - (touch.major ? 1 : 0);
    const uint64_t reclaimed_ps = reclaim_ps(s);
    sim_cpu(s->executor, further * cpu->readahead_page_ns * SIM_PS_PER_NS + reclaimed_ps);
    const uint64_t done_ns = flight_done(s->cached, number, page, now_ns);
    return done_ns > now_ns ? done_ns + reclaimed_ps / SIM_PS_PER_NS : done_ns;
}
