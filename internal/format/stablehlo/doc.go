// Package stablehlo reads portable artifacts of StableHLO, the programs that JAX exports
// (github.com/openxla/stablehlo, docs/vhlo.md and docs/bytecode.md).
//
// An artifact is MLIR bytecode (mlir.llvm.org/docs/BytecodeFormat, versions 0 to 6) of the dialect VHLO, whose operations
// carry a version in their names. VHLO encodes its own types and attributes; other dialects' are skipped: locations, and the
// attributes of the module.
//
// Read takes bytes from anywhere: what is wrong with them is an error, never a panic, and memory stays in proportion to them.
package stablehlo
