// Package device reads, merges and compares the names of TensorFlow's devices, as tf.DeviceSpec does.
//
// A whole name is "/job:worker/replica:0/task:0/device:CPU:0". A device scope gives a part of one.
package device
