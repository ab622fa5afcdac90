#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The same runs in both worlds: papers100m at 1/100 on this machine, and simulated with this machine's profile. Prints a
# Markdown table: epoch times and their ratio, what was counted and how far it differs. Ends with status 3 when something
# is outside its band.
#   scripts/agree.sh [--systems "pygplus gnndrive diskgnn"] [--dims "64 128 512"] [--caps "160M 320M 640M"] [--epochs 2]
#                    [--repeats 1] [--batches 0] [--profile this] [--scale 1/100] [--trainers "cpu gpu"] [--out FILE]
#                    [--write] [--stages] [--report] [--sampling "pygplus ringsampler+io=mapped"] [--threads "2 8"]
#                    [--sampling-caps "60M 100M 160M"] [--workers "1 4 16"] [--readaheads "0 128K 1M"] [--model sage] [--any-age]
# A word of --systems or --sampling is a system, and with +NAME=VALUE a parameter of it.
# --sampling     cells of sampling alone (--sample-only), over --threads and caps about the size of the edge file, where
#                it is decided what the page cache keeps; "" for none
# --workers      AGNES over its worker threads, at 320M; "" for none
# --readaheads   of the device: every cell with the first, PyG+ and GNNDrive at the first width with each of the others too;
#                "" for as it is. Needs root; left as it is, with a message, where it cannot be set
# --trainers     what trains: this machine's CPU and its GPU, or one of them. A GPU that is not there is left out with a
#                message, and so is one that the profile does not have
# --model M      sage, gcn or gat, in every cell
# --batches N    only the first N mini-batches of an epoch; 0: all
# --out FILE     writes the table there too, with the command that made it; what an older FILE says behind its line
#                "<!-- generated: end -->" stays: read it again, it was written about other numbers
# --write        as --out results/agree.md
# --stages       adds what each stage did in either world, in seconds
# --report       runs nothing, shows what is in the database
# --any-age      goes on with a profile that was calibrated more than a day ago, or nobody knows when; it ends with status 4
#                otherwise. A profile that nobody calibrated, a paper's, has no age
# The first epoch starts cold and is told apart from the later ones. Wants OOCGNN (the program), DATA (where datasets go),
# DB (the record). Other work on the machine makes the measured half wrong.
set -euo pipefail

systems="pygplus gnndrive diskgnn" dims="64 128 512" caps="160M 320M 640M"
sampling="pygplus ringsampler+io=buffered-random ringsampler+io=mapped ringsampler+io=direct"
threads="2 8" sampling_caps="60M 100M 160M" workers="1 4 16"
readaheads="0 128K 1M"
epochs=2 repeats=1 batches=0 profile=this scale=1/100 trainers="cpu gpu" model=sage out="" stages=no report=no any_age=no
command="scripts/agree.sh"
for word in "$@"; do command+=" $(printf '%q' "$word")"; done
while [ $# -gt 0 ]; do
    case $1 in
    --stages) stages=yes; shift; continue ;;
    --report) report=yes; shift; continue ;;
    --write) out=results/agree.md; shift; continue ;;
    --any-age) any_age=yes; shift; continue ;;
    esac
    [ $# -ge 2 ] || { echo "agree: $1 needs a value, or is no option" >&2; exit 2; }
    case $1 in
    --systems) systems=$2 ;;
    --sampling) sampling=$2 ;;
    --threads) threads=$2 ;;
    --sampling-caps) sampling_caps=$2 ;;
    --workers) workers=$2 ;;
    --readaheads) readaheads=$2 ;;
    --dims) dims=$2 ;;
    --caps) caps=$2 ;;
    --epochs) epochs=$2 ;;
    --repeats) repeats=$2 ;;
    --batches) batches=$2 ;;
    --profile) profile=$2 ;;
    --scale) scale=$2 ;;
    --trainers) trainers=$2 ;;
    --model) model=$2 ;;
    --out) out=$2 ;;
    *) echo "agree: no option $1" >&2; exit 2 ;;
    esac
    shift 2
done
oocgnn=${OOCGNN:-build/gcc/oocgnn}
data=${DATA:-data}
db=${DB:-build/agree.db}
mkdir -p "$(dirname "$db")"

run() { # world, system+name=value..., dim, cap, trainer, further options
    local world=(--world "$1" --compute "${5/gpu/cuda}") words=() set=() word
    [ "$1" = simulated ] && world=(--world "$1" --profile "$profile" --compute "model:$profile/$5")
    IFS=+ read -ra words <<<"$2"
    for word in "${words[@]:1}"; do set+=(--set "${words[0]}.$word"); done
    [ -z "$readahead" ] || set+=(--device-readahead "$readahead")
    "$oocgnn" run "${world[@]}" --system "${words[0]}" "${set[@]}" --dataset papers100m --scale "$scale" --data "$data" --preset gnndrive \
        --model "$model" --id-bytes 4 --dim "$3" --memory "$4" --epochs "$epochs" --max-batches "$batches" --evaluate never --compute-threads 1 "${@:6}" --db "$db" --json \
        --quiet >/dev/null || echo "agree: $2, dim $3, $4, $5, $1: ended with status $?" >&2
}

cell() { # as run, without the world
    local i
    echo "agree: $*" >&2
    for ((i = 0; i < repeats; i++)); do run measured "$@"; done
    run simulated "$@"
}

# Why the device's readahead cannot be set; nothing where it can.
readahead_refused() {
    local seen
    seen=$("$oocgnn" run --system null --dataset papers100m --scale "$scale" --data "$data" --max-batches 1 --evaluate never \
        --device-readahead "$readahead" --db "$db.try" --json --quiet 2>&1 >/dev/null) || tail -n 1 <<<"$seen"
    rm -f "$db.try"*
}

