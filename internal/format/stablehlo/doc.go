// Package stablehlo reads portable artifacts of StableHLO, the programs that JAX exports
// (github.com/openxla/stablehlo, docs/vhlo.md and docs/bytecode.md).
//
// An artifact is MLIR bytecode (mlir.llvm.org/docs/BytecodeFormat, versions 0 to 6) of the dialect VHLO, whose operations
// have a version in their names. VHLO encodes its own types and attributes; those of other dialects, locations and the
// module's attributes, are skipped.
//
// Read takes bytes from anywhere: bad input is an error, never a panic, and memory stays in proportion to it.
package stablehlo
