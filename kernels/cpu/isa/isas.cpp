// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "kernels/cpu/isa/isa.h"

namespace lathe::kernels {
namespace {

// __builtin_cpu_supports() asks CPUID and also whether the system saves the wide registers.
bool has_scalar() { return true; }
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"); }
bool has_avx2_vnni() { return has_avx2() && __builtin_cpu_supports("avxvnni"); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
bool has_avx512_vnni() { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }
bool has_avx512_bf16() { return has_avx512_vnni() && __builtin_cpu_supports("avx512bf16"); }
// XFEATURE_XTILEDATA of Linux 5.16. Tiles are 8 KB of registers, which the system saves only for processes that have
// requested them. Whether it would grant them is queried separately from the request, since after a request every signal and
// thread switch costs more.
constexpr int kTileData = 18;
bool may_ask_for_tiles() {
  constexpr int kSupported = 0x1021;  // ARCH_GET_XCOMP_SUPP
  std::uint64_t features = 0;
  return syscall(SYS_arch_prctl, kSupported, &features) == 0 && (features >> kTileData & 1U) != 0;
}
bool ask_for_tiles() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
bool has_avx512_amx() {
  return has_avx512_bf16() && __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8") &&
         __builtin_cpu_supports("amx-bf16") && may_ask_for_tiles();
}

template <const OpTable& kOps>
const OpTable& table() {
  return kOps;
}
/// Scalar code fuses multiply and add as vectors do, if the processor can: its results then have the same bits.
const OpTable& scalar_table() { return __builtin_cpu_supports("fma") ? kScalarFmaOps : kScalarOps; }

// THE TABLE of instruction sets, a row for each, the best last. ops_<isa>.cpp holds the operations. Rows are not in those
// files: they are compiled for their instruction set, and a row asks whether the machine has it.
constexpr std::array kIsas = {
    IsaDescriptor{.name = "scalar", .is_available = has_scalar, .claim = nullptr, .ops = scalar_table},
    IsaDescriptor{.name = "avx2", .is_available = has_avx2, .claim = nullptr, .ops = table<kAvx2Ops>},
    IsaDescriptor{.name = "avx2_vnni", .is_available = has_avx2_vnni, .claim = nullptr, .ops = table<kAvx2VnniOps>},
    IsaDescriptor{.name = "avx512", .is_available = has_avx512, .claim = nullptr, .ops = table<kAvx512Ops>},
    IsaDescriptor{.name = "avx512_vnni", .is_available = has_avx512_vnni, .claim = nullptr, .ops = table<kAvx512VnniOps>},
    IsaDescriptor{.name = "avx512_bf16", .is_available = has_avx512_bf16, .claim = nullptr, .ops = table<kAvx512Bf16Ops>},
    IsaDescriptor{.name = "avx512_amx", .is_available = has_avx512_amx, .claim = ask_for_tiles, .ops = table<kAvx512AmxOps>},
};

}  // namespace

std::span<const IsaDescriptor> isas() { return kIsas; }

const IsaDescriptor* find_isa(std::string_view name) {
  for (auto isa = kIsas.rbegin(); isa != kIsas.rend(); ++isa) {
    if (!name.empty() && isa->name != name) continue;
    if (isa->is_available() && (isa->claim == nullptr || isa->claim())) return &*isa;
  }
  return nullptr;
}

}  // namespace lathe::kernels
