// Package ops defines the ops that goestimator knows, each once: inputs and their roles, outputs, attributes and their
// defaults, element types, and what else compilers and executors must know (state, shape rule, precision, the function of
// one element). The engine, the eager kernels, the session, the GPU, GraphDef and ONNX register their implementations of
// an op against its definition, and keep no tables of names.
//
// A signature is written as in TensorFlow's op definitions:
//
//	GatherV2(params: Tparams, indices: Tindices, axis: Taxis const) -> output: Tparams
//
// A type is an element type ("int32"), a type attribute ("T"), as many tensors as an integer attribute says ("N*T"), or a
// list of types ("[Tout]"); "&T" is a reference variable. A Role may follow the type of an input.
//
// To add an op, define it in the file of its family. An elementwise op whose definition has Float and CUDA needs no more:
// all backends use these. docs/ops.md lists the ops of each backend.
package ops
