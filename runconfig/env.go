package runconfig

import "strings"

// EnvPrefix is the prefix of the environment variables that are read.
const EnvPrefix = "GOESTIMATOR_"

// EnvName returns the environment variable for a key of the config file, for example
// GOESTIMATOR_TRAIN_MAX_STEPS for train.max_steps.
func EnvName(key string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
