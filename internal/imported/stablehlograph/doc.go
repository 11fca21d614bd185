// Package stablehlograph makes of the programs that JAX exports what the session loads: functions of TensorFlow's ops.
//
// A SavedModel of JAX holds nodes XlaCallModule, whose attribute is a module of StableHLO. [Lower] puts a call of a function in the place of
// each. The table operations lists what is translated. Calls in a module are replaced by what they call; loops and branches become functions.
// A broadcast is not made until an operation needs it whole: elementwise ops of TensorFlow broadcast by themselves.
//
// Sizes that a module leaves open stay open: it computes them from its arguments itself.
//
// A module that is not translated whole stays as it is. [Gaps] says what of it is missing.
package stablehlograph
