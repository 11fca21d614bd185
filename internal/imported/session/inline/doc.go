// Package inline turns a SavedModel's graph and its functions into one flat GraphDef.
//
// Calls of functions (PartitionedCall, StatefulPartitionedCall, BatchFunction, nodes whose op is a function's name) are replaced by
// the nodes of the function, named "call/node". The call itself becomes an IdentityN of its results, so that the names of
// tensors stay valid. Legacy reference variables (VariableV2, Assign, AssignAdd, ...) become resource variables
// with the same names. Only nodes that the given ones need are kept. Recursion and graphs that grow beyond a limit are errors.
package inline
