#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Of what day the profile may be that `make agree` compares runs with. Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/out")
export OOCGNN=${OOCGNN:-build/gcc/oocgnn} XDG_DATA_HOME=$dir
export DATA=$dir/disk/data DB=$dir/agree.db

# Puts a `this` in place, calibrated at a moment that date knows; "": the file does not say when.
this_of() {
    local line=""
    [ -z "$1" ] || line="calibrated = $(date -u -d "$1" +%FT%TZ) stated\n"
    mkdir -p "$dir/oocgnn"
    sed "s/^machine_id.*/machine_id = this\n$line/" tests/golden/machine.ini >"$dir/oocgnn/this.ini"
}

agree() { # no cell, so that nothing is run; options
    scripts/agree.sh --systems "" --sampling "" --workers "" --dims "" --readaheads "" --trainers cpu "$@" >"$dir/out" 2>&1
}

refused() { # what is said of the age
    local status
    this_of "$1"
    agree
    status=$?
    [ "$status" -eq 4 ] && grep -q "^agree: profile 'this' was calibrated .*$2" "$dir/out" &&
        grep -q "calibrate --device $dir/disk.*--any-age" "$dir/out"
}

goes_on() { # options; what comes next is the table of a database without runs
    agree "$@"
    [ $? -ne 4 ] && ! grep -q calibrated "$dir/out"
}

refused "25 hours ago" "25 hours ago" && refused "10 days ago" "10 days ago"
verdict "a profile that was calibrated more than a day ago is refused, with its age and the remedy" $?

refused "" "at an unknown time" && refused "2 hours" "yet to come"
verdict "so is one that nobody knows the age of, and one of tomorrow" $?

this_of "23 hours ago" && goes_on
verdict "one of this day is taken" $?

this_of "10 days ago" && goes_on --any-age && this_of "" && goes_on --any-age
verdict "--any-age takes one of any age" $?

this_of "" && goes_on --profile gnndrive-paper
verdict "a machine that nobody calibrated has no age" $?

# One cell in both worlds, whose digests differ; the versions, "" for a record without one.
blocks_of() {
    local db=$dir/blocks.db
    rm -f "$db"
    {
        cat results/schema.sql
        for world in measured simulated; do
            echo "insert into runs (run_id, status, system, world, compute, dim, cap_bytes) values
                ($([ $world = measured ] && echo 1 || echo 2), 'ok', 'pygplus', '$world', 'cpu', 8, 1048576);"
        done
        for run in 1 2; do
            echo "insert into epochs (run_id, epoch, wall_ns) values ($run, 0, 1000000000);
                insert into counters (run_id, epoch, sampled_nodes, sampled_edges, batch_digest) values ($run, 0, 5, 7, 'digest $run');"
            [ -z "${!run}" ] || echo "insert into environment values ($run, 'batch_digest.version', '${!run}');"
        done
    } | sqlite3 "$db" >/dev/null && sqlite3 -cmd ".read results/agree.sql" "$db" "select blocks from shown_cells"
}

if type sqlite3 >/dev/null 2>&1; then
    [ "$(blocks_of 2 2)" = DIFFER ] && [ "$(blocks_of "" "")" = DIFFER ] &&
        [ "$(blocks_of "" 2)" = "two digest versions" ] && [ "$(blocks_of 2 "")" = "two digest versions" ]
    verdict "digests of two versions are not compared" $?
fi

finish
