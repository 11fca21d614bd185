// Package inline makes one flat GraphDef of a SavedModel's graph and its functions.
//
// Calls of functions (PartitionedCall, StatefulPartitionedCall, BatchFunction, nodes whose op is a function's name) are replaced by
// the nodes of the function, named "call/node"; the call itself becomes an IdentityN of its results, so that names of
// tensors keep their meaning. Legacy reference variables (VariableV2, Assign, AssignAdd, ...) become resource variables
// with the same names. Only what given nodes need is kept. Recursion and graphs that grow beyond a limit are errors.
package inline
