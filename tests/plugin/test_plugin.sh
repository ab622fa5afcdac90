#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Systems in shared objects, built outside the tree against an installed oocgnn: null and pygplus give the same virtual
# times, digests and losses as the built-in ones, and an object that does not fit is rejected with the reason. Closes with
# cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
# shellcheck source=tests/plugin/installed.sh
. "$(dirname "$0")/installed.sh"
command -v python3 >/dev/null || skip_all "no python3" 1

# ---- the border ----

# Every struct that an installed header defines is on the list whose sizes are compared, and no other.
headers=$(cd "$dir/dest/usr/include/oocgnn" && find . -name '*.h')
(cd "$dir/dest/usr/include/oocgnn" && echo "$headers" | xargs grep -hoE '^struct gnn_[a-z0-9_]+ \{' | sed 's/struct gnn_//; s/ {//' |
    grep -v '^plugin' | sort) >"$dir/defined"
awk '/^#define GNN_PLUGIN_STRUCTS/ { on = 1 } on { print } on && !/\\$/ { exit }' harness/system/plugin.h |
    grep -oE 'X\([a-z0-9_]+\)' | sed 's/X(//; s/)//' | sort >"$dir/listed"
diff "$dir/defined" "$dir/listed" >"$dir/said" && [ "$(grep -c . "$dir/listed")" -gt 90 ]
verdict "structs of installed headers that GNN_PLUGIN_STRUCTS lacks, or the reverse" $?

# Every function that an installed header declares is exported. gcc lists declarations.
echo '#include "harness/system/plugin.h"' >"$dir/all.c"
cc -std=c17 -D_GNU_SOURCE -I"$dir/dest/usr/include/oocgnn" -fsyntax-only -aux-info "$dir/aux" "$dir/all.c" 2>"$dir/said"
grep -F 'include/oocgnn/harness' "$dir/aux" | grep ' extern ' | grep -oE '\bgnn_[a-z0-9_]+ \(' | tr -d ' (' | grep -v '_fn$' | sort -u >"$dir/declared"
nm -D --defined-only "$dir/dest/usr/bin/oocgnn" | awk '{ print $3 }' | sort -u >"$dir/exported"
comm -23 "$dir/declared" "$dir/exported" >"$dir/said"
[ ! -s "$dir/said" ] && [ "$(grep -c . "$dir/declared")" -gt 150 ]
verdict "functions of installed headers that the program does not export" $?
! grep -E '^(gnn_system_|gnn_systems$|pygplus|ginex)' "$dir/exported" >"$dir/said"
verdict "the built-in systems are private: they replace nothing of an object" $?

# ---- null and pygplus, from their sources ----

