#!/usr/bin/env bash
# The same runs in both worlds: papers100m at 1/100 on this machine, and simulated with this machine's profile. Prints a
# Markdown table: epoch times and their ratio, what was counted and how far it differs. Ends with status 3 when something
# is outside its band.
#   scripts/agree.sh [--systems "pygplus gnndrive"] [--dims "64 128 512"] [--caps "160M 320M 640M"] [--epochs 2]
#                    [--repeats 1] [--batches 0] [--profile this] [--out FILE] [--stages] [--report]
# --batches N    only the first N mini-batches of an epoch; 0: all
# --out FILE     writes the table there too, with the command that made it
# --stages       adds what each stage did in either world, in seconds
# --report       runs nothing, shows what is in the database
# The first epoch starts cold and is told apart from the later ones. Wants OOCGNN (the program), DATA (where datasets go),
# DB (the record). Other work on the machine makes the measured half wrong.
set -euo pipefail

systems="pygplus gnndrive" dims="64 128 512" caps="160M 320M 640M"
epochs=2 repeats=1 batches=0 profile=this out="" stages=no report=no
command="scripts/agree.sh"
for word in "$@"; do command+=" $(printf '%q' "$word")"; done
while [ $# -gt 0 ]; do
    case $1 in
    --stages) stages=yes; shift; continue ;;
    --report) report=yes; shift; continue ;;
    esac
    [ $# -ge 2 ] || { echo "agree: $1 needs a value, or is no option" >&2; exit 2; }
    case $1 in
    --systems) systems=$2 ;;
    --dims) dims=$2 ;;
    --caps) caps=$2 ;;
    --epochs) epochs=$2 ;;
    --repeats) repeats=$2 ;;
    --batches) batches=$2 ;;
    --profile) profile=$2 ;;
    --out) out=$2 ;;
    *) echo "agree: no option $1" >&2; exit 2 ;;
    esac
    shift 2
done
oocgnn=${OOCGNN:-build/gcc/oocgnn}
data=${DATA:-data}
db=${DB:-build/agree.db}
mkdir -p "$(dirname "$db")"

run() { # world, system, dim, cap
    local world=(--world "$1")
    [ "$1" = simulated ] && world+=(--profile "$profile" --compute "model:$profile/cpu")
    "$oocgnn" run "${world[@]}" --system "$2" --dataset papers100m --scale 1/100 --data "$data" --preset gnndrive --dim "$3" \
        --memory "$4" --epochs "$epochs" --max-batches "$batches" --evaluate never --db "$db" --json --quiet \
        >/dev/null || echo "agree: $2, dim $3, $4, $1: ended with status $?" >&2
}

if [ "$report" = no ]; then
    profiles=$("$oocgnn" list profiles)
    grep -q "^$profile " <<<"$profiles" || {
        echo "agree: no profile '$profile'; measuring this machine first" >&2
        "$oocgnn" calibrate --device "$(dirname "$data")" >/dev/null
    }
    rm -f "$db" "$db-wal" "$db-shm"
    for dim in $dims; do
        [ -f "$data/papers100m-1_100/features-d$dim" ] ||
            "$oocgnn" prepare papers100m --scale 1/100 --dim "$dim" --data "$data" --quiet >/dev/null
        for cap in $caps; do
            for system in $systems; do
                echo "agree: $system, dim $dim, $cap" >&2
                for ((i = 0; i < repeats; i++)); do run measured "$system" "$dim" "$cap"; done
                run simulated "$system" "$dim" "$cap"
            done
        done
    done
fi

# One row a cell and part of the run: the first epoch (cold), the later ones. Medians over epochs and repetitions.
sql="
create temp view parts as
select r.run_id, r.system, r.dim, r.cap_bytes, r.world, r.status, e.epoch, coalesce(e.epoch > 0, 0) as later, e.wall_ns / 1e9 as s,
       c.sampled_nodes, c.sampled_edges, c.batch_digest, c.requested_ios, c.requested_bytes, c.cache_hits,
       c.device_read_ios, c.device_read_bytes
from runs r left join epochs e using (run_id) left join counters c on c.run_id = r.run_id and c.epoch = e.epoch
where r.status <> 'running';
create temp view ranked as
select *, row_number() over (partition by system, dim, cap_bytes, world, later order by s, run_id) as place,
       count(*) over (partition by system, dim, cap_bytes, world, later) as n from parts;
create temp view apart as
select distinct m.system, m.dim, m.cap_bytes, m.later
from parts m join parts s using (system, dim, cap_bytes, epoch)
where m.world = 'measured' and s.world = 'simulated' and (m.sampled_nodes is not s.sampled_nodes or
      m.sampled_edges is not s.sampled_edges or m.batch_digest is not s.batch_digest);
