// Package config reads the config file of a job. It composes the sections that other
// packages own (inputs, feature columns, optimizer, run, strategy, connections) with the
// sections of the command line. Values come from --set, else the environment, else
// TF_CONFIG, else the file, else the defaults.
//
// All errors are reported together, as a [*runconfig.ViolationsError]. Its entries name the
// key, the value, what was expected, and the place.
package config
