package runconfig

import "strings"

// EnvPrefix begins the names of the environment variables that are read.
const EnvPrefix = "GOESTIMATOR_"

// EnvName returns the environment variable of a key of the config file, for example
// GOESTIMATOR_TRAIN_MAX_STEPS of train.max_steps.
func EnvName(key string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
