// Package graphdef converts between internal/compiler/graph and TensorFlow's GraphDef,
// in both directions without loss.
//
// What a GraphDef says and the intermediate representation has no field for
// travels in attributes whose names begin with "_goestimator_", and in
// graph.Graph.Extra; what the intermediate representation says and a GraphDef
// has no field for travels in attributes of the same prefix, which other readers ignore:
//
//	_output_shapes            TensorFlow's own: the shapes of the outputs, -1 for a dimension that depends on the batch
//	_goestimator_dims         the shapes again, as text: "[B,28,28,1]", where a dimension depends on the batch
//	_goestimator_dims_NAME    the same for the shape attribute NAME
//	_goestimator_types        the types of the outputs, where op and attributes do not give them
//	_goestimator_encoding_NAME  (in the representation only) how the tensor attribute NAME was encoded
//	_goestimator_node         (in the representation only) the rest of a NodeDef: debug info, experimental type
//
// The number and types of an op's outputs, which a GraphDef does not say, come
// from a table of ops and the attributes they name (T, dtype, output_types, ...). An op
// outside the table has as many outputs as are referred to, at least one, of the type of its
// attribute T or dtype, else graph.Invalid.
//
// Read with an error rather than with loss: tensors of resource, variant,
// quantized and 8-bit float types; dimensions with names; fields of newer
// versions of the format inside attributes. An input "node:0" is written back as "node", which means the same.
package graphdef
