#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `oocgnn doctor` says about driver, plugin, cuBLAS and device, and what a run records of a GPU: libraries of that
# name, made here, stand in for NVML and a missing cuBLAS. Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/out")
oocgnn=${OOCGNN:-build/gcc/oocgnn}

says() { # verdict, topic, words
    grep -qE "^$1 +$2 +.*$3" "$dir/out"
}

stand_in=$(dirname "$oocgnn")/tests/support/stand_in_cuda.so
if [ ! -f "$stand_in" ]; then
    skip_all "the stand-in is not built: make tests" 5
fi

OOCGNN_CUDA_PLUGIN=/nonexistent.so "$oocgnn" doctor --data "$dir" >"$dir/out"
says note 'CUDA plugin' 'run make where nvcc is installed'
verdict "a missing plugin is a note with its remedy" $?

mkdir "$dir/lib"
cc -shared -fPIC -Wl,-soname,libcublas.so.99 -o "$dir/lib/libcublas.so.99" -x c /dev/null &&
    cc -shared -fPIC -Wl,--no-as-needed -o "$dir/plugin.so" -x c /dev/null -x none "$dir/lib/libcublas.so.99" &&
    rm "$dir/lib/libcublas.so.99" && OOCGNN_CUDA_PLUGIN=$dir/plugin.so "$oocgnn" doctor --data "$dir" >"$dir/out"
says note cuBLAS 'libcublas.so.99' && grep -q 'LD_LIBRARY_PATH' "$dir/out"
verdict "a missing cuBLAS is named, with where it may be" $?

OOCGNN_CUDA_PLUGIN=$dir/plugin.so "$oocgnn" run --system pygplus --dataset papers100m --scale 1/4000 --data "$dir" --compute cuda \
    --db "$dir/runs.db" >"$dir/out" 2>&1
[ $? -eq 4 ] && grep -q 'libcublas.so.99.*LD_LIBRARY_PATH' "$dir/out" && ! grep -q 'run make' "$dir/out"
verdict "a run names the library that the plugin lacks" $?

cat >"$dir/nvml.c" <<'NVML'
#include <string.h>
struct utilization { unsigned gpu, memory; };
struct memory { unsigned long long total, free, used; };
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = 0; return i > 1; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **d) { *d = 0; return strlen(id) < 12; }
int nvmlDeviceGetUtilizationRates(void *d, struct utilization *o) { o->gpu = 61; o->memory = 5; return 0; }
int nvmlDeviceGetMemoryInfo(void *d, struct memory *o) { o->total = 1 << 30; o->free = 1 << 29; o->used = 4096; return 0; }
int nvmlDeviceGetName(void *d, char *t, unsigned n) { strcpy(t, "Made-up GPU"); return 0; }
int nvmlSystemGetDriverVersion(char *t, unsigned n) { strcpy(t, "1.2.3"); return 0; }
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw) { *mw = 250000; return 0; }
int nvmlDeviceGetPcieThroughput(void *d, int counter, unsigned *kb) { *kb = counter == 1 ? 2000 : 30; return 0; }
NVML
cc -shared -fPIC -o "$dir/lib/libnvidia-ml.so.1" "$dir/nvml.c"
export LD_LIBRARY_PATH=$dir/lib OOCGNN_CUDA_PLUGIN=$stand_in
"$oocgnn" doctor --data "$dir" >"$dir/out"
says ok GPU 'Made-up GPU, driver 1.2.3, 1.00 GiB' && says ok 'CUDA plugin' loads && says ok 'CUDA device' 'compute cuda'
verdict "driver, memory, plugin and device are told" $?

# A run's series holds what NVML said; an interval ends at its end at the latest.
"$oocgnn" prepare papers100m --scale 1/4000 --dim 16 --data "$dir" --quiet >/dev/null 2>&1
"$oocgnn" run --system pygplus --dataset papers100m --scale 1/4000 --data "$dir" --compute cuda --batch 10 --fanout 3,3 \
    --hidden 8 --epochs 3 --evaluate never --interval 50ms --db "$dir/runs.db" --json --quiet >"$dir/out" 2>&1
python3 - "$dir/runs.db" >>"$dir/out" 2>&1 <<'ASK'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
rows = db.execute("select distinct gpu_busy_pct, gpu_memory_bytes, gpu_power_w, gpu_rx_bytes_per_s, gpu_tx_bytes_per_s"
                  " from series").fetchall()
sys.exit(f"the series holds {rows}" if rows != [(61.0, 4096, 250.0, 2048000.0, 30720.0)] else 0)
ASK
verdict "a run's series holds utilisation, memory, power and PCIe" $?

finish
