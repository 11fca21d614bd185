// Package stablehlograph translates the programs that JAX exports into what the session loads: functions of TensorFlow's ops.
//
// A SavedModel of JAX holds XlaCallModule nodes, each with a StableHLO module as an attribute. [Lower] replaces each by a call of a
// function. The table operations lists what is translated. Calls in a module are replaced by their bodies; loops and branches become functions.
// A broadcast is not made until an operation needs it whole: TensorFlow's elementwise ops broadcast by themselves.
//
// Sizes that a module leaves open stay open: it computes them from its arguments.
//
// A module that cannot be translated as a whole stays as it is. [Gaps] says what is missing.
package stablehlograph
