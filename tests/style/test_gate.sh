#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What carries the regression gate in CI, with a made-up clone and programs: which revision is built where, what is
# compared, and that the verdict arrives. Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/out")
gate=$PWD/scripts/gate.sh
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE # of the hook that runs this, perhaps

# A make whose programs say what they were told and end with VERDICT.
mkdir "$dir/bin"
cat >"$dir/bin/make" <<'MAKE'
#!/usr/bin/env bash
in=.
while [ $# -gt 0 ]; do
    [ "$1" != -C ] || in=$2
    target=$1
    shift
done
mkdir -p "$in/$(dirname "$target")"
printf '#!/usr/bin/env bash\necho "$*"\nexit "${VERDICT:-0}"\n' >"$in/$target"
chmod +x "$in/$target"
MAKE
chmod +x "$dir/bin/make"
PATH=$dir/bin:$PATH

clone=$dir/clone base=build/gate/base
mkdir -p "$clone/scripts"
cp "$gate" "$clone/scripts/"
cd "$clone" || exit 1
git init --quiet --initial-branch=main
git config user.name nobody && git config user.email nobody@localhost
echo build/ >.gitignore
for revision in one two; do
    echo $revision >revision
    git add -A && git commit --quiet -m $revision
done
run() { scripts/gate.sh "$@" >"$dir/out" 2>&1; }
told="compare $base/build/gate/oocgnn build/gate/head/oocgnn --accepted results/accepted.json"
# The clone is as it was, and BASE is the revision that was named.
untouched() { [ "$(git symbolic-ref HEAD)" = refs/heads/main ] && [ "$(cat revision) $(cat $base/revision)" = "two one" ]; }

run HEAD~1 --summary page && [ "$(cat "$dir/out")" = "$told --summary page" ] && untouched
verdict "the revision and the working tree are compared" $?
VERDICT=3 run HEAD~1
[ $? -eq 3 ]
verdict "the verdict is the script's" $?
run 0000000000000000000000000000000000000000 && untouched
verdict "what GitHub calls the revision before the first push is the one before" $?
run no-such-branch
[ $? -eq 2 ] && grep -q 'no-such-branch is no commit of this clone; fetch it' "$dir/out"
verdict "an unknown revision is told" $?
run
[ $? -eq 2 ] && grep -q '^usage: ' "$dir/out"
verdict "no revision is told" $?
echo edited >$base/revision
run HEAD~1 && untouched
verdict "what was changed in the folder of BASE is put right" $?
rm -rf $base && mkdir -p $base && echo left >$base/left
run HEAD~1 && untouched && [ ! -e $base/left ]
verdict "a folder that is no working tree is made one, and the clone stays" $?
# git's own switch for a checkout that belongs to another user.
GIT_TEST_ASSUME_DIFFERENT_OWNER=1 run HEAD~1 && [ "$(cat "$dir/out")" = "$told" ] && untouched
verdict "a checkout of another user is compared" $?
rm -rf $base && GIT_TEST_ASSUME_DIFFERENT_OWNER=1 run HEAD~1 && untouched
verdict "and its folder of BASE is made" $?
# A git that does not read the setting from the environment.
printf '#!/usr/bin/env bash\necho "fatal: detected dubious ownership in repository" >&2\nexit 128\n' >"$dir/bin/git"
chmod +x "$dir/bin/git"
run HEAD~1
[ $? -eq 2 ] && grep -q "^gate: git refuses $clone, because it belongs to another user; git config --global --add safe.directory" "$dir/out"
verdict "a git that refuses all the same is reported" $?
rm "$dir/bin/git"

finish
