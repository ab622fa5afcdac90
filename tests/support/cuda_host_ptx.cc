/* SPDX-License-Identifier: MIT */
#include "tests/support/cuda_host_ptx.h"

#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <filesystem>
#include <fstream>
#include <malloc.h>
#include <map>
#include <memory>
#include <set>
#include <sstream>

namespace
{

struct module_close {
    void operator()(ptx_module *m) const
    {
        ptx_close(m);
    }
};

struct engine {
    std::vector<std::unique_ptr<ptx_module, module_close>> modules;
    std::map<std::string, const ptx_kernel *> kernels; /* by name with template arguments */
    std::set<const ptx_kernel *> ran;
    uint64_t launches;
    std::string fault;
};

void add_module(engine *e, const std::filesystem::path &path)
{
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    struct gnn_err err = {};
    ptx_module *m = nullptr;
    const std::string all = text.str();
    if (ptx_open(path.filename().c_str(), all.data(), all.size(), &m, &err) != GNN_OK) {
        e->fault = err.message;
        return;
    }
    e->modules.emplace_back(m);
    for (uint32_t i = 0; i < ptx_kernel_count(m); i++)
        e->kernels[cuda_host_ptx_demangled(ptx_kernel_name(ptx_kernel_at(m, i)))] = ptx_kernel_at(m, i);
}

engine load()
{
    engine e = {};
    std::error_code error;
    /* A launch allocates and frees a megabyte. The pages stay the process's. */
    (void)mallopt(M_MMAP_THRESHOLD, 64 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
    for (const auto &entry : std::filesystem::directory_iterator(std::getenv("OOCGNN_CUDA_PTX"), error))
        if (entry.path().extension() == ".ptx")
            add_module(&e, entry.path());
    if (error)
        e.fault = std::string("OOCGNN_CUDA_PTX=") + std::getenv("OOCGNN_CUDA_PTX") + ": " + error.message();
    return e;
}

/* The arguments as the PTX lays them out. Its parameters have the sizes of the host's, or the fault says so. */
std::string laid_out(const cuda_host_call &call, const ptx_kernel *k, std::string *bytes)
{
    bytes->assign(ptx_parameter_bytes(k), '\0');
    if (ptx_parameter_count(k) != call.arguments.size())
        return std::to_string(ptx_parameter_count(k)) + " parameters in PTX, " + std::to_string(call.arguments.size()) +
               " on the host";
    for (uint32_t i = 0; i < call.arguments.size(); i++) {
        const ptx_parameter p = ptx_parameter_at(k, i);
        if (p.bytes != call.arguments[i].size())
            return "parameter " + std::to_string(i) + " has " + std::to_string(p.bytes) + " bytes in PTX, " +
                   std::to_string(call.arguments[i].size()) + " on the host";
        bytes->replace(p.offset, p.bytes, call.arguments[i]);
    }
    return "";
}

void note(engine *e, const ptx_kernel *k)
{
    const char *const log = std::getenv("OOCGNN_CUDA_PTX_LOG");
    if (e->ran.insert(k).second && log != nullptr)
        std::ofstream(log, std::ios::app) << ptx_kernel_name(k) << '\n';
}

void replace_all(std::string *text, const std::string &old, const std::string &by)
{
    for (size_t at = text->find(old); at != std::string::npos; at = text->find(old, at + by.size()))
        text->replace(at, old.size(), by);
}

} // namespace

bool cuda_host_ptx_asked()
{
    return std::getenv("OOCGNN_CUDA_PTX") != nullptr;
}

/* "... [with auto KERNEL = gnn_cuda_gather_halves<long unsigned int>]", or "[KERNEL = &gnn_cuda_fill]" of clang. */
std::string cuda_host_ptx_name(std::string_view description)
{
    const size_t begin = description.rfind("KERNEL = ") + 9;
    std::string name(description.substr(begin, description.rfind(']') - begin));
    if (name.starts_with('&'))
        name.erase(0, 1);
    if (const size_t by_semicolon = name.find(';'); by_semicolon != std::string::npos)
        name.erase(by_semicolon);
    replace_all(&name, "long unsigned int", "unsigned long");
    replace_all(&name, "short unsigned int", "unsigned short");
    return name;
}

std::string cuda_host_ptx_demangled(const char *mangled)
{
    int status = 0;
    char *const whole = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    std::string name = status == 0 ? whole : mangled;
    std::free(whole);
    if (name.starts_with("void "))
        name.erase(0, 5);
    return name.substr(0, name.find('('));
}

std::string cuda_host_ptx_launch(const cuda_host_call &call, uint32_t blocks, uint32_t threads,
                                 const std::vector<ptx_range> &ranges)
{
    static engine e = load();
    const std::string name = cuda_host_ptx_name(call.description);
    const auto kernel = e.kernels.find(name);
    if (!e.fault.empty())
        return e.fault;
    if (kernel == e.kernels.end())
        return name + " is not in the PTX of " + std::getenv("OOCGNN_CUDA_PTX");
    std::string arguments;
    if (const std::string fault = laid_out(call, kernel->second, &arguments); !fault.empty())
        return name + ": " + fault;
    note(&e, kernel->second);
    const char *const seed = std::getenv("OOCGNN_CUDA_PTX_SEED");
    const ptx_launch launch = {.kernel = kernel->second,
                               .blocks = blocks,
                               .threads = threads,
                               .arguments = arguments.data(),
                               .ranges = ranges.data(),
                               .range_count = (uint32_t)ranges.size(),
                               .seed = (seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10)) + e.launches++,
                               .steps_max = 0};
    struct gnn_err err = {};
    return ptx_run(&launch, &err) == GNN_OK ? "" : err.message;
}
