// Package puppet makes a test binary act as the processes of a cluster: started
// again with [Env], it does what its arguments say for the task that TF_CONFIG
// names, and exits. TestMain calls [Main] first.
package puppet
