-- SPDX-License-Identifier: MIT
-- The same runs in both worlds, side by side: views over results/schema.sql that scripts/agree.sh shows. One row a cell
-- (a system, what trains, a row width, a cap) and part of the run: the first epoch, which starts cold, and the later
-- ones. Where there are several repetitions or later epochs the median one by time stands for all.

-- What a cell calls its system: sampling alone, RingSampler's way to read and threads, AGNES' workers, a readahead of the
-- device that is not 0.
create temp view called as
select r.run_id, r.system || case o.value when 'true' then ' -only' else '' end || coalesce(' ' || i.value, '')
       || coalesce(' ' || t.value || ' threads', '') || coalesce(' readahead ' || d.value, '') as system
from runs r left join config o on o.run_id = r.run_id and o.key = 'sample-only'
     left join config i on i.run_id = r.run_id and i.key = 'ringsampler.io'
     left join config d on d.run_id = r.run_id and d.key = 'device-readahead' and d.value not in ('', '0')
     left join config t on t.run_id = r.run_id and t.value <> '0' and
                           (t.key in ('ringsampler.threads', 'agnes.workers')
                            or t.key = 'pygplus.workers' and o.value = 'true');

-- Every epoch of a run that ended, with what was counted in it; one row without an epoch where none finished.
create temp view parts as
select r.run_id, n.system, iif(r.compute like 'cuda%' or r.compute like '%/gpu', 'gpu', 'cpu') as trainer, r.dim,
       r.cap_bytes, r.world, r.status, e.epoch, coalesce(e.epoch > 0, 0) as later,
       e.wall_ns / 1e9 as s, c.sampled_nodes, c.sampled_edges, c.batch_digest,
       coalesce(v.value, '1') as digest_version, c.requested_ios, c.requested_bytes, c.cache_hits, c.device_read_ios,
       c.device_read_bytes
from runs r join called n using (run_id) left join epochs e using (run_id)
     left join counters c on c.run_id = r.run_id and c.epoch = e.epoch
     left join environment v on v.run_id = r.run_id and v.key = 'batch_digest.version'
where r.status <> 'running';

create temp view ranked as
select *, row_number() over (partition by system, trainer, dim, cap_bytes, world, later order by s, run_id) as place,
       count(*) over (partition by system, trainer, dim, cap_bytes, world, later) as n
from parts;

-- Cells whose digests have two versions, so that they cannot be compared.
create temp view unlike as
select distinct m.system, m.trainer, m.dim, m.cap_bytes, m.later
from parts m join parts s using (system, trainer, dim, cap_bytes, epoch)
where m.world = 'measured' and s.world = 'simulated' and m.digest_version <> s.digest_version;

-- Cells in which the worlds drew other mini-batches.
create temp view apart as
select distinct m.system, m.trainer, m.dim, m.cap_bytes, m.later
from parts m join parts s using (system, trainer, dim, cap_bytes, epoch)
where m.world = 'measured' and s.world = 'simulated'
      and (m.sampled_nodes is not s.sampled_nodes or m.sampled_edges is not s.sampled_edges
           or m.digest_version = s.digest_version and m.batch_digest is not s.batch_digest);

-- m_: measured, s_: simulated; ios to device_bytes: simulated against measured, in percent.
create temp view cells as
select m.system, m.trainer, m.dim, m.cap_bytes, m.later, m.status as m_status, s.status as s_status, m.s as m_s,
       s.s as s_s, s.s / m.s as ratio,
       case when m.s is null or s.s is null then null
            when (m.system, m.trainer, m.dim, m.cap_bytes, m.later)
                 in (select system, trainer, dim, cap_bytes, later from apart) then 0
            when (m.system, m.trainer, m.dim, m.cap_bytes, m.later)
                 in (select system, trainer, dim, cap_bytes, later from unlike) then -1
            else 1 end as same,
       100.0 * (1.0 * s.requested_ios / nullif(m.requested_ios, 0) - 1) as ios,
       100.0 * (1.0 * s.requested_bytes / nullif(m.requested_bytes, 0) - 1) as bytes,
       100.0 * (1.0 * s.cache_hits / nullif(m.cache_hits, 0) - 1) as hits,
       100.0 * (1.0 * s.device_read_ios / nullif(m.device_read_ios, 0) - 1) as device_ios,
       100.0 * (1.0 * s.device_read_bytes / nullif(m.device_read_bytes, 0) - 1) as device_bytes
