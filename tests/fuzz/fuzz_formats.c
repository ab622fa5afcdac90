/* libFuzzer's way in; the first byte chooses the format. To build and run it:
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -I. -D_GNU_SOURCE -o /tmp/fuzz \
 *       tests/fuzz/fuzz_formats.c harness/base/{err,ini,near_miss,units}.c harness/storage/meta.c \
 *       harness/world/profile{,_parse}.c harness/dataset/{edges,npy,input,output,triples,names}.c \
 *       -linih -lxxhash -lz -lm
 *   /tmp/fuzz -max_total_time=60 */
#include "tests/fuzz/fuzz_targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0)
        return 0;
    switch (data[0] % 5) {
    case 0:
        fuzz_meta(data + 1, len - 1);
        break;
    case 1:
        fuzz_npy(data + 1, len - 1);
        break;
    case 2:
        fuzz_profile(data + 1, len - 1);
        break;
    case 3:
        fuzz_triple(data + 1, len - 1);
        break;
    default:
        fuzz_snap(data + 1, len - 1);
        break;
    }
    return 0;
}