mkdir -p "$dir/own/systems" "$dir/work"
cp -r systems/null systems/pygplus "$dir/own/systems"
cd "$dir/work" || exit 1
for name in null pygplus; do
    printf '#include "harness/system/plugin.h"\nextern const struct gnn_system gnn_system_%s;\nGNN_PLUGIN(gnn_system_%s)\n' $name $name \
        >"$dir/own/$name.c"
    object ./$name.so -I"$dir/own" "$dir/own/$name.c" "$dir/own/systems/$name"/*.c
    verdict "$name builds outside the tree" $?
done
oocgnn prepare papers100m --scale 1/5000 --dim 32 --quiet >"$dir/said" 2>&1
verdict "a dataset" $?

# What a run gives: system, digest, loss, and in the simulated world its time.
facts() { # options of run
    oocgnn run "$@" --json --quiet --db runs.db 2>>"$dir/said" | python3 -c '
import json, sys
run = json.load(sys.stdin)
simulated = run["world"] == "simulated"
for e in run["epochs"]:
    print(run["system"], run["config"]["system"], run["status"], e.get("batch_digest"), repr(e.get("loss")), e["wall_ns"] if simulated else "")'
}
same() { # what, options of run
    local what=$1
    shift
    for name in null pygplus; do
        facts --system $name "$@" >"$dir/built-in"
        facts --system ./$name.so "$@" >"$dir/said"
        diff "$dir/built-in" "$dir/said" && grep -q "^$name $name ok" "$dir/said"
        verdict "$name as an object, $what" $?
    done
}
same "simulated" --dataset papers100m --scale 1/1000 --world simulated --profile agnes-main --max-batches 20
same "simulated, CPU" --dataset papers100m --scale 1/5000 --dim 32 --world simulated --profile agnes-main --compute cpu --epochs 2
same "measured" --dataset papers100m --scale 1/5000 --dim 32 --no-cold --epochs 2 --batch 20 --evaluate never --compute ref
for object in pygplus ./pygplus.so; do
    oocgnn run --system $object --dataset papers100m --scale 1/5000 --dim 32 --no-cold --batch 20 --evaluate never --compute ref \
        --trace-loss "trace${object//\//-}" --db runs.db >"$dir/said" 2>&1
done
cmp trace-pygplus* tracepygplus >"$dir/said" 2>&1 || cmp trace.-pygplus.so tracepygplus >"$dir/said" 2>&1
verdict "every step's loss, bit by bit" $?

# ---- names, identity, record ----

simulated=(--dataset papers100m --scale 1/1000 --world simulated --profile agnes-main --max-batches 2 --db names.db --json --quiet)
identity() {
    oocgnn run --system "$1" "${simulated[@]}" 2>>"$dir/said" | python3 -c '
import json, sys
e = json.load(sys.stdin)["environment"]
print(e["run.identity"], e.get("plugin.file"), e.get("plugin.digest"))'
}
mkdir elsewhere && cp null.so elsewhere/copy.so
read -r built_in no_file no_digest < <(identity null)
read -r object file digest < <(identity ./null.so)
read -r copy copy_file copy_digest < <(identity elsewhere/copy.so)
[ "$built_in" != "$object" ] && [ "$no_file $no_digest" = "None None" ] && [ "$file" = null.so ]
verdict "the record names the file of an object: $file $digest" $?
[ "$digest" = "$(xxh128sum null.so 2>/dev/null | cut -d' ' -f1)" ] || ! command -v xxh128sum >/dev/null
verdict "the digest is that of the file" $?
[ "$copy" = "$object" ] && [ "$copy_file" = copy.so ] && [ "$copy_digest" = "$digest" ]
verdict "an object's place is not part of a run's identity" $?
object ./null2.so -I"$dir/own" "$dir/own/null.c" "$dir/own/systems/null"/*.c -DANOTHER_BUILD -g
read -r rebuilt _ _ < <(identity ./null2.so)
[ -n "$rebuilt" ] && [ "$rebuilt" != "$object" ]
verdict "another build of an object is another run" $?

ends 0 "null  " "nothing moved" -- oocgnn list systems ./null.so
verdict "list systems FILE" $?
ends 0 "Set with --set pygplus.NAME=VALUE" -- oocgnn list params ./pygplus.so
verdict "list params FILE" $?

# ---- job files, presets ----

oocgnn new-system mine mine >"$dir/said" && make -s -C mine >>"$dir/said" 2>&1
verdict "new-system builds with make" $?
cat >jobs.ini <<'END'
[global]
mine.depth = 1..8*8
dataset = papers100m
scale = 1/1000
world = simulated
profile = agnes-main
max-batches = 2

[all]
system = null | ./mine/mine.so
END
ends 0 "4 runs made, 0 skipped" -- oocgnn sweep jobs.ini --db sweep.db
verdict "a job file with an object and its parameters, before the key that names it" $?
ends 0 "0 runs made, 4 skipped" -- oocgnn sweep jobs.ini --db sweep.db --resume
verdict "--resume finds the runs of an object" $?
sed -i 's/asynchronous reads/other reads/' mine/mine.c && make -s -C mine >"$dir/said" 2>&1
ends 0 "2 runs made, 2 skipped" -- oocgnn sweep jobs.ini --db sweep.db --resume
verdict "--resume repeats the runs of a rebuilt object alone" $?
sed 's/mine.depth = .*/mine.deep = 3/' jobs.ini >wrong.ini
ends 2 "no option \"deep\"" -- oocgnn sweep wrong.ini --db sweep.db
verdict "a parameter that the object lacks" $?
sed 's,\./mine/mine.so,./no.so,' jobs.ini >wrong.ini
ends 2 "wrong.ini:10: --system ./no.so: No such file" -- oocgnn sweep wrong.ini --db sweep.db
verdict "an object that is missing, with the line of the job file" $?
mkdir -p "$dir/home/oocgnn/presets"
printf '[preset]\ntitle = t\nsource = s\nbatch = 500\n\n[mine]\ndepth = 7\n' >"$dir/home/oocgnn/presets/own.ini"
oocgnn run --system ./mine/mine.so --preset own "${simulated[@]}" 2>"$dir/said" >preset.json
python3 -c 'import json; c = json.load(open("preset.json"))["config"]; assert c["mine.depth"] == "7" and c["preset"] == "own"' 2>>"$dir/said"
verdict "a preset with a section of an object's parameters" $?
ends 0 "--set null.queue=3 changes nothing: the system that runs is mine" -- \
    oocgnn run --system ./mine/mine.so --set null.queue=3 "${simulated[@]}"
