// Package graphdef converts between internal/compiler/graph and TensorFlow's GraphDef,
// in both directions without loss.
//
// What a GraphDef says but the intermediate representation has no field for
// is kept in attributes whose names begin with "_goestimator_", and in
// graph.Graph.Extra. What the intermediate representation says but a GraphDef
// has no field for is written to attributes with the same prefix, which other readers ignore:
//
//	_output_shapes            TensorFlow's own: the shapes of the outputs, -1 for a dimension that depends on the batch
//	_goestimator_dims         the shapes again, as text: "[B,28,28,1]", if a dimension depends on the batch
//	_goestimator_dims_NAME    the same for the shape attribute NAME
//	_goestimator_types        the types of the outputs, if op and attributes do not give them
//	_goestimator_encoding_NAME  (only in the representation) how the tensor attribute NAME was encoded
//	_goestimator_node         (only in the representation) the rest of a NodeDef: debug info, experimental type
//
// The number and types of an op's outputs, which a GraphDef does not say, come
// from a table of ops and the attributes that it names (T, dtype, output_types, ...). An op
// that is not in the table has as many outputs as are referred to, at least one, with the type of its
// attribute T or dtype, else graph.Invalid.
//
// To avoid loss, these are errors: tensors of resources, variants and other types
// that tensors cannot hold; named dimensions; fields of newer
// versions of the format in attributes. An input "node:0" is written back as "node", which means the same.
package graphdef
