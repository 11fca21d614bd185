// Package functionalize makes While and If of the control flow of TensorFlow 1: of the frames that tf.compat.v1.while_loop
// makes of Enter, Merge, Switch, LoopCond, NextIteration and Exit, and of the Switch and Merge of tf.compat.v1.cond. Arrays
// of tensors, which tf.map_fn and dynamic_rnn keep in such loops, become lists. It is what TensorFlow's
// functionalize_control_flow does, for graphs as these functions make them. Others are refused, and the node is named.
package functionalize
