// Package functionalize turns the control flow of TensorFlow 1 into While and If: the frames that tf.compat.v1.while_loop
// makes of Enter, Merge, Switch, LoopCond, NextIteration and Exit, and the Switch and Merge of tf.compat.v1.cond. Arrays
// of tensors, which tf.map_fn and dynamic_rnn keep in such loops, become lists. It does what TensorFlow's
// functionalize_control_flow does, but only for graphs as these functions make them. For other graphs the error names the node.
package functionalize
