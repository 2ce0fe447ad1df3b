// Blocks of a cluster: copies for all of them, and barriers of one another.
namespace twill {

// All threads of all blocks meet.  Barriers that a block made and fenced (mbar_init_fence) are known to all behind it.
DEVICE void cluster_sync() { asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); }
// Arrives on the barrier that lies at the same place in another block, or this one.  What went before are reads that have ended, so nothing is
// fenced: a release in the scope of the cluster would wait for all memory of the GPU (MEMBAR.ALL.GPU).
DEVICE void mbar_arrive_in(int block, uint32_t bar) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [there];\n}\n" ::"r"(bar),
      "r"(block) : "memory");
}
// A tile to the same place in every block of the mask, whose barriers at the same place count its bytes; coordinates innermost first.
template <int Mask> DEVICE void tma_load_for_all(uint32_t to, const CUtensorMap& map, uint32_t bar, int x) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4}], [%2], %3;" ::"r"(to), "l"(&map), "r"(bar), "h"((uint16_t)Mask), "r"(x) : "memory");
}
template <int Mask> DEVICE void tma_load_for_all(uint32_t to, const CUtensorMap& map, uint32_t bar, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5}], [%2], %3;" ::"r"(to), "l"(&map), "r"(bar), "h"((uint16_t)Mask), "r"(x), "r"(y) : "memory");
}
template <int Mask> DEVICE void tma_load_for_all(uint32_t to, const CUtensorMap& map, uint32_t bar, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;" ::"r"(to), "l"(&map), "r"(bar), "h"((uint16_t)Mask), "r"(x), "r"(y), "r"(z) : "memory");
}
template <int Mask> DEVICE void tma_load_for_all(uint32_t to, const CUtensorMap& map, uint32_t bar, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6, %7}], [%2], %3;" ::"r"(to), "l"(&map), "r"(bar), "h"((uint16_t)Mask), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

}  // namespace twill

