// Package puppet makes a test binary act as the processes of a cluster: when
// started again with [Env], it does the steps in its arguments for the task in
// TF_CONFIG, and exits. TestMain calls [Main] first.
package puppet