# Why no cell can be trained on a GPU; nothing where it can.
gpu_missing() {
    local seen
    seen=$("$oocgnn" doctor | grep -E '^[a-z]+ +(CUDA plugin|cuBLAS|CUDA device) ' | tail -n 1)
    case $seen in
    ok*"CUDA device"*) ;;
    *) sed -E 's/^[a-z]+ +//' <<<"$seen"; return ;;
    esac
    "$oocgnn" run --world simulated --profile "$profile" --compute "model:$profile/gpu" --system null --dataset papers100m \
        --scale 1/4000 --max-batches 1 --db "$db.try" --json --quiet 2>&1 >/dev/null | tail -n 1
    rm -f "$db.try"*
}

# Why the profile's calibration is too old to be compared with today's runs; nothing where it is not. Takes the list.
age_refused() {
    local said moment begun_s age_s
    said=$(awk -v name="$profile" '/^[^ ]/ { own = $1 == name } own && $1 == "calibrated" { $1 = $1; print }' <<<"$1")
    [ -n "$said" ] || return 0
    read -r _ moment _ <<<"${said/,/ }"
    if begun_s=$(date -u -d "$moment" +%s 2>/dev/null); then
        age_s=$(($(date -u +%s) - begun_s))
        [ "$age_s" -lt 0 ] || [ "$age_s" -gt 86400 ] || return 0
    fi
    echo "profile '$profile' was $said, and figures of another day are 10 to 30 % off:" \
        "\`oocgnn calibrate --device $(dirname "$data")\` measures this machine anew, --any-age goes on without"
}

if [ "$report" = no ]; then
    profiles=$("$oocgnn" list profiles)
    grep -q "^$profile " <<<"$profiles" || {
        echo "agree: no profile '$profile'; measuring this machine first" >&2
        "$oocgnn" calibrate --device "$(dirname "$data")" >/dev/null
    }
    if [ "$any_age" = no ] && why=$(age_refused "$profiles") && [ -n "$why" ]; then
        echo "agree: $why" >&2
        exit 4
    fi
    if [[ $trainers == *gpu* ]] && why=$(gpu_missing) && [ -n "$why" ]; then
        echo "agree: left out: cells trained on a GPU: $why" >&2
        trainers=${trainers/gpu/}
    fi
    rm -f "$db" "$db-wal" "$db-shm"
    read -r readahead further <<<"$readaheads " || true
    for dim in $dims; do
        dataset=$data/papers100m-${scale/\//_}
        if [ ! -f "$dataset/features-d$dim" ] || [ ! -f "$dataset/indices" ]; then
            "$oocgnn" prepare papers100m --scale "$scale" --dim "$dim" --id-bytes 4 --data "$data" --quiet >/dev/null
        fi
        if [ -n "$readahead" ] && why=$(readahead_refused) && [ -n "$why" ]; then
            echo "agree: the device's readahead stays as it is: $why" >&2
            readahead="" further=""
        fi
        for cap in $caps; do
            for system in $systems; do
                for trainer in $trainers; do
                    cell "$system" "$dim" "$cap" "$trainer"
                done
            done
        done
    done
    for cap in $sampling_caps; do
        for system in $sampling; do
            case $system in
            ringsampler*) for n in $threads; do cell "$system+threads=$n" 128 "$cap" cpu --sample-only; done ;;
            pygplus*) for n in $threads; do cell "$system+workers=$n" 128 "$cap" cpu --sample-only; done ;;
            *) cell "$system" 128 "$cap" cpu --sample-only ;;
            esac
        done
    done
    for n in $workers; do cell "agnes+workers=$n" 128 320M cpu; done
    for readahead in $further; do
        for cap in $caps; do
            for system in pygplus gnndrive; do cell "$system" "${dims%% *}" "$cap" cpu; done
        done
    done
fi

# Shows a view of results/agree.sql.
ask() { # view, option...
    sqlite3 -cmd ".read $(dirname "$0")/../results/agree.sql" "${@:2}" "$db" "select * from $1"
}

table() {
    ask shown_cells -markdown
    echo
    ask shown_verdict
}

table
if [ "$stages" = yes ]; then echo; ask shown_stages -markdown; fi
if [ -n "$out" ]; then
    marker="<!-- generated: end -->" kept=""
    [ ! -f "$out" ] || kept=$(sed -n "/^$marker\$/,\$p" "$out")
    {
        echo "# Both worlds, the same runs"
        echo
        echo "Written by \`$command\` on $(date -u +%Y-%m-%d). papers100m as generated, scale $scale, GNNDrive's preset, \`--evaluate never\`,"
        echo "$epochs epochs, $([ "$batches" = 0 ] && echo "all mini-batches" || echo "the first $batches mini-batches of each"); $repeats measured run(s) a cell, one simulated."
        echo "Profile: $(sqlite3 "$db" "select distinct 'digest ' || e.value from environment e where e.key = 'profile.digest'"), kernel $(uname -r)."
        echo
        echo "The device's readahead is ${readaheads%% *} in every row that does not name another."
        echo
        echo "\`first\` is the cold epoch, \`later\` the ones behind it. \`blocks\`: sampled nodes, edges and the digest over every block."
        echo "The percentages are simulated against measured; the device's are what the kernel counted for the control group."
        echo
        table
        echo
        echo "${kept:-$marker}"
    } >"$out"
    echo "agree: $out" >&2
fi
[ "$(ask out_of_band)" = 0 ] || exit 3