from ranked m join ranked s using (system, trainer, dim, cap_bytes, later)
where m.world = 'measured' and s.world = 'simulated' and m.place = (m.n + 1) / 2 and s.place = (s.n + 1) / 2;

create temp view ratios as
select ratio, row_number() over (order by ratio) as place, count(*) over () as n from cells where ratio is not null;

create temp view verdict as
select (select count(*) from ratios) as n,
       (select avg(ratio) from ratios where place in ((n + 1) / 2, n / 2 + 1)) as median,
       (select min(ratio) from ratios) as low,
       (select max(ratio) from ratios) as high,
       (select count(*) from cells where m_status <> s_status) as statuses,
       (select count(*) from cells where same = 0) as blocks,
       (select count(*) from cells where abs(ios) > 2 or abs(bytes) > 2 or abs(hits) > 2) as counters,
       (select count(*) from cells where abs(device_ios) > 2 or abs(device_bytes) > 2) as device;

-- ---- what is shown ----

create temp view shown_cells as
select system, trainer, dim, (cap_bytes / 1048576) || 'M' as cap,
       iif(m_status = 'ok' and s_status = 'ok', iif(later, 'later', 'first'), m_status || ' / ' || s_status) as epoch,
       printf('%.2f', m_s) as 'measured s', printf('%.2f', s_s) as 'simulated s', printf('%.2f', ratio) as ratio,
       case same when 1 then 'equal' when 0 then 'DIFFER' when -1 then 'two digest versions' else '' end as blocks,
       iif(ios is null, '', printf('%+.1f', ios)) as 'reads asked %',
       iif(bytes is null, '', printf('%+.1f', bytes)) as 'bytes asked %',
       iif(hits is null, '', printf('%+.1f', hits)) as 'hits %',
       iif(device_ios is null, '', printf('%+.1f', device_ios)) as 'device reads %',
       iif(device_bytes is null, '', printf('%+.1f', device_bytes)) as 'device bytes %'
from cells order by system desc, trainer, dim, cap_bytes, later;

create temp view shown_verdict as
select printf('Epoch time, simulated / measured: median %.2f (wanted 0.80 to 1.25), between %.2f and %.2f '
              || '(wanted 0.60 to 1.60), %d values.', median, low, high, n)
from verdict
union all
select printf('Different ends: %d cells. Different mini-batches: %d. Reads, bytes or hits asked more than 2 %% apart: '
              || '%d; device reads: %d.', statuses, blocks, counters, device)
from verdict;

create temp view shown_stages as
select n.system, iif(r.compute like 'cuda%' or r.compute like '%/gpu', 'gpu', 'cpu') as trainer, r.dim,
       (r.cap_bytes / 1048576) || 'M' as cap, iif(s.epoch > 0, 'later', 'first') as epoch, s.stage, r.world,
       s.workers, printf('%.2f', avg(s.work_ns) / 1e9) as work, printf('%.2f', avg(s.cpu_ns) / 1e9) as cpu,
       printf('%.2f', avg(s.wait_io_ns) / 1e9) as 'I/O', printf('%.2f', avg(s.wait_queue_ns) / 1e9) as queue,
       printf('%.2f', avg(s.wait_lock_ns) / 1e9) as lock, printf('%.2f', avg(s.wait_resource_ns) / 1e9) as slots
from stages s join runs r using (run_id) join called n using (run_id)
where r.status = 'ok'
group by n.system, trainer, r.dim, r.cap_bytes, s.epoch > 0, s.position, r.world
order by n.system desc, trainer, r.dim, r.cap_bytes, s.epoch > 0, s.position, r.world;

create temp view out_of_band as
select n = 0 or median not between 0.8 and 1.25 or low < 0.6 or high > 1.6 or statuses > 0 or blocks > 0 or counters > 0
       as bad
from verdict;