verdict "a parameter of another system" $?

# ---- figures, pictures ----

cat >depth.ini <<'END'
[global]
dataset = papers100m
scale = 1/1000
world = simulated
profile = agnes-main
max-batches = 2
mine.depth = 1 | 8

[systems]
system = pygplus | ./mine/mine.so

[figure]
title = Depth of reads
chart = lines
x = mine.depth
y = epoch_s
END
oocgnn figure ./depth.ini --db sweep.db --out figures >"$dir/said" 2>&1
status=$?
[ $status -eq 0 ] && grep -q '^mine,' figures/*.csv && grep -q '^pygplus,' figures/*.csv && [ -s figures/depth.png ]
verdict "a figure with an object: its series has the system's name" $?
ends 0 "0.0" -- oocgnn plot --db sweep.db --where system=./mine/mine.so --x mine.depth --y epoch_s@0 --out pictures
[ -s pictures/epoch_s-0-over-mine.depth.csv ]
verdict "a picture over a parameter of an object" $?
ends 2 "unknown system \"mine\"" "--where system=./FILE.so" -- oocgnn plot --db sweep.db --x mine.depth --y epoch_s@0 --out pictures
verdict "its parameters are not known without it" $?

# ---- objects that do not fit ----

run=(oocgnn run --dataset papers100m --scale 1/1000 --world simulated --profile agnes-main --max-batches 1 --db runs.db --system)
refused() { # what, status, text..., program of sed
    local what=$1 status=$2 program=${!#}
    shift 2
    changed wrong "$program" && ends "$status" "--system ./wrong/mine.so: " "${@:1:$#-1}" -- "${run[@]}" ./wrong/mine.so
    verdict "$what" $?
}
refused "no table" 2 "does not export \`oocgnn_system\`" "GNN_PLUGIN(TABLE)" '/^GNN_PLUGIN/d; s/^static const struct gnn_system mine_system/const struct gnn_system mine_system/'
refused "no close" 2 ".close of its table is NULL" '/\.close = /d; s/^static void mine_close/void mine_close/'
refused "no open" 2 ".open of its table is NULL" '/\.open = /d; s/^static enum gnn_status mine_open/enum gnn_status mine_open/'
refused "no train_epoch" 2 ".train_epoch of its table is NULL" '/\.train_epoch = /d; s/^static enum gnn_status mine_train_epoch/enum gnn_status mine_train_epoch/'
refused "no read_embeddings" 2 ".read_embeddings of its table is NULL" 's/GNN_VARIANT_CPU |/GNN_VARIANT_LINK | GNN_VARIANT_CPU |/'
refused "no abi in its struct" 4 ".abi of its struct gnn_system is 0, expected 1" '/\.abi = /d'
refused "no options" 2 ".options is NULL" '/\.options = /d; s/^static const struct gnn_option options/const struct gnn_option options/'
refused "an option without help" 2 "option depth: .def or .help is missing" '/Most reads in flight/d; s/\.min = 1, \.max = 4096,/.min = 1, .max = 4096),/'
refused "a wrong name" 2 "contains '.'" 's/\.name = "mine"/.name = "my.ne"/'
refused "no name" 2 "its name has 0 or more than 63 letters" 's/\.name = "mine"/.name = ""/'
refused "a hook of the program" 2 ".close of its table is in another file" "-fvisibility=hidden" 's/\.close = mine_close/.close = free/; s/^static void mine_close/void mine_close/'
refused "a function that there is not" 4 "calls what this program does not offer" "gnn_no_such" \
    's/^    c->rows_asked/    extern void gnn_no_such(void);\n    gnn_no_such();\n    c->rows_asked/'

# Headers of another version.
other() { # what, text, file, program of sed
    rm -rf "$dir/other" && cp -r "$dir/dest/usr/include/oocgnn" "$dir/other" && sed -i "$4" "$dir/other/harness/$3" &&
        ! cmp -s "$dir/other/harness/$3" "$dir/dest/usr/include/oocgnn/harness/$3" &&
        make -s -B -C mine OOCGNN_DIR="$dir/other" >"$dir/said" 2>&1 && ends 4 "$2" "rebuild it with the headers" -- "${run[@]}" ./mine/mine.so
    verdict "$1" $?
}
other "another ABI number" "ABI number 2, this program has 1" system/system.h 's/GNN_SYSTEM_ABI = 1/GNN_SYSTEM_ABI = 2/'
other "another size of a struct" "struct gnn_env has" system/system.h 's/^    bool floyd_biased;$/    bool floyd_biased;\n    uint64_t more[4];/'
other "another size of the table" "struct gnn_system has" system/system.h 's/^    size_t config_bytes;$/    size_t config_bytes, more;/'
other "a struct less" "structs, this program has" system/plugin.h 's/ X(write)//'
other "another order of structs" "where this program has gnn_adagrad" system/plugin.h 's/X(adagrad) X(adam)/X(adam) X(adagrad)/'

echo "no object" >text.so && mkdir folder.so
ends 2 "./missing.so: No such file" "oocgnn list systems" -- "${run[@]}" ./missing.so
verdict "a file that is missing" $?
ends 2 "./text.so: not a shared object" -- "${run[@]}" ./text.so
verdict "a file that is no object" $?
ends 2 "./folder.so: not a file" -- "${run[@]}" ./folder.so
verdict "a directory" $?
ends 2 "unknown system \"mine.so\"; a file is given with a '/': ./mine.so" -- "${run[@]}" mine.so
verdict "a file without a slash" $?

# ---- rerun ----

again=(--dataset papers100m --scale 1/1000 --world simulated --profile agnes-main --max-batches 1 --db again.db)
make -s -B -C mine >"$dir/said" 2>&1 && oocgnn run "${again[@]}" --system ./mine/mine.so >"$dir/said" 2>&1
ends 2 "run 1 is in mine.so" "--system ./mine.so" -- oocgnn rerun 1 --db again.db &&
    ends 2 "has the system null, but run 1 is of mine" -- oocgnn rerun 1 --db again.db --system ./null.so &&
    ends 2 "No such file" -- oocgnn rerun 1 --db again.db --system ./missing.so &&
    ends 0 "repeats run 1 to the nanosecond" -- oocgnn rerun 1 --db again.db --system ./mine/mine.so --quiet
verdict "a run of an object is repeated with its file" $?
oocgnn run "${again[@]}" --system null >"$dir/said" 2>&1
ends 2 "is built in; remove --system" -- oocgnn rerun 3 --db again.db --system ./null.so
verdict "a run of a built-in system is repeated without a file" $?

# ---- new-system ----

ends 2 "a name has 1 to 31 lower-case letters" -- oocgnn new-system My own && ends 2 "this build has a system of that name" -- oocgnn new-system null own &&
    ends 2 "mine exists; name a directory that does not" -- oocgnn new-system mine mine && ends 2 "make its parent directory first" -- \
    oocgnn new-system mine no/such && ends 2 "a name and a directory are required" -- oocgnn new-system mine && [ ! -e own ]
verdict "names that are taken or wrong, and directories that exist" $?
finish
