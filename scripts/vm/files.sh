# SPDX-License-Identifier: MIT
# What the emulated machine's memory holds when it starts: sourced by scripts/vm/run.sh.
# shellcheck shell=bash

# Programs of this machine that the tests, the guest's script and its first process use.
guest_programs="bash cat chmod chown cp cut date dd env find grep head id ls mkdir mkfifo mktemp mv pgrep printf rm sed seq setpriv
sleep sort stat tail tee test timeout touch tr truncate uname wc xargs mke2fs filefrag awk"
guest_modules="nvme ext4 crc32c_generic"
guest_tests="unit/test_cgroup unit/test_world_rings unit/test_world_measured unit/test_reader unit/test_stream unit/test_generate
differential/test_rows differential/test_anonymous_memory fault/test_systems_faults sim/test_page_cache_kernel cli/test_run
cli/test_faults cli/test_hostile cli/test_invariants cli/test_kills cli/test_workers_cli"

# Builds the program and the tests for the least processor that an emulator shows.
make_programs() { # BUILD
    local targets=("$1/oocgnn") name
    for name in $guest_tests; do targets+=("$1/tests/$name"); done
    "${MAKE:-make}" --no-print-directory -s -j2 BUILD="$1" ARCH=x86-64-v2 NVCC= "${targets[@]}"
}

# Copies a program, and every library it loads, to where the loader looks for them.
add_program() { # FILE, PATH IN THE GUEST
    local library
    mkdir -p "$init/${2%/*}"
    cp -L "$1" "$init/$2" || return 1
    for library in $(ldd "$1" 2>/dev/null | grep -oE '/[^ ]+'); do
        [ -e "$init$library" ] || { mkdir -p "$init${library%/*}" && cp -L "$library" "$init$library"; } || return 1
    done
}

# Appends a module's file to the list, after those of what it depends on. One that is not there is part of the kernel.
add_module() { # NAME
    local name=${1//-/_} depends module
    [ -n "${module_files[$name]:-}" ] && [ -z "${module_done[$name]:-}" ] || return 0
    module_done[$name]=1
    cp "${module_files[$name]}" "$init/modules/"
    module=$init/modules/${module_files[$name]##*/}
    case $module in
    *.xz) xz -df "$module" && module=${module%.xz} ;;
    *.zst) zstd -qdf --rm "$module" && module=${module%.zst} ;;
    esac
    depends=$(tr '\0' '\n' <"$module" | LC_ALL=C sed -n 's/^depends=//p' | sed -n 1p)
    for name in ${depends//,/ }; do add_module "$name"; done
    echo "${module##*/}" >>"$init/modules/order"
}

# Writes WORK/initrd: the files of the guest.
make_files() { # BUILD RELEASE WORK
    local build=$1 release=$2 work=$3 name file
    local -A module_files=() module_done=()
    init=$work/init
    rm -rf "$init"
    mkdir -p "$init"/{bin,dev,proc,sys,tmp,run,modules,mnt,etc,oocgnn/build}
    while read -r file; do
        name=${file##*/}
        name=${name%%.ko*}
        module_files[${name//-/_}]=$file
    done < <(find -L "$work/kernel" -path "*/$release/*" -name '*.ko*')
    for name in $guest_modules; do add_module "$name" || return 1; done
    [ -s "$init/modules/order" ] || { echo "test-vm: no modules of kernel $release" >&2 && return 1; }
    add_program "$(command -v busybox)" /bin/busybox || return 1
    for name in $guest_programs; do
        file=$(command -v "$name" || command -v "/usr/sbin/$name") || continue # busybox has it, or its test says so
        [ -f "$file" ] || file=$(type -P "$name") || continue
        add_program "$file" "/bin/$name" || return 1
    done
    add_program "$build/oocgnn" /oocgnn/build/oocgnn || return 1
    for name in $guest_tests; do
        add_program "$build/tests/$name" "/oocgnn/build/tests/$name" || return 1
    done
    find "$init/oocgnn/build" -type f -exec strip --strip-debug {} + 2>/dev/null
    for file in tests/golden/machine.ini workloads; do
        mkdir -p "$init/oocgnn/$(dirname "$file")"
        cp -r "$file" "$init/oocgnn/$file"
    done
    ln -s bash "$init/bin/sh"
    [ ! -r /etc/mke2fs.conf ] || cp /etc/mke2fs.conf "$init/etc/"
    cp scripts/vm/init "$init/init"
    cp scripts/vm/guest.sh "$init/guest.sh"
    printf 'root:x:0:0:root:/tmp:/bin/bash\nsomebody:x:1234:1234::/tmp:/bin/bash\nnobody:x:65534:65534::/tmp:/bin/bash\n' >"$init/etc/passwd"
    chmod +x "$init/init" "$init/guest.sh"
    (cd "$init" && find . | cpio --quiet -o -H newc -R 0:0) >"$work/initrd"
}