create temp view cells as
select m.system, m.dim, m.cap_bytes, m.later, m.status as m_status, s.status as s_status, m.s as m_s, s.s as s_s,
       s.s / m.s as ratio,
       iif(m.s is null or s.s is null, null, (m.system, m.dim, m.cap_bytes, m.later) not in
           (select system, dim, cap_bytes, later from apart)) as same,
       100.0 * (1.0 * s.requested_ios / nullif(m.requested_ios, 0) - 1) as ios,
       100.0 * (1.0 * s.requested_bytes / nullif(m.requested_bytes, 0) - 1) as bytes,
       100.0 * (1.0 * s.cache_hits / nullif(m.cache_hits, 0) - 1) as hits,
       100.0 * (1.0 * s.device_read_ios / nullif(m.device_read_ios, 0) - 1) as device_ios,
       100.0 * (1.0 * s.device_read_bytes / nullif(m.device_read_bytes, 0) - 1) as device_bytes
from ranked m join ranked s using (system, dim, cap_bytes, later)
where m.world = 'measured' and s.world = 'simulated' and m.place = (m.n + 1) / 2 and s.place = (s.n + 1) / 2;
create temp view ratios as select ratio, row_number() over (order by ratio) as place, count(*) over () as n
    from cells where ratio is not null;
create temp view verdict as
select (select count(*) from ratios) as n,
       (select avg(ratio) from ratios where place in ((n + 1) / 2, n / 2 + 1)) as median,
       (select min(ratio) from ratios) as low, (select max(ratio) from ratios) as high,
       (select count(*) from cells where m_status <> s_status) as statuses,
       (select count(*) from cells where same = 0) as blocks,
       (select count(*) from cells where abs(ios) > 2 or abs(bytes) > 2 or abs(hits) > 2) as counters,
       (select count(*) from cells where abs(device_ios) > 2 or abs(device_bytes) > 2) as device;
"

table() {
    sqlite3 -markdown "$db" "$sql
select system, dim, (cap_bytes / 1048576) || 'M' as cap,
       iif(m_status = 'ok' and s_status = 'ok', iif(later, 'later', 'first'), m_status || ' / ' || s_status) as epoch,
       printf('%.2f', m_s) as 'measured s', printf('%.2f', s_s) as 'simulated s', printf('%.2f', ratio) as ratio,
       case same when 1 then 'equal' when 0 then 'DIFFER' else '' end as blocks,
       iif(ios is null, '', printf('%+.1f', ios)) as 'reads asked %', iif(bytes is null, '', printf('%+.1f', bytes)) as 'bytes asked %',
       iif(hits is null, '', printf('%+.1f', hits)) as 'hits %',
       iif(device_ios is null, '', printf('%+.1f', device_ios)) as 'device reads %',
       iif(device_bytes is null, '', printf('%+.1f', device_bytes)) as 'device bytes %'
from cells order by system desc, dim, cap_bytes, later"
    echo
    sqlite3 "$db" "$sql
select printf('Epoch time, simulated / measured: median %.2f (wanted 0.80 to 1.25), between %.2f and %.2f (wanted 0.60 to 1.60), %d values.',
              median, low, high, n) from verdict;
select printf('Different ends: %d cells. Different mini-batches: %d. Reads, bytes or hits asked more than 2 %% apart: %d; device reads: %d.',
              statuses, blocks, counters, device) from verdict"
}

stage_table() {
    sqlite3 -markdown "$db" "
select r.system, r.dim, (r.cap_bytes / 1048576) || 'M' as cap, iif(s.epoch > 0, 'later', 'first') as epoch, s.stage, r.world,
       s.workers, printf('%.2f', avg(s.work_ns) / 1e9) as work, printf('%.2f', avg(s.cpu_ns) / 1e9) as cpu,
       printf('%.2f', avg(s.wait_io_ns) / 1e9) as 'I/O',
       printf('%.2f', avg(s.wait_queue_ns) / 1e9) as queue, printf('%.2f', avg(s.wait_lock_ns) / 1e9) as lock,
       printf('%.2f', avg(s.wait_resource_ns) / 1e9) as slots
from stages s join runs r using (run_id) where r.status = 'ok'
group by r.system, r.dim, r.cap_bytes, s.epoch > 0, s.position, r.world
order by r.system desc, r.dim, r.cap_bytes, s.epoch > 0, s.position, r.world"
}

table
if [ "$stages" = yes ]; then echo; stage_table; fi
if [ -n "$out" ]; then
    {
        echo "# Both worlds, the same runs"
        echo
        echo "Written by \`$command\` on $(date -u +%Y-%m-%d). papers100m as generated, scale 1/100, GNNDrive's preset, \`--evaluate never\`,"
        echo "$epochs epochs, $([ "$batches" = 0 ] && echo "all mini-batches" || echo "the first $batches mini-batches of each"); $repeats measured run(s) a cell, one simulated."
        echo "Profile: $(sqlite3 "$db" "select distinct 'digest ' || e.value from environment e where e.key = 'profile.digest'"), kernel $(uname -r)."
        echo
        echo "\`first\` is the cold epoch, \`later\` the ones behind it. \`blocks\`: sampled nodes, edges and the digest over every block."
        echo "The percentages are simulated against measured; the device's are what the kernel counted for the control group."
        echo
        table
    } >"$out"
    echo "agree: $out" >&2
fi
bad=$(sqlite3 "$db" "$sql
select n = 0 or median not between 0.8 and 1.25 or low < 0.6 or high > 1.6 or statuses > 0 or blocks > 0 or counters > 0 from verdict")
[ "$bad" = 0 ] || exit 3
